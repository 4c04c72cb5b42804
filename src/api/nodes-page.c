/* /api/v1/nodes: one column of values for all nodes. */

#include "api/api-pages.h"

#include <math.h>

#include "api/nodes-summary.h"
#include "api/page-field.h"
#include "api/query.h"

static void write_flags(JsonWriter *writer, const char *key, const uint8_t *flags, size_t n) {
    json_member_array(writer, key);
    for (size_t i = 0; i < n; i++)
        json_write_int(writer, flags[i]);
    json_write_end_array(writer);
}

/* Enough for a colour; 5,000 nodes times 17 digits would be many bytes. */
#define DIGITS 5

static double rounded(double value) {
    double step;

    if (value == 0 || !isfinite(value))
        return value;
    step = pow(10, DIGITS - 1 - floor(log10(fabs(value))));
    return isfinite(step) && step > 0 ? round(value * step) / step : value;
}

static void write_page(const NodesSummary *summary, Str wanted, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);

    json_write(&writer, "{decisions: %zu", summary->n_decisions);
    json_member_texts(&writer, "names", summary->names, summary->n);
    write_flags(&writer, "ready", summary->is_ready, summary->n);
    write_flags(&writer, "cordoned", summary->is_cordoned, summary->n);
    json_member_array(&writer, "columns");
    for (size_t i = 0; i < summary->n_columns; i++) {
        const NodeColumn *column = &summary->columns[i];

        if (wanted.ptr && !str_eq(wanted, column->name))
            continue;
        json_write(&writer, "{name: %.*s, label: %.*s, share: %i, highest: %g, values: [",
            STR_FMT(column->name), STR_FMT(column->label), column->is_share,
            rounded(column->highest));
        for (size_t j = 0; j < summary->n; j++)
            json_write_double(&writer, rounded(column->values[j]));
        json_write(&writer, "]}");
    }
    json_write(&writer, "]}\n");
}

static bool has_column(const NodesSummary *summary, Str name) {
    for (size_t i = 0; i < summary->n_columns; i++)
        if (str_eq(summary->columns[i].name, name))
            return true;
    return false;
}

unsigned nodes_page(ApiContext *api, const HttpRequest *request, Buf *out) {
    static const Str names[] = {STR("column")};
    char error[QUERY_ERROR_MAX];
    NodesSummary summary;
    Query query;
    Str column;

    if (!query_parse(request->query, names, ELEMENTS_OF(names), request->arena, &query, error))
        return page_write_error(out, 400, error);
    if (nodes_summary_make(api, request->arena, &summary) < 0)
        return page_write_no_memory(out, "the list of nodes", request->arena);
    column = query_get(&query, STR("column"));
    if (column.ptr && !has_column(&summary, column))
        return page_write_error(out, 404, "there is no such column: /api/v1/nodes has all");
    write_page(&summary, column, out);
    return 200;
}
