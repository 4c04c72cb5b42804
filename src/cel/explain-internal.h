#pragma once

/* Shared by explain.c and explain-leaf.c: which parts of an expression get a line, and the values
 * of a run for each. */

#include "base/vec.h"
#include "cel/explain.h"

#define CEL_NOT_SEEN UINT32_MAX

/* A line to print: a part that was computed, a part that was not, or skipped iterations. */
typedef struct CelExplainPart {
    uint32_t node;    /* of the tree */
    uint32_t entry;   /* in the log, or CEL_NOT_SEEN */
    uint32_t skipped; /* iterations: the line counts them */
    uint32_t macro;   /* + 1: the macro whose variables are printed before the text */
    uint32_t depth;
    bool is_last;
} CelExplainPart;

typedef struct CelExplainParts {
    const CelChecked *checked;
    const CelGraph *graph; /* the graph of cel_lower_each(), and … */
    const uint32_t *nodes; /* … its nodes, by node of the tree */
    const CelTraceLog *log;
    Arena *arena;
    VEC(CelExplainPart) items; /* the last one found */
    bool is_full;              /* there were more, or no memory */
} CelExplainParts;

static inline CelExplainParts cel_explain_parts(const CelExplained *explained) {
    const CelExplainer *explainer = explained->explainer;

    return (CelExplainParts){
        .checked = explainer->checked,
        .graph = explainer->graph,
        .nodes = explainer->nodes,
        .log = &explained->log,
        .arena = explained->arena,
    };
}

/* The parts of @part that have a line, into @items, without unused ones. Their depth and
 * whether they are the last is not filled in. */
void cel_explain_find(CelExplainParts *parts, const CelExplainPart *part);

/* The entry of the tree's node @i among those of @around, or CEL_NOT_SEEN. If a value was recalled,
 * there are several: the one that was computed. */
uint32_t cel_explain_entry(const CelExplainParts *parts, uint32_t around, uint32_t i);

/* a.b['c'].d: a name, and constants only. */
bool cel_explain_is_path(const CelExplainParts *parts, uint32_t i);

/* a[k], a[?k]. */
bool cel_explain_is_index(const CelExplainParts *parts, uint32_t i);

/* Whether its value is known without a run. */
bool cel_explain_is_literal(const CelExplainParts *parts, uint32_t i);

static inline const CelNode *cel_explain_node(const CelExplainParts *parts, uint32_t i) {
    return &parts->checked->tree->nodes[i];
}

static inline const CelSeen *cel_explain_seen(const CelExplainParts *parts, uint32_t entry) {
    return &parts->log->seen.items[entry];
}
