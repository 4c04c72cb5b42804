/* Names of nodes by row, hints which name follows, and sequences learned from requests. */

#include "cluster/names.h"

#include <errno.h>
#include <stdlib.h>

#include "model/node.h"

/* The sequence, its three arrays and its text in one block. */
typedef struct SequenceBlock {
    NameSequence sequence;
    uint32_t numbers[];
} SequenceBlock;

/* A sequence under construction, as a ring: by row, the row that follows. It begins and ends with
 * the unknown node, which no sequence contains. */
typedef struct Links {
    const NameHint *hints;
    size_t n_rows;
    uint32_t *next; /* SEQUENCE_NOWHERE: not in it */
    size_t n, text_size;
} Links;

/* Inserts those of @rows that are not in the sequence yet. */
static void insert_missing(Links *links, const uint32_t *rows, size_t n) {
    uint32_t last = (uint32_t)links->n_rows;

    for (size_t i = 0; i < n; i++) {
        uint32_t row = rows[i];

        if (links->hints[row].len == 0)
            continue;
        if (links->next[row] == SEQUENCE_NOWHERE) {
            links->next[row] = links->next[last];
            links->next[last] = row;
            links->n++;
            links->text_size += links->hints[row].len;
        }
        last = row;
    }
}

static NameSequence *write_down(const Links *links) {
    size_t n_numbers = (links->n + 1) + links->n + (links->n_rows + 1), place = 0;
    SequenceBlock *block = malloc(sizeof(*block) + n_numbers * sizeof(uint32_t) + links->text_size);
    uint32_t *at, *rows, *places, end = 0;
    char *text;

    if (!block)
        return NULL;
    at = block->numbers;
    rows = at + links->n + 1;
    places = rows + links->n;
    text = (char *)(places + links->n_rows + 1);
    memset(places, 0xff, (links->n_rows + 1) * sizeof(*places)); /* SEQUENCE_NOWHERE */
    for (uint32_t row = links->next[links->n_rows]; row != links->n_rows; row = links->next[row]) {
        const NameHint *hint = &links->hints[row];

        at[place] = end;
        rows[place] = row;
        places[row] = (uint32_t)place++;
        memcpy(text + end, hint->literal, hint->len);
        end += hint->len;
    }
    at[place] = end;
    block->sequence = (NameSequence){
        .n = place,
        .text = text,
        .at = at,
        .rows = rows,
        .places = places,
    };
    return &block->sequence;
}

/* The sequence @earlier (NULL: none) plus the nodes of @rows that it lacks, each after the node
 * before it in @rows. @hints has the names of @n_rows nodes and of the unknown one; nodes without a
 * literal are left out. One block, for free(); NULL when out of memory. */
static NameSequence *sequence_new(
    const NameHint *hints, size_t n_rows, NameSequence *earlier, const uint32_t *rows, size_t n) {
    Links links = {.hints = hints, .n_rows = n_rows};
    NameSequence *made;

    links.next = malloc((n_rows + 1) * sizeof(*links.next));
    if (!links.next)
        return NULL;
    memset(links.next, 0xff, n_rows * sizeof(*links.next)); /* SEQUENCE_NOWHERE */
    links.next[n_rows] = (uint32_t)n_rows;
    if (earlier)
        insert_missing(&links, earlier->rows, earlier->n);
    insert_missing(&links, rows, n);
    made = write_down(&links);
    if (made)
        made->earlier = earlier;
    free(links.next);
    return made;
}

/* Enough for 50,000 names of maximal length, with literals and index. */
#define NAMES_BUDGET ((size_t)64 * 1024 * 1024)

/* Shorter requests are cheap without a sequence. */
#define LEARN_MIN 64u

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
static void copy_names(NodeNames *ret, const Str *names) {
    Str *copies = ARENA_ARRAY(ret->arena, Str, ret->n_rows);
    size_t size = 0;
    char *at;

    for (size_t row = 0; row < ret->n_rows; row++)
        size += names[row].len + 3;
    at = arena_alloc(ret->arena, size);
    if (arena_has_failed(ret->arena))
        return;
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
        /* A node name is a DNS label, so quotes around it make it JSON. Any other name has no
         * literal: it is looked up, never guessed. */
        if (node_name_is_valid(names[row])) {
            ret->hints[row].literal = at;
            ret->hints[row].len = (uint32_t)len + 3;
        }
        at += len + 3;
    }
}

static bool had_row(const NodeNames *before, size_t row, Str name) {
    return before && row < before->n_rows && str_eq(before->names[row], name);
}

/* The node that followed last time, if both still have their rows; else the next row in
 * use: until a request has shown its order, the order of rows is the best hint. The
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
    copy_names(copy, names);
    r = arena_has_failed(copy->arena) ? -ENOMEM : index_names(copy);
    if (r < 0)
        return r;
    copy->version = before ? before->version + 1 : 1;
    for (size_t row = 0; row < n_rows; row++)
        copy->since[row] = had_row(before, row, names[row]) ? before->since[row] : copy->version;
    set_followers(copy, before);
    *ret = TAKE_PTR(copy);
    return 0;
}

/* Earlier sequences are kept for their readers, so each must be worth it: an eighth longer than the
 * one before, or their number would grow without limit. */
static bool is_worth_it(const NameSequence *before, size_t n_more) {
    return n_more > (before ? before->n / 8 : 0);
}

void names_learn(const NodeNames *names, const uint32_t *rows, size_t n) {
    NameSequence *before, *made;
    size_t n_missing = 0; /* a row that comes twice counts twice */

    if (!names->sequence || n < LEARN_MIN)
        return;
    before = atomic_load_explicit(names->sequence, memory_order_acquire);
    for (size_t i = 0; before && i < n; i++)
        n_missing += before->places[rows[i]] == SEQUENCE_NOWHERE && names->hints[rows[i]].len > 0;
    if (before && !is_worth_it(before, n_missing))
        return;
    made = sequence_new(names->hints, names->n_rows, before, rows, n);
    if (!made)
        return; /* requests are slower without it, but right */
    if (!is_worth_it(before, made->n - (before ? before->n : 0)) ||
        !atomic_compare_exchange_strong_explicit(
            names->sequence, &before, made, memory_order_acq_rel, memory_order_acquire))
        free(made); /* @rows repeats nodes, or another thread was faster */
}

NodeNames *names_unref(NodeNames *names) {
    NameSequence *sequence, *earlier;

    if (!names || !ref_drop(&names->ref))
        return NULL;
    for (sequence = (NameSequence *)(uintptr_t)names_sequence(names); sequence;
         sequence = earlier) {
        earlier = sequence->earlier;
        free(sequence);
    }
    arena_free(names->arena);
    free(names);
    return NULL;
}
