/*
 * Series to nodes: a way is chosen, each series is followed to a row, and rows that one series
 * alone leads to get its value.
 */

#include <errno.h>

#include "base/hash.h"
#include "base/message.h"
#include "load/join-internal.h"

/* The same for all series of one join. */
typedef struct Rows {
    uint32_t *items;  /* by series: a row, JOIN_ROW_NONE or JOIN_ROW_NO_LABEL */
    uint32_t *counts; /* by row: series that lead there */
    size_t n_labelled, n_matched, n_nodes; /* series with the label, with a row; their rows */
    uint64_t key;
    uint64_t labels; /* their digest; 0: not needed */
} Rows;

static bool is_row(uint32_t row) {
    return row < JOIN_ROW_FORGOTTEN;
}

static JoinWay gauge_way(Join *join) {
    const Gauge *gauge = join->gauge;
    bool is_ours = gauge->source == GAUGE_RESOURCES; /* load/vector.h has made its labels */

    return (JoinWay){
        .label = is_ours ? STR("node") : gauge->node_label,
        .identity = is_ours ? GAUGE_BY_NAME : gauge->identity,
        .gauge = gauge,
        .index = join->memory->index,
        .arena = join->scratch,
        .work = &join->work,
    };
}

static bool way_is_given(const JoinWay *way) {
    return !str_is_empty(way->label) && way->identity != GAUGE_BY_ANY;
}

static void count_row(Rows *rows, uint32_t row) {
    rows->n_matched++;
    rows->n_nodes += rows->counts[row]++ == 0;
}

/* Where every series leads. Remembered rows are not looked up again. */
static int follow(Join *join, JoinWay *way, Rows *rows) {
    const Vector *vector = join->vector;
    bool holds = join_memory_holds(join->memory, rows->key, way);
    size_t n_asked = 0, hint = 0;
    int r = 0;

    rows->n_labelled = rows->n_matched = rows->n_nodes = 0;
    memset(rows->counts, 0, join->table->names->n_rows * sizeof(*rows->counts));
    for (size_t i = 0; i < vector->n && r == 0; i++) {
        Str value = join_label(&vector->items[i], way->label, &hint);
        uint32_t row = JOIN_ROW_NO_LABEL;

        if (value.ptr) {
            rows->n_labelled++;
            row = holds ? join_memory_row(join->memory, i, value) : JOIN_ROW_FORGOTTEN;
        }
        if (row == JOIN_ROW_FORGOTTEN) {
            n_asked++;
            r = join_way_find(way, value, &row);
        }
        rows->items[i] = row;
        if (is_row(row))
            count_row(rows, row);
    }
    if (r == 0 &&
        (n_asked > 0 || join->memory->n != vector->n || join->memory->labels != rows->labels))
        join_memory_learn(join->memory, rows->key, rows->labels, way, vector, rows->items);
    return r;
}

/* The same for the same series in any order. Names of labels are mostly the very texts of the
 * series before (vector-shape.h), and then known. */
static uint64_t digest_labels(const Vector *vector) {
    const char *names[VECTOR_LABELS_MAX] = {NULL};
    uint64_t hashes[VECTOR_LABELS_MAX] = {0}, digest = vector->n;

    for (size_t i = 0; i < vector->n; i++) {
        const Series *series = &vector->items[i];
        uint64_t of_series = 0;

        for (uint32_t k = 0; k < series->n_labels; k++) {
            const SeriesLabel *label = &series->labels[k];

            if (names[k] != label->name.ptr) {
                names[k] = label->name.ptr;
                hashes[k] = hash_str(label->name);
            }
            of_series = (of_series ^ hash_str(label->value)) * UINT64_C(0x9e3779b97f4a7c15);
            of_series += hashes[k];
        }
        digest += of_series;
    }
    return digest ? digest : 1;
}

/* A way that was found for these very labels and nodes would be found again, and that takes its
 * time; for any others it is looked for anew, so that what is joined never depends on the past. */
static int follow_some_way(Join *join, JoinWay *way, Rows *rows) {
    int r;

    if (way_is_given(way))
        return follow(join, way, rows);
    rows->labels = digest_labels(join->vector);
    if (join_memory_way(join->memory, rows->key, rows->labels, way))
        return follow(join, way, rows);
    r = join_find(join, way);
    return r == 0 ? follow(join, way, rows) : r;
}

/* --- values ---------------------------------------------------------------- */

static void count_lost(Join *join, JoinWay *way, const Series *series, uint32_t row) {
    Str text = STR_NULL;

    if (row == JOIN_ROW_NO_LABEL) {
        join->report->n_dropped[JOIN_NO_LABEL]++;
        return;
    }
    if (join->n_unmatched < JOIN_EXAMPLES_MAX)
        text = join_way_compared(way, series_label(series, way->label));
    join_count_unmatched(join, STR_NULL, text);
}

static int set_values(Join *join, JoinWay *way, const Rows *rows) {
    int r = 0;

    for (size_t i = 0; i < join->vector->n && r == 0; i++) {
        const Series *series = &join->vector->items[i];
        uint32_t row = rows->items[i];
        int64_t lag;

        if (!is_row(row))
            count_lost(join, way, series, row);
        else if (rows->counts[row] > 1)
            join->report->n_dropped[JOIN_DUPLICATE]++;
        else if (join_admit(join, series, &lag))
            r = join_set(join, row, series->value, lag);
    }
    return r;
}

static void explain_pattern(Join *join, int r) {
    Message message = message_begin(join->report->error, JOIN_TEXT_MAX);

    message_add(&message, r == -EINVAL
                              ? "nodePattern is no regular expression: "
                              : "nodePattern takes too long for the labels of this answer: ");
    message_quote(&message, "", join->gauge->node_pattern, "");
}

/* Nothing is joined: every series is one that no node is found for. */
static int give_up(Join *join, JoinWay *way, int r) {
    size_t hint = 0;

    if (r == -EINVAL || r == -E2BIG)
        explain_pattern(join, r);
    else if (r < 0)
        return r;
    if (str_is_empty(way->label)) {
        join->report->n_dropped[JOIN_NO_NODE] = join->vector->n;
        return 0;
    }
    for (size_t i = 0; i < join->vector->n; i++) {
        const Series *series = &join->vector->items[i];
        bool has_label = join_label(series, way->label, &hint).ptr;

        count_lost(join, way, series, has_label ? JOIN_ROW_NONE : JOIN_ROW_NO_LABEL);
    }
    return 0;
}

int join_nodes(Join *join) {
    JoinWay way = gauge_way(join);
    Rows rows = {
        .items = ARENA_RAW(join->scratch, uint32_t, join->vector->n),
        .counts = ARENA_RAW(join->scratch, uint32_t, join->table->names->n_rows + 1),
        .key = join_memory_key(join->gauge),
    };
    Message how;
    int r;

    if (!rows.items || !rows.counts)
        return -ENOMEM;
    join_index_follow(join->memory->index, join->table);
    r = follow_some_way(join, &way, &rows);
    if (r != 0)
        return give_up(join, &way, r);
    r = set_values(join, &way, &rows);
    if (r < 0)
        return r;
    how = message_begin(join->report->how, JOIN_TEXT_MAX);
    if (rows.n_matched > 0)
        join_way_describe(&way, &how);
    join_explain_end(join, rows.n_labelled, rows.n_matched, way.label, way.label);
    return 0;
}
