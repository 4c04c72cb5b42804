/*
 * Joins series to nodes: chooses a way, follows each series to a row, and sets the value of rows to
 * which exactly one series leads.
 */

#include "load/join-internal.h"

#include <errno.h>

#include "base/hash.h"

/*
 * Find: chooses the label that names the nodes, and the identity that it has.
 *
 * Every label that all series have is tried as a name, a hostname and an address. The one that
 * finds the most nodes is taken, unless another finds nearly as many, and different ones: a label
 * that finds a node or two may do so by chance (the exporter itself runs on one), but with two that
 * find as many, either may be meant.
 */

#define NOT_FOUND 1
#define FIND_LABELS_MAX 16u
#define FIND_SERIES_MAX 65536u /* with more, every n-th is examined */
#define N_IDENTITIES 3u

/* The best is taken in spite of one that contradicts it if it finds this many times its nodes. */
#define CLEAR_MARGIN 2u

typedef struct Candidate {
    JoinWay way;
    size_t n_series, n_nodes; /* series that it leads to a node; these nodes */
} Candidate;

typedef struct Find {
    Join *join;
    size_t step; /* every n-th series is examined */
    Candidate candidates[FIND_LABELS_MAX * N_IDENTITIES];
    size_t n;
    unsigned char *seen; /* by row */
} Find;

static bool all_have(const Find *find, Str label) {
    const Vector *vector = find->join->vector;
    size_t hint = 0;

    for (size_t i = 0; i < vector->n; i += find->step)
        if (!join_label(&vector->items[i], label, &hint).ptr)
            return false;
    return true;
}

static void add_label(Find *find, const JoinWay *given, Str label) {
    for (unsigned i = 0; i < N_IDENTITIES; i++) {
        GaugeIdentity identity = (GaugeIdentity)(GAUGE_BY_NAME + i);
        Candidate *candidate;

        if (given->identity != GAUGE_BY_ANY && given->identity != identity)
            continue;
        candidate = &find->candidates[find->n++];
        *candidate = (Candidate){.way = *given};
        candidate->way.label = label;
        candidate->way.identity = identity;
    }
}

static void add_candidates(Find *find, const JoinWay *given) {
    const Series *first = &find->join->vector->items[0];
    size_t n_labels = 0;

    if (!str_is_empty(given->label)) {
        add_label(find, given, given->label);
        return;
    }
    for (size_t i = 0; i < first->n_labels && n_labels < FIND_LABELS_MAX; i++) {
        if (!all_have(find, first->labels[i].name))
            continue;
        add_label(find, given, first->labels[i].name);
        n_labels++;
    }
}

/* The row of series @i by @candidate. */
static int try_series(const Find *find, Candidate *candidate, size_t i, uint32_t *ret_row) {
    size_t hint = 0;
    Str value = join_label(&find->join->vector->items[i], candidate->way.label, &hint);

    *ret_row = JOIN_ROW_NONE;
    return value.ptr ? join_way_find(&candidate->way, value, ret_row) : 0;
}

static int try_candidate(Find *find, Candidate *candidate) {
    memset(find->seen, 0, find->join->table->names->n_rows);
    for (size_t i = 0; i < find->join->vector->n; i += find->step) {
        uint32_t row;
        int r = try_series(find, candidate, i, &row);

        if (r < 0)
            return r;
        if (row == JOIN_ROW_NONE)
            continue;
        candidate->n_series++;
        candidate->n_nodes += !find->seen[row];
        find->seen[row] = 1;
    }
    return 0;
}

/* The first of equal candidates wins: names before hostnames before addresses. */
static Candidate *best_of(Find *find) {
    Candidate *best = NULL;

    for (size_t i = 0; i < find->n; i++) {
        Candidate *candidate = &find->candidates[i];

        if (candidate->n_nodes == 0)
            continue;
        if (!best || candidate->n_nodes > best->n_nodes ||
            (candidate->n_nodes == best->n_nodes && candidate->n_series > best->n_series))
            best = candidate;
    }
    return best;
}

/* Whether both lead some series to different nodes: 1, 0, or an error of join_way_find(). */
static int contradict(const Find *find, Candidate *a, Candidate *b) {
    for (size_t i = 0; i < find->join->vector->n; i += find->step) {
        uint32_t row_a = JOIN_ROW_NONE, row_b = JOIN_ROW_NONE;
        int r = try_series(find, a, i, &row_a);

        if (r == 0)
            r = try_series(find, b, i, &row_b);
        if (r < 0)
            return r;
        if (row_a != row_b && row_a != JOIN_ROW_NONE && row_b != JOIN_ROW_NONE)
            return 1;
    }
    return 0;
}

/* Sets a candidate that contradicts @best and may be meant as well; NULL: none. 0, or an error. */
static int find_rival(Find *find, Candidate *best, Candidate **ret) {
    *ret = NULL;
    for (size_t i = 0; i < find->n; i++) {
        Candidate *other = &find->candidates[i];
        int r;

        if (other == best || other->n_nodes == 0 || best->n_nodes >= other->n_nodes * CLEAR_MARGIN)
            continue;
        r = contradict(find, best, other);
        if (r < 0)
            return r;
        if (r > 0) {
            *ret = other;
            return 0;
        }
    }
    return 0;
}

static void explain_rival(Join *join, const Candidate *best, const Candidate *rival) {
    Message message = message_begin(join->report->error, JOIN_TEXT_MAX);

    if (str_eq(best->way.label, rival->way.label)) {
        message_quote(&message, "label ", best->way.label, "");
        message_add(&message, " is the %s of %zu nodes and the %s of %zu others: set nodeIs",
            join_identity_name(best->way.identity), best->n_nodes,
            join_identity_name(rival->way.identity), rival->n_nodes);
        return;
    }
    message_quote(&message, "labels ", best->way.label, "");
    message_add(&message, " (%zu nodes) and ", best->n_nodes);
    message_quote(&message, "", rival->way.label, "");
    message_add(&message, " (%zu nodes) name different nodes: set nodeLabel", rival->n_nodes);
}

static int choose(Find *find, JoinWay *way) {
    Candidate *best = best_of(find), *rival;
    int r;

    if (!best) {
        join_explain_unmatched(find->join, way->label);
        return NOT_FOUND;
    }
    r = find_rival(find, best, &rival);
    if (r < 0)
        return r;
    if (rival) {
        explain_rival(find->join, best, rival);
        return NOT_FOUND;
    }
    *way = best->way;
    return 0;
}

/* Finds the way that leads to the most nodes. @way is the gauge's; an empty label and GAUGE_BY_ANY
 * are replaced. 0; NOT_FOUND: the report has the reason; or an error of join_way_find(). */
static int find_way(Join *join, JoinWay *way) {
    Find find = {.join = join, .step = join->vector->n / FIND_SERIES_MAX + 1};

    find.seen = arena_alloc(join->scratch, join->table->names->n_rows + 1);
    if (!find.seen)
        return -ENOMEM;
    add_candidates(&find, way);
    for (size_t i = 0; i < find.n; i++) {
        int r = try_candidate(&find, &find.candidates[i]);

        if (r < 0)
            return r;
    }
    return choose(&find, way);
}

/* Where the series of one join lead. */
typedef struct Rows {
    uint32_t *items;  /* by series: a row, JOIN_ROW_NONE or JOIN_ROW_NO_LABEL */
    uint32_t *counts; /* by row: series that lead there */
    size_t n_labelled, n_matched, n_nodes; /* series with the label, with a row; their rows */
    uint64_t labels;                       /* their digest; 0: not needed */
} Rows;

static bool is_row(uint32_t row) {
    return row < JOIN_ROW_FORGOTTEN;
}

/* Finds the row of every series. Remembered rows are not looked up again. */
static int follow(Join *join, JoinWay *way, Rows *rows) {
    const Vector *vector = join->vector;
    bool holds = join_memory_holds(join->memory, way);
    size_t n_lookups = 0, hint = 0;
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
            n_lookups++;
            r = join_way_find(way, value, &row);
        }
        rows->items[i] = row;
        if (is_row(row)) {
            rows->n_matched++;
            rows->n_nodes += rows->counts[row]++ == 0;
        }
    }
    if (r == 0 &&
        (n_lookups > 0 || join->memory->n != vector->n || join->memory->labels != rows->labels))
        join_memory_learn(join->memory, rows->labels, way, vector, rows->items);
    return r;
}

/* A digest that is independent of the order of series. A label's name mostly is the same memory as
 * in the series before (SeriesShape): then its hash is known. */
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

/* For the same labels and nodes a search would only find the remembered way again. For any others
 * it is repeated, so that a join never depends on the past. */
static int follow_some_way(Join *join, JoinWay *way, Rows *rows) {
    int r;

    if (!str_is_empty(way->label) && way->identity != GAUGE_BY_ANY)
        return follow(join, way, rows);
    rows->labels = digest_labels(join->vector);
    if (join_memory_way(join->memory, rows->labels, way))
        return follow(join, way, rows);
    r = find_way(join, way);
    return r == 0 ? follow(join, way, rows) : r;
}

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

/* Joins nothing: counts every series as one without a node. @r is the reason. */
static int give_up(Join *join, JoinWay *way, int r) {
    size_t hint = 0;
    Message message;

    if (r == -EINVAL || r == -E2BIG) {
        message = message_begin(join->report->error, JOIN_TEXT_MAX);
        message_quote(&message,
            r == -EINVAL ? "nodePattern is no regular expression: "
                         : "nodePattern takes too long for the labels of this answer: ",
            join->gauge->node_pattern, "");
    } else if (r < 0) {
        return r;
    }
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
    const Gauge *gauge = join->gauge;
    /* load/vector.h creates these labels */
    bool is_ours = gauge->source == GAUGE_RESOURCES || gauge->source == GAUGE_CUSTOM;
    JoinWay way = {
        .label = is_ours ? STR("node") : gauge->node_label,
        .identity = is_ours ? GAUGE_BY_NAME : gauge->identity,
        .join = join,
    };
    Rows rows = {
        .items = ARENA_RAW(join->scratch, uint32_t, join->vector->n),
        .counts = ARENA_RAW(join->scratch, uint32_t, join->table->names->n_rows + 1),
    };
    Message how;
    int r;

    if (!rows.items || !rows.counts)
        return -ENOMEM;
    join_index_follow(join->index, join->table);
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
