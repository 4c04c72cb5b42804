/* Variables, functions and fields of expressions as Markdown tables for the docs. */

#include "schema/schema-internal.h"

/* The size that the cost counts. */
static void print_size(const CelField *field, Buf *out) {
    const char *of = field->type->kind == CEL_T_LIST  ? "elements"
                     : field->type->kind == CEL_T_MAP ? "entries"
                                                      : "bytes";

    if (field->max_size > 0)
        buf_printf(out, "%u %s", field->max_size, of);
    else if (field->type->kind == CEL_T_LIST || field->type->kind == CEL_T_MAP)
        buf_append(out, STR("unknown"));
    else
        buf_append(out, STR("1"));
}

static void describe_field(const CelField *field, Buf *out) {
    buf_printf(out, "| `%.*s` | ", STR_FMT(field->name));
    if (field->type->kind == CEL_T_ERROR) {
        buf_printf(out, "— | never | — | %.*s |\n", STR_FMT(field->about));
        return;
    }
    cel_type_print(field->type, /* is_wire= */ false, out);
    buf_append(out, field->always ? STR(" | always | ") : STR(" | has() tells | "));
    print_size(field, out);
    buf_printf(out, " | %.*s |\n", STR_FMT(field->about));
}

static void describe_record(const SchemaRecord *record, Buf *out) {
    buf_printf(out, "\n### %.*s\n\n", STR_FMT(record->type.name));
    buf_append(out, STR("| field | type | presence | cost: size | description |\n"));
    buf_append(out, STR("|---|---|---|---|---|\n"));
    for (uint32_t i = 0; i < record->type.n_fields; i++)
        describe_field(&record->type.fields[i], out);
}

/* Prints the records in reverse: the list has parts before the records that contain them. */
void schema_describe(Buf *out) {
    buf_append(out, STR("| variable | type | description |\n|---|---|---|\n"));
    for (size_t i = 0; i < schema_n_variables; i++) {
        buf_printf(out, "| `%.*s` | ", STR_FMT(schema_variables[i].name));
        cel_type_print(schema_variables[i].type, /* is_wire= */ false, out);
        buf_printf(out, " | %s |\n", schema_variables[i].about);
    }
    buf_append(out, STR("\n| function | signature | description |\n|---|---|---|\n"));
    for (size_t i = 0; i < schema_n_functions; i++)
        buf_printf(out, "| `%s` | `%s` | %.*s |\n", schema_functions[i].name,
            schema_functions[i].signature, STR_FMT(schema_function_abouts[i]));
    for (size_t i = schema_n_records; i-- > 0;)
        describe_record(schema_records[i], out);
}
