/*
 * Filters and scores. A rule is a mapping of common fields and exactly one more: `expression`,
 * or the name of a built-in rule, which writes one.
 */

#include "policy/rules.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "base/map.h"

#define KINDS_MAX 48u

/* --- one rule ------------------------------------------------------------------ */

/* The names of what a rule can be: kinds, then `expression`. */
typedef struct Choices {
    Str names[KINDS_MAX];
    size_t n;
} Choices;

static Choices choices_of(const RuleKind *const *kinds, size_t n_kinds) {
    Choices choices = {.n = n_kinds + 1};

    assert(choices.n <= KINDS_MAX);
    for (size_t i = 0; i < n_kinds; i++)
        choices.names[i] = kinds[i]->field;
    choices.names[n_kinds] = STR("expression");
    return choices;
}

/* The field that says what the rule is. NULL when there is none. */
static const YamlPair *find_choice(PolicyReader *reader, const YamlNode *rule, const char *what,
    const Choices *choices, size_t *ret_choice) {
    const YamlPair *first = NULL;

    for (size_t i = 0; i < rule->n; i++) {
        size_t choice = 0;

        while (choice < choices->n && !str_eq(choices->names[choice], rule->pairs[i].key->text))
            choice++;
        if (choice == choices->n)
            continue;
        if (first) {
            reader_error_hint(reader,
                rule->pairs[i].key,
                STR("write two rules"),
                "%s has one kind, and \"%.*s\" is given already",
                what,
                STR_FMT(first->key->text));
        } else {
            first = &rule->pairs[i];
            *ret_choice = choice;
        }
    }
    return first;
}

/* Whether the mapping has a field that is unknown: then "which kind?" would be noise on top of
 * the error already given. */
static bool has_foreign_field(const YamlNode *rule, const Field *fields, size_t n_fields) {
    for (size_t i = 0; i < rule->n; i++) {
        bool is_own = false;

        for (size_t j = 0; j < n_fields; j++)
            is_own |= str_eq(fields[j].name, rule->pairs[i].key->text);
        if (!is_own)
            return true;
    }
    return false;
}

static void report_no_choice(
    PolicyReader *reader, const YamlNode *rule, const char *what, const Choices *choices) {
    char hint[1024] = "one of";
    size_t used = strlen(hint);

    for (size_t i = 0; i < choices->n && used < sizeof(hint); i++)
        used += (size_t)snprintf(
            hint + used, sizeof(hint) - used, "%s %.*s", i ? "," : "", STR_FMT(choices->names[i]));
    reader_error_hint(reader, rule, str_from_c(hint), "%s needs a kind", what);
}

/* What is common to all rules of a list. */
typedef struct RuleList {
    const char *what;
    const Field *fields;
    size_t n_fields;
    const RuleKind *const *kinds;
    size_t n_kinds;
    ExpressionType type;
} RuleList;

/* A rule as it is read. */
typedef struct Rule {
    RuleFields fields;
    const RuleKind *kind; /* NULL: an expression */
    Expression expression, message, missing;
} Rule;

/* The rule that @value, under the field of a built-in one, stands for. */
static bool read_built_in(
    PolicyReader *reader, Scope *scope, const YamlPair *pair, ExpressionType type, Rule *rule) {
    RuleText text = {.expression = BUF_INIT(KIND_TEXT_MAX), .message = BUF_INIT(KIND_TEXT_MAX)};
    size_t n_errors = reader->diags->n_errors;
    bool is_right = false;

    rule->kind->write(reader, pair->value, &text);
    if (reader->diags->n_errors > n_errors)
        is_right = false;
    else if (buf_error(&text.expression) || (!rule->fields.message && buf_error(&text.message)))
        reader_error(reader, pair->value, "the rule is too large: write it as several");
    else
        is_right =
            expression_write(
                reader, scope, pair->value, buf_str(&text.expression), type, &rule->expression) &&
            (rule->fields.message || buf_str(&text.message).len == 0 ||
                expression_write(reader,
                    scope,
                    pair->value,
                    buf_str(&text.message),
                    EXPRESSION_STRING,
                    &rule->message));
    buf_done(&text.expression);
    buf_done(&text.message);
    return is_right;
}

/* !has(metrics.a) || !has(metrics.b), of those whose bits are in @named. */
static void write_absent(Buf *out, const char *where, const CelField *fields, uint64_t named) {
    for (size_t i = 0; i < SCHEMA_METRICS_MAX; i++)
        if (named >> i & 1)
            buf_printf(
                out, "%s!has(%s.%.*s)", out->len > 0 ? " || " : "", where, STR_FMT(fields[i].name));
}

/* Whether a metric that it reads is absent: what tells onMissing from onError. It must be known as
 * early as the rule itself: what is named but never read (params.x ? … : …) does not count. */
static bool write_missing(PolicyReader *reader, Scope *scope, const YamlNode *at, Rule *rule) {
    _cleanup_(buf_done) Buf text = BUF_INIT(KIND_TEXT_MAX);
    const Expression *expression = &rule->expression;
    uint8_t of_node = SCHEMA_BIT(SCHEMA_NODE);

    if (expression->groups & of_node)
        write_absent(&text, "metrics", scope->metrics.fields, expression->metrics);
    if (expression->groups & ~of_node)
        write_absent(&text,
            "workload.metrics",
            scope->metrics.workload_fields,
            expression->workload_metrics);
    if (text.len == 0 && !buf_error(&text))
        return true;
    if (buf_error(&text)) {
        reader_error(reader, at, "the rule reads too many metrics: write it as several");
        return false;
    }
    return expression_write(reader, scope, at, buf_str(&text), EXPRESSION_BOOL, &rule->missing);
}

/* False after an error, which has been reported. */
static bool read_rule(
    PolicyReader *reader, Scope *scope, const YamlNode *value, const RuleList *list, Rule *ret) {
    Choices choices = choices_of(list->kinds, list->n_kinds);
    const YamlPair *pair;
    size_t choice = 0;
    bool is_right = true;

    reader_fields_besides(reader,
        value,
        list->what,
        list->fields,
        list->n_fields,
        choices.names,
        choices.n,
        &ret->fields);
    if (value->kind != YAML_MAPPING)
        return false;
    pair = find_choice(reader, value, list->what, &choices, &choice);
    if (!pair && !has_foreign_field(value, list->fields, list->n_fields))
        report_no_choice(reader, value, list->what, &choices);
    if (!pair)
        return false;
    if (ret->fields.message)
        is_right = expression_read(reader,
            scope,
            ret->fields.message,
            "messageExpression",
            EXPRESSION_STRING,
            &ret->message);
    if (choice < list->n_kinds) {
        ret->kind = list->kinds[choice];
        is_right &= read_built_in(reader, scope, pair, list->type, ret);
    } else {
        is_right &=
            expression_read(reader, scope, pair->value, "expression", list->type, &ret->expression);
    }
    return is_right && write_missing(reader, scope, pair->value, ret);
}

/* --- the lists -------------------------------------------------------------------- */

static void read_filter(PolicyReader *reader, const YamlNode *value, Policy *policy) {
    RuleList list = {.what = "a filter",
        .fields = rule_filter_fields,
        .n_fields = RULE_FILTER_FIELDS,
        .kinds = filter_kinds,
        .n_kinds = n_filter_kinds,
        .type = EXPRESSION_BOOL};
    Rule rule = {0};
    Filter *filter = &policy->filters[policy->n_filters];

    if (!read_rule(reader, policy->scope, value, &list, &rule))
        return;
    *filter = (Filter){
        .name = rule.fields.name,
        .reason = rule.fields.reason,
        .is_unresolvable = rule.fields.is_unresolvable,
        .on_error = rule.fields.on_error,
        .on_missing = rule.fields.has_on_missing ? rule.fields.on_missing : rule.fields.on_error,
        .kind = rule.kind,
        .test = rule.expression,
        .missing = rule.missing,
        .message = rule.message,
        .missing_root = UINT32_MAX,
        .part = UINT32_MAX,
    };
    if (str_is_empty(filter->reason))
        filter->reason =
            arena_printf(reader->arena, "rejected by placement rule %.*s", STR_FMT(filter->name));
    policy->n_filters++;
}

static void read_score(PolicyReader *reader, const YamlNode *value, Policy *policy) {
    RuleList list = {.what = "a score",
        .fields = rule_score_fields,
        .n_fields = RULE_SCORE_FIELDS,
        .kinds = score_kinds,
        .n_kinds = n_score_kinds,
        .type = EXPRESSION_NUMBER};
    Rule rule = {.fields = {.weight = 1}};

    if (!read_rule(reader, policy->scope, value, &list, &rule))
        return;
    policy->scores[policy->n_scores++] = (Score){
        .name = rule.fields.name,
        .weight = rule.fields.weight,
        .on_error = rule.fields.score_on_error,
        .on_missing =
            rule.fields.has_on_missing ? rule.fields.score_on_missing : rule.fields.score_on_error,
        .normalize = rule.fields.normalize,
        .kind = rule.kind,
        .value = rule.expression,
        .missing = rule.missing,
        .missing_root = UINT32_MAX,
    };
}

void filters_read(PolicyReader *reader, const YamlNode *value, Policy *policy) {
    if (!reader_sequence(reader, value, "filters"))
        return;
    policy->filters = ARENA_ARRAY(reader->arena, Filter, value->n);
    for (size_t i = 0; policy->filters && i < value->n; i++)
        read_filter(reader, value->items[i], policy);
}

void scores_read(PolicyReader *reader, const YamlNode *value, Policy *policy) {
    if (!reader_sequence(reader, value, "scores"))
        return;
    policy->scores = ARENA_ARRAY(reader->arena, Score, value->n);
    for (size_t i = 0; policy->scores && i < value->n; i++)
        read_score(reader, value->items[i], policy);
}

static const Shape filter_shape = {.kind = SHAPE_OBJECT,
    .fields = rule_filter_fields,
    .n_fields = RULE_FILTER_FIELDS,
    .kinds = filter_kinds,
    .n_kinds = &n_filter_kinds,
    .or_field = "expression"};
static const Shape score_shape = {.kind = SHAPE_OBJECT,
    .fields = rule_score_fields,
    .n_fields = RULE_SCORE_FIELDS,
    .kinds = score_kinds,
    .n_kinds = &n_score_kinds,
    .or_field = "expression"};
const Shape filters_shape = {.kind = SHAPE_LIST, .of = &filter_shape};
const Shape scores_shape = {.kind = SHAPE_LIST, .of = &score_shape};

/* --- what spans several rules ---------------------------------------------- */

/* @names has the line of each. */
static int check_names(PolicyReader *reader, const YamlNode *rules, Map *names) {
    for (size_t i = 0; rules && rules->kind == YAML_SEQUENCE && i < rules->n; i++) {
        const YamlNode *name = yaml_find(rules->items[i], STR("name"));
        uint32_t line;
        char hint[64];

        if (!name || !rule_name_is_valid(name->text))
            continue;
        line = map_find(names, name->text);
        if (line == MAP_NONE) {
            int r = map_add(names, name->text, (uint32_t)name->place.line);

            if (r < 0)
                return r;
            continue;
        }
        (void)snprintf(hint, sizeof(hint), "the other is at line %u", line);
        reader_error_hint(reader,
            name,
            str_from_c(hint),
            "the policy has a rule named \"%.*s\" already",
            STR_FMT(name->text));
    }
    return 0;
}

int rule_names_check(PolicyReader *reader, const YamlNode *document) {
    const YamlNode *spec = yaml_find(document, STR("spec"));
    Map names = MAP_INIT_IN(reader->arena);
    int r = check_names(reader, yaml_find(spec, STR("filters")), &names);

    if (r == 0)
        r = check_names(reader, yaml_find(spec, STR("scores")), &names);
    return r;
}
