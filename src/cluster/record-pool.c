/* Parts that records share, each content once. */

#include "cluster/record-pool.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/ref.h"
#include "base/set.h"
#include "cluster/object-fields.h"

typedef struct SharedPart {
    Ref ref;
    uint32_t size;
    const ObjectType *type; /* of a block; NULL: a text */
    char bytes[];
} SharedPart;

struct RecordPool {
    Set texts, blocks;
};

RecordPool *record_pool_new(void) {
    return calloc(1, sizeof(RecordPool));
}

static SharedPart *part_new(size_t size, const ObjectType *type) {
    SharedPart *part = size <= UINT32_MAX ? calloc(1, sizeof(*part) + size) : NULL;

    if (part) {
        part->ref = REF_ONE;
        part->size = (uint32_t)size;
        part->type = type;
    }
    return part;
}

static void part_drop(SharedPart *part) {
    if (!ref_drop(&part->ref))
        return;
    for (size_t at = 0; part->type && at < part->size; at += part->type->size)
        object_drop(part->type, part->bytes + at);
    free(part);
}

/* Callers hold the part's content: the part is right before it. */
static SharedPart *part_of(const void *bytes) {
    return (SharedPart *)((uintptr_t)bytes - offsetof(SharedPart, bytes));
}

/* Gives the pool its own reference to @part. */
static bool part_add(Set *set, uint64_t hash, SharedPart *part) {
    if (set_add(set, hash, part) < 0)
        return false;
    ref_take(&part->ref);
    return true;
}

static bool is_text(const void *item, const void *key) {
    const SharedPart *part = item;

    return str_eq(str_of(part->bytes, part->size), *(const Str *)key);
}

bool text_take(RecordPool *pool, Str text, Str *ret) {
    uint64_t hash = 0;
    SharedPart *part = NULL;

    *ret = STR_NULL;
    if (str_is_empty(text))
        return true;
    if (pool) {
        hash = hash_str(text);
        part = set_find(&pool->texts, hash, is_text, &text);
    }
    if (part) {
        ref_take(&part->ref);
    } else {
        part = part_new(text.len, NULL);
        if (!part)
            return false;
        memcpy(part->bytes, text.ptr, text.len);
        if (pool && !part_add(&pool->texts, hash, part)) {
            part_drop(part);
            return false;
        }
    }
    *ret = str_of(part->bytes, part->size);
    return true;
}

void text_drop(Str text) {
    if (!str_is_empty(text))
        part_drop(part_of(text.ptr));
}

void *block_new(size_t size, const ObjectType *type) {
    SharedPart *part = part_new(size, type);

    return part ? part->bytes : NULL;
}

static bool is_block(const void *item, const void *key) {
    const SharedPart *part = item, *other = key;

    return part->type == other->type && part->size == other->size &&
           memcmp(part->bytes, other->bytes, part->size) == 0;
}

void *block_share(RecordPool *pool, void *block) {
    SharedPart *part = part_of(block), *known;
    uint64_t hash;

    if (!pool)
        return block;
    hash = hash_str(str_of(part->bytes, part->size));
    known = set_find(&pool->blocks, hash, is_block, part);
    if (known) {
        ref_take(&known->ref);
        part_drop(part);
        return known->bytes;
    }
    if (!part_add(&pool->blocks, hash, part)) {
        part_drop(part);
        return NULL;
    }
    return block;
}

void block_drop(const void *block) {
    if (block)
        part_drop(part_of(block));
}

/* Parts without another reference are freed: only the pool could hand them out again. */
static size_t sweep(Set *set) {
    size_t n = 0;
    SharedPart *part;

    for (size_t i = 0; (part = set_next(set, &i)); i++) {
        if (atomic_load_explicit(&part->ref.count, memory_order_relaxed) > 1)
            continue;
        set_remove_at(set, i--);
        part_drop(part);
        n++;
    }
    return n;
}

/* Blocks first: they may be all that holds a text. */
size_t record_pool_sweep(RecordPool *pool) {
    size_t n = 0, n_swept;

    do /* a block may be all that holds another */
        n += n_swept = sweep(&pool->blocks);
    while (n_swept > 0);
    return n + sweep(&pool->texts);
}

size_t record_pool_size(const RecordPool *pool) {
    return pool->blocks.n_used + pool->texts.n_used;
}

static void drop_all(Set *set) {
    SharedPart *part;

    for (size_t i = 0; (part = set_next(set, &i)); i++)
        part_drop(part);
    set_done(set);
}

RecordPool *record_pool_free(RecordPool *pool) {
    if (!pool)
        return NULL;
    drop_all(&pool->blocks);
    drop_all(&pool->texts);
    free(pool);
    return NULL;
}
