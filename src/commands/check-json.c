/* `berth check -o json`: docs/policy.md says what each field means. */

#include "commands/check-internal.h"
#include "json/write.h"

static void write_field(JsonWriter *writer, const char *key, Str text) {
    json_write_member(writer, str_from_c(key), text);
}

static void write_count(JsonWriter *writer, const char *key, size_t n) {
    json_member_int(writer, key, (int64_t)n);
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
    json_write_end_object(writer);
}

typedef struct Row {
    const Policy *policy;
    const char *type;
    Str name;
    const RuleKind *kind;
    const Expression *expression, *message;
    uint32_t root;
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
    json_write_end_object(writer);
}

static void write_rules_of(JsonWriter *writer, const Program *program, const Policy *policy) {
    if (expression_is_given(&policy->match.expression))
        write_rule(writer, program,
            &(Row){policy, "match", STR(""), NULL, &policy->match.expression, NULL,
                policy->match.root});
    for (size_t i = 0; i < policy->n_filters; i++) {
        const Filter *filter = &policy->filters[i];

        write_rule(writer, program,
            &(Row){policy, "filter", filter->name, filter->kind, &filter->test, &filter->message,
                filter->root});
    }
    for (size_t i = 0; i < policy->n_scores; i++) {
        const Score *score = &policy->scores[i];

        write_rule(writer, program,
            &(Row){policy, "score", score->name, score->kind, &score->value, NULL, score->root});
    }
}

void check_print_json(const DiagList *diags, const Program *program, Buf *out) {
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
    json_write_end_object(&writer);
    buf_append_char(out, '\n');
}
