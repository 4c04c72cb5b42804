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

NodeChunk *chunk_new(Arena *arena, uint32_t n_resources) {
    size_t size = chunk_bytes(n_resources);
    NodeChunk *chunk = arena ? arena_zalloc(arena, 1, size) : calloc(1, size);

    if (!chunk)
        return NULL;
    chunk->ref = REF_ONE;
    chunk->n_resources = n_resources;
    return chunk;
}

/* Does not copy the count of references, which other threads may be changing, nor the number of
 * resources. Columns that @chunk does not have stay zero. */
NodeChunk *chunk_copy(Arena *arena, const NodeChunk *chunk, uint32_t n_resources) {
    NodeChunk *copy = chunk_new(arena, n_resources);
    size_t start = offsetof(NodeChunk, is_ready);

    if (!copy)
        return NULL;
    memcpy(
        (char *)copy + start, (const char *)chunk + start, chunk_bytes(chunk->n_resources) - start);
    for (size_t i = 0; !arena && i < CHUNK_ROWS; i++) {
        if (copy->nodes[i])
            node_record_ref(copy->nodes[i]);
        if (copy->pods[i])
            pod_list_ref(copy->pods[i]);
    }
    return copy;
}

const NodeChunk *chunk_unref(const NodeChunk *chunk) {
    if (!chunk || !ref_drop(&chunk->ref))
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

/* The amount of @name at @slot: mostly in column @guess, since objects list their resources in the
 * same order. NULL: it has no column. */
static int64_t *find_amount(
    NodeChunk *chunk, size_t slot, AmountKind kind, const Str *resources, Str name, size_t guess) {
    size_t n = chunk->n_resources;
    size_t column =
        guess < n && str_eq(resources[guess], name) ? guess : str_index(name, resources, n);

    return column < n ? &chunk_amounts(chunk, column, kind)[slot] : NULL;
}

static void add_requests(
    NodeChunk *chunk, size_t slot, const Resources *requests, const Str *resources) {
    for (size_t i = 0; i < requests->n; i++) {
        int64_t *requested =
            find_amount(chunk, slot, AMOUNT_REQUESTED, resources, requests->items[i].name, i);

        if (requested)
            *requested = num_add_sat(*requested, amount_of(&requests->items[i]));
    }
}

void chunk_count_pods(NodeChunk *chunk, size_t slot, const Str *resources) {
    const PodList *pods = chunk->pods[slot];

    chunk->n_pods[slot] = pods ? pods->n : 0;
    chunk->placed_at[slot] = 0;
    chunk->n_without_cpu[slot] = chunk->n_without_memory[slot] = 0;
    for (size_t i = 0; i < chunk->n_resources; i++)
        chunk_amounts(chunk, i, AMOUNT_REQUESTED)[slot] = 0;
    for (uint32_t i = 0; i < chunk->n_pods[slot]; i++) {
        const Pod *pod = pods->items[i];
        int64_t placed_at = pod_placement_time(pod);

        add_requests(chunk, slot, &pod->requests, resources);
        if (placed_at > chunk->placed_at[slot])
            chunk->placed_at[slot] = placed_at;
        chunk->n_without_cpu[slot] += resources_get(&pod->requests, STR("cpu")) == 0;
        chunk->n_without_memory[slot] += resources_get(&pod->requests, STR("memory")) == 0;
    }
    for (size_t i = 0; i < chunk->n_resources; i++) {
        int64_t *requested = &chunk_amounts(chunk, i, AMOUNT_REQUESTED)[slot];

        if (str_is(resources[i], "pods")) /* each takes one, whatever it requests */
            *requested = chunk->n_pods[slot];
        chunk_amounts(chunk, i, AMOUNT_FREE)[slot] =
            chunk_amounts(chunk, i, AMOUNT_ALLOCATABLE)[slot] - *requested;
    }
}

void chunk_set_columns(NodeChunk *chunk, size_t slot, const Str *resources) {
    static const Node none;
    const Node *node = chunk->nodes[slot] ? chunk->nodes[slot] : &none;
    const Resources *allocatable = &node->allocatable;

    chunk->is_ready[slot] = node->is_ready;
    chunk->is_unschedulable[slot] = node->is_unschedulable;
    for (size_t i = 0; i < chunk->n_resources; i++)
        chunk_amounts(chunk, i, AMOUNT_ALLOCATABLE)[slot] = 0;
    for (size_t i = 0; i < allocatable->n; i++) {
        int64_t *amount =
            find_amount(chunk, slot, AMOUNT_ALLOCATABLE, resources, allocatable->items[i].name, i);

        if (amount)
            *amount = amount_of(&allocatable->items[i]);
    }
    chunk_count_pods(chunk, slot, resources);
}

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

const PodList *pod_list_unref(const PodList *list) {
    if (!list || !ref_drop(&list->ref))
        return NULL;
    for (uint32_t i = 0; i < list->n; i++)
        pod_record_unref(list->items[i]);
    free((void *)(uintptr_t)list);
    return NULL;
}

const PodList *pod_list_change(const PodList *list, const Pod *add, Str remove, Arena *arena) {
    uint32_t n = list ? list->n : 0, n_rooms = n + (add != NULL);
    PodList *changed = list_init(arena_alloc(arena, list_bytes(n_rooms)), n_rooms);

    for (uint32_t i = 0; changed && i < n; i++)
        if (add || !str_eq(list->items[i]->uid, remove))
            list_add(changed, list->items[i], list->owners[i]);
    if (changed && add)
        list_add(changed, add, hash_owner(add->owner_uid));
    return changed && changed->n > 0 ? changed : NULL;
}

uint32_t pod_list_count_owned(const PodList *list, Str owner_uid) {
    uint32_t owner = hash_owner(owner_uid), n = 0;

    for (uint32_t i = 0; list && i < list->n; i++)
        n += list->owners[i] == owner && str_eq(list->items[i]->owner_uid, owner_uid);
    return n;
}
