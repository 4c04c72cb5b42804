#include "cluster/table-dictionary.h"

#include <stdlib.h>
#include <string.h>

static size_t table_dictionary_size(
    const Str *resources, size_t n_resources, const Taints *taint_sets, size_t n_taint_sets) {
    size_t size =
        sizeof(TableDictionary) + n_resources * sizeof(Str) + n_taint_sets * sizeof(Taints);

    for (size_t i = 0; i < n_resources; i++)
        size += resources[i].len;
    for (size_t i = 0; i < n_taint_sets; i++) {
        size += taint_sets[i].n * sizeof(Taint);
        for (size_t j = 0; j < taint_sets[i].n; j++)
            size += taint_sets[i].items[j].key.len + taint_sets[i].items[j].value.len;
    }
    return size;
}

static Str copy_text(char **at, Str text) {
    Str copy = str_of(*at, text.len);

    if (str_is_empty(text))
        return STR_NULL;
    memcpy(*at, text.ptr, text.len);
    *at += text.len;
    return copy;
}

static Taint *copy_taints(Taint *to, char **at, const Taints *from) {
    for (size_t i = 0; i < from->n; i++)
        to[i] = (Taint){
            .key = copy_text(at, from->items[i].key),
            .value = copy_text(at, from->items[i].value),
            .effect = from->items[i].effect,
        };
    return to + from->n;
}

/* One block: the struct, names, lists, taints of all lists, and their texts. */
const TableDictionary *table_dictionary_new(const Str *resources, size_t n_resources,
    size_t n_left_out, const Taints *taint_sets, size_t n_taint_sets) {
    TableDictionary *dictionary =
        malloc(table_dictionary_size(resources, n_resources, taint_sets, n_taint_sets));
    size_t n_taints = 0;
    Taint *taint;
    char *at;

    if (!dictionary)
        return NULL;
    *dictionary = (TableDictionary){
        .ref = REF_ONE,
        .n_resources = n_resources,
        .n_left_out = n_left_out,
        .n_taint_sets = n_taint_sets,
    };
    dictionary->resources = (Str *)(dictionary + 1);
    dictionary->taint_sets = (Taints *)(dictionary->resources + n_resources);
    taint = (Taint *)(dictionary->taint_sets + n_taint_sets);
    for (size_t i = 0; i < n_taint_sets; i++)
        n_taints += taint_sets[i].n;
    at = (char *)(taint + n_taints);
    for (size_t i = 0; i < n_resources; i++)
        dictionary->resources[i] = copy_text(&at, resources[i]);
    for (size_t i = 0; i < n_taint_sets; i++) {
        dictionary->taint_sets[i] = (Taints){.items = taint, .n = taint_sets[i].n};
        taint = copy_taints(taint, &at, &taint_sets[i]);
    }
    return dictionary;
}

const TableDictionary *table_dictionary_ref(const TableDictionary *dictionary) {
    ref_take(&((TableDictionary *)(uintptr_t)dictionary)->ref);
    return dictionary;
}

const TableDictionary *table_dictionary_unref(const TableDictionary *dictionary) {
    if (dictionary && ref_drop(&((TableDictionary *)(uintptr_t)dictionary)->ref))
        free((TableDictionary *)(uintptr_t)dictionary);
    return NULL;
}
