#include "policy/evaluate.h"

#include <errno.h>

#include "base/error.h"

static Batch batch_of(const Question *question) {
    return (Batch){
        .table = question->table,
        .rows = question->rows,
        .n = question->n,
        .pod = question->pod,
        .arena = question->arena,
    };
}

/* --- facts ---------------------------------------------------------------- */

/* Every row of the table, the unknown node last. */
static const uint32_t *all_rows(const NodeTable *table, Arena *arena) {
    uint32_t *rows = ARENA_ARRAY(arena, uint32_t, table->n_rows + 1);

    for (size_t i = 0; rows && i <= table->n_rows; i++)
        rows[i] = (uint32_t)i;
    return rows;
}

static void note_failures(const Filter *filter, const uint8_t *pass, size_t n, uint16_t *verdicts) {
    uint16_t number = filter->number;

    for (size_t i = 0; i < n; i++) {
        uint16_t said = pass[i] ? VERDICT_PASS : number;

        verdicts[i] = verdicts[i] < said ? verdicts[i] : said;
    }
}

static int build_failing(
    const Policy *policy, const Batch *batch, uint8_t *pass, const uint16_t **ret) {
    uint16_t *failing = NULL;

    for (size_t i = 0; i < policy->n_filters; i++) {
        const Filter *filter = &policy->filters[i];
        int r;

        if (filter->kind->class != RULE_NODE)
            continue;
        if (!failing) {
            failing = ARENA_ARRAY(batch->arena, uint16_t, batch->n);
            if (!failing)
                return error_origin(-ENOMEM);
            memset(failing, 0xff, batch->n * sizeof(*failing)); /* VERDICT_PASS */
        }
        r = filter->kind->judge(filter->config, batch, pass);
        if (r < 0)
            return error_trace(r);
        note_failures(filter, pass, batch->n, failing);
    }
    *ret = failing;
    return 0;
}

static int build_score(const Score *score, const Batch *batch, const double **ret) {
    double *values;

    if (score->kind->class != RULE_NODE)
        return 0;
    values = ARENA_ARRAY(batch->arena, double, batch->n);
    if (!values)
        return error_origin(-ENOMEM);
    *ret = values;
    return error_trace(score->kind->score(score->config, batch, values));
}

int facts_build(const Program *program, const NodeTable *table, Arena *arena, Facts *ret) {
    Batch batch = {
        .table = table,
        .rows = all_rows(table, arena),
        .n = table->n_rows + 1,
        .arena = arena,
    };
    uint8_t *pass = ARENA_ARRAY(arena, uint8_t, batch.n);
    int r = 0;

    ret->failing = ARENA_ARRAY(arena, const uint16_t *, program->n_policies);
    ret->scores = ARENA_ARRAY(arena, const double *, program->n_scores);
    if (!batch.rows || !pass || !ret->failing || !ret->scores)
        return error_origin(-ENOMEM);
    for (size_t i = 0; r == 0 && i < program->n_policies; i++)
        r = build_failing(&program->policies[i], &batch, pass, &ret->failing[i]);
    for (size_t i = 0; r == 0 && i < program->n_scores; i++)
        r = build_score(program->scores[i], &batch, &ret->scores[i]);
    return error_trace(r);
}

/* --- filters -------------------------------------------------------------- */

/* What was worked out beforehand, for the rows that are asked about. */
static void apply_failing(const Question *question, const uint16_t *failing, uint16_t *verdicts) {
    for (size_t i = 0; i < question->n; i++) {
        uint16_t said = failing[question->rows[i]];

        verdicts[i] = verdicts[i] < said ? verdicts[i] : said;
    }
}

static int apply_policy(
    const Question *question, size_t number, uint8_t *pass, uint16_t *verdicts) {
    const Policy *policy = &question->program->policies[number];
    Batch batch = batch_of(question);

    if (question->facts->failing[number])
        apply_failing(question, question->facts->failing[number], verdicts);
    for (size_t i = 0; i < policy->n_filters; i++) {
        const Filter *filter = &policy->filters[i];
        int r;

        if (filter->kind->class == RULE_NODE)
            continue;
        r = filter->kind->judge(filter->config, &batch, pass);
        if (r < 0)
            return error_trace(r);
        note_failures(filter, pass, question->n, verdicts);
    }
    return 0;
}

/* All policies that apply, those in mode Observe or the others. */
static int apply_policies(
    const Question *question, bool observed, bool *ret_any, uint16_t *verdicts) {
    const Program *program = question->program;
    uint8_t *pass = NULL;

    *ret_any = false;
    for (size_t i = 0; i < program->n_policies; i++) {
        const Policy *policy = &program->policies[i];
        int r;

        if (policy->is_observed != observed || policy->n_filters == 0 ||
            !policy_matches(policy, question->pod))
            continue;
        if (!*ret_any) {
            pass = ARENA_ARRAY(question->arena, uint8_t, question->n);
            if (!pass)
                return error_origin(-ENOMEM);
            memset(verdicts, 0xff, question->n * sizeof(*verdicts)); /* VERDICT_PASS */
            *ret_any = true;
        }
        r = apply_policy(question, i, pass, verdicts);
        if (r < 0)
            return error_trace(r);
    }
    return 0;
}

/* Unresolvable filters have the lowest numbers, so a verdict by another filter
 * says that none of them failed. */
static void drop_resolvable(const Program *program, size_t n, uint16_t *verdicts) {
    for (size_t i = 0; i < n; i++)
        if (verdicts[i] != VERDICT_PASS && !program->filters[verdicts[i]]->is_unresolvable)
            verdicts[i] = VERDICT_PASS;
}

int evaluate_filters(const Question *question, bool only_unresolvable, uint16_t *ret_verdicts) {
    bool any;
    int r = apply_policies(question, /* observed= */ false, &any, ret_verdicts);

    if (r < 0)
        return error_trace(r);
    if (!any)
        memset(ret_verdicts, 0xff, question->n * sizeof(*ret_verdicts));
    else if (only_unresolvable)
        drop_resolvable(question->program, question->n, ret_verdicts);
    return 0;
}

int evaluate_observed(const Question *question, bool *ret_any, uint16_t *ret_verdicts) {
    return error_trace(apply_policies(question, /* observed= */ true, ret_any, ret_verdicts));
}

bool evaluate_has_filters(const Program *program, const Pod *pod) {
    for (size_t i = 0; i < program->n_policies; i++)
        if (!program->policies[i].is_observed && program->policies[i].n_filters > 0 &&
            policy_matches(&program->policies[i], pod))
            return true;
    return false;
}

int evaluate_filter(const Question *question, const Filter *filter, uint8_t *ret_pass) {
    Batch batch = batch_of(question);

    return error_trace(filter->kind->judge(filter->config, &batch, ret_pass));
}

/* --- scores --------------------------------------------------------------- */

bool evaluate_has_scores(const Program *program, const Pod *pod) {
    for (size_t i = 0; i < program->n_scores; i++)
        if (!program->scores[i]->policy->is_observed &&
            policy_matches(program->scores[i]->policy, pod))
            return true;
    return false;
}

int evaluate_score(const Question *question, const Score *score, double *ret_scores) {
    const double *known = question->facts->scores[score->number];
    Batch batch = batch_of(question);

    if (!known)
        return error_trace(score->kind->score(score->config, &batch, ret_scores));
    for (size_t i = 0; i < question->n; i++)
        ret_scores[i] = known[question->rows[i]];
    return 0;
}

int evaluate_scores(const Question *question, bool *ret_any, double *ret_scores) {
    const Program *program = question->program;
    double *values = NULL;
    double weights = 0;

    *ret_any = false;
    for (size_t i = 0; i < program->n_scores; i++) {
        const Score *score = program->scores[i];
        int r;

        if (score->policy->is_observed || !policy_matches(score->policy, question->pod))
            continue;
        if (!*ret_any) {
            values = ARENA_ARRAY(question->arena, double, question->n);
            if (!values)
                return error_origin(-ENOMEM);
            memset(ret_scores, 0, question->n * sizeof(*ret_scores));
            *ret_any = true;
        }
        r = evaluate_score(question, score, values);
        if (r < 0)
            return error_trace(r);
        for (size_t j = 0; j < question->n; j++)
            ret_scores[j] += score->weight * values[j];
        weights += score->weight;
    }
    for (size_t j = 0; *ret_any && j < question->n; j++)
        ret_scores[j] /= weights;
    return 0;
}
