/*
 * Finds out what a PromQL query returns, by evaluating it over known values of two nodes. A result
 * of 0.75 is the used share, 75 a percentage, 6 cores an amount; 0.25 is the free share, which is
 * no load.
 *
 * Only the series, functions and labels of the tables below are known, and only if they keep the
 * meaning: a mean over cores does, the busiest core does not. Anything else ends the evaluation
 * without a result.
 */

#include "policy/promql.h"

#include <math.h>

#include "base/ascii.h"
#include "base/double.h"
#include "base/nsec.h"

#define MINUTE (60 * NSEC_PER_SEC)
#define DEPTH_MAX 32u /* nested parentheses and operators */
#define PROMQL_PROBES 2

enum { PROMQL_OF_CPU = 1, PROMQL_OF_MEMORY = 2 };

typedef enum PromqlAggregate {
    AGG_AVG = 1,
    AGG_SUM = 2,
    AGG_MAX = 4,
    AGG_MIN = 8,
    AGG_ANY = 15,
} PromqlAggregate;

typedef struct PromqlSeries {
    const char *name;
    uint8_t resource;         /* 0: a join with value 1 */
    double at[PROMQL_PROBES]; /* value on each node; of each core, if per core */
    uint8_t first, then;      /* aggregates that keep its meaning: as first, and after that */
    int64_t range_nsec;       /* of recording rules: they average over it */
    bool is_counter;          /* must be used as a rate */
    bool is_idle;             /* by core and mode: needs mode="idle" and a mean */
} PromqlSeries;

typedef enum PromqlFunctionKind {
    FUNCTION_RATE,
    FUNCTION_IRATE, /* of the last two samples in its range */
    FUNCTION_KEEPS, /* returns its first argument, or its mean */
    FUNCTION_AGGREGATES,
} PromqlFunctionKind;

typedef struct PromqlFunction {
    const char *name;
    PromqlFunctionKind kind;
    PromqlAggregate aggregate;
} PromqlFunction;

/* A condition on a label: label="value", !=, =~ or !~. */
typedef struct PromqlMatcher {
    Str label, op, value;
} PromqlMatcher;

#define RECORDED_CPU "node_namespace_pod_container:container_cpu_usage_seconds_total:"

/* Shares and amounts on the two probe nodes; and joins, which only add labels. */
static const PromqlSeries known_series[] = {
    {"node_cpu_seconds_total", PROMQL_OF_CPU, {0.25, 0.7}, AGG_AVG, AGG_AVG | AGG_MAX | AGG_MIN,
        .is_counter = true, .is_idle = true},
    {"instance:node_cpu_utilisation:rate5m", PROMQL_OF_CPU, {0.75, 0.3}, AGG_ANY, AGG_ANY,
        5 * MINUTE},
    {"instance:node_cpu_utilisation:rate1m", PROMQL_OF_CPU, {0.75, 0.3}, AGG_ANY, AGG_ANY, MINUTE},
    {"instance:node_cpu:ratio", PROMQL_OF_CPU, {0.75, 0.3}, AGG_ANY, AGG_ANY, 5 * MINUTE},
    {"container_cpu_usage_seconds_total", PROMQL_OF_CPU, {6, 3}, AGG_SUM, AGG_SUM,
        .is_counter = true},
    {RECORDED_CPU "sum_irate", PROMQL_OF_CPU, {6, 3}, AGG_SUM, AGG_SUM},
    {RECORDED_CPU "sum_rate", PROMQL_OF_CPU, {6, 3}, AGG_SUM, AGG_SUM, 5 * MINUTE},
    {RECORDED_CPU "sum_rate5m", PROMQL_OF_CPU, {6, 3}, AGG_SUM, AGG_SUM, 5 * MINUTE},
    {"node_memory_MemAvailable_bytes", PROMQL_OF_MEMORY, {6, 7}, AGG_ANY, AGG_ANY},
    {"node_memory_MemTotal_bytes", PROMQL_OF_MEMORY, {16, 8}, AGG_ANY, AGG_ANY},
    {"instance:node_memory_utilisation:ratio", PROMQL_OF_MEMORY, {0.625, 0.125}, AGG_ANY, AGG_ANY},
    {"container_memory_working_set_bytes", PROMQL_OF_MEMORY, {10, 1}, AGG_SUM, AGG_SUM},
    {"node_namespace_pod_container:container_memory_working_set_bytes", PROMQL_OF_MEMORY, {10, 1},
        AGG_SUM, AGG_SUM},
    {"kube_pod_info", 0, {1, 1}, AGG_ANY, AGG_ANY},
    {"kube_node_info", 0, {1, 1}, AGG_ANY, AGG_ANY},
    {"node_uname_info", 0, {1, 1}, AGG_ANY, AGG_ANY},
    {"node_namespace_pod:kube_pod_info:", 0, {1, 1}, AGG_ANY, AGG_ANY},
};

static const PromqlFunction functions[] = {
    {"rate", FUNCTION_RATE, 0},
    {"irate", FUNCTION_IRATE, 0},
    {"avg_over_time", FUNCTION_KEEPS, 0},
    {"last_over_time", FUNCTION_KEEPS, 0},
    {"clamp", FUNCTION_KEEPS, 0},
    {"clamp_max", FUNCTION_KEEPS, 0},
    {"clamp_min", FUNCTION_KEEPS, 0},
    {"label_join", FUNCTION_KEEPS, 0},
    {"label_replace", FUNCTION_KEEPS, 0},
    {"round", FUNCTION_KEEPS, 0},
    {"avg", FUNCTION_AGGREGATES, AGG_AVG},
    {"sum", FUNCTION_AGGREGATES, AGG_SUM},
    {"max", FUNCTION_AGGREGATES, AGG_MAX},
    {"min", FUNCTION_AGGREGATES, AGG_MIN},
};

/* Which matchers of a label keep all nodes and pods. */
typedef enum LabelRule {
    LABEL_FREE,     /* any: the label names the scraper */
    LABEL_NO_PARTS, /* may exclude series other than containers */
    LABEL_PRESENT,  /* only !="", =~".+" and =~".*" */
} LabelRule;

typedef struct LabelName {
    const char *name;
    LabelRule rule;
    const char *equal; /* this value is allowed, too */
} LabelName;

static const LabelName label_names[] = {
    {"job", LABEL_FREE, NULL},
    {"cluster", LABEL_FREE, NULL},
    {"endpoint", LABEL_FREE, NULL},
    {"metrics_path", LABEL_FREE, NULL},
    {"service", LABEL_FREE, NULL},
    {"container", LABEL_NO_PARTS, NULL},
    {"container_name", LABEL_NO_PARTS, NULL},
    {"image", LABEL_NO_PARTS, NULL},
    {"name", LABEL_NO_PARTS, NULL},
    {"cpu", LABEL_PRESENT, "total"},
    {"id", LABEL_PRESENT, "/"},
    {"instance", LABEL_PRESENT, NULL},
    {"namespace", LABEL_PRESENT, NULL},
    {"node", LABEL_PRESENT, NULL},
    {"pod", LABEL_PRESENT, NULL},
    {"pod_name", LABEL_PRESENT, NULL},
};

/* Whether @matcher keeps all nodes and pods. */
static bool promql_keeps_all(const PromqlMatcher *matcher) {
    bool matches_all = (str_is(matcher->op, "!=") && str_is_empty(matcher->value)) ||
                       (str_is(matcher->op, "=~") &&
                           (str_is(matcher->value, ".+") || str_is(matcher->value, ".*")));

    for (size_t i = 0; i < ELEMENTS_OF(label_names); i++) {
        const LabelName *label = &label_names[i];

        if (!str_is(matcher->label, label->name))
            continue;
        return label->rule == LABEL_FREE || matches_all ||
               (label->rule == LABEL_NO_PARTS && matcher->op.ptr[0] == '!') ||
               (label->equal && str_is(matcher->op, "=") && str_is(matcher->value, label->equal));
    }
    return false;
}

/* --- the lexer: each function cuts the text it has read off the front ------------------------- */

/* Whether @c may begin a name. */
static bool promql_is_letter(char c) {
    return ascii_is_letter(c) || c == '_' || c == ':';
}

/* Cuts off the first @n bytes. */
static Str promql_cut(Str *text, size_t n) {
    Str part = str_take(*text, n);

    *text = str_skip(*text, n);
    return part;
}

/* Cuts off the text through the first @c; false: there is none. */
static bool promql_cut_through(Str *text, char c) {
    size_t end = str_find(*text, c);

    (void)promql_cut(text, end == SIZE_MAX ? text->len : end + 1);
    return end != SIZE_MAX;
}

/* Skips spaces and comments. */
static void promql_skip_space(Str *text) {
    while (text->len > 0 && str_find(STR(" \t\n\r#"), text->ptr[0]) != SIZE_MAX) {
        (void)promql_cut_through(text, text->ptr[0] == '#' ? '\n' : text->ptr[0]);
    }
}

/* Cuts off the name of a series, label or function; may be empty. */
static Str promql_cut_word(Str *text) {
    size_t n = 0;

    while (n < text->len &&
           (promql_is_letter(text->ptr[n]) || (n > 0 && ascii_is_digit(text->ptr[n]))))
        n++;
    return promql_cut(text, n);
}

/* Cuts off a string literal; *ret has no quotes. Returns false if it does not end. */
static bool promql_cut_string(Str *text, Str *ret) {
    char quote = text->ptr[0];
    size_t n = 1;

    while (n < text->len && text->ptr[n] != quote)
        n += quote != '`' && text->ptr[n] == '\\' ? 2 : 1;
    if (n >= text->len)
        return false;
    *ret = str_of(text->ptr + 1, n - 1);
    (void)promql_cut(text, n + 1);
    return true;
}

static bool promql_is_quote(char c) {
    return c == '"' || c == '\'' || c == '`';
}

int64_t promql_cut_duration(Str *text) {
    static const struct {
        Str unit;
        int64_t nsec;
    } units[] = {
        {STR("ms"), NSEC_PER_MSEC},
        {STR("s"), NSEC_PER_SEC},
        {STR("m"), MINUTE},
        {STR("h"), 60 * MINUTE},
        {STR("d"), 24 * 60 * MINUTE},
        {STR("w"), 24 * 60 * MINUTE},
        {STR("y"), 24 * 60 * MINUTE},
    };
    int64_t sum = 0, most = 24 * 60 * MINUTE;

    while (text->len > 0 && ascii_is_digit(text->ptr[0])) {
        int64_t number = 0, factor = 0;

        while (text->len > 0 && ascii_is_digit(text->ptr[0])) {
            number = number < most ? number * 10 + (text->ptr[0] - '0') : most;
            (void)promql_cut(text, 1);
        }
        for (size_t i = 0; i < ELEMENTS_OF(units) && factor == 0; i++) {
            if (str_has_prefix(*text, units[i].unit)) {
                factor = units[i].nsec;
                (void)promql_cut(text, units[i].unit.len);
            }
        }
        if (factor == 0 || number > most / factor)
            return factor == 0 ? sum : most;
        sum += number * factor;
        if (sum > most)
            return most;
    }
    return sum;
}

/* Cuts off a matcher, such as label="value". Returns false if there is none. */
static bool promql_cut_matcher(Str *text, PromqlMatcher *ret) {
    size_t n = 0;

    ret->label = promql_cut_word(text);
    promql_skip_space(text);
    while (n < text->len && n < 2 &&
           (text->ptr[n] == '=' || text->ptr[n] == '!' || text->ptr[n] == '~'))
        n++;
    ret->op = promql_cut(text, n);
    promql_skip_space(text);
    return !str_is_empty(ret->label) && n > 0 && text->len > 0 && promql_is_quote(text->ptr[0]) &&
           promql_cut_string(text, &ret->value);
}

int64_t promql_longest_range(Str query) {
    int64_t longest = 0;

    while (query.len > 0) {
        Str ignored;

        if (query.ptr[0] == '#') {
            promql_skip_space(&query);
        } else if (promql_is_quote(query.ptr[0])) {
            if (!promql_cut_string(&query, &ignored))
                return longest;
        } else if (promql_cut(&query, 1).ptr[0] == '[') {
            int64_t range;

            promql_skip_space(&query);
            range = promql_cut_duration(&query);
            longest = range > longest ? range : longest;
        }
    }
    return longest;
}

/* --- evaluation ----------------------------------------------------------------------------- */

typedef struct Term {
    double at[PROMQL_PROBES];
    const PromqlSeries *series; /* a series, to which only functions were applied; else NULL */
    bool is_number;
    bool is_join;
    bool is_rate;
    bool is_of_cores; /* a mean over cores is still needed */
    uint8_t resources;
    uint8_t may; /* PromqlAggregates that may follow */
} Term;

typedef struct Evaluation {
    Str text; /* the rest of the query */
    unsigned depth;
    int64_t range_nsec;
} Evaluation;

/* Whether it is a counter without rate(), which must not be combined with other values. */
static bool is_counted(const Term *term) {
    return term->series && term->series->is_counter && !term->is_rate;
}

static double calculate(char op, double a, double b) {
    return op == '+' ? a + b : op == '-' ? a - b : op == '*' ? a * b : a / b;
}

/* Applies an operator. A join may only be a factor. */
static bool combine(char op, const Term *a, const Term *b, Term *ret) {
    if (a->is_join || b->is_join) {
        *ret = a->is_join ? *b : *a;
        return op == '*' && !(a->is_join && b->is_join);
    }
    *ret = (Term){
        .is_number = a->is_number && b->is_number,
        .is_of_cores = a->is_of_cores || b->is_of_cores,
        .resources = a->resources | b->resources,
        .may = (uint8_t)(a->may & b->may & ~AGG_SUM),
    };
    for (size_t i = 0; i < PROMQL_PROBES; i++)
        ret->at[i] = calculate(op, a->at[i], b->at[i]);
    return !is_counted(a) && !is_counted(b);
}

static bool aggregate(Term *term, PromqlAggregate by) {
    if (term->is_number || !(term->may & by))
        return false;
    if (term->series)
        term->may = term->series->then;
    term->is_of_cores = false; /* @may allows only a mean for such terms */
    return true;
}

static bool apply(const PromqlFunction *function, Term *term) {
    bool was_counted = is_counted(term);

    switch (function->kind) {
    case FUNCTION_RATE:
    case FUNCTION_IRATE:
        term->is_rate = true;
        return was_counted;
    case FUNCTION_AGGREGATES:
        return !was_counted && aggregate(term, function->aggregate);
    default:
        return !was_counted;
    }
}

/* --- parts of a query; each function returns false if a part is unknown ----------------------- */

static bool is_grouping(Str word) {
    static const char *const words[] = {
        "by", "without", "on", "ignoring", "group_left", "group_right"};

    for (size_t i = 0; i < ELEMENTS_OF(words); i++)
        if (str_eq_nocase(word, str_from_c(words[i])))
            return true;
    return false;
}

/* The next character after spaces and groupings like "by (node)", "on (pod) group_left". '\0': the
 * end, or a list of labels that does not end. */
static char next(Evaluation *evaluation) {
    for (;;) {
        Str rest;

        promql_skip_space(&evaluation->text);
        rest = evaluation->text;
        if (!is_grouping(promql_cut_word(&rest)))
            return evaluation->text.len > 0 ? evaluation->text.ptr[0] : '\0';
        promql_skip_space(&rest);
        if (str_has_prefix(rest, STR("(")) && !promql_cut_through(&rest, ')'))
            return '\0';
        evaluation->text = rest;
    }
}

static bool take(Evaluation *evaluation, char c) {
    return next(evaluation) == c && promql_cut(&evaluation->text, 1).len == 1;
}

/* Reads matchers, after the opening brace. */
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

static bool read_series(Evaluation *evaluation, Str name, Term *ret) {
    const PromqlSeries *series = NULL;
    bool is_idle = false;

    for (size_t i = 0; i < ELEMENTS_OF(known_series) && !series; i++)
        series = str_is(name, known_series[i].name) ? &known_series[i] : NULL;
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
    *ret = (Term){
        .series = series,
        .is_join = series->resource == 0,
        .is_of_cores = series->is_idle,
        .resources = series->resource,
        .may = series->first,
    };
    memcpy(ret->at, series->at, sizeof(ret->at));
    return is_idle == series->is_idle;
}

static bool read_number(Evaluation *evaluation, Term *ret) {
    bool is_over = false;
    size_t n = 0;
    double value;

    while (n < evaluation->text.len &&
           (ascii_is_digit(evaluation->text.ptr[n]) || evaluation->text.ptr[n] == '.'))
        n++;
    if (!double_parse(promql_cut(&evaluation->text, n), &value, &is_over) || is_over)
        return false;
    *ret = (Term){.at = {value, value}, .is_number = true, .may = AGG_ANY};
    return true;
}

/* Reads a range, after its bracket. Ignores its length for irate(), which uses two samples. */
static bool read_range(Evaluation *evaluation, bool is_of_irate) {
    int64_t range;

    promql_skip_space(&evaluation->text);
    range = promql_cut_duration(&evaluation->text);
    if (!is_of_irate && range > evaluation->range_nsec)
        evaluation->range_nsec = range;
    return promql_cut_through(&evaluation->text, ']') && range > 0;
}

static bool read_expression(
    Evaluation *evaluation, int rank, const PromqlFunction *inside, Term *ret);

/* Skips an argument after the first, which changes labels or clamps the value. */
static bool skip_argument(Evaluation *evaluation) {
    Term ignored;
    Str text;

    return promql_is_quote(next(evaluation)) ? promql_cut_string(&evaluation->text, &text)
                                             : read_expression(evaluation, 1, NULL, &ignored);
}

static bool read_parentheses(Evaluation *evaluation, const PromqlFunction *function, Term *ret) {
    bool is_right = take(evaluation, '(') && evaluation->depth < DEPTH_MAX;

    evaluation->depth++;
    is_right = is_right && read_expression(evaluation, 1, function, ret);
    while (is_right && take(evaluation, ','))
        is_right = function && function->kind == FUNCTION_KEEPS && skip_argument(evaluation);
    evaluation->depth--;
    return is_right && take(evaluation, ')') && (!function || apply(function, ret));
}

static bool read_word(Evaluation *evaluation, Term *ret) {
    Str word = promql_cut_word(&evaluation->text);
    const PromqlFunction *function = NULL;

    for (size_t i = 0; i < ELEMENTS_OF(functions) && !function; i++)
        function = str_is(word, functions[i].name) ? &functions[i] : NULL;
    return function ? read_parentheses(evaluation, function, ret)
                    : read_series(evaluation, word, ret);
}

/* Reads an operand with the ranges after it. */
static bool read_operand(Evaluation *evaluation, bool is_of_irate, Term *ret) {
    char c = next(evaluation);
    bool is_right = promql_is_letter(c) ? read_word(evaluation, ret)
                    : ascii_is_digit(c) ? read_number(evaluation, ret)
                                        : read_parentheses(evaluation, NULL, ret);

    while (is_right && take(evaluation, '['))
        is_right = read_range(evaluation, is_of_irate);
    return is_right;
}

/* The precedence of an operator; 0: it is none. */
static int rank_of(char op) {
    return op == '+' || op == '-' ? 1 : op == '*' || op == '/' ? 2 : 0;
}

/* Reads operators of precedence @rank or higher. @inside: the function of which this is the first
 * argument, or NULL. */
static bool read_expression(
    Evaluation *evaluation, int rank, const PromqlFunction *inside, Term *ret) {
    bool is_right = read_operand(evaluation, inside && inside->kind == FUNCTION_IRATE, ret);
    Term left, right;

    for (char op = next(evaluation); is_right && rank_of(op) >= rank; op = next(evaluation)) {
        (void)promql_cut(&evaluation->text, 1);
        left = *ret;
        is_right = evaluation->depth++ < DEPTH_MAX &&
                   read_expression(evaluation, rank_of(op) + 1, NULL, &right) &&
                   combine(op, &left, &right, ret);
        evaluation->depth--;
    }
    return is_right;
}

static bool is_near(const Term *term, const double *wanted, double factor) {
    for (size_t i = 0; i < PROMQL_PROBES; i++)
        if (!(fabs(term->at[i] - wanted[i] * factor) < 1e-9))
            return false;
    return true;
}

/* The probe nodes: 6 of 8 cores and 10 of 16 bytes are used; 3 of 10 cores and 1 of 8 bytes. */
static bool find_unit(const Term *term, GaugeUnit *ret) {
    static const double amounts[][PROMQL_PROBES] = {
        [PROMQL_OF_CPU] = {6, 3}, [PROMQL_OF_MEMORY] = {10, 1}};
    static const double shares[][PROMQL_PROBES] = {
        [PROMQL_OF_CPU] = {0.75, 0.3}, [PROMQL_OF_MEMORY] = {0.625, 0.125}};

    if (is_near(term, shares[term->resources], 1))
        *ret = GAUGE_FRACTION;
    else if (is_near(term, shares[term->resources], 100))
        *ret = GAUGE_PERCENT;
    else if (is_near(term, amounts[term->resources], 1))
        *ret = GAUGE_AMOUNT;
    else
        return false;
    return true;
}

PromqlLoad promql_infer_load(Str query) {
    Evaluation evaluation = {.text = query};
    PromqlLoad found = {.is_load = true};
    Term term;

    if (!read_expression(&evaluation, 1, NULL, &term) || evaluation.text.len > 0 ||
        (term.resources != PROMQL_OF_CPU && term.resources != PROMQL_OF_MEMORY) ||
        term.is_of_cores || is_counted(&term) || !find_unit(&term, &found.unit))
        return (PromqlLoad){0};
    found.resource = term.resources == PROMQL_OF_CPU ? STR("cpu") : STR("memory");
    found.range_nsec = evaluation.range_nsec;
    return found;
}
