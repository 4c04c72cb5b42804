/* The immutable cluster that one request reads. */

#include "cluster/snapshot.h"

#include <errno.h>
#include <stdlib.h>

#include "base/ref.h"
#include "cluster/record.h"

struct Snapshot {
    Ref ref;
    const TableDictionary *dictionary;
    NodeTable table;
    RelatedObjects related;
    const void *pointers[]; /* the table's chunks, its nominated pods, its assumed pods */
};

Snapshot *snapshot_ref(Snapshot *snapshot) {
    ref_take(&snapshot->ref);
    return snapshot;
}

/* Drops the references of snapshot_new(). */
static void drop_parts(const NodeTable *table, const TableDictionary *dictionary) {
    for (size_t i = 0; i < table->n_chunks; i++)
        chunk_unref(table->chunks[i]);
    names_unref((NodeNames *)(uintptr_t)table->names);
    table_dictionary_unref(dictionary);
}

Snapshot *snapshot_unref(Snapshot *snapshot) {
    if (!snapshot || !ref_drop(&snapshot->ref))
        return NULL;
    drop_parts(&snapshot->table, snapshot->dictionary);
    for (size_t i = 0; i < snapshot->table.n_nominated; i++)
        pod_record_unref(snapshot->table.nominated[i]);
    for (size_t i = 0; i < snapshot->table.n_assumed; i++)
        pod_record_unref(snapshot->table.assumed[i]);
    related_objects_done(&snapshot->related);
    free(snapshot);
    return NULL;
}

const NodeTable *snapshot_table(const Snapshot *snapshot) {
    return &snapshot->table;
}

const RelatedObjects *snapshot_related(const Snapshot *snapshot) {
    return &snapshot->related;
}

void snapshot_set_related(Snapshot *snapshot, const RelatedObjects *related) {
    snapshot->related = related_objects_ref(related);
}

const TableDictionary *snapshot_dictionary(const Snapshot *snapshot) {
    return snapshot->dictionary;
}

int snapshot_new(const NodeTable *table, const TableDictionary *dictionary, Snapshot **ret) {
    size_t n_pointers = table->n_chunks + table->n_nominated + table->n_assumed;
    Snapshot *snapshot = malloc(sizeof(*snapshot) + n_pointers * sizeof(snapshot->pointers[0]));
    const void **nominated, **assumed;

    if (!snapshot) {
        drop_parts(table, dictionary);
        return -ENOMEM;
    }
    snapshot->ref = REF_ONE;
    snapshot->dictionary = dictionary;
    snapshot->related = (RelatedObjects){0};
    snapshot->table = *table;
    snapshot->table.loads = NULL;
    snapshot->table.chunks = (const NodeChunk *const *)snapshot->pointers;
    nominated = snapshot->pointers + table->n_chunks;
    assumed = nominated + table->n_nominated;
    snapshot->table.nominated = (const Pod *const *)nominated;
    snapshot->table.assumed = (const Pod *const *)assumed;
    snapshot->table.resources = dictionary->resources;
    snapshot->table.n_resources = dictionary->n_resources;
    snapshot->table.taint_sets = dictionary->taint_sets;
    snapshot->table.n_taint_sets = dictionary->n_taint_sets;
    for (size_t i = 0; i < table->n_chunks; i++)
        snapshot->pointers[i] = table->chunks[i];
    for (size_t i = 0; i < table->n_nominated; i++)
        nominated[i] = pod_record_ref(table->nominated[i]);
    for (size_t i = 0; i < table->n_assumed; i++)
        assumed[i] = pod_record_ref(table->assumed[i]);
    *ret = snapshot;
    return 0;
}
