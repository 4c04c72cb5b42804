/* Decodes the arguments of the verbs from JSON. */

#include "extender/wire.h"

#include <errno.h>
#include <stdio.h>

#include "extender/nodelist.h"
#include "model/node.h"
#include "json/read.h"
#include "json/write.h"

/* The next key, decoded: Go compares keys after decoding their escapes. */
static bool next_key(JsonReader *reader, Arena *arena, Str *ret) {
    if (!json_key(reader, ret))
        return false;
    if (reader->escaped)
        *ret = json_unescape(*ret, arena);
    if (reader->escaped && !ret->ptr)
        json_fail(reader, JSON_E_MEMORY, "over the memory budget");
    return json_error(reader) == JSON_OK;
}

/* Marks @seen; a second time is an error. */
static void once(JsonReader *reader, bool *seen, const char *static_text) {
    if (*seen)
        json_fail(reader, JSON_E_SYNTAX, static_text);
    *seen = true;
}

/* A Pod that is null is as good as none. */
static void decode_pod(
    JsonReader *reader, KeptPod *kept, Arena *arena, bool *seen, bool *ret_is_given, Pod *ret) {
    once(reader, seen, "\"Pod\" is given twice");
    if (json_null(reader))
        return;
    *ret_is_given = true;
    kept_pod_decode(kept, reader, arena, ret);
}

static int finish(JsonReader *reader, char *error) {
    json_end(reader);
    switch (json_error(reader)) {
    case JSON_OK:
        return 0;
    case JSON_E_MEMORY:
        return -ENOMEM;
    default:
        json_describe(reader, error, WIRE_ERROR_MAX);
        return WIRE_E_MALFORMED;
    }
}

/* Every verb's arguments are one object. */
static void open_args(JsonReader *reader, Str body) {
    json_reader_init(reader, body);
    if (json_peek(reader) != JSON_OBJECT_BEGIN)
        json_fail(reader, JSON_E_TYPE, "expected an object with the scheduler's arguments");
    json_object(reader);
}

static void decode_items(JsonReader *reader, Arena *arena, const NodeParts *parts, NodeList *list) {
    json_array(reader);
    while (json_element(reader)) {
        Node *node = VEC_PUSH(&list->nodes, arena);
        size_t begin;

        if (!node) {
            json_fail(reader, JSON_E_MEMORY, "too many nodes");
            return;
        }
        (void)json_peek(reader); /* past white space, to where the object begins */
        begin = reader->at;
        node_decode_parts(reader, arena, parts, node);
        name_check(reader, node->name);
        if (json_error(reader) == JSON_OK &&
            !node_list_add(reader, arena, list, str_of(reader->data + begin, reader->at - begin),
                (uint32_t)list->nodes.n - 1))
            return;
    }
}

static void decode_nodes(JsonReader *reader, Arena *arena, const NodeParts *parts, NodeList *list) {
    bool has_items = false;
    Str key;

    if (json_null(reader))
        return;
    list->is_given = true;
    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("items"))) {
            once(reader, &has_items, "\"items\" is given twice");
            decode_items(reader, arena, parts, list);
        } else {
            json_skip(reader, NULL);
        }
    }
}

int filter_args_decode(const View *view, const RequestTime *time, Str body, const NodeParts *parts,
    Arena *arena, FilterArgs *ret, char *error) {
    bool seen_pod = false, has_pod = false, has_names = false, has_nodes = false;
    NodeList names = {0}, nodes = {0};
    const NodeList *used;
    JsonReader reader;
    Str key;
    int r;

    *ret = (FilterArgs){.node_set = {.table = view->table, .facts = &view->facts}, .body = body};
    if (body.len > WIRE_BODY_MAX) {
        (void)snprintf(error, WIRE_ERROR_MAX, "the request is larger than 4 GiB");
        return WIRE_E_MALFORMED;
    }
    open_args(&reader, body);
    while (next_key(&reader, arena, &key)) {
        if (str_eq_nocase(key, STR("Pod"))) {
            size_t begin = reader.at;

            decode_pod(
                &reader, time ? time->kept_pod : NULL, arena, &seen_pod, &has_pod, &ret->pod);
            ret->pod_text = str_of(body.ptr + begin, reader.at - begin);
        } else if (str_eq_nocase(key, STR("NodeNames"))) {
            once(&reader, &has_names, "\"NodeNames\" is given twice");
            node_list_decode_names(view, &reader, arena, &names);
        } else if (str_eq_nocase(key, STR("Nodes"))) {
            once(&reader, &has_nodes, "\"Nodes\" is given twice");
            decode_nodes(&reader, arena, parts, &nodes);
        } else {
            json_skip(&reader, NULL);
        }
    }
    if (json_error(&reader) == JSON_OK && !has_pod)
        json_fail(&reader, JSON_E_TYPE, "\"Pod\" is missing");
    r = finish(&reader, error);
    if (r != 0)
        return r;

    /* Both given: names win, as they do in kube-scheduler's own reading of replies. */
    ret->has_names = names.is_given;
    used = names.is_given ? &names : &nodes;
    ret->n = used->n;
    ret->spans = used->spans;
    ret->rows = used->rows;
    ret->n_unknown = used->n_unknown;
    if (!names.is_given && nodes.is_given) { /* with the pods that the view knows on them */
        NodeTable *table = ARENA_NEW(arena, NodeTable);

        r = table ? table_build(nodes.nodes.items, nodes.nodes.n, arena, table) : -ENOMEM;
        if (r == 0 && view->snapshot)
            r = table_adopt_pods(table, view->table, arena);
        if (r == 0)
            r = view_complete(view, time, /* known= */ NULL, arena, table, &ret->node_set);
    }
    if (r < 0)
        return r;
    return view_adjust(view, time, &ret->pod, ret->rows, ret->n, arena, &ret->node_set);
}

/* Mostly the name is unescaped in the request, between quotes. */
Str filter_args_quote(const FilterArgs *args, size_t i, Arena *arena) {
    Str name = args->node_set.table->names->names[args->rows[i]];
    _cleanup_(buf_done) Buf quoted = BUF_INIT(6 * name.len + 2); /* six bytes for one, at most */

    if (name.ptr > args->body.ptr && name.ptr < args->body.ptr + args->body.len)
        return str_of(name.ptr - 1, name.len + 2);
    json_quote(&quoted, name);
    return buf_error(&quoted) ? STR_NULL : arena_copy(arena, buf_str(&quoted));
}

Pen filter_args_put_quoted(const FilterArgs *args, size_t i, size_t more, Pen pen) {
    Str literal = filter_args_quote(args, i, pen.rope->arena);

    if (!literal.ptr)
        pen.rope->error = -ENOMEM;
    pen = pen_room(pen, literal.len + more);
    if (pen.at && literal.ptr) {
        memcpy(pen.at, literal.ptr, literal.len);
        pen.at += literal.len;
    }
    return pen;
}

/* "Pods": pods with metadata.uid, or {"UID": …}, depending on the form. */
static void decode_victim(JsonReader *reader, Arena *arena, bool meta, Candidate *candidate) {
    Str *slot, key, uid = STR_NULL;
    bool escaped = false;

    if (json_null(reader))
        return;
    json_object(reader);
    while (next_key(reader, arena, &key)) {
        if (meta && str_eq_nocase(key, STR("UID"))) {
            json_string_raw(reader, &uid, &escaped);
        } else if (!meta && str_eq(key, STR("metadata"))) { /* decoded already */
            Str field;

            json_object(reader);
            while (json_key(reader, &field)) {
                if (json_key_is(reader, field, STR("uid")))
                    json_string_raw(reader, &uid, &escaped);
                else
                    json_skip(reader, NULL);
            }
        } else {
            json_skip(reader, NULL);
        }
    }
    if (json_error(reader) != JSON_OK)
        return;
    if (str_is_empty(uid)) {
        json_fail(reader, JSON_E_TYPE, "a victim has no UID");
        return;
    }
    slot = VEC_PUSH(&candidate->victims, arena);
    if (!slot)
        json_fail(reader, JSON_E_MEMORY, "too many victims");
    else
        *slot = str_of(uid.ptr - 1, uid.len + 2); /* with its quotes: JSON again */
}

static void decode_candidate(JsonReader *reader, Arena *arena, bool meta, Candidate *candidate) {
    Str key;

    json_object(reader);
    while (next_key(reader, arena, &key)) {
        if (str_eq_nocase(key, STR("Pods"))) {
            json_array(reader);
            while (json_element(reader))
                decode_victim(reader, arena, meta, candidate);
        } else if (str_eq_nocase(key, STR("NumPDBViolations"))) {
            json_int64(reader, &candidate->pdb_violations);
        } else {
            json_skip(reader, NULL);
        }
    }
}

static void decode_candidates(
    JsonReader *reader, Arena *arena, bool meta, CandidateList *candidates) {
    Str node;

    json_object(reader);
    while (next_key(reader, arena, &node)) {
        Candidate *candidate = VEC_PUSH(candidates, arena);

        if (!candidate) {
            json_fail(reader, JSON_E_MEMORY, "too many candidates");
            return;
        }
        candidate->node = node;
        name_check(reader, node);
        decode_candidate(reader, arena, meta, candidate);
    }
}

int preempt_args_decode(Str body, Arena *arena, PreemptArgs *ret, char *error) {
    bool seen_pod = false, has_pod = false, has_victims = false, has_meta = false;
    CandidateList full = {0};
    JsonReader reader;
    Str key;

    *ret = (PreemptArgs){0};
    open_args(&reader, body);
    while (next_key(&reader, arena, &key)) {
        if (str_eq_nocase(key, STR("Pod"))) {
            decode_pod(&reader, /* kept= */ NULL, arena, &seen_pod, &has_pod, &ret->pod);
        } else if (str_eq_nocase(key, STR("NodeNameToVictims"))) {
            once(&reader, &has_victims, "\"NodeNameToVictims\" is given twice");
            decode_candidates(&reader, arena, /* meta= */ false, &full);
        } else if (str_eq_nocase(key, STR("NodeNameToMetaVictims"))) {
            once(&reader, &has_meta, "\"NodeNameToMetaVictims\" is given twice");
            decode_candidates(&reader, arena, /* meta= */ true, &ret->candidates);
        } else {
            json_skip(&reader, NULL);
        }
    }
    if (ret->candidates.n == 0) /* both given: the form of the reply is meant */
        ret->candidates = full;
    if (json_error(&reader) == JSON_OK && !has_pod)
        json_fail(&reader, JSON_E_TYPE, "\"Pod\" is missing");
    return finish(&reader, error);
}

int bind_args_decode(Str body, Arena *arena, BindArgs *ret, char *error) {
    struct {
        Str name;
        Str *value;
        bool seen;
    } fields[] = {
        {STR("PodName"), &ret->pod_name, false},
        {STR("PodNamespace"), &ret->pod_namespace, false},
        {STR("PodUID"), &ret->pod_uid, false},
        {STR("Node"), &ret->node, false},
    };
    JsonReader reader;
    Str key;

    *ret = (BindArgs){0};
    open_args(&reader, body);
    while (next_key(&reader, arena, &key)) {
        size_t i = 0;

        while (i < ELEMENTS_OF(fields) && !str_eq_nocase(key, fields[i].name))
            i++;
        if (i == ELEMENTS_OF(fields)) {
            json_skip(&reader, NULL);
            continue;
        }
        once(&reader, &fields[i].seen, "a field is given twice");
        json_string(&reader, arena, fields[i].value);
        if (json_error(&reader) == JSON_OK && str_has_control(*fields[i].value))
            json_fail(&reader, JSON_E_TYPE, "a name holds a control character");
    }
    for (size_t i = 0; i < ELEMENTS_OF(fields); i++)
        if (json_error(&reader) == JSON_OK && str_is_empty(*fields[i].value))
            json_fail(
                &reader, JSON_E_TYPE, "PodName, PodNamespace, PodUID and Node must all be given");
    return finish(&reader, error);
}
