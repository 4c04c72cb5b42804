/* Objects found by a hash, with removal. */

#include "base/set.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define SET_FIRST 16u

void set_done(Set *set) {
    free(set->items);
    *set = SET_INIT;
}

static uint32_t fold(uint64_t hash) {
    return (uint32_t)(hash ^ (hash >> 32));
}

static void put(Set *set, uint32_t hash, void *item) {
    size_t mask = set->n_slots - 1, i = hash & mask;

    while (set->items[i])
        i = (i + 1) & mask;
    set->items[i] = item;
    set->hashes[i] = hash;
    set->n_used++;
}

static int resize(Set *set, size_t n_slots) {
    Set larger = {.n_slots = n_slots};

    larger.items = calloc(n_slots, sizeof(*larger.items) + sizeof(*larger.hashes));
    if (!larger.items)
        return -ENOMEM;
    larger.hashes = (uint32_t *)(larger.items + n_slots);
    for (size_t i = 0; i < set->n_slots; i++)
        if (set->items[i])
            put(&larger, set->hashes[i], set->items[i]);
    set_done(set);
    *set = larger;
    return 0;
}

int set_reserve(Set *set, size_t n_more) {
    size_t n_slots = set->n_slots ? set->n_slots : SET_FIRST;

    while (set->n_used + n_more > n_slots / 4 * 3)
        n_slots *= 2;
    return n_slots == set->n_slots ? 0 : resize(set, n_slots);
}

int set_add(Set *set, uint64_t hash, const void *item) {
    int r = set_reserve(set, 1);

    assert(item);
    if (r < 0)
        return r;
    put(set, fold(hash), (void *)(uintptr_t)item);
    return 0;
}

void *set_find(const Set *set, uint64_t hash, SetMatch match, const void *key) {
    size_t mask = set->n_slots - 1;
    uint32_t folded = fold(hash);

    if (set->n_used == 0)
        return NULL;
    for (size_t i = folded & mask; set->items[i]; i = (i + 1) & mask)
        if (set->hashes[i] == folded && match(set->items[i], key))
            return set->items[i];
    return NULL;
}

/* The slot of this very object; n_slots when it is not there. */
static size_t locate(const Set *set, uint64_t hash, const void *item) {
    size_t mask = set->n_slots - 1;

    if (set->n_used == 0)
        return set->n_slots;
    for (size_t i = fold(hash) & mask; set->items[i]; i = (i + 1) & mask)
        if (set->items[i] == item)
            return i;
    return set->n_slots;
}

void set_replace(Set *set, uint64_t hash, const void *old, const void *item) {
    size_t i = locate(set, hash, old);

    assert(i < set->n_slots && item);
    set->items[i] = (void *)(uintptr_t)item;
}

bool set_remove(Set *set, uint64_t hash, const void *item) {
    size_t i = locate(set, hash, item);

    if (i == set->n_slots)
        return false;
    set_remove_at(set, i);
    return true;
}

/* An object after the hole moves into it if it would be found there: if its preferred slot is not
 * between the hole (exclusive) and its current slot. */
void set_remove_at(Set *set, size_t i) {
    size_t mask = set->n_slots - 1, hole = i;

    assert(set->items[i]);
    for (size_t next = (hole + 1) & mask; set->items[next]; next = (next + 1) & mask) {
        size_t wanted = set->hashes[next] & mask;

        if (((next - wanted) & mask) >= ((next - hole) & mask)) {
            set->items[hole] = set->items[next];
            set->hashes[hole] = set->hashes[next];
            hole = next;
        }
    }
    set->items[hole] = NULL;
    set->n_used--;
}

void *set_next(const Set *set, size_t *i) {
    while (*i < set->n_slots && !set->items[*i])
        (*i)++;
    return *i < set->n_slots ? set->items[*i] : NULL;
}
