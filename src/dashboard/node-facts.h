#pragma once

/*
 * NodeFacts: what rules read of one node: labels, taints, resources, what was measured of it.
 */

#include "dashboard/html.h"
#include "extender/view.h"

/* Of @row of @view, as of that view; times are told against @wall_nsec. Two lists and a table,
 * whose ids begin with @id. */
void node_facts(Html *html, const View *view, uint32_t row, int64_t wall_nsec, const char *id);
