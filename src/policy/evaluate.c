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

/* --- filters -------------------------------------------------------------- */

static void note_failures(const Filter *filter, const uint8_t *pass, size_t n, uint16_t *verdicts) {
    uint16_t number = filter->number;

    for (size_t i = 0; i < n; i++) {
        uint16_t said = pass[i] ? VERDICT_PASS : number;

        verdicts[i] = verdicts[i] < said ? verdicts[i] : said;
    }
}

/* What was worked out beforehand, for the rows that are asked about. */
static void apply_failing(const Question *question, size_t failing, uint16_t *verdicts) {
    const Facts *facts = question->facts;

    for (size_t i = 0; i < question->n; i++) {
        uint32_t row = question->rows[i];
        uint16_t said = FACTS_COLUMN(facts, row, failing, uint16_t)[table_slot(row)];

        verdicts[i] = verdicts[i] < said ? verdicts[i] : said;
    }
}

/* One filter over the rows that are asked about, known beforehand or not. */
static int judge(const Question *question, const Filter *filter, uint8_t *ret_pass) {
    const Facts *facts = question->facts;
    size_t known = facts->layout.passing[filter->number];
    Batch batch = batch_of(question);

    if (known == FACTS_NONE)
        return error_trace(filter->kind->judge(filter->config, &batch, ret_pass));
    for (size_t i = 0; i < question->n; i++) {
        uint32_t row = question->rows[i];

        ret_pass[i] = FACTS_COLUMN(facts, row, known, uint8_t)[table_slot(row)];
    }
    return 0;
}

static bool filter_applies(const Filter *filter, const Pod *pod) {
    return !filter_is_selective(filter) || filter->kind->applies(filter->config, pod);
}

static int apply_policy(
    const Question *question, size_t number, uint8_t *pass, uint16_t *verdicts) {
    const Policy *policy = &question->program->policies[number];

    if (question->facts->layout.failing[number] != FACTS_NONE)
        apply_failing(question, question->facts->layout.failing[number], verdicts);
    for (size_t i = 0; i < policy->n_filters; i++) {
        const Filter *filter = &policy->filters[i];
        int r;

        if (filter->kind->class == RULE_NODE && !filter_is_selective(filter))
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

int evaluate_filters(const Question *question, uint16_t *ret_verdicts) {
    bool any;
    int r = apply_policies(question, /* observed= */ false, &any, ret_verdicts);

    if (r < 0)
        return error_trace(r);
    if (!any)
        memset(ret_verdicts, 0xff, question->n * sizeof(*ret_verdicts));
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

/* Values that were worked out beforehand, for the rows that are asked about. */
static void known_scores(const Question *question, size_t known, double *ret_scores) {
    const Facts *facts = question->facts;

    for (size_t i = 0; i < question->n; i++) {
        uint32_t row = question->rows[i];

        ret_scores[i] = FACTS_COLUMN(facts, row, known, double)[table_slot(row)];
    }
}

int evaluate_score(const Question *question, const Score *score, double *ret_scores) {
    size_t known = question->facts->layout.scores[score->number];
    Batch batch = batch_of(question);

    if (known == FACTS_NONE)
        return error_trace(score->kind->score(score->config, &batch, ret_scores));
    known_scores(question, known, ret_scores);
    return 0;
}

/* totals[i] += share * what is known of row i: no copy of it is made. */
static void add_known(const Question *question, size_t known, double share, double *totals) {
    const Facts *facts = question->facts;

    for (size_t i = 0; i < question->n; i++) {
        uint32_t row = question->rows[i];

        totals[i] += share * FACTS_COLUMN(facts, row, known, double)[table_slot(row)];
    }
}

/* totals[i] += share * the rule's value. @values is scratch. */
static int add_score(
    const Question *question, const Score *score, double share, double *values, double *totals) {
    size_t known = question->facts->layout.scores[score->number];
    int r;

    if (known != FACTS_NONE) {
        add_known(question, known, share, totals);
        return 0;
    }
    r = evaluate_score(question, score, values);
    if (r < 0)
        return error_trace(r);
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
        if (!*ret_any)
            memset(ret_scores, 0, question->n * sizeof(*ret_scores));
        *ret_any = true;
        r = add_score(question, score, score->weight / weights, values, ret_scores);
        if (r < 0)
            return error_trace(r);
    }
    return 0;
}
