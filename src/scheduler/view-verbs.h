#pragma once

/*
 * ViewVerbs: filter and prioritize of a View for a Scheduler, over rows of any NodeSet of it.
 *
 * Policies in mode Observe do not take part, as in a reply to kube-scheduler.
 */

#include "extender/view.h"

/* Who asks for which rows. */
typedef struct ViewQuestion {
    const View *view;
    NodeSet node_set;
    RequestTime time;
    const Pod *pod;
    const uint32_t *rows; /* of the set's table */
    size_t n;
} ViewQuestion;

/* A judge of them, in @arena. 0, or -ENOMEM. */
int view_open_judge(const ViewQuestion *question, Arena *arena, Judge **ret) MUST_CHECK;

/* For each row VERDICT_PASS, or the number of the filter that rejects it; as narrowing leaves them.
 * In @arena. 0, or -ENOMEM. */
int view_filter(const ViewQuestion *question, Arena *arena, const uint16_t **ret) MUST_CHECK;

/* The scores as on the wire; NULL: there are none. The same. */
int view_prioritize(const ViewQuestion *question, Arena *arena, const uint8_t **ret) MUST_CHECK;

/* "policy/filter: reason". */
void view_print_reason(const Program *program, size_t number, Buf *out);
