#pragma once

/*
 * RuleEvaluation: the rules in force, each evaluated by itself for a recent pod on the cluster of
 * now.
 *
 * A decision names only the first rule that rejects a node; pages show all of them. Never used on
 * the path of a decision.
 */

#include "extender/view.h"
#include "judge/judge.h"
#include "model/pod.h"

typedef struct RuleEvaluation {
    Pod pod;
    NodeSet node_set;
    Judge *judge;
    size_t n; /* rows */
} RuleEvaluation;

enum {
    _RULE_EVALUATION_E_SUCCESS,
    RULE_EVALUATION_E_UNREADABLE, /* it is no pod that could be judged */
    RULE_EVALUATION_E_OVER,       /* time is up */
};

/* For the pod in @text, JSON, on @rows of @view. @view, @text and @time must outlive the
 * evaluation. In @arena. 0, one of the above, or -ENOMEM. */
int rule_evaluation_open(const View *view, const RequestTime *time, Str text, const uint32_t *rows,
    size_t n, Arena *arena, RuleEvaluation *ret) MUST_CHECK;

/* By row: whether @filter, of a policy that applies or not, fails it; onError and onMissing are
 * taken into account. 0, RULE_EVALUATION_E_OVER or -ENOMEM. */
int rule_evaluation_filter(const RuleEvaluation *evaluation, const RequestTime *time,
    const Filter *filter, Arena *arena, const bool **ret_fails) MUST_CHECK;

/* All rows of @view that have a node, in @arena; how many through @ret_n. NULL when out of memory.
 */
const uint32_t *rule_evaluation_rows(const View *view, Arena *arena, size_t *ret_n);

/* An is_over() for pages: whether the CPU time of this thread has passed the int64_t @context. */
bool cpu_time_is_over(void *context);
