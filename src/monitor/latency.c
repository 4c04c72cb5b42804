/*
 * A value's bucket depends on its first three bits: buckets begin at 8, 10, 12, 14, 16, 20, 24, …,
 * so each is a quarter of a doubling wide, and the first eight are exact. Times are counted in
 * ticks of 256 ns.
 */

#include "monitor/latency.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/nsec.h"

#define N_EXACT 8u
#define TIME_BUCKETS 112u /* the last begins at 2^28 * 1.75 ticks: 120 s */
#define NODE_BUCKETS 76u  /* ... at 917,504 nodes */
#define TICK_SHIFT 8
#define SLOT_NSEC (LATENCY_SLOT_SEC * NSEC_PER_SEC)

/* Counters of a verb: TIME_BUCKETS for the time of each part, then ... */
enum {
    COUNT_NODES = _LATENCY_PARTS * TIME_BUCKETS, /* NODE_BUCKETS of them */
    COUNT_LATE = COUNT_NODES + NODE_BUCKETS,
    COUNT_ERRORS,
    _COUNTS,
};

typedef struct VerbCounts {
    _Atomic uint64_t counts[_COUNTS];
    _Atomic uint64_t sums_nsec[_LATENCY_PARTS];
    _Atomic uint64_t most_nsec[_LATENCY_PARTS];
    _Atomic uint64_t most_nodes;
} VerbCounts;

typedef struct Slot {
    _Atomic int64_t round; /* number of the slot since the clock's start; 0: unused */
    VerbCounts verbs[_VERB_MAX];
    _Atomic uint64_t n_nodes, n_rejected; /* of filters */
} Slot;

struct Latency {
    VerbCounts totals[_VERB_MAX]; /* of slots that were reused */
    /* Not in the slots, most of which an idle berth never touches. Upper half: the round; lower
     * half: the maximum. */
    _Atomic uint64_t pending[LATENCY_SLOTS];
    Slot slots[LATENCY_SLOTS];
};

const char *const latency_part_names[] = {
    [LATENCY_READ] = "read",
    [LATENCY_EVALUATE] = "evaluate",
    [LATENCY_WRITE] = "write",
    [LATENCY_TOTAL] = "total",
};

/* Most of its memory is not touched before its slot of the hour. */
Latency *latency_new(void) {
    return calloc(1, sizeof(Latency));
}

Latency *latency_free(Latency *latency) {
    free(latency);
    return NULL;
}

static size_t bucket_of(uint64_t value, size_t n_buckets) {
    unsigned exponent;
    size_t bucket;

    if (value < N_EXACT)
        return (size_t)value;
    exponent = 63u - (unsigned)__builtin_clzll(value);
    bucket = N_EXACT + (size_t)(exponent - 3) * 4 + ((value >> (exponent - 2)) & 3);
    return bucket < n_buckets ? bucket : n_buckets - 1;
}

static uint64_t bucket_begin(size_t bucket) {
    if (bucket < N_EXACT)
        return bucket;
    return (4 + (bucket - N_EXACT) % 4) << (1 + (bucket - N_EXACT) / 4);
}

#define ADD(counter, n) ((void)atomic_fetch_add_explicit((counter), (n), memory_order_relaxed))
#define LOAD(counter) (atomic_load_explicit((counter), memory_order_relaxed))
#define TAKE(counter) (atomic_exchange_explicit((counter), 0, memory_order_relaxed))

static uint64_t total(const _Atomic uint64_t *counts, size_t n_buckets) {
    uint64_t n = 0;

    for (size_t i = 0; i < n_buckets; i++)
        n += LOAD(&counts[i]);
    return n;
}

/* The value that @percent of all do not exceed, evenly spread in a bucket; 0: there are none. */
static uint64_t quantile(const _Atomic uint64_t *counts, size_t n_buckets, unsigned percent) {
    uint64_t rank = (total(counts, n_buckets) * percent + 99) / 100, before = 0;

    for (size_t i = 0; i < n_buckets && rank > 0; i++) {
        uint64_t n = LOAD(&counts[i]);
        uint64_t begin = bucket_begin(i), width = bucket_begin(i + 1) - begin;

        if (before + n >= rank)
            return begin + (uint64_t)((double)width * ((double)(rank - before) - 0.5) / (double)n);
        before += n;
    }
    return 0;
}

static void raise_to(_Atomic uint64_t *most, uint64_t value) {
    uint64_t was = LOAD(most);

    while (was < value && !atomic_compare_exchange_weak_explicit(
                              most, &was, value, memory_order_relaxed, memory_order_relaxed))
        ;
}

/* Adds the counts of @from to @to; @moves: and clears them in @from. */
static void add(VerbCounts *from, VerbCounts *to, bool moves) {
    for (size_t i = 0; i < _COUNTS; i++)
        if (LOAD(&from->counts[i]) != 0)
            ADD(&to->counts[i], moves ? TAKE(&from->counts[i]) : LOAD(&from->counts[i]));
    for (size_t part = 0; part < _LATENCY_PARTS; part++) {
        _Atomic uint64_t *sum = &from->sums_nsec[part], *most = &from->most_nsec[part];

        ADD(&to->sums_nsec[part], moves ? TAKE(sum) : LOAD(sum));
        raise_to(&to->most_nsec[part], moves ? TAKE(most) : LOAD(most));
    }
    raise_to(&to->most_nodes, moves ? TAKE(&from->most_nodes) : LOAD(&from->most_nodes));
}

/* Returns the current slot. The first thread that uses it moves its old counts to the totals. If
 * the slot of a slow thread was reused, its count goes there: nothing is lost. */
static Slot *enter(Latency *latency, int64_t now_nsec) {
    int64_t round = now_nsec / SLOT_NSEC;
    Slot *slot = &latency->slots[(uint64_t)round % LATENCY_SLOTS];
    int64_t was = LOAD(&slot->round);

    if (was >= round || !atomic_compare_exchange_strong(&slot->round, &was, round) || was == 0)
        return slot;
    for (size_t verb = 0; verb < _VERB_MAX; verb++)
        add(&slot->verbs[verb], &latency->totals[verb], /* moves= */ true);
    (void)TAKE(&slot->n_nodes);
    (void)TAKE(&slot->n_rejected);
    return slot;
}

void latency_note_request(
    Latency *latency, Verb verb, const int64_t parts_nsec[_LATENCY_PARTS], int64_t now_nsec) {
    VerbCounts *counts = &enter(latency, now_nsec)->verbs[verb];

    for (size_t part = 0; part < _LATENCY_PARTS; part++) {
        uint64_t nsec = parts_nsec[part] > 0 ? (uint64_t)parts_nsec[part] : 0;
        size_t bucket = bucket_of(nsec >> TICK_SHIFT, TIME_BUCKETS);

        ADD(&counts->counts[part * TIME_BUCKETS + bucket], 1);
        ADD(&counts->sums_nsec[part], nsec);
        raise_to(&counts->most_nsec[part], nsec);
    }
}

void latency_note_decision(
    Latency *latency, Verb verb, const DecisionSummary *summary, int64_t now_nsec) {
    Slot *slot = enter(latency, now_nsec);
    VerbCounts *counts = &slot->verbs[verb];

    ADD(&counts->counts[COUNT_NODES + bucket_of(summary->n_in, NODE_BUCKETS)], 1);
    raise_to(&counts->most_nodes, summary->n_in);
    if (summary->n_unjudged > 0)
        ADD(&counts->counts[COUNT_LATE], 1);
    if (verb != VERB_FILTER)
        return;
    ADD(&slot->n_nodes, summary->n_in);
    ADD(&slot->n_rejected, summary->n_rejected);
}

void latency_note_error(Latency *latency, Verb verb, int64_t now_nsec) {
    ADD(&enter(latency, now_nsec)->verbs[verb].counts[COUNT_ERRORS], 1);
}

void latency_note_pending(Latency *latency, size_t n_pending, int64_t now_nsec) {
    uint64_t round = (uint64_t)(now_nsec / SLOT_NSEC);
    uint64_t sample = round << 32 | (n_pending < UINT32_MAX ? n_pending : UINT32_MAX);

    raise_to(&latency->pending[round % LATENCY_SLOTS], sample); /* later rounds are higher */
}

static void add_all(Latency *latency, Verb verb, VerbCounts *sum) {
    add(&latency->totals[verb], sum, /* moves= */ false);
    for (size_t i = 0; i < LATENCY_SLOTS; i++)
        if (LOAD(&latency->slots[i].round) != 0)
            add(&latency->slots[i].verbs[verb], sum, /* moves= */ false);
}

/* A quantile of a bucket may exceed the maximum, so it is limited to that. */
static int64_t time_quantile(const VerbCounts *sum, size_t part, unsigned percent) {
    uint64_t nsec = quantile(&sum->counts[part * TIME_BUCKETS], TIME_BUCKETS, percent)
                    << TICK_SHIFT;
    uint64_t most = LOAD(&sum->most_nsec[part]);

    return (int64_t)(nsec < most ? nsec : most);
}

static void summarise(const VerbCounts *sum, LatencyVerb *ret) {
    uint64_t n_nodes = quantile(&sum->counts[COUNT_NODES], NODE_BUCKETS, 50);

    *ret = (LatencyVerb){
        .n_nodes_p50 = n_nodes < sum->most_nodes ? n_nodes : sum->most_nodes,
        .n_nodes_max = sum->most_nodes,
        .n_decided = total(&sum->counts[COUNT_NODES], NODE_BUCKETS),
        .n_late = sum->counts[COUNT_LATE],
        .n_errors = sum->counts[COUNT_ERRORS],
    };
    for (size_t part = 0; part < _LATENCY_PARTS; part++)
        ret->parts[part] = (LatencySummary){
            .n = total(&sum->counts[part * TIME_BUCKETS], TIME_BUCKETS),
            .p50_nsec = time_quantile(sum, part, 50),
            .p90_nsec = time_quantile(sum, part, 90),
            .p99_nsec = time_quantile(sum, part, 99),
            .max_nsec = (int64_t)sum->most_nsec[part],
            .sum_nsec = (int64_t)sum->sums_nsec[part],
        };
}

/* The slot of @round; NULL: it has no counts. */
static Slot *slot_of(Latency *latency, int64_t round) {
    Slot *slot = round < 0 ? NULL : &latency->slots[(uint64_t)round % LATENCY_SLOTS];

    return slot && LOAD(&slot->round) == round ? slot : NULL;
}

static int64_t first_round(unsigned window_sec, int64_t now_nsec) {
    int64_t oldest = now_nsec / SLOT_NSEC - (int64_t)(LATENCY_SLOTS - 1);
    int64_t since = now_nsec - (int64_t)window_sec * NSEC_PER_SEC;
    int64_t first = since < 0 ? 0 : since / SLOT_NSEC;

    return first < oldest ? oldest : first;
}

void latency_read(
    Latency *latency, unsigned window_sec, int64_t now_nsec, LatencyVerb ret[_VERB_MAX]) {
    int64_t first = first_round(window_sec, now_nsec), last = now_nsec / SLOT_NSEC;

    for (size_t verb = 0; verb < _VERB_MAX; verb++) {
        VerbCounts sum = {0};

        if (window_sec == 0)
            add_all(latency, (Verb)verb, &sum);
        for (int64_t round = first; window_sec > 0 && round <= last; round++) {
            Slot *slot = slot_of(latency, round);

            if (slot)
                add(&slot->verbs[verb], &sum, /* moves= */ false);
        }
        summarise(&sum, &ret[verb]);
    }
}

static void read_slot(Slot *slot, LatencySlot *ret) {
    for (size_t verb = 0; verb < _VERB_MAX; verb++) {
        VerbCounts sum = {0};

        add(&slot->verbs[verb], &sum, /* moves= */ false);
        ret->n[verb] = (uint32_t)total(&sum.counts[LATENCY_TOTAL * TIME_BUCKETS], TIME_BUCKETS);
        ret->p99_nsec[verb] = time_quantile(&sum, LATENCY_TOTAL, 99);
        ret->n_late += (uint32_t)sum.counts[COUNT_LATE];
        ret->n_errors += (uint32_t)sum.counts[COUNT_ERRORS];
    }
    ret->n_nodes = LOAD(&slot->n_nodes);
    ret->n_rejected = LOAD(&slot->n_rejected);
}

/* The sample of @round; -1: none. */
static int64_t pending_of(const Latency *latency, int64_t round) {
    uint64_t sample = round > 0 ? LOAD(&latency->pending[(uint64_t)round % LATENCY_SLOTS]) : 0;

    return (int64_t)(sample >> 32) == round && round > 0 ? (int64_t)(sample & UINT32_MAX) : -1;
}

void latency_slots(Latency *latency, int64_t now_nsec, LatencySlot ret[LATENCY_SLOTS]) {
    int64_t last = now_nsec / SLOT_NSEC;

    for (size_t i = 0; i < LATENCY_SLOTS; i++) {
        int64_t ago = (int64_t)(LATENCY_SLOTS - 1 - i);
        Slot *slot = slot_of(latency, last - ago);
        int64_t since_end_nsec = now_nsec - (last - ago + 1) * SLOT_NSEC;

        ret[i] = (LatencySlot){
            .ago_sec = since_end_nsec > 0 ? since_end_nsec / NSEC_PER_SEC : 0,
            .n_pending = pending_of(latency, last - ago),
        };
        if (slot)
            read_slot(slot, &ret[i]);
    }
}
