/* The last answer of a query, in order, and the rows that its series led to. */

#include "load/join-internal.h"

#include <stdlib.h>

#include "base/hash.h"

JoinMemory *join_memory_new(void) {
    JoinMemory *memory = calloc(1, sizeof(*memory));

    if (memory)
        memory->index = &memory->own;
    return memory;
}

static void forget(JoinMemory *memory) {
    memory->key = 0;
    memory->n = 0;
}

void join_memory_share(JoinMemory *memory, JoinIndex *index) {
    if (memory->index == index)
        return;
    forget(memory); /* rows were of another version */
    join_index_done(&memory->own);
    memory->index = index;
}

JoinMemory *join_memory_free(JoinMemory *memory) {
    if (!memory)
        return NULL;
    join_index_done(&memory->own);
    free(memory->label);
    free(memory->series);
    free(memory->texts);
    free(memory);
    return NULL;
}

static uint64_t mix(uint64_t key, uint64_t more) {
    return (key ^ more) * UINT64_C(0x9e3779b97f4a7c15) + (key >> 29);
}

uint64_t join_memory_key(const Gauge *gauge) {
    uint64_t key = mix((uint64_t)gauge->source + 1, (uint64_t)gauge->identity);

    key = mix(key, hash_str(gauge->node_label));
    key = mix(key, hash_str(gauge->node_pattern));
    for (size_t i = 0; i < gauge->mapping.n; i++) {
        key = mix(key, hash_str(gauge->mapping.items[i].key));
        key = mix(key, hash_str(gauge->mapping.items[i].value));
    }
    return key ? key : 1;
}

bool join_memory_way(const JoinMemory *memory, uint64_t key, uint64_t labels, JoinWay *way) {
    if (memory->key != key || memory->labels != labels || memory->version != memory->index->version)
        return false;
    way->label = str_of(memory->label, memory->label_len);
    way->identity = memory->identity;
    way->has_cut_port = memory->has_cut_port;
    return true;
}

bool join_memory_holds(const JoinMemory *memory, uint64_t key, const JoinWay *way) {
    return memory->key == key && memory->version == memory->index->version &&
           memory->identity == way->identity &&
           str_eq(way->label, str_of(memory->label, memory->label_len));
}

/* --- learning -------------------------------------------------------------- */

static bool keep_label(JoinMemory *memory, Str label) {
    char *copy;

    if (str_eq(label, str_of(memory->label, memory->label_len))) /* it may be this very text */
        return true;
    copy = malloc(label.len + 1);
    if (!copy)
        return false;
    memcpy(copy, label.ptr, label.len);
    free(memory->label);
    memory->label = copy;
    memory->label_len = label.len;
    return true;
}

/* Bytes of all values; SIZE_MAX: more than is remembered. */
static size_t measure(const Vector *vector, Str label) {
    size_t bytes = 0, hint = 0;

    if (vector->n > JOIN_MEMORY_SERIES_MAX)
        return SIZE_MAX;
    for (size_t i = 0; i < vector->n; i++)
        bytes += join_label(&vector->items[i], label, &hint).len;
    return bytes <= JOIN_MEMORY_BYTES_MAX ? bytes : SIZE_MAX;
}

static bool make_room(JoinMemory *memory, size_t n, size_t n_bytes) {
    if (n > memory->size) {
        free(memory->series);
        memory->series = malloc(n * sizeof(*memory->series));
        memory->size = memory->series ? n : 0;
    }
    if (n_bytes > memory->texts_size) {
        free(memory->texts);
        memory->texts = malloc(n_bytes);
        memory->texts_size = memory->texts ? n_bytes : 0;
    }
    return memory->size >= n && memory->texts_size >= n_bytes;
}

static void copy_series(JoinMemory *memory, const Vector *vector, Str label, const uint32_t *rows) {
    size_t at = 0, hint = 0;

    for (size_t i = 0; i < vector->n; i++) {
        Str value = join_label(&vector->items[i], label, &hint);

        memory->series[i] = (RememberedSeries){(uint32_t)at, (uint32_t)value.len, rows[i]};
        if (value.len > 0)
            memcpy(memory->texts + at, value.ptr, value.len);
        at += value.len;
    }
    memory->n = vector->n;
}

void join_memory_learn(JoinMemory *memory, uint64_t key, uint64_t labels, const JoinWay *way,
    const Vector *vector, const uint32_t *rows) {
    size_t n_bytes = measure(vector, way->label);

    memory->n = 0;
    memory->key = keep_label(memory, way->label) ? key : 0;
    memory->labels = labels;
    memory->identity = way->identity;
    memory->has_cut_port = way->has_cut_port;
    memory->version = memory->index->version;
    if (memory->key != 0 && n_bytes != SIZE_MAX && make_room(memory, vector->n, n_bytes))
        copy_series(memory, vector, way->label, rows);
}
