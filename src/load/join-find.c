/*
 * Which label names the nodes, and how.
 *
 * Every label that all series have is tried as a name, a hostname and an address. The one that
 * finds the most nodes is taken, unless another one finds nearly as many and other ones: a label
 * that finds a node or two may do so by chance (the exporter itself runs on one), one that finds as
 * many as another is as likely to be meant.
 */

#include <errno.h>

#include "base/message.h"
#include "load/join-internal.h"

#define FIND_LABELS_MAX 16u
#define FIND_SERIES_MAX 65536u /* of more some are left out, evenly */
#define N_IDENTITIES 3u

/* The best is taken in spite of one that contradicts it if it finds so many times more nodes. */
#define CLEAR_MARGIN 2u

typedef struct Candidate {
    JoinWay way;
    size_t n_series, n_nodes; /* that it leads somewhere, that it leads to */
} Candidate;

typedef struct Find {
    Join *join;
    size_t step; /* every so manieth series is looked at */
    Candidate candidates[FIND_LABELS_MAX * N_IDENTITIES];
    size_t n;
    unsigned char *seen; /* by row */
} Find;

/* --- candidates ------------------------------------------------------------ */

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

/* --- trying ---------------------------------------------------------------- */

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

/* Of equal ones the first: names before hostnames before addresses. */
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

/* 1: they lead some series to different nodes; 0; -ENOMEM. */
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

/* One that contradicts @best, and may be meant as well: 0 with it, or NULL. */
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
        return JOIN_NOT_FOUND;
    }
    r = find_rival(find, best, &rival);
    if (r < 0)
        return r;
    if (rival) {
        explain_rival(find->join, best, rival);
        return JOIN_NOT_FOUND;
    }
    *way = best->way;
    return 0;
}

int join_find(Join *join, JoinWay *way) {
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
