/* Prints the rules of a program as CEL or with their costs. */

#include <inttypes.h>

#include "base/visible.h"
#include "commands/check-internal.h"
#include "commands/counting-rules.h"

static void write_field(JsonWriter *writer, const char *key, Str text) {
    json_write_member(writer, str_from_c(key), text);
}

static void write_count(JsonWriter *writer, const char *key, size_t n) {
    json_member_int(writer, key, (int64_t)n);
}

static void write_fix(JsonWriter *writer, const DiagFix *fix) {
    json_write_key(writer, STR("fix"));
    json_write_object(writer);
    write_count(writer, "line", fix->place.line);
    write_count(writer, "column", fix->place.column);
    write_count(writer, "width", fix->place.width);
    write_field(writer, "text", fix->text);
    json_write_end_object(writer);
}

static void write_message(JsonWriter *writer, const Diag *diag) {
    json_write_object(writer);
    write_field(writer, "level", diag->level == DIAG_ERROR ? STR("error") : STR("warning"));
    write_field(writer, "file", diag->place.file);
    write_count(writer, "line", diag->place.line);
    write_count(writer, "column", diag->place.column);
    write_count(writer, "width", diag->place.width);
    write_field(writer, "text", diag->text);
    if (!str_is_empty(diag->hint))
        write_field(writer, "hint", diag->hint);
    if (diag->fix.text.ptr)
        write_fix(writer, &diag->fix);
    json_write_end_object(writer);
}

typedef struct Row {
    const Policy *policy;
    const char *type;
    Str name;
    const RuleKind *kind;
    const Expression *expression, *message;
    uint32_t root;
    Exactness exactness;
} Row;

static void write_rule(JsonWriter *writer, const Program *program, const Row *row) {
    json_write_object(writer);
    write_field(writer, "policy", row->policy->name);
    write_field(writer, "type", str_from_c(row->type));
    write_field(writer, "rule", row->name);
    write_field(writer, "kind", row->kind ? row->kind->field : STR("expression"));
    write_field(writer, "expression", str_trim(row->expression->text));
    if (row->message && expression_is_given(row->message))
        write_field(writer, "message", str_trim(row->message->text));
    write_field(writer, "computed", str_from_c(check_time(program, row->root, row->expression)));
    json_member_bool(writer, "oneNodeAtATime", check_is_slow(program, row->root));
    write_count(writer, "maxCost", row->expression->cost.max);
    if (row->exactness != EXACT_NOTHING) {
        json_member_object(writer, "counting");
        counting_rules_write(row->exactness, writer);
        json_write_end_object(writer);
    }
    json_write_end_object(writer);
}

static void write_rules_of(JsonWriter *writer, const Program *program, const Policy *policy) {
    if (expression_is_given(&policy->match.namespace_test))
        write_rule(writer, program,
            &(Row){policy, "match", STR("namespaceSelector"), NULL, &policy->match.namespace_test,
                NULL, policy->match.namespace_root, EXACT_NOTHING});
    if (expression_is_given(&policy->match.expression))
        write_rule(writer, program,
            &(Row){policy, "match", STR(""), NULL, &policy->match.expression, NULL,
                policy->match.root, EXACT_NOTHING});
    for (size_t i = 0; i < policy->n_filters; i++) {
        const Filter *filter = &policy->filters[i];

        write_rule(writer, program,
            &(Row){policy, "filter", filter->name, filter->kind, &filter->test, &filter->message,
                filter->root, exactness_of(filter, BIND_UNKNOWN)});
    }
    for (size_t i = 0; i < policy->n_scores; i++) {
        const Score *score = &policy->scores[i];

        write_rule(writer, program,
            &(Row){policy, "score", score->name, score->kind, &score->value, NULL, score->root,
                EXACT_NOTHING});
    }
}

void check_print_json(const DiagList *diags, const Program *program, bool *ret_works, Buf *out) {
    JsonWriter writer = {.out = out, .indent = 2};

    json_write_object(&writer);
    json_member_bool(&writer, "ok", program);
    write_count(&writer, "errors", diags->n_errors);
    write_count(&writer, "warnings", diags->n_warnings);
    json_member_array(&writer, "messages");
    for (size_t i = 0; i < diags->diags.n; i++)
        write_message(&writer, &diags->diags.items[i]);
    json_write_end_array(&writer);
    json_member_array(&writer, "rules");
    for (size_t i = 0; program && i < program->n_policies; i++)
        write_rules_of(&writer, program, &program->policies[i]);
    json_write_end_array(&writer);
    if (program && ret_works)
        *ret_works = check_write_managed(program, &writer);
    json_write_end_object(&writer);
    buf_append_char(out, '\n');
}

#define NAME_COLUMNS 32u /* or more, if a name is longer */
#define KIND_COLUMNS 20u
#define TIME_COLUMNS 20u

const char *check_time(const Program *program, uint32_t root, const Expression *expression) {
    switch (plan_frequency(program->plan, root)) {
    case PLAN_ONCE:
        return expression->groups ? "once a request" : "constant";
    case PLAN_PRECOMPUTED:
        return "when a node changes";
    default:
        return "for pod and node";
    }
}

bool check_is_slow(const Program *program, uint32_t root) {
    uint32_t node;

    return plan_falls_back(program->plan, root, &node);
}

/* The table while it is printed. */
typedef struct Costs {
    const Program *program;
    size_t columns; /* of the names */
    Buf *out;
} Costs;

static size_t wider(size_t columns, const Policy *policy, Str rule) {
    size_t width = visible_width(policy->name) + visible_width(rule) + 2; /* '/', and a space */

    return width > columns ? width : columns;
}

static size_t name_columns(const Program *program) {
    size_t columns = NAME_COLUMNS;

    for (size_t i = 0; i < program->n_policies; i++)
        columns = wider(columns, &program->policies[i], STR("(match)"));
    for (size_t i = 0; i < program->n_filters; i++)
        columns = wider(columns, program->filters[i]->policy, program->filters[i]->name);
    for (size_t i = 0; i < program->n_scores; i++)
        columns = wider(columns, program->scores[i]->policy, program->scores[i]->name);
    return columns;
}

static void print_cost(const Costs *costs, const Policy *policy, Str rule, Str kind, uint32_t root,
    const Expression *expression) {
    const Program *program = costs->program;
    Buf *out = costs->out;

    visible_print(out, "{}/", policy->name);
    visible_append_padded(out, rule, costs->columns - visible_width(policy->name) - 1);
    visible_append_padded(out, kind, KIND_COLUMNS);
    visible_append_padded(out, str_from_c(check_time(program, root, expression)), TIME_COLUMNS);
    buf_printf(out, "%10" PRIu64, expression->cost.max);
    if (check_is_slow(program, root))
        buf_append(out, STR("  in part one node at a time"));
    buf_append_char(out, '\n');
}

static Str kind_of(const RuleKind *kind) {
    return kind ? kind->field : STR("expression");
}

void check_print_costs(const Program *program, Buf *out) {
    const Costs costs = {.program = program, .columns = name_columns(program), .out = out};

    visible_append_padded(out, STR("RULE"), costs.columns);
    visible_append_padded(out, STR("KIND"), KIND_COLUMNS);
    visible_append_padded(out, STR("COMPUTED"), TIME_COLUMNS);
    buf_append(out, STR("      COST\n"));
    for (size_t i = 0; i < program->n_policies; i++) {
        const Policy *policy = &program->policies[i];
        const Match *match = &policy->match;

        if (expression_is_given(&match->namespace_test))
            print_cost(&costs, policy, STR("(match)"), STR("namespaceSelector"),
                match->namespace_root, &match->namespace_test);
        if (expression_is_given(&match->expression))
            print_cost(
                &costs, policy, STR("(match)"), STR("expression"), match->root, &match->expression);
        for (size_t j = 0; j < policy->n_filters; j++) {
            const Filter *filter = &policy->filters[j];

            print_cost(
                &costs, policy, filter->name, kind_of(filter->kind), filter->root, &filter->test);
        }
        for (size_t j = 0; j < policy->n_scores; j++) {
            const Score *score = &policy->scores[j];

            print_cost(
                &costs, policy, score->name, kind_of(score->kind), score->root, &score->value);
        }
    }
}

static bool print_counts_of(
    const Policy *policy, BindWiring bind, Exactness exactness, bool is_first, Buf *out) {
    const Filter *filter = counting_rules_next(policy, bind, exactness, NULL);

    if (!filter)
        return false;
    if (is_first)
        buf_printf(out, "counts of pods are %s:\n", exactness_text(exactness));
    visible_print(out, "  {}", filter->test.place.file);
    buf_printf(out, ":%zu:%zu: ", filter->test.place.line, filter->test.place.column);
    counting_rules_print(policy, bind, exactness, out);
    buf_append_char(out, '\n');
    return true;
}

void check_print_counts(const Program *program, BindWiring bind, Buf *out) {
    for (Exactness exactness = EXACT_NOTHING + 1; exactness < _EXACTNESSES; exactness++) {
        bool is_first = true;

        for (size_t i = 0; i < program->n_policies; i++)
            if (print_counts_of(&program->policies[i], bind, exactness, is_first, out))
                is_first = false;
    }
}

/* A comment with the policy and rule, then the expression. */
static void print_text(const Policy *policy, const char *what, Str rule, const RuleKind *kind,
    const Expression *expression, Buf *out) {
    if (!expression_is_given(expression))
        return;
    buf_printf(out, "// %.*s: %s", STR_FMT(policy->name), what);
    if (rule.len > 0)
        buf_printf(out, " %.*s", STR_FMT(rule));
    if (kind)
        buf_printf(out, " (%.*s)", STR_FMT(kind->field));
    buf_append_char(out, '\n');
    buf_append(out, str_trim(expression->text));
    buf_append(out, STR("\n\n"));
}

void check_print_cel(const Program *program, bool messages, Buf *out) {
    for (size_t i = 0; i < program->n_policies; i++) {
        const Policy *policy = &program->policies[i];

        print_text(
            policy, "match", STR("namespaceSelector"), NULL, &policy->match.namespace_test, out);
        print_text(policy, "match", STR_NULL, NULL, &policy->match.expression, out);
        for (size_t j = 0; j < policy->scope->variables_type.n_fields; j++) {
            const Variable *variable = &policy->scope->variables[j];

            print_text(policy, "variable", variable->name, NULL, &variable->expression, out);
        }
        for (size_t j = 0; j < policy->n_filters; j++) {
            const Filter *filter = &policy->filters[j];

            print_text(policy, "filter", filter->name, filter->kind, &filter->test, out);
            if (messages)
                print_text(policy, "message of", filter->name, filter->kind, &filter->message, out);
        }
        for (size_t j = 0; j < policy->n_scores; j++) {
            const Score *score = &policy->scores[j];

            print_text(policy, "score", score->name, score->kind, &score->value, out);
        }
    }
}
