#include "load/join-pod-index.h"

#include <assert.h>
#include <errno.h>

#include "base/hash.h"

#define SLOTS_MIN 16u
#define AHEAD 16u /* pods that memory is asked for before they are read */

uint64_t pod_hash(PodHasher *hasher, Str namespace, Str name) {
    if (!str_eq(namespace, hasher->namespace)) {
        hasher->namespace = namespace;
        hasher->hash = hash_str(namespace) * UINT64_C(0x9e3779b97f4a7c15);
    }
    return hash_str(name) + hasher->hash;
}

static size_t count_pods(const NodeTable *table) {
    size_t n = 0;

    for (uint32_t row = 0; row < table->n_rows; row++) {
        const PodList *pods = table_chunk(table, row)->pods[table_slot(row)];

        n += pods ? pods->n : 0;
    }
    return n;
}

static void collect(const NodeTable *table, PodIndex *index) {
    for (uint32_t row = 0; row < table->n_rows; row++) {
        const PodList *pods = table_chunk(table, row)->pods[table_slot(row)];

        for (size_t i = 0; pods && i < pods->n; i++)
            index->places[index->n++] = (PodPlace){.pod = pods->items[i], .row = row};
    }
}

/* Of two pods of one name, which can be for a moment (made anew elsewhere), the first stays. */
static void insert(PodIndex *index, uint64_t hash, uint32_t place) {
    size_t i = hash & index->mask;

    while (index->slots[i].place != POD_PLACE_NONE)
        i = (i + 1) & index->mask;
    index->slots[i] = (PodSlot){(uint32_t)(hash >> 32), place};
}

static void fill(PodIndex *index) {
    PodHasher hasher = {0};

    for (size_t i = 0; i < index->n; i++) {
        PodPlace *place = &index->places[i];

        if (i + 2 * AHEAD < index->n)
            __builtin_prefetch(index->places[i + 2 * AHEAD].pod);
        if (i + AHEAD < index->n)
            __builtin_prefetch(index->places[i + AHEAD].pod->name.ptr);
        place->namespace = place->pod->namespace;
        place->name = place->pod->name;
        insert(index, pod_hash(&hasher, place->namespace, place->name), (uint32_t)i);
    }
}

int pod_index_build(const NodeTable *table, Arena *arena, PodIndex *ret) {
    size_t n = count_pods(table), n_slots = SLOTS_MIN;

    assert(n < POD_PLACE_NONE / 2);
    while (n_slots < n * 2)
        n_slots *= 2;
    *ret = (PodIndex){
        .places = ARENA_RAW(arena, PodPlace, n),
        .slots = ARENA_RAW(arena, PodSlot, n_slots),
        .mask = n_slots - 1,
    };
    if (!ret->places || !ret->slots)
        return -ENOMEM;
    memset(ret->slots, 0xff, n_slots * sizeof(PodSlot)); /* POD_PLACE_NONE */
    collect(table, ret);
    fill(ret);
    return 0;
}

uint32_t pod_index_find(const PodIndex *index, uint64_t hash, Str namespace, Str name) {
    for (size_t i = hash & index->mask;; i = (i + 1) & index->mask) {
        const PodSlot *slot = &index->slots[i];
        const PodPlace *place;

        if (slot->place == POD_PLACE_NONE)
            return POD_PLACE_NONE;
        if (slot->hash != (uint32_t)(hash >> 32))
            continue;
        place = &index->places[slot->place];
        if (str_eq(place->name, name) && str_eq(place->namespace, namespace))
            return slot->place;
    }
}
