#include "cluster/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/node.h"

/* 50,000 names of the greatest length there is, with literals and index. */
#define NAMES_BUDGET ((size_t)64 * 1024 * 1024)

/* Shorter requests are cheap as they are. */
#define LEARN_MIN 512u

static int index_names(NodeNames *names) {
    for (size_t row = 0; row < names->n_rows; row++) {
        int r;

        if (str_is_empty(names->names[row]))
            continue;
        names->n_nodes++;
        if (map_find(&names->index, names->names[row]) != MAP_NONE)
            continue;
        r = map_add(&names->index, names->names[row], (uint32_t)row);
        if (r < 0)
            return r;
    }
    return 0;
}

int names_init_in(Arena *arena, const Str *names, size_t n_rows, NodeNames *ret) {
    *ret = (NodeNames){.n_rows = n_rows, .names = names, .index = MAP_INIT_IN(arena)};
    return index_names(ret);
}

/* All literals in one block: packed, they are a quarter smaller than one by one, and
 * every request goes over them. The name is a part of its literal. */
static int copy_names(NodeNames *ret, const Str *names) {
    Str *copies = ARENA_ARRAY(ret->arena, Str, ret->n_rows);
    size_t size = 0;
    char *at;

    for (size_t row = 0; row < ret->n_rows; row++)
        size += names[row].len + 3;
    at = arena_alloc(ret->arena, size);
    if (!copies || !at)
        return -ENOMEM;
    ret->names = copies;
    for (size_t row = 0; row < ret->n_rows; row++) {
        size_t len = names[row].len;

        if (len == 0)
            continue;
        at[0] = ',';
        at[1] = '"';
        memcpy(at + 2, names[row].ptr, len);
        at[len + 2] = '"';
        copies[row] = str_of(at + 2, len);
        /* Node names are DNS labels; quotes around them make them JSON. One that is not is
         * never guessed, only looked up. */
        if (node_name_is_valid(names[row])) {
            ret->hints[row].literal = at;
            ret->hints[row].len = (uint32_t)len + 3;
        }
        at += len + 3;
    }
    return 0;
}

static bool had_row(const NodeNames *before, size_t row, Str name) {
    return before && row < before->n_rows && str_eq(before->names[row], name);
}

static void set_since(NodeNames *names, const NodeNames *before) {
    names->version = before ? before->version + 1 : 1;
    for (size_t row = 0; row < names->n_rows; row++)
        names->since[row] =
            had_row(before, row, names->names[row]) ? before->since[row] : names->version;
}

/* What followed a node last time, where both are still there; else the next row that is
 * taken: until a request has shown its order, the cluster's own is the best hint. The
 * unknown node has no literal, so nothing ever matches it. */
static void set_followers(NodeNames *names, const NodeNames *before) {
    uint32_t next = (uint32_t)names->n_rows;

    for (size_t row = names->n_rows + 1; row-- > 0;) {
        uint32_t follower = next;

        if (row < names->n_rows && had_row(before, row, names->names[row])) {
            uint32_t was = atomic_load_explicit(&before->hints[row].follower, memory_order_relaxed);

            if (was < names->n_rows && had_row(before, was, names->names[was]))
                follower = was;
        }
        atomic_init(&names->hints[row].follower, follower);
        if (row < names->n_rows && names->hints[row].len > 0)
            next = (uint32_t)row;
    }
}

int names_new(const Str *names, size_t n_rows, const NodeNames *before, NodeNames **ret) {
    _cleanup_(names_unrefp) NodeNames *copy = calloc(1, sizeof(*copy));
    int r;

    if (!copy)
        return -ENOMEM;
    copy->ref = REF_ONE;
    copy->arena = arena_new(NAMES_BUDGET);
    if (!copy->arena)
        return -ENOMEM;
    copy->n_rows = n_rows;
    copy->since = ARENA_ARRAY(copy->arena, uint64_t, n_rows);
    copy->hints = ARENA_ARRAY(copy->arena, NameHint, n_rows + 1);
    copy->sequence = ARENA_NEW(copy->arena, NameSequence * _Atomic);
    copy->index = MAP_INIT_IN(copy->arena);
    if (!copy->since || !copy->hints || !copy->sequence)
        return -ENOMEM;
    r = copy_names(copy, names);
    if (r == 0)
        r = index_names(copy);
    if (r < 0)
        return r;
    set_since(copy, before);
    set_followers(copy, before);
    *ret = TAKE_PTR(copy);
    return 0;
}

/* Earlier sequences are kept for those who read them, so each must be worth it: an eighth
 * longer than the one before, or there would be ever more. */
static bool is_worth_it(const NameSequence *before, size_t n_more) {
    return n_more > (before ? before->n / 8 : 0);
}

void names_learn(const NodeNames *names, const uint32_t *rows, size_t n) {
    NameSequence *before, *made;

    if (!names->sequence || n < LEARN_MIN)
        return;
    before = atomic_load_explicit(names->sequence, memory_order_acquire);
    if (before && !is_worth_it(before, sequence_count_missing(before, names->hints, rows, n)))
        return;
    made = sequence_new(names->hints, names->n_rows, before, rows, n);
    if (!made)
        return; /* it goes without */
    if (!is_worth_it(before, made->n - (before ? before->n : 0)) ||
        !atomic_compare_exchange_strong_explicit(
            names->sequence, &before, made, memory_order_acq_rel, memory_order_acquire))
        free(made); /* one node that came many times; or somebody else has learnt meanwhile */
}

static void free_sequences(NameSequence *sequence) {
    while (sequence) {
        NameSequence *earlier = sequence->earlier;

        free(sequence);
        sequence = earlier;
    }
}

NodeNames *names_ref(NodeNames *names) {
    ref_take(&names->ref);
    return names;
}

NodeNames *names_unref(NodeNames *names) {
    if (names && ref_drop(&names->ref)) {
        if (names->sequence)
            free_sequences(atomic_load_explicit(names->sequence, memory_order_acquire));
        arena_free(names->arena);
        free(names);
    }
    return NULL;
}
