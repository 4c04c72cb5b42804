/* Footprints of records: found by writing the pod as JSON, which a PodRequest reads. */

#include "scheduler/footprints.h"

#include <errno.h>

#include "cluster/object-text.h"

#define TEXT_MAX ((size_t)4 * 1024 * 1024)

/* A pod whose text cannot be read counts with its requests. */
static int decode(const Footprints *footprints, const Pod *pod, Footprint *ret) {
    _cleanup_(buf_done) Buf text = BUF_INIT(TEXT_MAX);
    JsonWriter writer = JSON_WRITER(&text);
    PodRequest request;
    JsonReader reader;
    Str kept;

    *ret = (Footprint){
        .nonzero = {.cpu = resources_get(&pod->requests, STR("cpu")),
            .memory = resources_get(&pod->requests, STR("memory"))},
        .is_own = true,
    };
    object_write_pod(&writer, pod, pod->node_name);
    if (buf_error(&text))
        return 0;
    kept = arena_copy(footprints->arena, buf_str(&text));
    if (!kept.ptr)
        return -ENOMEM;
    json_reader_init(&reader, kept);
    pod_request_decode(&reader, footprints->arena, &request);
    if (json_error(&reader) == JSON_OK)
        *ret = footprint_of(&request);
    return 0;
}

static int add(Footprints *footprints, const Pod *pod) {
    SharedFootprint *shared = VEC_PUSH(&footprints->items, footprints->arena);
    PodTerms terms;
    int r = shared ? decode(footprints, pod, &shared->footprint) : -ENOMEM;

    if (r == 0)
        r = term_index_add(footprints->index, pod, &terms);
    if (r < 0)
        return r;
    footprints->has_lost |= r == 1;
    shared->pod = pod;
    shared->footprint.requests = &pod->requests;
    shared->footprint.terms = terms;
    return 0;
}

/* Records with the same details, and the same shape (labels, owner, requests), are alike. */
int footprints_find(Footprints *footprints, const Pod *pod, uint32_t *ret) {
    const uintptr_t parts[] = {
        (uintptr_t)pod->details, (uintptr_t)pod->requests.items, pod->is_terminating};
    const Str key = str_of((const char *)parts, sizeof(parts));
    Str kept;
    int r;

    *ret = map_find(&footprints->numbers, key);
    if (*ret != MAP_NONE)
        return 0;
    *ret = (uint32_t)footprints->items.n;
    kept = arena_copy(footprints->arena, key);
    r = kept.ptr ? add(footprints, pod) : -ENOMEM;
    return r < 0 ? r : map_add(&footprints->numbers, kept, *ret);
}

int footprints_classify(Footprints *footprints) {
    for (size_t i = 0; i < footprints->items.n; i++) {
        SharedFootprint *shared = &footprints->items.items[i];
        int r = term_index_classify(footprints->index, shared->pod, &shared->footprint.terms);

        if (r < 0)
            return r;
        footprints->has_lost |= r == 1;
    }
    return 0;
}
