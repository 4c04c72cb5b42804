#pragma once

/*
 * Headline: what a decision came to, in one line of a table.
 */

#include "dashboard/html.h"
#include "history/past.h"

/* "5,000 → 312": asked, and passed or scored; of a bind nothing. */
void headline_counts(Html *html, const PastDecision *past);

/* What came of it: where it is bound to, what most nodes were rejected for, the error. */
void headline_said(Html *html, const PastDecision *past);

/* A link to the pod's page, at this decision; left open. */
void headline_open_link(Html *html, const PastDecision *past);
