#include "cluster/words.h"

#include <stdlib.h>
#include <string.h>

static size_t words_size(
    const Str *resources, size_t n_resources, const Taints *taint_sets, size_t n_taint_sets) {
    size_t size = sizeof(Words) + n_resources * sizeof(Str) + n_taint_sets * sizeof(Taints);

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
const Words *words_new(const Str *resources, size_t n_resources, size_t n_left_out,
    const Taints *taint_sets, size_t n_taint_sets) {
    Words *words = malloc(words_size(resources, n_resources, taint_sets, n_taint_sets));
    size_t n_taints = 0;
    Taint *taint;
    char *at;

    if (!words)
        return NULL;
    *words = (Words){
        .ref = REF_ONE,
        .n_resources = n_resources,
        .n_left_out = n_left_out,
        .n_taint_sets = n_taint_sets,
    };
    words->resources = (Str *)(words + 1);
    words->taint_sets = (Taints *)(words->resources + n_resources);
    taint = (Taint *)(words->taint_sets + n_taint_sets);
    for (size_t i = 0; i < n_taint_sets; i++)
        n_taints += taint_sets[i].n;
    at = (char *)(taint + n_taints);
    for (size_t i = 0; i < n_resources; i++)
        words->resources[i] = copy_text(&at, resources[i]);
    for (size_t i = 0; i < n_taint_sets; i++) {
        words->taint_sets[i] = (Taints){.items = taint, .n = taint_sets[i].n};
        taint = copy_taints(taint, &at, &taint_sets[i]);
    }
    return words;
}

const Words *words_ref(const Words *words) {
    ref_take(&((Words *)(uintptr_t)words)->ref);
    return words;
}

const Words *words_unref(const Words *words) {
    if (words && ref_drop(&((Words *)(uintptr_t)words)->ref))
        free((Words *)(uintptr_t)words);
    return NULL;
}
