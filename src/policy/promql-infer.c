/*
 * A query is evaluated as if its series had known values, of two nodes. The result tells what the
 * query returns: three quarters is a share of what is used, 75 a percentage, the amount that is
 * used an amount; a quarter is what is free, and no load.
 *
 * Only series, functions and labels of the tables in promql-series.c are known, and each only where
 * it keeps the meaning: a mean over cores does, the busiest core does not. Anything else ends the
 * evaluation without a result.
 */

#include <math.h>
#include <stddef.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/double.h"
#include "policy/promql-internal.h"

#define TERMS_MAX 32u /* open parentheses and pending operands */

static const char *const grouping_words[] = {
    "by", "without", "on", "ignoring", "group_left", "group_right"};

/* --- evaluation ----------------------------------------------------------------------------- */

typedef struct Term {
    double at[PROMQL_PROBES];
    const PromqlSeries *series; /* a series and nothing done to it but functions; else NULL */
    bool is_number;
    bool is_join;
    bool is_rate;
    bool is_of_cores; /* a mean over the cores is still to come */
    uint8_t resources;
    uint8_t may; /* Aggregates that may follow */
} Term;

/* '(' with its function, or an operator whose right side is to come. */
typedef struct PendingOperator {
    char op;
    const PromqlFunction *function;
    size_t base;   /* '(': terms below it */
    bool has_more; /* '(': behind a comma */
} PendingOperator;

typedef struct Evaluation {
    Str text;
    Term terms[TERMS_MAX];
    size_t n_terms;
    PendingOperator pending[TERMS_MAX];
    size_t n_pending;
    const PromqlFunction *function; /* its parenthesis is to come */
    bool has_operand;               /* an operator may follow */
    int64_t range_nsec;
} Evaluation;

static bool push_term(Evaluation *evaluation, const Term *term) {
    if (evaluation->has_operand || evaluation->function || evaluation->n_terms == TERMS_MAX)
        return false;
    evaluation->terms[evaluation->n_terms++] = *term;
    evaluation->has_operand = true;
    return true;
}

static bool push_pending(Evaluation *evaluation, const PendingOperator *pending) {
    if (evaluation->n_pending == TERMS_MAX)
        return false;
    evaluation->pending[evaluation->n_pending++] = *pending;
    return true;
}

static double calculate(char op, double a, double b) {
    switch (op) {
    case '+':
        return a + b;
    case '-':
        return a - b;
    case '*':
        return a * b;
    default:
        return a / b;
    }
}

/* A join is a factor that adds labels; a count of seconds means nothing beside others. */
static bool combine(char op, const Term *a, const Term *b, Term *ret) {
    if (a->is_join || b->is_join) {
        *ret = a->is_join ? *b : *a;
        return op == '*' && !(a->is_join && b->is_join);
    }
    if ((a->series && a->series->is_counter && !a->is_rate) ||
        (b->series && b->series->is_counter && !b->is_rate))
        return false;
    *ret = (Term){
        .is_number = a->is_number && b->is_number,
        .is_of_cores = a->is_of_cores || b->is_of_cores,
        .resources = a->resources | b->resources,
        .may = (uint8_t)(a->may & b->may & ~AGG_SUM),
    };
    for (size_t i = 0; i < PROMQL_PROBES; i++)
        ret->at[i] = calculate(op, a->at[i], b->at[i]);
    return true;
}

static int rank_of(char op) {
    return op == '(' ? 0 : op == '+' || op == '-' ? 1 : 2;
}

/* Applies the pending operators that bind at least as strongly as @rank. */
static bool reduce(Evaluation *evaluation, int rank) {
    while (evaluation->n_pending > 0 &&
           rank_of(evaluation->pending[evaluation->n_pending - 1].op) >= rank) {
        char op = evaluation->pending[--evaluation->n_pending].op;
        Term result;

        if (evaluation->n_terms < 2 || !combine(op, &evaluation->terms[evaluation->n_terms - 2],
                                           &evaluation->terms[evaluation->n_terms - 1], &result))
            return false;
        evaluation->terms[--evaluation->n_terms - 1] = result;
    }
    return true;
}

static bool aggregate(Term *term, PromqlAggregate by) {
    if (term->is_number || !(term->may & by))
        return false;
    if (term->series)
        term->may = term->series->then;
    term->is_of_cores = false; /* such terms may be averaged only */
    return true;
}

static bool apply(const PromqlFunction *function, Term *term) {
    bool is_counted = term->series && term->series->is_counter && !term->is_rate;

    switch (function->kind) {
    case FUNCTION_RATE:
    case FUNCTION_IRATE:
        term->is_rate = true;
        return is_counted;
    case FUNCTION_AGGREGATES:
        return !is_counted && aggregate(term, function->aggregate);
    default:
        return !is_counted;
    }
}

static bool close_parenthesis(Evaluation *evaluation) {
    const PendingOperator *open;

    if (!reduce(evaluation, 1) || evaluation->n_pending == 0)
        return false;
    open = &evaluation->pending[--evaluation->n_pending];
    if (evaluation->n_terms <= open->base ||
        (!open->has_more && (evaluation->n_terms != open->base + 1 || !evaluation->has_operand)))
        return false;
    evaluation->n_terms = open->base + 1;
    evaluation->has_operand = true;
    return !open->function || apply(open->function, &evaluation->terms[open->base]);
}

/* The other arguments change labels, or clamp the value. */
static bool pass_comma(Evaluation *evaluation) {
    PendingOperator *open;

    if (!reduce(evaluation, 1) || evaluation->n_pending == 0)
        return false;
    open = &evaluation->pending[evaluation->n_pending - 1];
    open->has_more = true;
    evaluation->has_operand = false;
    return open->function && open->function->kind == FUNCTION_KEEPS &&
           evaluation->n_terms > open->base;
}

static bool add_operator(Evaluation *evaluation, char op) {
    PendingOperator pending = {.op = op};

    if (!evaluation->has_operand || !reduce(evaluation, rank_of(op)))
        return false;
    evaluation->has_operand = false;
    return push_pending(evaluation, &pending);
}

static bool open_parenthesis(Evaluation *evaluation) {
    PendingOperator pending = {
        .op = '(', .function = evaluation->function, .base = evaluation->n_terms};

    evaluation->function = NULL;
    return !evaluation->has_operand && push_pending(evaluation, &pending);
}

/* --- series ---------------------------------------------------------------------------------- */

/* The matchers behind a name, after the opening brace. */
static bool read_matchers(Str *text, bool *ret_is_idle) {
    for (;;) {
        PromqlMatcher matcher;

        promql_skip_space(text);
        if (text->len > 0 && (text->ptr[0] == '}' || text->ptr[0] == ',')) {
            if (promql_cut(text, 1).ptr[0] == '}')
                return true;
            continue;
        }
        if (!promql_cut_matcher(text, &matcher))
            return false;
        if (str_is(matcher.label, "mode") && str_is(matcher.op, "=") &&
            str_is(matcher.value, "idle"))
            *ret_is_idle = true;
        else if (!promql_keeps_all(&matcher))
            return false;
    }
}

static bool add_series(Evaluation *evaluation, Str name) {
    const PromqlSeries *series = promql_series(name);
    bool is_idle = false;
    Term term;

    if (!series)
        return false;
    promql_skip_space(&evaluation->text);
    if (str_has_prefix(evaluation->text, STR("{"))) {
        (void)promql_cut(&evaluation->text, 1);
        if (!read_matchers(&evaluation->text, &is_idle))
            return false;
    }
    if (series->range_nsec > evaluation->range_nsec)
        evaluation->range_nsec = series->range_nsec;
    term = (Term){
        .series = series,
        .is_join = series->resource == 0,
        .is_of_cores = series->is_idle,
        .resources = series->resource,
        .may = series->first,
    };
    for (size_t i = 0; i < PROMQL_PROBES; i++)
        term.at[i] = series->at[i];
    return is_idle == series->is_idle && push_term(evaluation, &term);
}

/* --- the whole ------------------------------------------------------------------------------- */

static bool is_grouping(Str word) {
    for (size_t i = 0; i < ELEMENTS_OF(grouping_words); i++)
        if (str_eq_nocase(word, str_from_c(grouping_words[i])))
            return true;
    return false;
}

/* group_left may stand alone. */
static bool skip_grouping(Evaluation *evaluation) {
    promql_skip_space(&evaluation->text);
    return !str_has_prefix(evaluation->text, STR("(")) || promql_skip_labels(&evaluation->text);
}

static bool add_word(Evaluation *evaluation) {
    Str word = promql_cut_word(&evaluation->text);
    const PromqlFunction *function;

    if (is_grouping(word))
        return skip_grouping(evaluation);
    function = promql_function(word);
    if (!function)
        return add_series(evaluation, word);
    if (evaluation->function || evaluation->has_operand)
        return false;
    evaluation->function = function;
    return true;
}

static bool add_number(Evaluation *evaluation) {
    Term term = {.is_number = true, .may = AGG_ANY};
    bool is_over = false;
    size_t n = 0;
    double value;

    while (n < evaluation->text.len &&
           (ascii_is_digit(evaluation->text.ptr[n]) || evaluation->text.ptr[n] == '.'))
        n++;
    if (!double_parse(promql_cut(&evaluation->text, n), &value, &is_over) || is_over)
        return false;
    for (size_t i = 0; i < PROMQL_PROBES; i++)
        term.at[i] = value;
    return push_term(evaluation, &term);
}

/* irate() looks at the last two samples in it, whatever its length. */
static bool add_range(Evaluation *evaluation) {
    const PendingOperator *open =
        evaluation->n_pending > 0 ? &evaluation->pending[evaluation->n_pending - 1] : NULL;
    bool is_last =
        open && open->op == '(' && open->function && open->function->kind == FUNCTION_IRATE;
    int64_t range;
    size_t end;

    promql_skip_space(&evaluation->text);
    range = promql_cut_duration(&evaluation->text);
    if (!is_last && range > evaluation->range_nsec)
        evaluation->range_nsec = range;
    end = str_find(evaluation->text, ']');
    (void)promql_cut(&evaluation->text, end == SIZE_MAX ? evaluation->text.len : end + 1);
    return evaluation->has_operand && end != SIZE_MAX && range > 0;
}

static bool add_token(Evaluation *evaluation) {
    char c = evaluation->text.ptr[0];
    Str ignored;

    if (promql_is_letter(c))
        return add_word(evaluation);
    if (ascii_is_digit(c))
        return add_number(evaluation);
    if (promql_is_quote(c)) /* an argument: what follows a comma is checked there */
        return evaluation->n_pending > 0 &&
               evaluation->pending[evaluation->n_pending - 1].has_more &&
               promql_cut_string(&evaluation->text, &ignored);
    (void)promql_cut(&evaluation->text, 1);
    switch (c) {
    case '(':
        return open_parenthesis(evaluation);
    case ')':
        return close_parenthesis(evaluation);
    case '[':
        return add_range(evaluation);
    case ',':
        return pass_comma(evaluation);
    case '+':
    case '-':
    case '*':
    case '/':
        return add_operator(evaluation, c);
    default:
        return false;
    }
}

static bool is_near(const Term *term, const double *wanted, double factor) {
    for (size_t i = 0; i < PROMQL_PROBES; i++)
        if (!(fabs(term->at[i] - wanted[i] * factor) < 1e-9))
            return false;
    return true;
}

static bool find_unit(const Term *term, GaugeUnit *ret) {
    const PromqlUsed *used =
        term->resources == PROMQL_OF_CPU ? &promql_used_cpu : &promql_used_memory;

    if (is_near(term, used->share, 1))
        *ret = GAUGE_FRACTION;
    else if (is_near(term, used->share, 100))
        *ret = GAUGE_PERCENT;
    else if (is_near(term, used->amount, 1))
        *ret = GAUGE_AMOUNT;
    else
        return false;
    return true;
}

PromqlLoad promql_infer_load(Str query) {
    static const PromqlLoad none = {0};
    Evaluation evaluation = {.text = query};
    PromqlLoad found = {.is_load = true};
    const Term *term = &evaluation.terms[0];

    promql_skip_space(&evaluation.text);
    while (evaluation.text.len > 0) {
        if (!add_token(&evaluation))
            return none;
        promql_skip_space(&evaluation.text);
    }
    if (!reduce(&evaluation, 1) || evaluation.n_pending > 0 || evaluation.n_terms != 1 ||
        evaluation.function || !evaluation.has_operand)
        return none;
    if ((term->resources != PROMQL_OF_CPU && term->resources != PROMQL_OF_MEMORY) ||
        term->is_of_cores || (term->series && term->series->is_counter && !term->is_rate) ||
        !find_unit(term, &found.unit))
        return none;
    found.resource = term->resources == PROMQL_OF_CPU ? STR("cpu") : STR("memory");
    found.range_nsec = evaluation.range_nsec;
    return found;
}
