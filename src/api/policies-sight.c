/*
 * Names and counters first, which cost nothing. Then the pods that wait: each filter by itself over
 * the nodes that their last filter was about, since kube-scheduler's own filters have left the
 * others out; a node that one policy alone fails makes it the only blocker of that pod. A pod that
 * some node would take now is nobody's. Last the cost, over all nodes, for some of the last pods.
 */

#include "api/policies-sight.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "api/context.h"
#include "api/trial.h"
#include "base/clock.h"
#include "history/pods-sight.h"

#define TRIAL_BUDGET ((size_t)256 * 1024 * 1024)

/* Pods that the cost of a policy is measured with, those that are looked at to find them, and those
 * that are asked which policies are for them. */
#define COST_PODS 5u
#define COST_PODS_TRIED 100u
#define MATCH_PODS 500u

typedef struct Sighting {
    ApiContext *api;
    const View *view;
    Arena *arena;   /* of the result */
    Arena *scratch; /* of one trial */
    RequestTime time;
    PodsSight pods;
    RuleSight **rules; /* by policy: its filters, then its scores */
    PoliciesSight *result;
} Sighting;

/* --- names and counters ----------------------------------------------------------------------- */

static Str copy(Sighting *sighting, Str text) {
    return str_is_empty(text) ? STR_NULL : arena_copy(sighting->arena, text);
}

static void set_counts(Sighting *sighting, Str policy, RuleSight *rule) {
    RuleFigure figure = metrics_of_rule(sighting->api->metrics, policy, rule->name);

    rule->n_rejected = figure.n_rejected;
    rule->n_observed = figure.n_observed;
    rule->n_failed = figure.n_failed;
    rule->n_missing = figure.n_missing;
}

static RuleSight rule_sight(Sighting *sighting, Str name, const RuleKind *kind) {
    return (RuleSight){
        .name = copy(sighting, name),
        .kind = kind ? kind->field : STR("expression"),
        .cost_nsec = NAN,
    };
}

static int set_rules(Sighting *sighting, const Policy *policy, RuleSight **ret) {
    RuleSight *rules =
        ARENA_ARRAY(sighting->arena, RuleSight, policy->n_filters + policy->n_scores);
    RuleSight *scores = rules ? rules + policy->n_filters : NULL;

    *ret = rules;
    if (!rules)
        return -ENOMEM;
    for (size_t i = 0; i < policy->n_filters; i++) {
        const Filter *filter = &policy->filters[i];

        rules[i] = rule_sight(sighting, filter->name, filter->kind);
        rules[i].reason = copy(sighting, filter->reason);
        rules[i].is_filter = true;
        set_counts(sighting, policy->name, &rules[i]);
    }
    for (size_t i = 0; i < policy->n_scores; i++) {
        const Score *score = &policy->scores[i];

        scores[i] = rule_sight(sighting, score->name, score->kind);
        scores[i].weight = score->weight;
        set_counts(sighting, policy->name, &scores[i]);
    }
    return 0;
}

static int set_policy(Sighting *sighting, size_t number) {
    const Policy *policy = &sighting->view->program->policies[number];
    PolicyFigure figure = metrics_of_policy(sighting->api->metrics, policy->name);
    PolicySight *sight = &sighting->result->policies[number];
    RuleSight **rules = &sighting->rules[number];
    int r = set_rules(sighting, policy, rules);

    if (r < 0)
        return r;
    *sight = (PolicySight){
        .name = copy(sighting, policy->name),
        .file = copy(sighting, policy->place.file),
        .line = (uint32_t)policy->place.line,
        .is_observed = policy->is_observed,
        .n_matched = figure.n_matched,
        .n_rejected_all = figure.n_rejected_all,
        .cost_nsec = NAN,
        .rules = *rules,
        .n_rules = policy->n_filters + policy->n_scores,
    };
    for (size_t i = 0; i < sight->n_rules; i++)
        sight->n_rejected += policy->is_observed ? (*rules)[i].n_observed : (*rules)[i].n_rejected;
    return 0;
}

static int set_policies(Sighting *sighting) {
    PoliciesSight *result = sighting->result;
    size_t n = sighting->view->program->n_policies;
    int r = 0;

    result->policies = ARENA_ARRAY(sighting->arena, PolicySight, n);
    sighting->rules = ARENA_ARRAY(sighting->arena, RuleSight *, n);
    if (!result->policies || !sighting->rules)
        return -ENOMEM;
    result->n = n;
    for (size_t i = 0; r == 0 && i < n; i++)
        r = set_policy(sighting, i);
    return arena_has_failed(sighting->arena) ? -ENOMEM : r;
}

/* --- when each was last for a pod ------------------------------------------------------------- */

static void note_time(PolicySight *sight, int64_t at_nsec) {
    if (sight->matched_nsec < at_nsec)
        sight->matched_nsec = at_nsec;
}

/* A rule that has spoken was of a policy that applied. */
static void note_spoken(Sighting *sighting, const PodSight *pod) {
    const PastDecision *past = pod->filter ? pod->filter->past : NULL;
    PoliciesSight *result = sighting->result;

    for (size_t i = 0; past && i < past->n_rules; i++)
        for (size_t j = 0; j < result->n; j++)
            if (str_eq(result->policies[j].name, past_rule(past, i)->policy))
                note_time(&result->policies[j], past->at_nsec);
}

/* What the policies in force say of the pod, without any node. 0, one of trial.h, or -ENOMEM. */
static int note_applied(Sighting *sighting, const PodSight *pod) {
    Str text = pod->filter ? pod_text_str(pod->filter->pod_text) : STR_NULL;
    PoliciesSight *result = sighting->result;
    const uint8_t *applied;
    Trial trial;
    int r;

    if (!text.ptr)
        return 0;
    arena_reset(sighting->scratch);
    r = trial_open(
        sighting->view, &sighting->time, text, NULL, /* n= */ 0, sighting->scratch, &trial);
    if (r != 0)
        return r;
    applied = judge_applied(trial.judge);
    for (size_t i = 0; i < result->n; i++)
        if (applied[i])
            note_time(&result->policies[i], pod->filter->past->at_nsec);
    return 0;
}

static int find_matches(Sighting *sighting) {
    int r = 0;

    for (size_t i = 0; i < sighting->pods.n; i++)
        note_spoken(sighting, &sighting->pods.pods[i]);
    for (size_t i = 0; i < sighting->pods.n && i < MATCH_PODS; i++) {
        r = note_applied(sighting, &sighting->pods.pods[i]);
        if (r != 0 && r != TRIAL_E_UNREADABLE)
            return r;
    }
    return 0;
}

/* --- the only blocker ------------------------------------------------------------------------- */

/* By row of the question: how many rules fail it, and policies, and the last of each. */
typedef struct Blocked {
    uint16_t n_rules, n_policies;
    uint16_t rule, policy;
} Blocked;

/* The nodes that @filter was about, as rows of the view: kube-scheduler had none against these.
 * All, where that is not known any more. NULL when out of memory. */
static const uint32_t *asked_rows(Sighting *sighting, const FoundDecision *filter, size_t *ret_n) {
    const NodeTable *table = sighting->view->table;
    const Outcomes *outcomes = filter->outcomes;
    const Str *names;
    uint32_t *rows;
    size_t n = 0;

    if (!outcomes)
        return trial_rows(sighting->view, sighting->scratch, ret_n);
    names = decisions_names(sighting->api->decisions, outcomes, sighting->scratch);
    rows = ARENA_RAW(sighting->scratch, uint32_t, outcomes_size(outcomes));
    if (!names || !rows)
        return NULL;
    for (size_t i = 0; i < outcomes_size(outcomes); i++) {
        uint32_t number, row;

        if (outcomes_at(outcomes, i, &number).kind == OUTCOME_NOT_ASKED)
            continue;
        row = table_find(table, names[number - 1]);
        if (row < table->n_rows)
            rows[n++] = row;
    }
    *ret_n = n;
    return rows;
}

static int note_blocked(
    Sighting *sighting, const Trial *trial, const Filter *filter, uint16_t policy, Blocked *rows) {
    const bool *fails;
    int r = trial_filter(trial, &sighting->time, filter, sighting->scratch, &fails);

    for (size_t i = 0; r == 0 && i < trial->n; i++) {
        if (!fails[i])
            continue;
        rows[i].n_policies += rows[i].n_policies == 0 || rows[i].policy != policy;
        rows[i].policy = policy;
        rows[i].n_rules++;
        rows[i].rule = filter->number;
    }
    return r;
}

static int judge_rows(Sighting *sighting, const Trial *trial, Blocked *rows) {
    const Program *program = sighting->view->program;
    int r = 0;

    for (size_t i = 0; i < program->n_policies; i++) {
        const Policy *policy = &program->policies[i];

        if (policy->is_observed || !judge_applies(trial->judge, policy))
            continue;
        for (size_t j = 0; r == 0 && j < policy->n_filters; j++)
            r = note_blocked(sighting, trial, &policy->filters[j], (uint16_t)i, rows);
    }
    return r;
}

static RuleSight *rule_of(Sighting *sighting, const Filter *filter) {
    size_t policy = (size_t)(filter->policy - sighting->view->program->policies);

    return &sighting->rules[policy][filter - filter->policy->filters];
}

/* Each policy and rule counts a pod once, however many nodes it alone keeps it from. */
static int count_blockers(Sighting *sighting, const Blocked *rows, size_t n) {
    const Program *program = sighting->view->program;
    bool *policies = ARENA_ARRAY(sighting->scratch, bool, program->n_policies);
    bool *rules = ARENA_ARRAY(sighting->scratch, bool, program->n_filters);

    if (!policies || !rules)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        if (rows[i].n_rules == 0)
            return 0; /* this node would take it */
        if (rows[i].n_policies == 1)
            policies[rows[i].policy] = true;
        if (rows[i].n_rules == 1)
            rules[rows[i].rule] = true;
    }
    for (size_t i = 0; i < program->n_policies; i++)
        sighting->result->policies[i].n_only_blocker += policies[i];
    for (size_t i = 0; i < program->n_filters; i++)
        rule_of(sighting, program->filters[i])->n_only_blocker += rules[i];
    return 0;
}

/* 0, one of trial.h, or -ENOMEM. */
static int look_at_waiting(Sighting *sighting, const FoundDecision *filter) {
    const uint32_t *rows;
    Blocked *blocked;
    Trial trial;
    size_t n = 0;
    int r;

    arena_reset(sighting->scratch);
    rows = asked_rows(sighting, filter, &n);
    blocked = ARENA_ARRAY(sighting->scratch, Blocked, n);
    if (!rows || !blocked)
        return -ENOMEM;
    r = trial_open(sighting->view,
        &sighting->time,
        pod_text_str(filter->pod_text),
        rows,
        n,
        sighting->scratch,
        &trial);
    if (r == 0)
        r = judge_rows(sighting, &trial, blocked);
    if (r == 0)
        r = count_blockers(sighting, blocked, n);
    sighting->result->n_looked_at += r == 0;
    return r;
}

static int find_blockers(Sighting *sighting) {
    const PodsSight *pods = &sighting->pods; /* those that wait come first */
    size_t n_tried = 0;

    for (size_t i = 0; i < pods->n_waiting && n_tried < POLICIES_SIGHT_PODS_MAX; i++) {
        const FoundDecision *filter = pods->pods[i].filter;
        int r;

        if (!filter || !filter->pod_text)
            continue;
        n_tried++;
        r = look_at_waiting(sighting, filter);
        if (r != 0 && r != TRIAL_E_UNREADABLE)
            return r;
    }
    return 0;
}

/* --- cost ------------------------------------------------------------------------------------- */

/* What each rule took, by pod. */
typedef struct Costs {
    double nsec[COST_PODS];
    size_t n;
} Costs;

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(Costs *costs) {
    if (costs->n == 0)
        return NAN;
    qsort(costs->nsec, costs->n, sizeof(*costs->nsec), compare_doubles);
    return costs->nsec[costs->n / 2];
}

static int run_rule(
    Sighting *sighting, const Trial *trial, const Filter *filter, const Score *score) {
    Arena *arena = sighting->scratch;
    const bool *fails;
    uint8_t *states;
    double *values;

    if (filter)
        return trial_filter(trial, &sighting->time, filter, arena, &fails);
    states = ARENA_RAW(arena, uint8_t, trial->n);
    values = ARENA_RAW(arena, double, 2 * trial->n);
    if (!states || !values)
        return -ENOMEM;
    return judge_score_values(trial->judge, score, values, states, values + trial->n);
}

static int measure_rule(Sighting *sighting, const Trial *trial, const Filter *filter,
    const Score *score, Costs *costs) {
    int64_t begin = clock_thread_cpu_nsec();
    int r = run_rule(sighting, trial, filter, score);

    if (r == 0)
        costs->nsec[costs->n++] = (double)(clock_thread_cpu_nsec() - begin) / (double)trial->n;
    return r;
}

/* What has been measured often enough is left alone. */
static int measure_policy(
    Sighting *sighting, const Trial *trial, const Policy *policy, Costs *costs) {
    int r = 0;

    if (policy->n_filters + policy->n_scores == 0 || costs[0].n == COST_PODS)
        return 0;
    for (size_t i = 0; r == 0 && i < policy->n_filters; i++)
        r = measure_rule(sighting, trial, &policy->filters[i], NULL, &costs[i]);
    for (size_t i = 0; r == 0 && i < policy->n_scores; i++)
        r = measure_rule(sighting, trial, NULL, &policy->scores[i], &costs[policy->n_filters + i]);
    return r;
}

/* 0, one of trial.h, or -ENOMEM. */
static int measure_pod(Sighting *sighting, Str text, Costs *costs) {
    const Program *program = sighting->view->program;
    const uint32_t *rows;
    Trial trial;
    size_t n;
    int r;

    arena_reset(sighting->scratch);
    rows = trial_rows(sighting->view, sighting->scratch, &n);
    if (!rows)
        return -ENOMEM;
    if (n == 0)
        return 0;
    r = trial_open(sighting->view, &sighting->time, text, rows, n, sighting->scratch, &trial);
    for (size_t i = 0; r == 0 && i < program->n_policies; i++) {
        if (judge_applies(trial.judge, &program->policies[i]))
            r = measure_policy(sighting, &trial, &program->policies[i], costs);
        costs += sighting->result->policies[i].n_rules;
    }
    return r;
}

static void set_costs(Sighting *sighting, Costs *costs) {
    for (size_t i = 0; i < sighting->result->n; i++) {
        PolicySight *policy = &sighting->result->policies[i];
        RuleSight *rules = sighting->rules[i];

        for (size_t j = 0; j < policy->n_rules; j++) {
            rules[j].cost_nsec = median(costs++);
            if (!rules[j].is_filter || isnan(rules[j].cost_nsec))
                continue;
            policy->cost_nsec = isnan(policy->cost_nsec) ? rules[j].cost_nsec
                                                         : policy->cost_nsec + rules[j].cost_nsec;
        }
    }
}

static int find_costs(Sighting *sighting) {
    const Program *program = sighting->view->program;
    const PodsSight *pods = &sighting->pods;
    Costs *costs = ARENA_ARRAY(sighting->arena, Costs, program->n_filters + program->n_scores);
    size_t n_tried = 0;
    int r = 0;

    if (!costs)
        return -ENOMEM;
    for (size_t i = 0; r == 0 && i < pods->n && n_tried < COST_PODS_TRIED; i++) {
        Str text = pods->pods[i].filter ? pod_text_str(pods->pods[i].filter->pod_text) : STR_NULL;

        if (!text.ptr)
            continue;
        n_tried++;
        r = measure_pod(sighting, text, costs);
        r = r == TRIAL_E_UNREADABLE ? 0 : r;
    }
    set_costs(sighting, costs);
    return r;
}

/* --- all together ----------------------------------------------------------------------------- */

/* What time allows; what it does not, and what there is no memory for, is left out. */
static void ask_once_more(Sighting *sighting) {
    int r = find_matches(sighting);

    if (r == 0)
        r = find_blockers(sighting);
    if (r == 0)
        r = find_costs(sighting);
    sighting->result->is_whole = r == 0;
}

int policies_sight_make(ApiContext *api, bool (*is_over)(void *context), void *context,
    Arena *arena, PoliciesSight *ret) {
    _cleanup_(view_unrefp) View *view = current_view(api->current);
    _cleanup_(arena_freep) Arena *scratch = arena_new(TRIAL_BUDGET);
    Sighting sighting = {
        .api = api,
        .view = view,
        .arena = arena,
        .scratch = scratch,
        .time = {.now_nsec = clock_wall_nsec(), .is_over = is_over, .context = context},
        .result = ret,
    };
    int r;

    *ret = (PoliciesSight){0};
    if (!scratch)
        return -ENOMEM;
    r = set_policies(&sighting);
    if (r == 0)
        r = pods_sight_all(api->decisions, view, arena, &sighting.pods);
    if (r == 0) {
        ret->n_waiting = sighting.pods.n_waiting;
        ask_once_more(&sighting);
    }
    pods_sight_done(&sighting.pods);
    return r;
}
