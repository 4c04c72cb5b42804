#pragma once

/* The parts of a node's page (page-node.c). */

#include "dashboard/dashboard.h"
#include "dashboard/widgets.h"
#include "history/pods-summary.h"

/* A node, and the view that it is seen in: the one in force, or one of the past made again. */
typedef struct NodePage {
    const PageContext *context;
    const View *view;
    bool is_past;
    int64_t at_nsec; /* since 1970: of the view; or until when verdicts count */
    const NodeTable *table;
    const Node *node; /* NULL: not known */
    Str name;
    uint32_t row;
} NodePage;

/* The rules that it fails for the last of @pods (node-rules.c). */
void node_draw_failures(const NodePage *scene, Html *html, const PodsSummary *pods);

/* Recent verdicts on it (node-verdicts.c); the node may be deleted. */
void node_draw_verdicts(const NodePage *scene, Html *html);
