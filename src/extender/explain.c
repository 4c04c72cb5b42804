/* Explains a decision. First all rules are evaluated together, to find the nodes that pass, then
 * each rule alone, over all nodes. Scores are computed as by prioritize, only over nodes that
 * filter returns, because normalize depends on the candidates; ranks as by narrowing, over all
 * nodes that pass. */

#include "extender/explain.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "cluster/pod-fit.h"
#include "extender/score.h"
#include "extender/verbs.h"

#define ERROR_TEXT_MAX ((size_t)4096)
#define ERROR_PART_MAX 60u /* bytes of a failed part of an expression to show */

/* The memory limit of one evaluation, as in a request (serve/answers.c). */
#define SCRATCH_BUDGET ((size_t)64 * 1024 * 1024)

struct Explainer {
    const View *view;
    JudgeInput input; /* with all candidate nodes */
    Judge *judge;
    Arena *arena;
    Arena *messages; /* for one message or error at a time; NULL after extender_explain_rows() */
    Explanation *result;
    Probe **probes; /* by number of the filter; NULL: not needed so far */
    Remedies *remedies;
};

/* --- policies ----------------------------------------------------------------------------- */

/* The part of the expression that an error points to; empty if it is too long. */
static Str failed_part(const Expression *expression, const CelError *error) {
    const CelTree *tree = expression->checked->tree;

    for (uint32_t i = 0; i < tree->n_nodes; i++) {
        const CelNode *node = &tree->nodes[i];

        if (node->at == error->at && node->kind != CEL_NODE_LITERAL &&
            node->to - node->from <= ERROR_PART_MAX)
            return cel_tree_text(tree, i);
    }
    return STR_NULL;
}

/* "no such key: zone, in node.metadata.labels['zone'] (policy.yaml:12)" */
static Str error_text(const Explainer *x, const Expression *expression, const CelError *error) {
    _cleanup_(buf_done) Buf out = BUF_INIT(ERROR_TEXT_MAX);
    Str part = error->is_limit ? STR_NULL : failed_part(expression, error);

    buf_append(&out, error->text);
    if (!str_is_empty(part))
        buf_printf(&out, ", in %.*s", STR_FMT(part));
    if (!str_is_empty(expression->place.file))
        buf_printf(&out, " (%.*s:%zu)", STR_FMT(expression->place.file), expression->place.line);
    return arena_copy(x->arena, buf_str(&out));
}

static PolicyExplanation explain_policy(const Explainer *x, const Policy *policy) {
    size_t number = (size_t)(policy - x->view->program->policies);
    const CelError *error = judge_match(x->judge)->errors[number];
    const Expression *unmet = judge_match(x->judge)->unmet[number];
    bool is_by_namespace = unmet == &policy->match.namespace_test;
    PolicyExplanation result = {.policy = policy};

    if (judge_applies(x->judge, policy))
        return result;
    if (policy->match.namespaces.n > 0 &&
        !str_is_one_of(
            x->input.pod->namespace, policy->match.namespaces.items, policy->match.namespaces.n)) {
        result.fit = FIT_OTHER_NAMESPACE;
    } else if (!policy_selects(policy, x->input.pod)) {
        result.fit = FIT_OTHER_LABELS;
    } else if (error) {
        result.fit = is_by_namespace ? FIT_NAMESPACE_FAILED : FIT_EXPRESSION_FAILED;
        result.error = error_text(x, unmet, error);
    } else {
        result.fit = is_by_namespace ? FIT_OTHER_NAMESPACE_LABELS : FIT_EXPRESSION_FALSE;
    }
    return result;
}

static int find_policies(Explainer *x) {
    const Program *program = x->view->program;
    Explanation *result = x->result;

    result->policies = ARENA_ARRAY(x->arena, PolicyExplanation, program->n_policies);
    result->scores = ARENA_ARRAY(x->arena, const Score *, program->n_scores);
    result->errors =
        ARENA_ARRAY(x->arena, RuleErrors, 2 * (program->n_filters + program->n_scores));
    x->probes = ARENA_ARRAY(x->arena, Probe *, program->n_filters);
    if (!result->policies || !result->scores || !result->errors || !x->probes)
        return -ENOMEM;
    for (size_t i = 0; i < program->n_policies; i++) {
        result->policies[i] = explain_policy(x, &program->policies[i]);
        result->n_applying += result->policies[i].fit == FIT_APPLIES;
    }
    result->n_policies = program->n_policies;
    for (size_t i = 0; i < program->n_scores; i++) {
        const Score *score = program->scores[i];

        if (score->policy->is_observed || !judge_applies(x->judge, score->policy))
            continue;
        result->scores[result->n_scores++] = score;
        result->weights += score->weight;
    }
    result->wire_max = judge_match(x->judge)->wire_max;
    return 0;
}

/* --- filters ------------------------------------------------------------------------------ */

static int set_verdicts(Explainer *x) {
    const JudgeInput *input = &x->input;
    uint16_t *verdicts = ARENA_ARRAY(x->arena, uint16_t, input->n);
    uint32_t to = judge_match(x->judge)->narrow_to;
    int r = verdicts ? judge_filters(x->judge, verdicts) : -ENOMEM;

    if (r == 0 && to > 0)
        r = judge_narrow(x->judge, to, verdicts, /* ret_scores= */ NULL);
    if (r < 0)
        return r;
    x->result->narrow_to = to;
    for (size_t i = 0; i < input->n; i++) {
        NodeExplanation *node = &x->result->nodes[i];

        node->outcome = verdicts[i] == VERDICT_PASS       ? NODE_PASSED
                        : verdicts[i] == VERDICT_NARROWED ? NODE_NARROWED
                                                          : NODE_REJECTED;
        if (node->outcome == NODE_REJECTED)
            node->verdict = input->program->filters[verdicts[i]];
        x->result->n_passed += node->outcome != NODE_REJECTED;
        x->result->n_narrowed += node->outcome == NODE_NARROWED;
    }
    return 0;
}

/* "metric load is missing" */
static Str missing_text(Explainer *x, const Expression *expression, uint32_t row) {
    _cleanup_(buf_done) Buf names = BUF_INIT(ERROR_TEXT_MAX);
    size_t n = judge_absent(x->judge, expression, row, &names);

    return arena_printf(x->arena, "metric%s %.*s %s missing", PLURAL(n), STR_FMT(buf_str(&names)),
        n == 1 ? "is" : "are");
}

/* Why an expression failed on @row. */
static Str failure_text(Explainer *x, const Expression *expression, uint32_t row) {
    arena_reset(x->messages);
    return error_text(x, expression, judge_error(x->judge, expression, row, x->messages));
}

/* The message of the rule (value and limit), or why it failed; empty: it has no message. */
static Str detail_of(Explainer *x, const Filter *filter, size_t i, uint8_t state) {
    uint32_t row = x->input.rows[i];
    CelValue value;

    if (state == JUDGE_STATE_MISSING)
        return missing_text(x, &filter->test, row);
    if (state == COLUMN_ERROR)
        return failure_text(x, &filter->test, row);
    if (!expression_is_given(&filter->message))
        return STR_NULL;
    arena_reset(x->messages);
    value = judge_value(x->judge, &filter->message, row, x->messages);
    if (value.kind == CEL_ERROR)
        return error_text(x, &filter->message, value.error);
    return value.kind == CEL_STRING ? arena_copy(x->arena, cel_str(value)) : STR_NULL;
}

static int add_failure(Explainer *x, NodeExplanation *node, FailedRule failed) {
    if (!node->failed)
        node->failed = ARENA_ARRAY(x->arena, FailedRule, x->input.program->n_filters);
    if (!node->failed)
        return -ENOMEM;
    node->failed[node->n_failed++] = failed;
    node->n_acting += !failed.filter->policy->is_observed;
    return 0;
}

/* Counts a node on which a rule failed; keeps the first. */
static void count_error(RuleErrors *errors, Str node, Str text) {
    if (errors->n++ > 0)
        return;
    errors->node = node;
    errors->text = text;
}

static void add_errors(Explainer *x, const RuleErrors *errors) {
    if (errors->n > 0)
        x->result->errors[x->result->n_errors++] = *errors;
}

static int note_failures(Explainer *x, const Filter *filter) {
    const JudgeInput *input = &x->input;
    uint8_t *states = ARENA_ARRAY(x->arena, uint8_t, input->n);
    RuleErrors errors = {.filter = filter}, missing = {.filter = filter, .is_missing = true};
    int r = states ? judge_filter_states(x->judge, filter, states) : -ENOMEM;

    for (size_t i = 0; r == 0 && i < input->n; i++) {
        NodeExplanation *node = &x->result->nodes[i];
        RuleErrors *counts = states[i] == COLUMN_ERROR          ? &errors
                             : states[i] == JUDGE_STATE_MISSING ? &missing
                                                                : NULL;
        bool is_passed = judge_state_passes(filter, states[i]);
        Str detail = STR_NULL;

        if (states[i] == COLUMN_TRUE)
            continue;
        if (!is_passed || counts->n == 0)
            detail = detail_of(x, filter, i, states[i]);
        if (counts)
            count_error(counts, node->node, detail);
        if (!is_passed)
            r = add_failure(x, node,
                (FailedRule){.filter = filter,
                    .is_error = counts == &errors,
                    .is_missing = counts == &missing,
                    .detail = detail});
    }
    add_errors(x, &errors);
    add_errors(x, &missing);
    return r;
}

static uint32_t distance_of(const Explainer *x, const PodFit *fit, const NodeExplanation *node) {
    bool lacks = pod_fit_lacking(fit, x->input.table, node->row, AMOUNT_ALLOCATABLE) != SIZE_MAX;
    bool is_never = lacks;

    for (size_t i = 0; i < node->n_failed; i++)
        is_never |=
            !node->failed[i].filter->policy->is_observed && node->failed[i].filter->is_permanent;
    return (uint32_t)node->n_acting + lacks + (is_never ? EXPLAIN_NEVER : 0);
}

static void set_distances(Explainer *x) {
    PodFit fit;

    pod_fit_init(&fit, x->input.table, x->input.pod);
    x->result->closest = UINT32_MAX;
    for (size_t i = 0; i < x->result->n_nodes; i++) {
        NodeExplanation *node = &x->result->nodes[i];

        if (node->outcome != NODE_REJECTED)
            continue;
        node->distance = distance_of(x, &fit, node);
        if (node->distance < x->result->closest)
            x->result->closest = node->distance;
    }
}

static int find_failures(Explainer *x) {
    for (size_t i = 0; i < x->result->n_policies; i++) {
        const Policy *policy = x->result->policies[i].policy;

        for (size_t j = 0; x->result->policies[i].fit == FIT_APPLIES && j < policy->n_filters;
             j++) {
            int r = note_failures(x, &policy->filters[j]);

            if (r < 0)
                return r;
        }
    }
    set_distances(x);
    return 0;
}

/* --- scores ------------------------------------------------------------------------------- */

/* Some of the nodes, with a judge for them, because normalize compares candidates. */
typedef struct Candidates {
    NodeExplanation **nodes;
    size_t n;
    Judge *judge;
} Candidates;

static int find_candidates(Explainer *x, bool with_narrowed, Candidates *ret) {
    Explanation *result = x->result;
    JudgeInput input = x->input;
    uint32_t *rows = ARENA_ARRAY(x->arena, uint32_t, result->n_nodes);

    ret->n = 0;
    ret->nodes = ARENA_ARRAY(x->arena, NodeExplanation *, result->n_nodes);
    if (!rows || !ret->nodes)
        return -ENOMEM;
    for (size_t i = 0; i < result->n_nodes; i++) {
        NodeExplanation *node = &result->nodes[i];

        if (node->outcome == NODE_REJECTED || (node->outcome == NODE_NARROWED && !with_narrowed))
            continue;
        rows[ret->n] = node->row;
        ret->nodes[ret->n++] = node;
    }
    input.rows = rows;
    input.n = ret->n;
    return judge_open(&input, &ret->judge);
}

static int set_part(Explainer *x, const Candidates *candidates, size_t number) {
    const Score *score = x->result->scores[number];
    double *raw = ARENA_ARRAY(x->arena, double, candidates->n);
    double *values = ARENA_ARRAY(x->arena, double, candidates->n);
    uint8_t *states = ARENA_ARRAY(x->arena, uint8_t, candidates->n);
    int r;

    if (!raw || !values || !states)
        return -ENOMEM;
    r = judge_score_values(candidates->judge, score, raw, states, values);
    for (size_t i = 0; r == 0 && i < candidates->n; i++)
        candidates->nodes[i]->parts[number] = (ScorePart){
            .raw = raw[i],
            .is_error = states[i] == COLUMN_ERROR,
            .is_missing = states[i] == JUDGE_STATE_MISSING,
            .value = values[i],
            .contribution = values[i] * score->weight / x->result->weights,
        };
    return r;
}

static int set_scores(Explainer *x, const Candidates *candidates) {
    Explanation *result = x->result;
    double *totals = ARENA_ARRAY(x->arena, double, candidates->n);
    int r = totals ? judge_scores(candidates->judge, totals) : -ENOMEM;

    for (size_t i = 0; r == 0 && i < candidates->n; i++) {
        NodeExplanation *node = candidates->nodes[i];

        node->is_scored = result->n_scores > 0;
        node->score = totals[i];
        node->wire_score = score_to_wire(totals[i], result->wire_max);
        if (!node->parts)
            node->parts = ARENA_ARRAY(x->arena, ScorePart, result->n_scores);
        if (!node->parts)
            return -ENOMEM;
    }
    for (size_t i = 0; r == 0 && i < result->n_scores; i++)
        r = set_part(x, candidates, i);
    return r;
}

/* Of equal scores the first node ranks higher, as in narrowing. */
static int compare_scores(const void *a, const void *b) {
    const NodeExplanation *x = *(const NodeExplanation *const *)a;
    const NodeExplanation *y = *(const NodeExplanation *const *)b;

    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return (x > y) - (x < y);
}

static int rank(Explainer *x, const Candidates *candidates) {
    Explanation *result = x->result;

    result->ranking = ARENA_ARRAY(x->arena, const NodeExplanation *, candidates->n);
    if (!result->ranking)
        return -ENOMEM;
    for (size_t i = 0; i < candidates->n; i++)
        result->ranking[i] = candidates->nodes[i];
    qsort(result->ranking, candidates->n, sizeof(*result->ranking), compare_scores);
    for (size_t i = 0; i < candidates->n; i++) {
        size_t at = (size_t)(result->ranking[i] - result->nodes);

        result->nodes[at].rank = (uint32_t)(i + 1);
    }
    return 0;
}

static int find_scores(Explainer *x) {
    Candidates candidates = {0};
    int r = find_candidates(x, /* with_narrowed= */ true, &candidates);

    if (r == 0)
        r = set_scores(x, &candidates);
    if (r == 0)
        r = rank(x, &candidates);
    if (r < 0 || x->result->n_narrowed == 0)
        return r;
    r = find_candidates(x, /* with_narrowed= */ false, &candidates);
    if (r == 0)
        r = set_scores(x, &candidates);
    return r;
}

static void find_errors_of_score(Explainer *x, size_t number, bool is_missing) {
    const Explanation *result = x->result;
    RuleErrors errors = {.score = result->scores[number], .is_missing = is_missing};

    for (size_t i = 0; i < result->n_nodes; i++) {
        const NodeExplanation *node = &result->nodes[i];
        const ScorePart *part = node->is_scored ? &node->parts[number] : NULL;

        if (!part || !(is_missing ? part->is_missing : part->is_error))
            continue;
        if (errors.n == 0)
            errors.text = is_missing ? missing_text(x, &errors.score->value, node->row)
                                     : failure_text(x, &errors.score->value, node->row);
        count_error(&errors, node->node, errors.text);
    }
    add_errors(x, &errors);
}

int extender_explain(
    const View *view, int64_t now_nsec, const Pod *pod, Arena *arena, Explanation *ret) {
    uint32_t *rows = ARENA_RAW(arena, uint32_t, view->table->n_rows);
    size_t n = 0;

    *ret = (Explanation){0};
    if (!rows)
        return -ENOMEM;
    for (uint32_t row = 0; row < view->table->n_rows; row++)
        if (table_node(view->table, row))
            rows[n++] = row;
    return extender_explain_rows(view, now_nsec, pod, rows, n, arena, ret);
}

int extender_explain_rows(const View *view, int64_t now_nsec, const Pod *pod, const uint32_t *rows,
    size_t n, Arena *arena, Explanation *ret) {
    _cleanup_(arena_freep) Arena *scratch = arena_new(SCRATCH_BUDGET);
    _cleanup_(arena_freep) Arena *messages = arena_new(SCRATCH_BUDGET);
    const RequestTime time = {.now_nsec = now_nsec, .scratch = scratch};
    Explainer *x = ARENA_NEW(arena, Explainer);
    NodeSet *node_set = ARENA_NEW(arena, NodeSet);
    int r;

    assert(!view->facts.is_late);
    *ret = (Explanation){
        .explainer = x, .nodes = ARENA_ARRAY(arena, NodeExplanation, n), .n_nodes = n};
    if (!x || !scratch || !messages || !node_set || !ret->nodes)
        return -ENOMEM;
    *node_set = (NodeSet){.table = view->table, .facts = &view->facts};
    *x = (Explainer){.view = view, .arena = arena, .messages = messages, .result = ret};
    for (size_t i = 0; i < n; i++) {
        ret->nodes[i].row = rows[i];
        ret->nodes[i].node = view->table->names->names[rows[i]];
    }
    r = view_adjust(view, &time, pod, /* rows= */ NULL, 0, arena, node_set);
    if (r == 0) {
        x->input = view_judge_input(view, &time, node_set, pod, rows, n, arena);
        r = judge_open(&x->input, &x->judge);
    }
    if (r == 0)
        r = find_policies(x);
    if (r == 0)
        r = set_verdicts(x);
    if (r == 0)
        r = find_failures(x);
    if (r == 0)
        r = find_scores(x);
    for (size_t i = 0; r == 0 && i < 2 * ret->n_scores; i++)
        find_errors_of_score(x, i / 2, /* is_missing= */ i % 2);
    if (r == 0 && arena_has_failed(arena))
        r = -ENOMEM;                       /* a text may be missing */
    x->messages = x->input.scratch = NULL; /* freed on return */
    x->result = NULL;                      /* the caller may move it */
    return r;
}

int explain_failure(const Explanation *explanation, const NodeExplanation *node,
    const FailedRule *failed, Arena *arena, FailureDetails *ret) {
    Explainer *x = explanation->explainer;
    Probe **probe = &x->probes[failed->filter->number];
    int r = *probe ? 0 : probe_new(x->judge, &failed->filter->test, x->arena, probe);

    *ret = (FailureDetails){0};
    if (r == 0)
        r = probe_values(*probe, node->row, arena, ret->values, &ret->n_values);
    if (r == 0 && !x->remedies)
        r = remedies_new(x->judge, x->arena, &x->remedies);
    if (r == 0)
        r = remedies_find(
            x->remedies, failed->filter, node->row, arena, ret->remedies, &ret->n_remedies);
    return r;
}

int explain_bind(const Explanation *explanation, const NodeExplanation *node, Arena *arena,
    BindValue **ret, size_t *ret_n) {
    JudgeInput input = explanation->explainer->input;
    Judge *judge = NULL;
    int r;

    input.rows = &node->row;
    input.n = 1;
    input.arena = arena;
    r = judge_open(&input, &judge);
    return r == 0 ? judge_bind_annotations(judge, arena, ret, ret_n) : r;
}

int explain_values(const Explanation *explanation, const NodeExplanation *node,
    const Expression *expression, Arena *arena, CelLeaf *ret, size_t *ret_n) {
    Probe *probe;
    int r = probe_new(explanation->explainer->judge, expression, arena, &probe);

    *ret_n = 0;
    return r < 0 ? r : probe_values(probe, node->row, arena, ret, ret_n);
}

int explain_expression(const Explanation *explanation, const NodeExplanation *node,
    const Expression *expression, bool colour, Arena *arena, Buf *out) {
    Probe *probe;
    int r = probe_new(explanation->explainer->judge, expression, arena, &probe);

    return r < 0 ? r : probe_print(probe, node->row, colour, arena, out);
}

int extender_main_reason(const View *view, const RequestTime *time, const NodeSet *node_set,
    const Pod *pod, const uint32_t *rows, size_t n, Arena *arena, MainReason *ret) {
    JudgeInput input = view_judge_input(view, time, node_set, pod, rows, n, arena);
    uint16_t *verdicts = ARENA_RAW(arena, uint16_t, n + 1);
    Judge *judge = NULL;
    int r = verdicts ? judge_open(&input, &judge) : -ENOMEM;

    *ret = (MainReason){0};
    if (r == 0)
        r = judge_filters(judge, verdicts);
    for (size_t i = 0; r == 0 && i < n; i++)
        if (rows[i] == node_set->table->n_rows)
            verdicts[i] = VERDICT_UNKNOWN_NODE;
        else if (verdicts[i] == VERDICT_PASS)
            return 0;
    return r < 0 ? r : main_reason_find(judge, verdicts, ret);
}
