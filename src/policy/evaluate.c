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

static bool is_selective(const Filter *filter) {
    return filter->kind->is_selective && filter->kind->is_selective(filter->config);
}

static int build_failing(
    const Policy *policy, const Batch *batch, uint8_t *pass, const uint16_t **ret) {
    uint16_t *failing = NULL;

    for (size_t i = 0; i < policy->n_filters; i++) {
        const Filter *filter = &policy->filters[i];
        int r;

        if (filter->kind->class != RULE_NODE || is_selective(filter))
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

static int build_passing(const Filter *filter, const Batch *batch, const uint8_t **ret) {
    uint8_t *pass;

    if (filter->kind->class != RULE_NODE || !is_selective(filter))
        return 0;
    pass = ARENA_RAW(batch->arena, uint8_t, batch->n);
    if (!pass)
        return error_origin(-ENOMEM);
    *ret = pass;
    return error_trace(filter->kind->judge(filter->config, batch, pass));
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

int facts_build(
    const Program *program, const NodeTable *table, FactsOf of, Arena *arena, Facts *ret) {
    Batch batch = {
        .table = table,
        .rows = all_rows(table, arena),
        .n = table->n_rows + 1,
        .arena = arena,
    };
    uint8_t *pass = ARENA_ARRAY(arena, uint8_t, batch.n);
    int r = 0;

    ret->failing = ARENA_ARRAY(arena, const uint16_t *, program->n_policies);
    ret->passing = ARENA_ARRAY(arena, const uint8_t *, program->n_filters);
    ret->scores = ARENA_ARRAY(arena, const double *, program->n_scores);
    if (!batch.rows || !pass || !ret->failing || !ret->passing || !ret->scores)
        return error_origin(-ENOMEM);
    for (size_t i = 0; (of & FACTS_OF_FILTERS) && r == 0 && i < program->n_policies; i++)
        r = build_failing(&program->policies[i], &batch, pass, &ret->failing[i]);
    for (size_t i = 0; (of & FACTS_OF_FILTERS) && r == 0 && i < program->n_filters; i++)
        r = build_passing(program->filters[i], &batch, &ret->passing[i]);
    for (size_t i = 0; (of & FACTS_OF_SCORES) && r == 0 && i < program->n_scores; i++)
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

/* One filter over the rows that are asked about, known beforehand or not. */
static int judge(const Question *question, const Filter *filter, uint8_t *ret_pass) {
    const uint8_t *known = question->facts->passing[filter->number];
    Batch batch = batch_of(question);

    if (!known)
        return error_trace(filter->kind->judge(filter->config, &batch, ret_pass));
    for (size_t i = 0; i < question->n; i++)
        ret_pass[i] = known[question->rows[i]];
    return 0;
}

static bool filter_applies(const Filter *filter, const Pod *pod) {
    return !is_selective(filter) || filter->kind->applies(filter->config, pod);
}

static int apply_policy(
    const Question *question, size_t number, uint8_t *pass, uint16_t *verdicts) {
    const Policy *policy = &question->program->policies[number];

    if (question->facts->failing[number])
        apply_failing(question, question->facts->failing[number], verdicts);
    for (size_t i = 0; i < policy->n_filters; i++) {
        const Filter *filter = &policy->filters[i];
        int r;

        if (filter->kind->class == RULE_NODE && !is_selective(filter))
            continue; /* among the failing ones above */
        if (!filter_applies(filter, question->pod))
            continue;
        r = judge(question, filter, pass);
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
            pass = ARENA_RAW(question->arena, uint8_t, question->n);
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

static bool has_filters(const Program *program, const Pod *pod, bool observed) {
    for (size_t i = 0; i < program->n_policies; i++)
        if (program->policies[i].is_observed == observed && program->policies[i].n_filters > 0 &&
            policy_matches(&program->policies[i], pod))
            return true;
    return false;
}

bool evaluate_has_filters(const Program *program, const Pod *pod) {
    return has_filters(program, pod, /* observed= */ false);
}

bool evaluate_has_observed(const Program *program, const Pod *pod) {
    return has_filters(program, pod, /* observed= */ true);
}

int evaluate_filter(const Question *question, const Filter *filter, uint8_t *ret_pass) {
    if (filter_applies(filter, question->pod))
        return error_trace(judge(question, filter, ret_pass));
    memset(ret_pass, 1, question->n);
    return 0;
}

/* --- scores --------------------------------------------------------------- */

static bool score_applies(const Score *score, const Pod *pod) {
    return !score->policy->is_observed && policy_matches(score->policy, pod);
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

/* totals[i] += share * the rule's value; the first rule sets them. @values is
 * scratch for rules that are not known beforehand. */
static int add_score(const Question *question, const Score *score, double share, bool is_first,
    double *values, double *totals) {
    const double *known = question->facts->scores[score->number];
    int r = known ? 0 : evaluate_score(question, score, values);

    if (r < 0)
        return error_trace(r);
    if (is_first && known)
        for (size_t i = 0; i < question->n; i++)
            totals[i] = share * known[question->rows[i]];
    else if (is_first)
        for (size_t i = 0; i < question->n; i++)
            totals[i] = share * values[i];
    else if (known)
        for (size_t i = 0; i < question->n; i++)
            totals[i] += share * known[question->rows[i]];
    else
        for (size_t i = 0; i < question->n; i++)
            totals[i] += share * values[i];
    return 0;
}

int evaluate_scores(const Question *question, bool *ret_any, double *ret_scores) {
    const Program *program = question->program;
    double *values = ARENA_RAW(question->arena, double, question->n);
    double weights = 0;

    if (!values)
        return error_origin(-ENOMEM);
    for (size_t i = 0; i < program->n_scores; i++)
        if (score_applies(program->scores[i], question->pod))
            weights += program->scores[i]->weight;
    *ret_any = false;
    for (size_t i = 0; i < program->n_scores; i++) {
        const Score *score = program->scores[i];
        int r;

        if (!score_applies(score, question->pod))
            continue;
        r = add_score(question, score, score->weight / weights, !*ret_any, values, ret_scores);
        if (r < 0)
            return error_trace(r);
        *ret_any = true;
    }
    return 0;
}
