/* Chunks of 64 rows of the table, and lists of pods. */

#include "cluster/chunk.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/num.h"
#include "cluster/record.h"

static size_t chunk_bytes(uint32_t n_resources) {
    return sizeof(NodeChunk) + (size_t)n_resources * _AMOUNT_KINDS * CHUNK_ROWS * sizeof(int64_t);
}

NodeChunk *chunk_new(uint32_t n_resources) {
    NodeChunk *chunk = calloc(1, chunk_bytes(n_resources));

    if (!chunk)
        return NULL;
    chunk->ref = REF_ONE;
    chunk->n_resources = n_resources;
    return chunk;
}

NodeChunk *chunk_new_in(Arena *arena, uint32_t n_resources) {
    NodeChunk *chunk = arena_zalloc(arena, 1, chunk_bytes(n_resources));

    if (chunk)
        chunk->n_resources = n_resources;
    return chunk;
}

/* Everything but the count of references, which other threads may be changing, and the
 * number of resources. Columns that @from does not have stay zero. */
static void copy_columns(NodeChunk *into, const NodeChunk *from) {
    size_t start = offsetof(NodeChunk, is_ready);

    memcpy(
        (char *)into + start, (const char *)from + start, chunk_bytes(from->n_resources) - start);
}

NodeChunk *chunk_copy(const NodeChunk *chunk, uint32_t n_resources) {
    NodeChunk *copy = chunk_new(n_resources);

    if (!copy)
        return NULL;
    copy_columns(copy, chunk);
    for (size_t i = 0; i < CHUNK_ROWS; i++) {
        if (copy->nodes[i])
            node_record_ref(copy->nodes[i]);
        if (copy->pods[i])
            pod_list_ref(copy->pods[i]);
    }
    return copy;
}

NodeChunk *chunk_copy_in(Arena *arena, const NodeChunk *chunk, uint32_t n_resources) {
    NodeChunk *copy = chunk_new_in(arena, n_resources);

    if (copy)
        copy_columns(copy, chunk);
    return copy;
}

/* A reader may share a chunk or a list: counting is not a change. */
#define COUNTED(pointer) ((Ref *)(uintptr_t) & (pointer)->ref)

const NodeChunk *chunk_ref(const NodeChunk *chunk) {
    ref_take(COUNTED(chunk));
    return chunk;
}

const NodeChunk *chunk_unref(const NodeChunk *chunk) {
    if (!chunk || !ref_drop(COUNTED(chunk)))
        return NULL;
    for (size_t i = 0; i < CHUNK_ROWS; i++) {
        node_record_unref(chunk->nodes[i]);
        pod_list_unref(chunk->pods[i]);
    }
    free((void *)(uintptr_t)chunk);
    return NULL;
}

/* Kubernetes has no negative amounts; a file that does is read as 0, so that no
 * difference of two amounts can overflow. */
static int64_t amount_of(const Resource *resource) {
    return resource->amount > 0 ? resource->amount : 0;
}

/* Where @name has its column: mostly at @guess, since pods list their resources in the
 * same order. SIZE_MAX: it has none. */
static size_t find_column(const Str *resources, size_t n, Str name, size_t guess) {
    if (guess < n && str_eq(resources[guess], name))
        return guess;
    return str_index(name, resources, n);
}

static void set_allocatable(
    NodeChunk *chunk, size_t slot, const Resources *allocatable, const Str *resources) {
    size_t n = chunk->n_resources;

    for (size_t i = 0; i < n; i++)
        chunk_amounts(chunk, i, AMOUNT_ALLOCATABLE)[slot] = 0;
    for (size_t i = 0; i < allocatable->n; i++) {
        size_t column = find_column(resources, n, allocatable->items[i].name, i);

        if (column < n)
            chunk_amounts(chunk, column, AMOUNT_ALLOCATABLE)[slot] =
                amount_of(&allocatable->items[i]);
    }
}

static void add_requests(
    NodeChunk *chunk, size_t slot, const Resources *requests, const Str *resources) {
    size_t n = chunk->n_resources;

    for (size_t i = 0; i < requests->n; i++) {
        size_t column = find_column(resources, n, requests->items[i].name, i);

        if (column < n) {
            int64_t *requested = &chunk_amounts(chunk, column, AMOUNT_REQUESTED)[slot];

            *requested = num_add_sat(*requested, amount_of(&requests->items[i]));
        }
    }
}

static void note_placed(NodeChunk *chunk, size_t slot, const Pod *pod) {
    int64_t at = pod_placement_time(pod);

    if (at > chunk->placed_at[slot])
        chunk->placed_at[slot] = at;
}

void chunk_count_pods(NodeChunk *chunk, size_t slot, const Str *resources) {
    const PodList *pods = chunk->pods[slot];

    chunk->n_pods[slot] = pods ? pods->n : 0;
    chunk->placed_at[slot] = 0;
    chunk->n_without_cpu[slot] = chunk->n_without_memory[slot] = 0;
    for (size_t i = 0; i < chunk->n_resources; i++)
        chunk_amounts(chunk, i, AMOUNT_REQUESTED)[slot] = 0;
    for (uint32_t i = 0; i < chunk->n_pods[slot]; i++) {
        add_requests(chunk, slot, &pods->items[i]->requests, resources);
        note_placed(chunk, slot, pods->items[i]);
        chunk->n_without_cpu[slot] += resources_get(&pods->items[i]->requests, STR("cpu")) == 0;
        chunk->n_without_memory[slot] +=
            resources_get(&pods->items[i]->requests, STR("memory")) == 0;
    }
    for (size_t i = 0; i < chunk->n_resources; i++) /* each takes one, whatever it requests */
        if (str_is(resources[i], "pods"))
            chunk_amounts(chunk, i, AMOUNT_REQUESTED)[slot] = chunk->n_pods[slot];
    for (size_t i = 0; i < chunk->n_resources; i++)
        chunk_amounts(chunk, i, AMOUNT_FREE)[slot] =
            chunk_amounts(chunk, i, AMOUNT_ALLOCATABLE)[slot] -
            chunk_amounts(chunk, i, AMOUNT_REQUESTED)[slot];
}

void chunk_set_columns(NodeChunk *chunk, size_t slot, const Str *resources) {
    static const Node none;
    const Node *node = chunk->nodes[slot] ? chunk->nodes[slot] : &none;

    chunk->is_ready[slot] = node->is_ready;
    chunk->is_unschedulable[slot] = node->is_unschedulable;
    set_allocatable(chunk, slot, &node->allocatable, resources);
    chunk_count_pods(chunk, slot, resources);
}

/* --- lists of pods ---------------------------------------------------------------- */

static size_t list_bytes(uint32_t n) {
    return sizeof(PodList) + n * (sizeof(const Pod *) + sizeof(uint32_t));
}

/* Empty, with room for @n. Takes and returns NULL. */
static PodList *list_init(PodList *list, uint32_t n) {
    if (list)
        *list = (PodList){.ref = REF_ONE, .owners = (uint32_t *)(void *)(list->items + n)};
    return list;
}

static uint32_t hash_owner(Str uid) {
    return (uint32_t)hash_str(uid);
}

static void list_add(PodList *list, const Pod *pod, uint32_t owner) {
    list->owners[list->n] = owner;
    list->items[list->n++] = pod;
}

const PodList *pod_list_new(const Pod *const *pods, uint32_t n) {
    PodList *list = list_init(malloc(list_bytes(n)), n);

    for (uint32_t i = 0; list && i < n; i++)
        list_add(list, pod_record_ref(pods[i]), hash_owner(pods[i]->owner_uid));
    return list;
}

const PodList *pod_list_ref(const PodList *list) {
    ref_take(COUNTED(list));
    return list;
}

const PodList *pod_list_unref(const PodList *list) {
    if (!list || !ref_drop(COUNTED(list)))
        return NULL;
    for (uint32_t i = 0; i < list->n; i++)
        pod_record_unref(list->items[i]);
    free((void *)(uintptr_t)list);
    return NULL;
}

int pod_list_with(const PodList *list, const Pod *pod, Arena *arena, const PodList **ret) {
    uint32_t n = list ? list->n : 0;
    PodList *longer = list_init(arena_alloc(arena, list_bytes(n + 1)), n + 1);

    if (!longer)
        return -ENOMEM;
    for (uint32_t i = 0; i < n; i++)
        list_add(longer, list->items[i], list->owners[i]);
    list_add(longer, pod, hash_owner(pod->owner_uid));
    *ret = longer;
    return 0;
}

int pod_list_without(const PodList *list, Str uid, Arena *arena, const PodList **ret) {
    uint32_t n = list ? list->n : 0;
    PodList *shorter = list_init(arena_alloc(arena, list_bytes(n)), n);

    if (!shorter)
        return -ENOMEM;
    for (uint32_t i = 0; i < n; i++)
        if (!str_eq(list->items[i]->uid, uid))
            list_add(shorter, list->items[i], list->owners[i]);
    *ret = shorter->n > 0 ? shorter : NULL;
    return 0;
}

uint32_t pod_list_count_owned(const PodList *list, Str owner_uid) {
    uint32_t owner = hash_owner(owner_uid), n = 0;

    for (uint32_t i = 0; list && i < list->n; i++)
        n += list->owners[i] == owner && str_eq(list->items[i]->owner_uid, owner_uid);
    return n;
}
