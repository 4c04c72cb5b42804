#include "serve/decisions.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "json/read.h"

/*
 * A ring of decisions by id. Ids are handed out under the lock, so those that are kept are
 * the last n without a gap, and the decision with id i is at i % max.
 */

/* What malloc adds to a piece, about. */
#define PIECE_COST 16u

/* Names of nodes that are gone may stay in the roll, up to this many beside four times
 * those that a request or the cluster has. */
#define ROLL_SPARE 16384u

/* About what a name takes in a roll; and the share of the ceiling that names may take: a
 * ceiling too low for the cluster keeps headlines only. */
#define ROLL_NAME_COST 160u
#define ROLL_SHARE 2u

#define NAMES_BUDGET ((size_t)1024 * 1024)

typedef struct Kept {
    PastDecision *past;
    Outcomes *outcomes;
} Kept;

/* The rows of a cluster's names as numbers of the roll. */
typedef struct Lineup {
    NodeNames *names;  /* a reference: so that no other gets its address */
    uint32_t *numbers; /* by row, the unknown node included, which is ROLL_NONE */
    size_t n_rows, size;
} Lineup;

struct Decisions {
    size_t max, bytes_max;

    pthread_mutex_t mutex; /* guards what follows */
    Kept *ring;
    size_t n;
    uint64_t next;         /* id of the next one */
    uint64_t next_to_drop; /* all that are older have no outcomes */
    Roll *roll;            /* the current one */
    RuleBook *book;        /* the current one ... */
    Program *program;      /* ... and whose it is: a reference, for its address */
    Lineup lineup;
    uint32_t *numbers; /* of one request, to be written over by the next */
    size_t n_numbers;
    DecisionsFigures figures;
};

Decisions *decisions_new(size_t max, size_t bytes_max) {
    Decisions *decisions = calloc(1, sizeof(*decisions));

    assert(max > 0 && max <= DECISIONS_MAX);
    if (!decisions)
        return NULL;
    decisions->max = max;
    decisions->bytes_max = bytes_max;
    decisions->next = decisions->next_to_drop = 1;
    decisions->ring = calloc(max, sizeof(*decisions->ring));
    if (!decisions->ring) {
        free(decisions);
        return NULL;
    }
    decisions->figures.bytes = max * sizeof(*decisions->ring);
    (void)pthread_mutex_init(&decisions->mutex, NULL);
    return decisions;
}

/* --- what is shared ------------------------------------------------------------------- */

/* A roll is counted while it is the current one or something that is kept refers to it. */
static void count_roll(Decisions *decisions, Roll *roll) {
    size_t now = roll_bytes(roll);

    decisions->figures.bytes += now - roll->n_counted;
    roll->n_counted = now;
}

static void leave_roll(Decisions *decisions, Roll *roll) {
    if (roll == decisions->roll || roll->n_users > 0)
        return;
    decisions->figures.bytes -= roll->n_counted;
    roll->n_counted = 0;
}

static void forget_lineup(Lineup *lineup) {
    names_unref(lineup->names);
    lineup->names = NULL;
    lineup->n_rows = 0;
}

static void drop_roll(Decisions *decisions) {
    Roll *roll = TAKE_PTR(decisions->roll);

    if (!roll)
        return;
    leave_roll(decisions, roll);
    roll_unref(roll);
    forget_lineup(&decisions->lineup);
}

static void leave_book(Decisions *decisions, RuleBook *book) {
    if (book != decisions->book && book->n_users == 0)
        decisions->figures.bytes -= book->bytes;
}

static void drop_book(Decisions *decisions) {
    RuleBook *book = TAKE_PTR(decisions->book);

    if (!book)
        return;
    leave_book(decisions, book);
    rulebook_unref(book);
    decisions->program = program_unref(decisions->program);
}

/* The book of @program. A reload that changes nothing keeps the one there is. */
static RuleBook *find_book(Decisions *decisions, Program *program) {
    if (decisions->program == program)
        return decisions->book;
    if (decisions->book && rulebook_is_of(decisions->book, program)) {
        program_unref(decisions->program);
        decisions->program = program_ref(program);
        return decisions->book;
    }
    drop_book(decisions);
    decisions->book = rulebook_new(program);
    if (decisions->book) {
        decisions->program = program_ref(program);
        decisions->figures.bytes += decisions->book->bytes;
    }
    return decisions->book;
}

/* --- forgetting -------------------------------------------------------------------------- */

static Kept *kept_at(Decisions *decisions, uint64_t id) {
    return &decisions->ring[id % decisions->max];
}

static uint64_t oldest_id(const Decisions *decisions) {
    return decisions->next - decisions->n;
}

static void forget_outcomes(Decisions *decisions, Kept *kept) {
    Roll *roll;

    if (!kept->outcomes)
        return;
    roll = outcomes_roll(kept->outcomes);
    decisions->figures.bytes -= outcomes_bytes(kept->outcomes) + PIECE_COST;
    decisions->figures.n_with_outcomes--;
    roll->n_users--;
    leave_roll(decisions, roll);
    kept->outcomes = outcomes_unref(kept->outcomes);
}

static void forget_oldest(Decisions *decisions) {
    Kept *kept = kept_at(decisions, oldest_id(decisions));
    RuleBook *book = kept->past->book;

    forget_outcomes(decisions, kept);
    decisions->figures.bytes -= kept->past->bytes + PIECE_COST;
    book->n_users--;
    leave_book(decisions, book);
    kept->past = past_unref(kept->past);
    decisions->n--;
    if (decisions->next_to_drop < oldest_id(decisions))
        decisions->next_to_drop = oldest_id(decisions);
}

/* The oldest outcomes that are left, but not those of @spare. False: there are none. */
static bool forget_oldest_outcomes(Decisions *decisions, uint64_t spare) {
    while (decisions->next_to_drop < decisions->next && decisions->next_to_drop != spare) {
        Kept *kept = kept_at(decisions, decisions->next_to_drop++);

        if (!kept->outcomes)
            continue;
        forget_outcomes(decisions, kept);
        decisions->figures.n_outcomes_dropped++;
        return true;
    }
    return false;
}

/* Back below the ceiling: outcomes first, then headlines, but never the one just written. */
static void make_room(Decisions *decisions) {
    uint64_t newest = decisions->next - 1;

    while (decisions->figures.bytes > decisions->bytes_max &&
           forget_oldest_outcomes(decisions, newest))
        ;
    while (decisions->figures.bytes > decisions->bytes_max && decisions->n > 1) {
        forget_oldest(decisions);
        decisions->figures.n_dropped++;
    }
    if (decisions->figures.bytes > decisions->bytes_max)
        (void)forget_oldest_outcomes(decisions, /* spare= */ 0);
    if (decisions->figures.bytes > decisions->bytes_max)
        drop_roll(decisions); /* nothing refers to it any more */
}

Decisions *decisions_free(Decisions *decisions) {
    if (!decisions)
        return NULL;
    while (decisions->n > 0)
        forget_oldest(decisions);
    drop_roll(decisions);
    drop_book(decisions);
    assert(decisions->figures.bytes == decisions->max * sizeof(*decisions->ring));
    free(decisions->lineup.numbers);
    free(decisions->numbers);
    free(decisions->ring);
    (void)pthread_mutex_destroy(&decisions->mutex);
    free(decisions);
    return NULL;
}

/* --- who is who --------------------------------------------------------------------------- */

/* Room for @n numbers at *@at, which has *@size. */
static bool reserve(uint32_t **at, size_t *size, size_t n) {
    uint32_t *more;

    if (n <= *size)
        return true;
    more = realloc(*at, n * sizeof(*more));
    if (!more)
        return false;
    *at = more;
    *size = n;
    return true;
}

/* A roll that can hold this request without carrying too much that is long gone. */
static Roll *find_roll(Decisions *decisions, size_t n_nodes) {
    if (decisions->roll && roll_size(decisions->roll) > 4 * n_nodes + ROLL_SPARE)
        drop_roll(decisions);
    if (!decisions->roll)
        decisions->roll = roll_new();
    return decisions->roll;
}

/* Numbers for the rows of @names. Most have them from the names before: a set of nodes
 * changes by a few at a time. */
static bool line_up(Decisions *decisions, const NodeNames *names) {
    Lineup *lineup = &decisions->lineup;
    Roll *roll = decisions->roll;

    if (lineup->names == names)
        return true;
    if (!names->arena || !reserve(&lineup->numbers, &lineup->size, names->n_rows + 1))
        return false;
    for (size_t row = 0; row < names->n_rows; row++) {
        uint32_t before = row < lineup->n_rows ? lineup->numbers[row] : ROLL_NONE;

        if (before == ROLL_NONE || !str_eq(roll_name(roll, before), names->names[row]))
            lineup->numbers[row] = roll_add(roll, names->names[row]);
    }
    lineup->numbers[names->n_rows] = ROLL_NONE;
    forget_lineup(lineup);
    lineup->names = names_ref((NodeNames *)(uintptr_t)names);
    lineup->n_rows = names->n_rows;
    return true;
}

/* Names that the cluster does not know stand in the request only, as JSON. */
static uint32_t number_stranger(Roll *roll, const FilterArgs *args, size_t i, Arena *arena) {
    Span span = args->spans[i];
    Str raw = str_of(args->body.ptr + span.at + 1, span.len - 2);

    return roll_add(roll, str_find(raw, '\\') == SIZE_MAX ? raw : json_unescape(raw, arena));
}

static bool number_names(Decisions *decisions, const FilterArgs *args) {
    const NodeNames *names = args->sight.table->names;
    const uint32_t *numbers;
    _cleanup_(arena_freep) Arena *arena = NULL;

    if (args->n_unknown > 0 && !(arena = arena_new(NAMES_BUDGET)))
        return false;
    if (args->n_unknown == args->n) { /* no cluster, maybe: no names to line up */
        for (size_t i = 0; i < args->n; i++)
            decisions->numbers[i] = number_stranger(decisions->roll, args, i, arena);
        return true;
    }
    if (!line_up(decisions, names))
        return false;
    numbers = decisions->lineup.numbers;
    for (size_t i = 0; i < args->n; i++)
        decisions->numbers[i] = numbers[args->rows[i]];
    for (size_t i = 0; args->n_unknown > 0 && i < args->n; i++)
        if (args->rows[i] == names->n_rows)
            decisions->numbers[i] = number_stranger(decisions->roll, args, i, arena);
    return true;
}

/* The nodes of the request as numbers of the roll, in decisions->numbers. */
static bool number_nodes(Decisions *decisions, const FilterArgs *args) {
    const NodeNames *names = args->sight.table->names;

    if (!reserve(&decisions->numbers, &decisions->n_numbers, args->n))
        return false;
    if (args->has_names)
        return number_names(decisions, args);
    for (size_t i = 0; i < args->n; i++)
        decisions->numbers[i] = roll_add(decisions->roll, names->names[args->rows[i]]);
    return true;
}

/* --- remembering ------------------------------------------------------------------------------ */

static Outcomes *make_outcomes(
    Decisions *decisions, const View *view, const Decision *decision, const RulePlaces *places) {
    const FilterArgs *args = decision->args;
    size_t n_known = view->table->names->n_nodes;
    size_t n_nodes = args->n > n_known ? args->n : n_known;
    Outcomes *outcomes = NULL;

    if (n_nodes > decisions->bytes_max / ROLL_NAME_COST / ROLL_SHARE) {
        decisions->figures.n_outcomes_dropped++;
        return NULL;
    }
    if (find_roll(decisions, n_nodes) && number_nodes(decisions, args))
        outcomes = outcomes_new(decision, places, decisions->roll, decisions->numbers);
    if (decisions->roll)
        count_roll(decisions, decisions->roll);
    return outcomes;
}

static void keep(Decisions *decisions, PastDecision *past, Outcomes *outcomes) {
    if (decisions->n == decisions->max)
        forget_oldest(decisions);
    *kept_at(decisions, past->id) = (Kept){.past = past, .outcomes = outcomes};
    decisions->n++;
    decisions->next++;
    decisions->figures.bytes += past->bytes + PIECE_COST;
    past->book->n_users++;
    if (outcomes) {
        decisions->figures.bytes += outcomes_bytes(outcomes) + PIECE_COST;
        decisions->figures.n_with_outcomes++;
        outcomes_roll(outcomes)->n_users++;
    }
    make_room(decisions);
}

static void note_locked(
    Decisions *decisions, const View *view, Verb verb, const Decision *decision, PastTimes times) {
    RuleBook *book = find_book(decisions, view->program);
    Outcomes *outcomes = NULL;
    PastDecision *past;
    RulePlaces places;

    if (!book)
        return;
    past = past_new(decisions->next, view, verb, decision, times, book, &places);
    if (!past)
        return;
    if (decision->args)
        outcomes = make_outcomes(decisions, view, decision, &places);
    keep(decisions, past, outcomes);
}

void decisions_note(
    Decisions *decisions, const View *view, Verb verb, const Decision *decision, PastTimes times) {
    if (!decisions)
        return;
    (void)pthread_mutex_lock(&decisions->mutex);
    note_locked(decisions, view, verb, decision, times);
    (void)pthread_mutex_unlock(&decisions->mutex);
}

/* --- reading ------------------------------------------------------------------------- */

static FoundDecision take_found(const Kept *kept) {
    return (FoundDecision){
        .past = past_ref(kept->past),
        .outcomes = kept->outcomes ? outcomes_ref(kept->outcomes) : NULL,
    };
}

void found_done(FoundDecision *found) {
    found->past = past_unref(found->past);
    found->outcomes = outcomes_unref(found->outcomes);
}

size_t decisions_read(Decisions *decisions, uint64_t below, FoundDecision *ret, size_t n) {
    size_t n_found = 0;
    uint64_t id;

    (void)pthread_mutex_lock(&decisions->mutex);
    id = below == 0 || below > decisions->next ? decisions->next : below;
    while (n_found < n && id > oldest_id(decisions))
        ret[n_found++] = take_found(kept_at(decisions, --id));
    (void)pthread_mutex_unlock(&decisions->mutex);
    return n_found;
}

bool decisions_find(Decisions *decisions, uint64_t id, FoundDecision *ret) {
    bool is_kept;

    (void)pthread_mutex_lock(&decisions->mutex);
    is_kept = id >= oldest_id(decisions) && id < decisions->next;
    if (is_kept)
        *ret = take_found(kept_at(decisions, id));
    (void)pthread_mutex_unlock(&decisions->mutex);
    return is_kept;
}

uint32_t decisions_number(Decisions *decisions, const Outcomes *outcomes, Str node) {
    uint32_t number;

    (void)pthread_mutex_lock(&decisions->mutex);
    number = roll_find(outcomes_roll(outcomes), node);
    (void)pthread_mutex_unlock(&decisions->mutex);
    return number;
}

const Str *decisions_names(Decisions *decisions, const Outcomes *outcomes, Arena *arena) {
    const Roll *roll = outcomes_roll(outcomes);
    Str *names;

    (void)pthread_mutex_lock(&decisions->mutex);
    names = ARENA_RAW(arena, Str, roll_size(roll));
    for (size_t i = 0; names && i < roll_size(roll); i++)
        names[i] = roll_name(roll, (uint32_t)i + 1);
    (void)pthread_mutex_unlock(&decisions->mutex);
    return names;
}

void decisions_figures(Decisions *decisions, DecisionsFigures *ret) {
    (void)pthread_mutex_lock(&decisions->mutex);
    *ret = decisions->figures;
    ret->n = decisions->n;
    ret->newest = decisions->n > 0 ? decisions->next - 1 : 0;
    ret->oldest = decisions->n > 0 ? oldest_id(decisions) : 0;
    (void)pthread_mutex_unlock(&decisions->mutex);
}
