/* Opens a judge for one pod: its variables, the session, and the policies that apply. */

#include "judge/judge.h"

#include <errno.h>

#include "cel/code.h"
#include "judge/judge-internal.h"

/* Fuel of one evaluation: some milliseconds at most. NodeFacts use less (FACTS_FUEL). */
#define JUDGE_FUEL CEL_FUEL_DEFAULT

static int bind_variables(Judge *judge) {
    const JudgeInput *input = &judge->input;
    const Schema *schema = input->program->schema;

    judge->variables = ARENA_ARRAY(input->arena, CelValue, input->program->n_slots);
    if (!judge->variables)
        return -ENOMEM;
    judge->variables[schema->pod_slot] = schema_pod(input->pod, input->arena);
    judge->variables[schema->namespace_slot] = schema_namespace(input->pod, input->arena);
    judge->variables[schema->cluster_slot] = input->facts->cluster;
    judge->variables[schema->now_slot] = schema_now(input->now_nsec);
    for (size_t i = 0; i < input->program->n_policies; i++) {
        const SchemaMetrics *metrics = &input->program->policies[i].scope->metrics;

        if (metrics->workload_type.n_fields > 0)
            judge->variables[metrics->workload_slot] =
                schema_workload(metrics, input->table->loads, input->pod, input->arena);
    }
    return 0;
}

/* Looks up the objects that the pod refers to, if a policy reads them. */
static int find_related(Judge *judge) {
    JudgeInput *input = &judge->input;
    Pod *pod;
    Related *related;

    if (!input->program->related || !input->related)
        return 0;
    pod = ARENA_NEW(input->arena, Pod);
    related = ARENA_NEW(input->arena, Related);
    if (!pod || !related)
        return -ENOMEM;
    if (related_objects_find(input->related, input->pod, input->arena, related) < 0)
        return -ENOMEM;
    *pod = *input->pod;
    pod->related = related;
    input->pod = pod;
    return 0;
}

static int open_session(Judge *judge) {
    const JudgeInput *input = &judge->input;
    PlanSessionOptions options = {
        .table = &judge->rows,
        .blocks = input->facts->blocks,
        .totals = input->facts->whole,
        .n_rows = input->table->n_rows,
        .variables = judge->variables,
        .run = &judge->run,
        .fuel = JUDGE_FUEL,
        .deadline = {input->is_over, input->context},
        .scratch = input->scratch,
    };

    judge->rows = schema_table(input->program->schema, input->table);
    judge->run = CEL_RUN(input->arena);
    judge->run.zones = input->zones;
    return plan_session_new(input->program->plan, &options, input->arena, &judge->session);
}

/* Evaluates an expression of policy @i's match; one that is not given is true. */
static int match_expression(Judge *judge, size_t i, const Expression *expression, uint32_t root) {
    const Policy *policy = &judge->input.program->policies[i];
    CelValue value;
    int r;

    if (!judge->match.applies[i] || !expression_is_given(expression))
        return 0;
    r = judge->session ? plan_session_once(judge->session, root, &value) : PLAN_DEADLINE_PASSED;
    if (r == PLAN_DEADLINE_PASSED) { /* onTimeout decides */
        judge->match.applies[i] = policy->on_timeout == FALLBACK_REJECT;
        judge->notes.n_late = judge->input.n;
        return 0;
    }
    if (r < 0)
        return r;
    judge->match.applies[i] = cel_is_true(value);
    judge->match.unmet[i] = judge->match.applies[i] ? NULL : expression;
    if (value.kind == CEL_ERROR) {
        judge->match.errors[i] = value.error;
        judge->notes.match_errors = judge->match.errors;
    }
    return 0;
}

static void note_applying(JudgeMatch *match, const Policy *policy) {
    if (policy->is_observed) {
        match->has_observed |= policy->n_filters > 0;
        return;
    }
    match->has_filters |= policy->n_filters > 0;
    match->has_scores |= policy->n_scores > 0;
    if (policy->wire_max > match->wire_max)
        match->wire_max = policy->wire_max;
    if (policy->narrow_to > 0 && (match->narrow_to == 0 || policy->narrow_to < match->narrow_to))
        match->narrow_to = policy->narrow_to;
}

static int match_policy(Judge *judge, size_t i) {
    const Policy *policy = &judge->input.program->policies[i];
    const Match *match = &policy->match;
    int r;

    judge->match.applies[i] = policy_selects(policy, judge->input.pod);
    r = match_expression(judge, i, &match->namespace_test, match->namespace_root);
    if (r == 0)
        r = match_expression(judge, i, &match->expression, match->root);
    if (r == 0 && judge->match.applies[i])
        note_applying(&judge->match, policy);
    return r;
}

int judge_open(const JudgeInput *input, Judge **ret) {
    const Program *program = input->program;
    Judge *judge = ARENA_NEW(input->arena, Judge);
    int r;

    if (!judge)
        return -ENOMEM;
    judge->input = *input;
    judge->notes.is_exempt = input->is_exempt;
    judge->match.wire_max = WIRE_MAX_DEFAULT;
    judge->match.applies = ARENA_ARRAY(input->arena, uint8_t, program->n_policies);
    judge->match.errors = ARENA_ARRAY(input->arena, const CelError *, program->n_policies);
    judge->match.unmet = ARENA_ARRAY(input->arena, const Expression *, program->n_policies);
    if (!judge->match.applies || !judge->match.errors || !judge->match.unmet)
        return -ENOMEM;
    r = find_related(judge);
    if (r == 0)
        r = bind_variables(judge);
    if (r == 0 && !input->facts->is_late)
        r = open_session(judge);
    for (size_t i = 0; r == 0 && i < program->n_policies && !input->is_exempt; i++)
        r = match_policy(judge, i);
    if (r == 0)
        *ret = judge;
    return r;
}

const JudgeMatch *judge_match(const Judge *judge) {
    return &judge->match;
}

bool judge_applies(const Judge *judge, const Policy *policy) {
    return judge->match.applies[policy - judge->input.program->policies];
}

JudgeNotes judge_notes(const Judge *judge) {
    return judge->notes;
}

CelRun *judge_run_new(const Judge *judge, Arena *arena) {
    CelRun *run = ARENA_NEW(arena, CelRun);

    if (!run)
        return NULL;
    *run = CEL_RUN(arena);
    run->fuel = JUDGE_FUEL;
    run->zones = judge->input.zones;
    return run;
}

CelValue judge_value(Judge *judge, const Expression *expression, uint32_t row, Arena *arena) {
    CelRun *run = judge_run_new(judge, arena);
    uint32_t slot = judge->input.program->schema->node_slot;
    CelValue value;

    if (!run)
        return (CelValue){.kind = CEL_ERROR, .error = cel_memory_error(arena)};
    judge->variables[slot] = schema_node(judge->input.table, row, arena);
    value = cel_run(expression->code, run, judge->variables);
    judge->variables[slot] = cel_absent();
    return value;
}

const CelError *judge_error(
    Judge *judge, const Expression *expression, uint32_t row, Arena *arena) {
    CelValue value = judge_value(judge, expression, row, arena);
    CelRun *run;

    if (value.kind == CEL_ERROR)
        return value.error;
    run = judge_run_new(judge, arena);
    return run ? cel_exhausted(run).error : cel_memory_error(arena);
}
