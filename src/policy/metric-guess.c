/*
 * A query is worked out as if its series had known values: of a node that is a quarter idle, and
 * of another one. What comes of it says what the query is: three quarters is a share of what is
 * used, 75 a percentage, the amount that is used an amount; a quarter is what is free, and no load.
 *
 * Only series, functions and labels of the tables in promql.c are understood, and each only where
 * it keeps the meaning: a mean over cores does, the busiest core does not. The first thing that is
 * not understood ends the guess.
 */

#include "policy/metric-guess.h"

#include <math.h>
#include <stddef.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/double.h"
#include "policy/promql-text.h"
#include "policy/promql.h"

#define TERMS_MAX 32u /* parentheses and operands that wait: more is nobody's query of a load */

static const char *const grouping_words[] = {
    "by", "without", "on", "ignoring", "group_left", "group_right"};

/* --- working it out ------------------------------------------------------------------------- */

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

/* '(' with its function, or an operator that waits for its right side. */
typedef struct Waiting {
    char op;
    const PromqlFunction *function;
    size_t base;   /* '(': terms below it */
    bool has_more; /* '(': behind a comma */
} Waiting;

typedef struct Guess {
    Str text;
    Term terms[TERMS_MAX];
    size_t n_terms;
    Waiting waiting[TERMS_MAX];
    size_t n_waiting;
    const PromqlFunction *function; /* its parenthesis is to come */
    bool has_operand;               /* what stands left is one: an operator may follow */
    int64_t range_nsec;
} Guess;

static bool push_term(Guess *guess, const Term *term) {
    if (guess->has_operand || guess->function || guess->n_terms == TERMS_MAX)
        return false;
    guess->terms[guess->n_terms++] = *term;
    guess->has_operand = true;
    return true;
}

static bool push_waiting(Guess *guess, const Waiting *waiting) {
    if (guess->n_waiting == TERMS_MAX)
        return false;
    guess->waiting[guess->n_waiting++] = *waiting;
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

/* Works out what waits and binds at least as strongly as @rank. */
static bool reduce(Guess *guess, int rank) {
    while (guess->n_waiting > 0 && rank_of(guess->waiting[guess->n_waiting - 1].op) >= rank) {
        char op = guess->waiting[--guess->n_waiting].op;
        Term result;

        if (guess->n_terms < 2 ||
            !combine(
                op, &guess->terms[guess->n_terms - 2], &guess->terms[guess->n_terms - 1], &result))
            return false;
        guess->terms[--guess->n_terms - 1] = result;
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

static bool close_parenthesis(Guess *guess) {
    const Waiting *open;

    if (!reduce(guess, 1) || guess->n_waiting == 0)
        return false;
    open = &guess->waiting[--guess->n_waiting];
    if (guess->n_terms <= open->base ||
        (!open->has_more && (guess->n_terms != open->base + 1 || !guess->has_operand)))
        return false;
    guess->n_terms = open->base + 1;
    guess->has_operand = true;
    return !open->function || apply(open->function, &guess->terms[open->base]);
}

/* What is behind the first argument changes labels, or cuts at the ends. */
static bool pass_comma(Guess *guess) {
    Waiting *open;

    if (!reduce(guess, 1) || guess->n_waiting == 0)
        return false;
    open = &guess->waiting[guess->n_waiting - 1];
    open->has_more = true;
    guess->has_operand = false;
    return open->function && open->function->kind == FUNCTION_KEEPS && guess->n_terms > open->base;
}

static bool add_operator(Guess *guess, char op) {
    Waiting waiting = {.op = op};

    if (!guess->has_operand || !reduce(guess, rank_of(op)))
        return false;
    guess->has_operand = false;
    return push_waiting(guess, &waiting);
}

static bool open_parenthesis(Guess *guess) {
    Waiting waiting = {.op = '(', .function = guess->function, .base = guess->n_terms};

    guess->function = NULL;
    return !guess->has_operand && push_waiting(guess, &waiting);
}

/* --- series ---------------------------------------------------------------------------------- */

/* What stands in braces behind a name. @text is behind the first of them. */
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

static bool add_series(Guess *guess, Str name) {
    const PromqlSeries *series = promql_series(name);
    bool is_idle = false;
    Term term;

    if (!series)
        return false;
    promql_skip_space(&guess->text);
    if (str_has_prefix(guess->text, STR("{"))) {
        (void)promql_cut(&guess->text, 1);
        if (!read_matchers(&guess->text, &is_idle))
            return false;
    }
    if (series->range_nsec > guess->range_nsec)
        guess->range_nsec = series->range_nsec;
    term = (Term){
        .series = series,
        .is_join = series->resource == 0,
        .is_of_cores = series->is_idle,
        .resources = series->resource,
        .may = series->first,
    };
    for (size_t i = 0; i < PROMQL_PROBES; i++)
        term.at[i] = series->at[i];
    return is_idle == series->is_idle && push_term(guess, &term);
}

/* --- the whole ------------------------------------------------------------------------------- */

static bool is_grouping(Str word) {
    for (size_t i = 0; i < ELEMENTS_OF(grouping_words); i++)
        if (str_eq_nocase(word, str_from_c(grouping_words[i])))
            return true;
    return false;
}

/* group_left may stand alone. */
static bool skip_grouping(Guess *guess) {
    promql_skip_space(&guess->text);
    return !str_has_prefix(guess->text, STR("(")) || promql_skip_labels(&guess->text);
}

static bool add_word(Guess *guess) {
    Str word = promql_cut_word(&guess->text);
    const PromqlFunction *function;

    if (is_grouping(word))
        return skip_grouping(guess);
    function = promql_function(word);
    if (!function)
        return add_series(guess, word);
    if (guess->function || guess->has_operand)
        return false;
    guess->function = function;
    return true;
}

static bool add_number(Guess *guess) {
    Term term = {.is_number = true, .may = AGG_ANY};
    bool is_over = false;
    size_t n = 0;
    double value;

    while (n < guess->text.len && (ascii_is_digit(guess->text.ptr[n]) || guess->text.ptr[n] == '.'))
        n++;
    if (!double_parse(promql_cut(&guess->text, n), &value, &is_over) || is_over)
        return false;
    for (size_t i = 0; i < PROMQL_PROBES; i++)
        term.at[i] = value;
    return push_term(guess, &term);
}

/* irate() looks at the last two samples in it, whatever its length. */
static bool add_range(Guess *guess) {
    const Waiting *open = guess->n_waiting > 0 ? &guess->waiting[guess->n_waiting - 1] : NULL;
    bool is_last =
        open && open->op == '(' && open->function && open->function->kind == FUNCTION_IRATE;
    int64_t range;
    size_t end;

    promql_skip_space(&guess->text);
    range = promql_cut_duration(&guess->text);
    if (!is_last && range > guess->range_nsec)
        guess->range_nsec = range;
    end = str_find(guess->text, ']');
    (void)promql_cut(&guess->text, end == SIZE_MAX ? guess->text.len : end + 1);
    return guess->has_operand && end != SIZE_MAX && range > 0;
}

static bool add_token(Guess *guess) {
    char c = guess->text.ptr[0];
    Str ignored;

    if (promql_is_letter(c))
        return add_word(guess);
    if (ascii_is_digit(c))
        return add_number(guess);
    if (promql_is_quote(c)) /* an argument: what follows a comma is checked there */
        return guess->n_waiting > 0 && guess->waiting[guess->n_waiting - 1].has_more &&
               promql_cut_string(&guess->text, &ignored);
    (void)promql_cut(&guess->text, 1);
    switch (c) {
    case '(':
        return open_parenthesis(guess);
    case ')':
        return close_parenthesis(guess);
    case '[':
        return add_range(guess);
    case ',':
        return pass_comma(guess);
    case '+':
    case '-':
    case '*':
    case '/':
        return add_operator(guess, c);
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

MetricGuess metric_guess(Str query) {
    static const MetricGuess none = {0};
    Guess guess = {.text = query};
    MetricGuess found = {.is_load = true};
    const Term *term = &guess.terms[0];

    promql_skip_space(&guess.text);
    while (guess.text.len > 0) {
        if (!add_token(&guess))
            return none;
        promql_skip_space(&guess.text);
    }
    if (!reduce(&guess, 1) || guess.n_waiting > 0 || guess.n_terms != 1 || guess.function ||
        !guess.has_operand)
        return none;
    if ((term->resources != PROMQL_OF_CPU && term->resources != PROMQL_OF_MEMORY) ||
        term->is_of_cores || (term->series && term->series->is_counter && !term->is_rate) ||
        !find_unit(term, &found.unit))
        return none;
    found.resource = term->resources == PROMQL_OF_CPU ? STR("cpu") : STR("memory");
    found.range_nsec = guess.range_nsec;
    return found;
}
