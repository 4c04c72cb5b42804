#pragma once

/*
 * NodeFacts: what rules read of one node: labels, taints, resources, what was measured of it.
 */

#include "dashboard/html.h"
#include "extender/view.h"

/* Of @row of @view, as of that view. Two lists and a table,
 * whose ids begin with @id. */
void node_facts(Html *html, const View *view, uint32_t row, const char *id);
