#include "model/node.h"

static void decode_labels(JsonReader *reader, Arena *arena, const NodeParts *parts, Labels *ret) {
    if (parts->all_labels)
        labels_decode(reader, arena, ret);
    else if (parts->n_labels > 0)
        labels_decode_some(reader, arena, parts->labels, parts->n_labels, ret);
    else
        json_skip_fast(reader, NULL);
}

static void decode_metadata(JsonReader *reader, Arena *arena, const NodeParts *parts, Node *node) {
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("name")))
            json_string(reader, arena, &node->name);
        else if (json_key_is(reader, key, STR("labels")))
            decode_labels(reader, arena, parts, &node->labels);
        else
            json_skip_fast(reader, NULL);
    }
}

static void decode_spec(JsonReader *reader, Arena *arena, const NodeParts *parts, Node *node) {
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (parts->taints && json_key_is(reader, key, STR("taints")))
            taints_decode(reader, arena, &node->taints);
        else if (json_key_is(reader, key, STR("unschedulable")))
            json_bool(reader, &node->is_unschedulable);
        else
            json_skip_fast(reader, NULL);
    }
}

/* Sets *@ret_is_ready if the condition is the one about readiness. */
static void decode_condition(JsonReader *reader, Arena *arena, bool *ret_is_ready) {
    Str type = STR_NULL, status = STR_NULL, key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("type")))
            json_string(reader, arena, &type);
        else if (json_key_is(reader, key, STR("status")))
            json_string(reader, arena, &status);
        else
            json_skip_fast(reader, NULL);
    }
    if (str_eq(type, STR("Ready")))
        *ret_is_ready = str_eq(status, STR("True"));
}

static void decode_status(JsonReader *reader, Arena *arena, const NodeParts *parts, Node *node) {
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (parts->allocatable && json_key_is(reader, key, STR("allocatable"))) {
            resources_decode(reader, arena, &node->allocatable);
        } else if (parts->conditions && json_key_is(reader, key, STR("conditions"))) {
            node->is_ready = false;
            json_array(reader);
            while (json_element(reader))
                decode_condition(reader, arena, &node->is_ready);
        } else {
            json_skip_fast(reader, NULL);
        }
    }
}

void node_decode(JsonReader *reader, Arena *arena, Node *ret) {
    static const NodeParts everything = {
        .all_labels = true, .taints = true, .conditions = true, .allocatable = true};

    node_decode_parts(reader, arena, &everything, ret);
}

void node_decode_parts(JsonReader *reader, Arena *arena, const NodeParts *parts, Node *ret) {
    Str key;

    *ret = (Node){0};
    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("metadata")))
            decode_metadata(reader, arena, parts, ret);
        else if (json_key_is(reader, key, STR("spec")))
            decode_spec(reader, arena, parts, ret);
        else if (json_key_is(reader, key, STR("status")))
            decode_status(reader, arena, parts, ret);
        else
            json_skip_fast(reader, NULL);
    }
    if (!json_error(reader) && str_is_empty(ret->name))
        json_fail(reader, JSON_E_TYPE, "a Node without a name");
}

static bool is_alphanumeric(char c) {
    return (unsigned char)(c - 'a') < 26 || (unsigned char)(c - '0') < 10;
}

/* No branch inside the loop: it becomes vector code. */
bool node_name_is_valid(Str name) {
    bool ok = true;

    if (name.len == 0 || name.len > NODE_NAME_MAX || !is_alphanumeric(name.ptr[0]) ||
        !is_alphanumeric(name.ptr[name.len - 1]))
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];

        ok &= ((unsigned char)(c - 'a') < 26) | ((unsigned char)(c - '0') < 10) | (c == '-') |
              (c == '.');
    }
    return ok;
}
