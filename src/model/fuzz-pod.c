/*
 * Any bytes as a Pod and as a Node, with a small and with an ample budget: no
 * crash, no read past the end, and only what the headers promise comes out.
 */

#include <assert.h>

#include "model/node.h"
#include "model/pod.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t touched; /* keeps the reads below from being optimised away */

static void touch(Str str) {
    for (size_t i = 0; i < str.len; i++)
        touched += (unsigned char)str.ptr[i];
}

static void check_labels(const Labels *labels) {
    for (size_t i = 0; i < labels->n; i++) {
        touch(labels->items[i].value);
        assert(i == 0 || str_cmp(labels->items[i - 1].key, labels->items[i].key) < 0);
        assert(labels_find(labels, labels->items[i].key) == &labels->items[i].value);
    }
}

static void check_resources(const Resources *resources) {
    assert(resources->n <= RESOURCES_MAX);
    for (size_t i = 0; i < resources->n; i++)
        assert(resources_find(resources, resources->items[i].name) == &resources->items[i]);
}

static bool decode_pod(Str text, Arena *arena, Pod *ret) {
    JsonReader reader;

    json_reader_init(&reader, text);
    pod_decode(&reader, arena, ret);
    json_end(&reader);
    if (json_error(&reader))
        return false;
    check_labels(&ret->labels);
    check_resources(&ret->requests);
    touch(ret->name);
    touch(ret->owner_name);
    touch(ret->node_name);
    return true;
}

static bool decode_node(Str text, Arena *arena, Node *ret) {
    JsonReader reader;

    json_reader_init(&reader, text);
    node_decode(&reader, arena, ret);
    json_end(&reader);
    if (json_error(&reader))
        return false;
    assert(ret->name.len > 0);
    check_labels(&ret->labels);
    check_resources(&ret->allocatable);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const size_t budgets[] = {512, (size_t)4 << 20};
    Str text = str_of((const char *)data, size);

    for (size_t i = 0; i < sizeof(budgets) / sizeof(budgets[0]); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(budgets[i]);
        Pod pod;
        Node node;
        bool is_pod, is_node;

        if (!arena)
            return 0;
        is_pod = decode_pod(text, arena, &pod);
        is_node = decode_node(text, arena, &node);
        if (is_pod && is_node)
            touched += tolerations_admit(&pod.tolerations, &node.taints);
    }
    return 0;
}
