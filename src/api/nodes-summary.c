/*
 * Sorts nodes by name, with numbers in names by value, then fills each column in one pass. Counts
 * rejections by the history's node numbers, and maps these to names once per NodeNumbers.
 */

#include "api/nodes-summary.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "api/api-pages.h"
#include "api/page-field.h"
#include "api/query.h"
#include "base/map.h"
#include "live/gauge-state.h"

typedef struct NodePlace {
    Str name;
    uint32_t row;
} NodePlace;

typedef struct NodesMaking {
    ApiContext *api;
    const View *view;
    Arena *arena;
    NodesSummary *summary;
} NodesMaking;

/* Compares numbers in names by value: n9 before n10. */
static int compare_places(const void *a, const void *b) {
    return strverscmp(((const NodePlace *)a)->name.ptr, ((const NodePlace *)b)->name.ptr);
}

static void set_names(NodesMaking *making) {
    const NodeTable *table = making->view->table;
    NodePlace *places = ARENA_RAW(making->arena, NodePlace, table->n_rows);
    Str *names = ARENA_RAW(making->arena, Str, table->n_rows);
    uint32_t *rows = ARENA_RAW(making->arena, uint32_t, table->n_rows);
    size_t n = 0;

    if (!places || !names || !rows)
        return;
    for (uint32_t row = 0; row < table->n_rows; row++)
        if (table_node(table, row))
            places[n++] = (NodePlace){
                .name = arena_copy(making->arena, table->names->names[row]), .row = row};
    if (arena_has_failed(making->arena))
        return;
    if (n > 1)
        qsort(places, n, sizeof(*places), compare_places);
    for (size_t i = 0; i < n; i++) {
        names[i] = places[i].name;
        rows[i] = places[i].row;
    }
    making->summary->names = names;
    making->summary->rows = rows;
    making->summary->n = n;
}

static void set_states(NodesMaking *making) {
    NodesSummary *summary = making->summary;
    uint8_t *ready = ARENA_RAW(making->arena, uint8_t, summary->n);
    uint8_t *cordoned = ARENA_RAW(making->arena, uint8_t, summary->n);

    if (!ready || !cordoned)
        return;
    for (size_t i = 0; i < summary->n; i++) {
        const NodeChunk *chunk = table_chunk(making->view->table, summary->rows[i]);
        size_t slot = table_slot(summary->rows[i]);

        ready[i] = chunk->is_ready[slot] != 0;
        cordoned[i] = chunk->is_unschedulable[slot] != 0;
    }
    summary->is_ready = ready;
    summary->is_cordoned = cordoned;
}

/* Adds a column, and returns the array for its values. NULL: no room, or out of memory. */
static double *add_column(NodesMaking *making, Str name, Str label, bool is_share) {
    NodesSummary *summary = making->summary;
    double *values = ARENA_RAW(making->arena, double, summary->n);

    if (!values || summary->n_columns == NODES_SUMMARY_COLUMNS_MAX)
        return NULL;
    summary->columns[summary->n_columns++] = (NodeColumn){
        .name = arena_copy(making->arena, name),
        .label = arena_copy(making->arena, label),
        .is_share = is_share,
        .values = values,
    };
    return values;
}

static double share_of(const NodeTable *table, uint32_t row, size_t resource) {
    int64_t whole = table_amount(table, row, resource, AMOUNT_ALLOCATABLE);
    int64_t used = table_amount(table, row, resource, AMOUNT_REQUESTED);

    return whole > 0 ? (double)used / (double)whole : NAN;
}

static void add_used(NodesMaking *making, Str name, Str label, Str resource) {
    const NodeTable *table = making->view->table;
    size_t number = table_find_resource(table, resource);
    double *values = add_column(making, name, label, /* is_share= */ true);

    for (size_t i = 0; values && i < making->summary->n; i++)
        values[i] = number == SIZE_MAX ? NAN : share_of(table, making->summary->rows[i], number);
}

/* Two policies may use one name for different metrics. */
static bool is_named_before(const Program *program, size_t gauge) {
    for (size_t i = 0; i < gauge; i++)
        if (str_eq(program->gauges[i].name, program->gauges[gauge].name))
            return true;
    return false;
}

static void add_gauge(NodesMaking *making, size_t number) {
    const Program *program = making->view->program;
    const Gauge *gauge = &program->gauges[number];
    bool is_share = gauge->placements.is_counted && gauge->placements.unit == GAUGE_FRACTION;
    Str policy = is_named_before(program, number) ? gauge_policy(program, number) : STR_NULL;
    Str name = arena_printf(making->arena, "metrics.%.*s%s%.*s", STR_FMT(policy),
        str_is_empty(policy) ? "" : ".", STR_FMT(gauge->name));
    Str label = arena_printf(making->arena, "%.*s, as measured%s%.*s", STR_FMT(gauge->name),
        str_is_empty(policy) ? "" : ", of policy ", STR_FMT(policy));
    double *values = add_column(making, name, label, is_share);

    for (size_t i = 0; values && i < making->summary->n; i++)
        values[i] = loads_value(
            making->view->table->loads, number, LOAD_MEASURED, making->summary->rows[i]);
}

static void set_highest(NodesSummary *summary) {
    for (size_t i = 0; i < summary->n_columns; i++) {
        NodeColumn *column = &summary->columns[i];

        column->highest = NAN;
        for (size_t j = 0; j < summary->n; j++)
            column->highest = fmax(column->highest, column->values[j]); /* ignores NaN */
    }
}

/* Takes references to the newest filters with outcomes. Returns their number. */
static size_t read_filters(Decisions *decisions, FoundDecision ret[NODES_SUMMARY_DECISIONS_MAX]) {
    _cleanup_(decisions_walk_done) DecisionsWalk walk = {.decisions = decisions};
    FoundDecision found;
    size_t n = 0;

    while (n < NODES_SUMMARY_DECISIONS_MAX && decisions_next(&walk, &found)) {
        if (found.past->verb == VERB_FILTER && found.outcomes)
            ret[n++] = found;
        else
            found_done(&found);
    }
    return n;
}

/* Counts rejections of @filters, whose node numbers come from one NodeNumbers. */
static void count_run(NodesMaking *making, const FoundDecision *filters, size_t n,
    const Map *places, double *values) {
    const Str *names = decisions_names(making->api->decisions, filters[0].outcomes, making->arena);
    uint32_t highest = 0, *counts;

    for (size_t i = 0; i < n; i++)
        if (highest < outcomes_highest(filters[i].outcomes))
            highest = outcomes_highest(filters[i].outcomes);
    counts = ARENA_ARRAY(making->arena, uint32_t, highest);
    for (size_t i = 0; counts && i < n; i++)
        outcomes_add_rejected(filters[i].outcomes, counts);
    for (uint32_t i = 0; names && counts && i < highest; i++) {
        uint32_t place = counts[i] > 0 ? map_find(places, names[i]) : MAP_NONE;

        if (place != MAP_NONE)
            values[place] += counts[i];
    }
}

static void count_filters(
    NodesMaking *making, const FoundDecision *filters, size_t n, double *values) {
    Map places = MAP_INIT_IN(making->arena);
    size_t end;

    for (size_t i = 0; i < making->summary->n; i++)
        (void)!map_add(&places, making->summary->names[i], (uint32_t)i);
    for (size_t i = 0; i < n; i = end) {
        const NodeNumbers *numbers = outcomes_numbers(filters[i].outcomes);

        for (end = i + 1; end < n && outcomes_numbers(filters[end].outcomes) == numbers; end++)
            ;
        count_run(making, &filters[i], end - i, &places, values);
    }
}

static void add_rejected(NodesMaking *making) {
    double *values = add_column(making, STR("rejected"), STR("rejected by berth"), false);
    FoundDecision *filters = ARENA_RAW(making->arena, FoundDecision, NODES_SUMMARY_DECISIONS_MAX);
    size_t n;

    if (!values || !filters)
        return;
    for (size_t i = 0; i < making->summary->n; i++)
        values[i] = 0;
    n = read_filters(making->api->decisions, filters);
    count_filters(making, filters, n, values);
    making->summary->n_decisions = n;
    for (size_t i = 0; i < n; i++)
        found_done(&filters[i]);
}

int nodes_summary_make(ApiContext *api, Arena *arena, NodesSummary *ret) {
    _cleanup_(view_unrefp) View *view = current_view(api->current);
    NodesMaking making = {.api = api, .view = view, .arena = arena, .summary = ret};

    *ret = (NodesSummary){0};
    set_names(&making);
    set_states(&making);
    add_used(&making, STR("used.cpu"), STR("cpu requested"), STR("cpu"));
    add_used(&making, STR("used.memory"), STR("memory requested"), STR("memory"));
    add_used(&making, STR("used.pods"), STR("pod slots used"), STR("pods"));
    add_rejected(&making);
    for (size_t i = 0; i < view->program->n_gauges; i++)
        add_gauge(&making, i);
    set_highest(ret);
    return arena_has_failed(arena) ? -ENOMEM : 0;
}

const NodeColumn *nodes_summary_column(const NodesSummary *summary, Str name) {
    for (size_t i = 0; i < summary->n_columns; i++)
        if (str_eq(summary->columns[i].name, name))
            return &summary->columns[i];
    return NULL;
}

/* --- the page --------------------------------------------------------------------------------- */

static void write_flags(JsonWriter *writer, const char *key, const uint8_t *flags, size_t n) {
    json_member_array(writer, key);
    for (size_t i = 0; i < n; i++)
        json_write_int(writer, flags[i]);
    json_write_end_array(writer);
}

/* Enough digits for a colour; 17 digits for each of 5,000 nodes would be many bytes. */
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
    if (column.ptr && !nodes_summary_column(&summary, column))
        return page_write_error(out, 404, "there is no such column: /api/v1/nodes has all");
    write_page(&summary, column, out);
    return 200;
}
