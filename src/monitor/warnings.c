/* Warnings about rules that fail, logged at a bounded rate. */

#include "monitor/warnings.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/nsec.h"
#include "base/thread.h"
#include "columnar/column.h"

/* A rule that has failed for the first time. */
typedef struct Failure {
    const Policy *policy;
    const Filter *filter; /* or */
    const Score *score;   /* or neither: match */
    uint32_t n;           /* nodes */
} Failure;

void warnings_done(Warnings *warnings) {
    program_unref(warnings->program);
    free(warnings->is_told);
    (void)pthread_mutex_destroy(&warnings->lock);
}

/* Returns the number of requests to log now; 0: too soon. */
static uint64_t count_late(Warnings *warnings, int64_t now_nsec) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&warnings->lock);
    uint64_t n = ++warnings->n_late;

    if (warnings->was_late && now_nsec - warnings->late_at_nsec < WARNINGS_LATE_SEC * NSEC_PER_SEC)
        return 0;
    warnings->was_late = true;
    warnings->late_at_nsec = now_nsec;
    warnings->n_late = 0;
    return n;
}

static void note_late(Warnings *warnings, Verb verb, const Decision *decision, int64_t now_nsec) {
    uint64_t n = decision->summary.n_unjudged > 0 ? count_late(warnings, now_nsec) : 0;

    if (n > 0)
        log_warn("deadline exceeded before all nodes were evaluated; onTimeout applies",
            LOG_CSTR("verb", verb_name(verb)), LOG_STR("namespace", decision->pod_namespace),
            LOG_STR("pod", decision->pod_name), LOG_INT("nodes_in", decision->summary.n_in),
            LOG_INT("nodes_late", decision->summary.n_unjudged), LOG_INT("requests", n));
}

/* False: out of memory, and nothing is logged. */
static bool set_program(Warnings *warnings, Program *program) {
    bool *is_told;

    if (warnings->program == program)
        return true;
    is_told = calloc(program->n_filters + program->n_scores + program->n_policies + 1, 1);
    if (!is_told)
        return false;
    free(warnings->is_told);
    warnings->is_told = is_told;
    program_unref(warnings->program);
    warnings->program = program_ref(program);
    return true;
}

/* The rules to log now, which are not logged again. */
typedef struct Failures {
    Failure items[WARNINGS_AT_ONCE];
    size_t n;
} Failures;

static void add_failure(Failures *failures, Failure failure, bool *is_told) {
    if (*is_told || failures->n == WARNINGS_AT_ONCE)
        return;
    *is_told = true;
    failures->items[failures->n++] = failure;
}

static void collect_failures(const Warnings *warnings, const JudgeNotes *notes, Failures *ret) {
    const Program *program = warnings->program;
    bool *of_scores = warnings->is_told + program->n_filters;
    bool *of_matches = of_scores + program->n_scores;

    for (size_t i = 0; notes->filter_errors && i < program->n_filters; i++)
        if (notes->filter_errors[i] > 0)
            add_failure(ret,
                (Failure){.policy = program->filters[i]->policy,
                    .filter = program->filters[i],
                    .n = notes->filter_errors[i]},
                &warnings->is_told[i]);
    for (size_t i = 0; notes->score_errors && i < program->n_scores; i++)
        if (notes->score_errors[i] > 0)
            add_failure(ret,
                (Failure){.policy = program->scores[i]->policy,
                    .score = program->scores[i],
                    .n = notes->score_errors[i]},
                &of_scores[i]);
    for (size_t i = 0; notes->match_errors && i < program->n_policies; i++)
        if (notes->match_errors[i])
            add_failure(ret, (Failure){.policy = &program->policies[i]}, &of_matches[i]);
}

/* The first candidate node on which the rule fails; SIZE_MAX: none found, or no time left. */
static size_t find_node(
    Judge *judge, const Failure *failure, const FilterArgs *args, Arena *arena) {
    uint8_t *states = ARENA_ARRAY(arena, uint8_t, args->n);
    double *values = ARENA_RAW(arena, double, args->n);
    double *raw = ARENA_RAW(arena, double, args->n);
    int r;

    if (!states || !values || !raw)
        return SIZE_MAX;
    r = failure->filter ? judge_filter_states(judge, failure->filter, states)
                        : judge_score_values(judge, failure->score, raw, states, values);
    for (size_t i = 0; r == 0 && i < args->n; i++)
        if (states[i] == COLUMN_ERROR && args->rows[i] != args->node_set.table->n_rows)
            return i;
    return SIZE_MAX;
}

/* The error of the rule on one node, if it can be reproduced. */
static Str find_text(
    Judge *judge, const Failure *failure, const FilterArgs *args, Arena *arena, Str *ret_node) {
    size_t i = find_node(judge, failure, args, arena);
    const Expression *expression =
        failure->filter ? &failure->filter->test : &failure->score->value;
    Str literal;

    if (i == SIZE_MAX)
        return STR_NULL;
    literal = filter_args_literal(args, i, arena);
    *ret_node = literal.len < 2 ? STR_NULL : str_of(literal.ptr + 1, literal.len - 2);
    return judge_error(judge, expression, args->rows[i], arena)->text;
}

static void log_rule(const Failure *failure, Judge *judge, const FilterArgs *args, Arena *arena) {
    Str node = STR_NULL;
    Str text = judge ? find_text(judge, failure, args, arena, &node) : STR_NULL;

    log_warn("rule fails; its onError applies", LOG_STR("policy", failure->policy->name),
        LOG_STR("rule", failure->filter ? failure->filter->name : failure->score->name),
        LOG_INT("nodes", failure->n), LOG_STR("node", node), LOG_STR("error", text));
}

static void log_failures(const Failures *failures, const View *view, const Decision *decision,
    const RequestTime *time, Arena *arena) {
    Judge *judge = NULL;
    JudgeInput input;

    if (decision->args && time) {
        const FilterArgs *args = decision->args;

        input =
            view_judge_input(view, time, &args->node_set, &args->pod, args->rows, args->n, arena);
        if (judge_open(&input, &judge) < 0)
            judge = NULL;
    }
    for (size_t i = 0; i < failures->n; i++) {
        const Failure *failure = &failures->items[i];
        size_t policy = (size_t)(failure->policy - view->program->policies);

        if (failure->filter || failure->score)
            log_rule(failure, judge, decision->args, arena);
        else
            log_warn("match expression of a policy fails; the policy does not apply",
                LOG_STR("policy", failure->policy->name),
                LOG_STR("error", decision->notes.match_errors[policy]->text));
    }
}

void warnings_note(Warnings *warnings, const View *view, Verb verb, const Decision *decision,
    const RequestTime *time, Arena *arena, int64_t now_nsec) {
    const JudgeNotes *notes = &decision->notes;
    Failures failures = {.n = 0};

    note_late(warnings, verb, decision, now_nsec);
    if (!notes->filter_errors && !notes->score_errors && !notes->match_errors)
        return;
    (void)pthread_mutex_lock(&warnings->lock);
    if (set_program(warnings, view->program))
        collect_failures(warnings, notes, &failures);
    (void)pthread_mutex_unlock(&warnings->lock);
    if (failures.n > 0)
        log_failures(&failures, view, decision, time, arena);
}
