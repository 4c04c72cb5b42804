/*
 * Summarizes policies: names and counters; the only blockers of pending pods; and the cost.
 *
 * For pending pods each filter is evaluated by itself, over the candidate nodes of their last
 * request. A policy is a pod's only blocker if a node with room for its requests fails no other
 * policy, and no node would take the pod now. The cost is measured over all nodes, for some recent
 * pods.
 */

#include "api/policies-summary.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "api/api-pages.h"
#include "api/page-field.h"
#include "api/query.h"
#include "base/clock.h"
#include "base/double.h"
#include "cluster/pod-fit.h"
#include "history/pods-summary.h"
#include "judge/judge.h"

#define RULE_EVALUATION_BUDGET ((size_t)256 * 1024 * 1024)

/* Pods used to measure the cost of a policy, and decisions read to find them. */
#define COST_PODS 5u
#define COST_PODS_TRIED 100u

typedef struct PoliciesMaking {
    ApiContext *api;
    const View *view;
    Arena *arena;   /* for the result */
    Arena *scratch; /* for one evaluation */
    RequestTime time;
    PodsSummary pods;
    PoliciesSummary *result;
    bool is_cut; /* time is up, or no memory: skip the rest */
} PoliciesMaking;

/* The rules in force for a recent pod on the current cluster, each evaluated by itself. */
typedef struct RuleEvaluation {
    Pod pod;
    NodeSet node_set;
    Judge *judge;
    size_t n; /* rows */
} RuleEvaluation;

static bool is_over(void *context) {
    return clock_thread_cpu_nsec() > *(const int64_t *)context;
}

/* Opens an evaluation of the pod of @text on @rows, in making->scratch. False: @text cannot be
 * decoded, or making->is_cut is set. */
static bool open_evaluation(PoliciesMaking *making, const PodText *text, const uint32_t *rows,
    size_t n, RuleEvaluation *ret) {
    const View *view = making->view;
    Arena *arena = making->scratch;
    JudgeInput input;
    int r;

    *ret = (RuleEvaluation){.node_set = {.table = view->table, .facts = &view->facts}, .n = n};
    if (!pod_text_decode(text, arena, &ret->pod))
        return false;
    r = n > 0 ? view_adjust(
                    view, &making->time, &ret->pod, /* rows= */ NULL, 0, arena, &ret->node_set)
              : 0;
    making->is_cut |= r < 0 || ret->node_set.facts->is_late;
    if (making->is_cut)
        return false;
    input = view_judge_input(view, &making->time, &ret->node_set, &ret->pod, rows, n, arena);
    making->is_cut = judge_open(&input, &ret->judge) < 0;
    return !making->is_cut;
}

/* By row: whether @filter fails, with onError and onMissing; the policy need not apply. NULL: time
 * is up, or out of memory. */
static const bool *find_failing(
    PoliciesMaking *making, const RuleEvaluation *evaluation, const Filter *filter) {
    uint8_t *states = ARENA_RAW(making->scratch, uint8_t, evaluation->n);
    bool *fails = ARENA_RAW(making->scratch, bool, evaluation->n);

    if (!states || !fails || is_over(making->time.context) ||
        judge_filter_states(evaluation->judge, filter, states) < 0)
        return NULL;
    for (size_t i = 0; i < evaluation->n; i++)
        fails[i] = !judge_state_passes(filter, states[i]);
    return fails;
}

/* All rows with a node. NULL: out of memory. */
static const uint32_t *all_rows(const PoliciesMaking *making, size_t *ret_n) {
    const NodeTable *table = making->view->table;
    uint32_t *rows = ARENA_RAW(making->scratch, uint32_t, table->n_rows);

    *ret_n = 0;
    for (uint32_t row = 0; rows && row < table->n_rows; row++)
        if (table_node(table, row))
            rows[(*ret_n)++] = row;
    return rows;
}

/* --- names and counters ----------------------------------------------------------------------- */

static Str copy(PoliciesMaking *making, Str text) {
    return str_is_empty(text) ? STR_NULL : arena_copy(making->arena, text);
}

static RuleSummary rule_summary(
    PoliciesMaking *making, const Policy *policy, Str name, const RuleKind *kind) {
    RuleFigure figure = metrics_of_rule(making->api->metrics, policy->name, name);

    return (RuleSummary){
        .name = copy(making, name),
        .kind = kind ? kind->field : STR("expression"),
        .n_rejected = figure.n_rejected,
        .n_observed = figure.n_observed,
        .n_failed = figure.n_failed,
        .n_missing = figure.n_missing,
        .cost_nsec = NAN,
    };
}

/* In the arena; invalid if that has failed. */
static RuleSummary *make_rules(PoliciesMaking *making, const Policy *policy) {
    RuleSummary *rules =
        ARENA_ARRAY(making->arena, RuleSummary, policy->n_filters + policy->n_scores);

    for (size_t i = 0; rules && i < policy->n_filters; i++) {
        const Filter *filter = &policy->filters[i];

        rules[i] = rule_summary(making, policy, filter->name, filter->kind);
        rules[i].reason = copy(making, filter->reason);
        rules[i].is_filter = true;
    }
    for (size_t i = 0; rules && i < policy->n_scores; i++) {
        const Score *score = &policy->scores[i];
        RuleSummary *rule = &rules[policy->n_filters + i];

        *rule = rule_summary(making, policy, score->name, score->kind);
        rule->weight = score->weight;
    }
    return rules;
}

static PolicySummary policy_summary(PoliciesMaking *making, const Policy *policy) {
    PolicyFigure figure = metrics_of_policy(making->api->metrics, policy->name);
    PolicySummary summary = {
        .name = copy(making, policy->name),
        .file = copy(making, policy->place.file),
        .line = (uint32_t)policy->place.line,
        .is_observed = policy->is_observed,
        .n_matched = figure.n_matched,
        .n_rejected_all = figure.n_rejected_all,
        .matched_nsec = figure.matched_nsec,
        .cost_nsec = NAN,
        .rules = make_rules(making, policy),
        .n_rules = policy->n_filters + policy->n_scores,
    };

    for (size_t i = 0; summary.rules && i < summary.n_rules; i++)
        summary.n_rejected +=
            policy->is_observed ? summary.rules[i].n_observed : summary.rules[i].n_rejected;
    return summary;
}

static void set_policies(PoliciesMaking *making) {
    const Program *program = making->view->program;
    PoliciesSummary *result = making->result;

    result->n = program->n_policies;
    result->policies = ARENA_ARRAY(making->arena, PolicySummary, result->n);
    for (size_t i = 0; !arena_has_failed(making->arena) && i < result->n; i++)
        result->policies[i] = policy_summary(making, &program->policies[i]);
}

/* --- the only blocker ------------------------------------------------------------------------- */

/* By candidate node of a pending pod: how many rules and policies reject it, the last of each, and
 * whether the pod's requests do not fit, which no policy can change. */
typedef struct Blocked {
    uint16_t n_rules, n_policies;
    uint16_t rule, policy;
    bool is_full;
} Blocked;

/* The candidate nodes of @filter, as rows of the view; all nodes if its candidates are no longer
 * kept. NULL when out of memory. */
static const uint32_t *candidate_rows(
    PoliciesMaking *making, const FoundDecision *filter, size_t *ret_n) {
    return filter->outcomes ? decisions_rows(making->api->decisions, filter->outcomes,
                                  making->view->table, making->scratch, ret_n)
                            : all_rows(making, ret_n);
}

static void note_blocked(PoliciesMaking *making, const RuleEvaluation *evaluation,
    const Filter *filter, uint16_t policy, Blocked *rows) {
    const bool *fails = find_failing(making, evaluation, filter);

    making->is_cut |= !fails;
    for (size_t i = 0; !making->is_cut && i < evaluation->n; i++) {
        if (!fails[i])
            continue;
        rows[i].n_policies += rows[i].n_policies == 0 || rows[i].policy != policy;
        rows[i].policy = policy;
        rows[i].n_rules++;
        rows[i].rule = filter->number;
    }
}

static void judge_rows(PoliciesMaking *making, const RuleEvaluation *evaluation, Blocked *rows) {
    const Program *program = making->view->program;

    for (size_t i = 0; i < program->n_policies; i++) {
        const Policy *policy = &program->policies[i];

        if (policy->is_observed || !judge_applies(evaluation->judge, policy))
            continue;
        for (size_t j = 0; !making->is_cut && j < policy->n_filters; j++)
            note_blocked(making, evaluation, &policy->filters[j], (uint16_t)i, rows);
    }
}

/* Counts a pod once for a policy or rule, even if it alone rejects several nodes. */
static void count_blockers(PoliciesMaking *making, const Blocked *rows, size_t n) {
    const Program *program = making->view->program;
    bool *policies = ARENA_ARRAY(making->scratch, bool, program->n_policies);
    bool *rules = ARENA_ARRAY(making->scratch, bool, program->n_filters);

    making->is_cut |= !policies || !rules;
    for (size_t i = 0; !making->is_cut && i < n; i++) {
        if (rows[i].is_full)
            continue;
        if (rows[i].n_rules == 0)
            return; /* this node would take the pod */
        if (rows[i].n_policies == 1)
            policies[rows[i].policy] = true;
        if (rows[i].n_rules == 1)
            rules[rows[i].rule] = true;
    }
    for (size_t i = 0; !making->is_cut && i < program->n_policies; i++) {
        const Policy *policy = &program->policies[i];
        PolicySummary *summary = &making->result->policies[i];

        summary->n_only_blocker += policies[i];
        for (size_t j = 0; j < policy->n_filters; j++)
            summary->rules[j].n_only_blocker += rules[policy->filters[j].number];
    }
}

static void note_full(const RuleEvaluation *evaluation, const uint32_t *rows, Blocked *blocked) {
    const NodeTable *table = evaluation->node_set.table;
    PodFit fit;

    pod_fit_init(&fit, table, &evaluation->pod);
    for (size_t i = 0; i < evaluation->n; i++)
        blocked[i].is_full = pod_fit_lacking(&fit, table, rows[i], AMOUNT_FREE) != SIZE_MAX;
}

static void judge_pending(PoliciesMaking *making, const FoundDecision *filter) {
    const uint32_t *rows;
    Blocked *blocked;
    RuleEvaluation evaluation;
    size_t n = 0;

    arena_reset(making->scratch);
    rows = candidate_rows(making, filter, &n);
    blocked = ARENA_ARRAY(making->scratch, Blocked, n);
    making->is_cut |= !rows || !blocked;
    if (making->is_cut || !open_evaluation(making, filter->pod_text, rows, n, &evaluation))
        return;
    judge_rows(making, &evaluation, blocked);
    note_full(&evaluation, rows, blocked);
    count_blockers(making, blocked, n);
    making->result->n_looked_at += !making->is_cut;
}

static void find_blockers(PoliciesMaking *making) {
    const PodsSummary *pods = &making->pods; /* pending ones come first */
    size_t n_tried = 0;

    for (size_t i = 0; i < pods->n_waiting && n_tried < POLICIES_SUMMARY_PODS_MAX; i++) {
        const FoundDecision *filter = pods->pods[i].filter;

        if (making->is_cut || !filter || !filter->pod_text)
            continue;
        n_tried++;
        judge_pending(making, filter);
    }
}

/* --- cost ------------------------------------------------------------------------------------- */

/* The time of each rule, by pod. */
typedef struct Costs {
    double nsec[COST_PODS];
    size_t n;
} Costs;

static double median(Costs *costs) {
    if (costs->n == 0)
        return NAN;
    qsort(costs->nsec, costs->n, sizeof(*costs->nsec), double_compare);
    return costs->nsec[costs->n / 2];
}

static int run_rule(PoliciesMaking *making, const RuleEvaluation *evaluation, const Filter *filter,
    const Score *score) {
    Arena *arena = making->scratch;
    uint8_t *states;
    double *values;

    if (filter)
        return find_failing(making, evaluation, filter) ? 0 : -ENOMEM;
    states = ARENA_RAW(arena, uint8_t, evaluation->n);
    values = ARENA_RAW(arena, double, 2 * evaluation->n);
    if (!states || !values)
        return -ENOMEM;
    return judge_score_values(evaluation->judge, score, values, states, values + evaluation->n);
}

static void measure_rule(PoliciesMaking *making, const RuleEvaluation *evaluation,
    const Filter *filter, const Score *score, Costs *costs) {
    int64_t begin = clock_thread_cpu_nsec();

    making->is_cut |= making->is_cut || run_rule(making, evaluation, filter, score) != 0;
    if (!making->is_cut)
        costs->nsec[costs->n++] = (double)(clock_thread_cpu_nsec() - begin) / (double)evaluation->n;
}

/* Skips a policy that was measured often enough. */
static void measure_policy(
    PoliciesMaking *making, const RuleEvaluation *evaluation, const Policy *policy, Costs *costs) {
    if (policy->n_filters + policy->n_scores == 0 || costs[0].n == COST_PODS)
        return;
    for (size_t i = 0; i < policy->n_filters; i++)
        measure_rule(making, evaluation, &policy->filters[i], NULL, costs++);
    for (size_t i = 0; i < policy->n_scores; i++)
        measure_rule(making, evaluation, NULL, &policy->scores[i], costs++);
}

static void measure_pod(PoliciesMaking *making, const PodText *text, Costs *costs) {
    const Program *program = making->view->program;
    const uint32_t *rows;
    RuleEvaluation evaluation;
    size_t n;

    arena_reset(making->scratch);
    rows = all_rows(making, &n);
    making->is_cut |= !rows;
    if (n == 0 || !open_evaluation(making, text, rows, n, &evaluation))
        return;
    for (size_t i = 0; i < program->n_policies; i++) {
        if (judge_applies(evaluation.judge, &program->policies[i]))
            measure_policy(making, &evaluation, &program->policies[i], costs);
        costs += making->result->policies[i].n_rules;
    }
}

static void set_costs(PoliciesMaking *making, Costs *costs) {
    for (size_t i = 0; i < making->result->n; i++) {
        PolicySummary *policy = &making->result->policies[i];
        RuleSummary *rules = policy->rules;

        for (size_t j = 0; j < policy->n_rules; j++) {
            rules[j].cost_nsec = median(costs++);
            if (!rules[j].is_filter || isnan(rules[j].cost_nsec))
                continue;
            policy->cost_nsec = isnan(policy->cost_nsec) ? rules[j].cost_nsec
                                                         : policy->cost_nsec + rules[j].cost_nsec;
        }
    }
}

static void find_costs(PoliciesMaking *making) {
    const Program *program = making->view->program;
    const PodsSummary *pods = &making->pods;
    Costs *costs = ARENA_ARRAY(making->arena, Costs, program->n_filters + program->n_scores);
    size_t n_tried = 0;

    making->is_cut |= !costs;
    for (size_t i = 0; !making->is_cut && i < pods->n && n_tried < COST_PODS_TRIED; i++) {
        const FoundDecision *filter = pods->pods[i].filter;

        if (!filter || !filter->pod_text)
            continue;
        n_tried++;
        measure_pod(making, filter->pod_text, costs);
    }
    if (costs)
        set_costs(making, costs);
}

int policies_summary_make(ApiContext *api, int64_t cpu_nsec, Arena *arena, PoliciesSummary *ret) {
    _cleanup_(view_unrefp) View *view = current_view(api->current);
    _cleanup_(arena_freep) Arena *scratch = arena_new(RULE_EVALUATION_BUDGET);
    _cleanup_(arena_freep) Arena *of_judge = arena_new(RULE_EVALUATION_BUDGET);
    int64_t end_nsec = clock_thread_cpu_nsec() + cpu_nsec;
    PoliciesMaking making = {
        .api = api,
        .view = view,
        .arena = arena,
        .scratch = scratch,
        .time = {.now_nsec = clock_wall_nsec(),
            .is_over = is_over,
            .context = &end_nsec,
            .scratch = of_judge},
        .result = ret,
    };
    int r;

    *ret = (PoliciesSummary){0};
    if (!scratch || !of_judge)
        return -ENOMEM;
    set_policies(&making);
    r = arena_has_failed(arena)
            ? -ENOMEM
            : pods_summary_all(api->decisions, api->recent_pods, view, arena, &making.pods);
    if (r == 0) {
        ret->n_waiting = making.pods.n_waiting;
        find_blockers(&making);
        find_costs(&making);
        ret->is_whole = !making.is_cut;
    }
    pods_summary_done(&making.pods);
    return r;
}

/* --- the page --------------------------------------------------------------------------------- */

static void write_rule(JsonWriter *writer, const RuleSummary *rule) {
    json_write(writer, "{name: %.*s, kind: %.*s", STR_FMT(rule->name), STR_FMT(rule->kind));
    if (rule->is_filter)
        json_write(writer, "reason: %.*s, rejected: %zu, observed: %zu, onlyBlocker: %zu",
            STR_FMT(rule->reason), rule->n_rejected, rule->n_observed, rule->n_only_blocker);
    else
        json_write(writer, "weight: %g", rule->weight);
    json_write(writer, "failed: %zu, missing: %zu, nanosecondsPerNode: %g}", rule->n_failed,
        rule->n_missing, rule->cost_nsec);
}

static void write_rules(
    JsonWriter *writer, const PolicySummary *policy, const char *key, bool filters) {
    json_member_array(writer, key);
    for (size_t i = 0; i < policy->n_rules; i++)
        if (policy->rules[i].is_filter == filters)
            write_rule(writer, &policy->rules[i]);
    json_write_end_array(writer);
}

static void write_policy(JsonWriter *writer, const PolicySummary *policy) {
    json_write(writer,
        "{name: %.*s, file: %.*s, line: %u, mode: %s, matched: %zu, rejectedAll: %zu, rejected: "
        "%zu, onlyBlocker: %zu, nanosecondsPerNode: %g, lastMatch: %td",
        STR_FMT(policy->name), STR_FMT(policy->file), policy->line,
        policy->is_observed ? "Observe" : "Enforce", policy->n_matched, policy->n_rejected_all,
        policy->n_rejected, policy->n_only_blocker, policy->cost_nsec, policy->matched_nsec);
    write_rules(writer, policy, "filters", /* filters= */ true);
    write_rules(writer, policy, "scores", /* filters= */ false);
    json_write_end_object(writer);
}

static void write_page(const PoliciesSummary *summary, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);

    json_write(&writer, "{waiting: {pods: %zu, lookedAt: %zu, whole: %i}, policies: [",
        summary->n_waiting, summary->n_looked_at, summary->is_whole);
    for (size_t i = 0; i < summary->n; i++)
        write_policy(&writer, &summary->policies[i]);
    json_write(&writer, "]}\n");
}

unsigned policies_page(ApiContext *api, const HttpRequest *request, Buf *out) {
    char error[QUERY_ERROR_MAX];
    PoliciesSummary summary;
    Query query;

    if (!query_parse(request->query, NULL, 0, request->arena, &query, error))
        return page_write_error(out, 400, error);
    if (policies_summary_make(api, POLICIES_SUMMARY_CPU_NSEC, request->arena, &summary) < 0)
        return page_write_no_memory(out, "the list of policies", request->arena);
    write_page(&summary, out);
    return 200;
}
