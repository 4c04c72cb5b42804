#include "extender/test-reply.h"

#include <assert.h>

#include "model/node.h"
#include "json/read.h"

void reply_ask(const View *view, Verb verb, Str body, Str bind_error, Arena *arena, Answer *ret) {
    BindArgs args;

    switch (verb) {
    case VERB_FILTER:
        extender_filter(view, /* time= */ NULL, body, arena, ret);
        return;
    case VERB_PRIORITIZE:
        extender_prioritize(view, /* time= */ NULL, body, arena, ret);
        return;
    case VERB_PREEMPT:
        extender_preempt(view, /* time= */ NULL, body, arena, ret);
        return;
    default:
        if (extender_bind_request(body, arena, &args, ret))
            extender_bind_reply(&args, bind_error, arena, ret);
    }
}

Str reply_text(const Rope *rope, Arena *arena) {
    char *text = arena_alloc(arena, rope->len);
    size_t len = 0;

    assert(text);
    for (size_t i = 0; i < rope->slices.n; i++) {
        assert(rope->slices.items[i].len <= rope->len - len);
        memcpy(text + len, rope->slices.items[i].ptr, rope->slices.items[i].len);
        len += rope->slices.items[i].len;
    }
    assert(len == rope->len);
    return str_of(text, len);
}

/* Enters an object or array, which must not be null. */
static void enter(JsonReader *reader, JsonToken wanted) {
    if (json_peek(reader) != wanted)
        json_fail(reader, JSON_E_TYPE, "another kind of value is wanted");
    else if (wanted == JSON_OBJECT_BEGIN)
        json_object(reader);
    else
        json_array(reader);
}

static void read_string(JsonReader *reader, Arena *arena, Str *ret) {
    if (json_peek(reader) != JSON_STRING)
        json_fail(reader, JSON_E_TYPE, "a string is wanted");
    json_string(reader, arena, ret);
}

static bool next_key(JsonReader *reader, Arena *arena, Str *ret) {
    if (!json_key(reader, ret))
        return false;
    if (reader->escaped)
        *ret = json_unescape(*ret, arena);
    return true;
}

static bool finish(JsonReader *reader) {
    json_end(reader);
    return json_error(reader) == JSON_OK;
}

static ReplyNode *add_node(ReplyNodes *nodes, Arena *arena) {
    ReplyNode *node = VEC_PUSH(nodes, arena);

    assert(node);
    return node;
}

static void read_names(JsonReader *reader, Arena *arena, FilterReply *reply) {
    reply->has_names = true;
    enter(reader, JSON_ARRAY_BEGIN);
    while (json_element(reader)) {
        ReplyNode *node = add_node(&reply->passed, arena);
        size_t begin = reader->at;

        read_string(reader, arena, &node->name);
        node->raw = str_of(reader->data + begin, reader->at - begin);
    }
}

/* Unread fields of Node objects are returned unread: only their brackets are counted. */
static void read_nodes(JsonReader *reader, Arena *arena, FilterReply *reply) {
    Str key;

    enter(reader, JSON_OBJECT_BEGIN);
    if (!json_key(reader, &key) || !str_is(key, "items")) {
        json_fail(reader, JSON_E_TYPE, "items are wanted");
        return;
    }
    enter(reader, JSON_ARRAY_BEGIN);
    while (json_element(reader)) {
        ReplyNode *node = add_node(&reply->passed, arena);
        Node object;
        size_t begin;

        (void)json_peek(reader);
        begin = reader->at;
        node_decode(reader, arena, &object);
        node->name = object.name;
        node->raw = str_of(reader->data + begin, reader->at - begin);
    }
    if (json_key(reader, &key))
        json_fail(reader, JSON_E_TYPE, "nothing else is wanted");
}

static void read_failed(JsonReader *reader, Arena *arena, ReplyNodes *nodes) {
    Str name;

    enter(reader, JSON_OBJECT_BEGIN);
    while (next_key(reader, arena, &name)) {
        ReplyNode *node = add_node(nodes, arena);

        node->name = name;
        read_string(reader, arena, &node->reason);
    }
}

bool reply_filter(Str text, Arena *arena, FilterReply *ret) {
    unsigned n_lists = 0, n_maps = 0, n_errors = 0;
    JsonReader reader;
    Str key;

    *ret = (FilterReply){0};
    json_reader_init(&reader, text);
    enter(&reader, JSON_OBJECT_BEGIN);
    while (next_key(&reader, arena, &key)) {
        if (str_is(key, "NodeNames")) {
            read_names(&reader, arena, ret);
            n_lists++;
        } else if (str_is(key, "Nodes")) {
            read_nodes(&reader, arena, ret);
            n_lists++;
        } else if (str_is(key, "FailedNodes")) {
            read_failed(&reader, arena, &ret->failed);
            n_maps++;
        } else if (str_is(key, "FailedAndUnresolvableNodes")) {
            read_failed(&reader, arena, &ret->unresolvable);
            n_maps++;
        } else if (str_is(key, "Error")) {
            read_string(&reader, arena, &ret->error);
            n_errors++;
        } else {
            json_fail(&reader, JSON_E_TYPE, "no such key");
        }
    }
    return finish(&reader) && n_lists == 1 && n_maps == 2 && n_errors == 1;
}

static void read_score(JsonReader *reader, Arena *arena, ReplyScore *ret) {
    unsigned n_keys = 0;
    Str key;

    enter(reader, JSON_OBJECT_BEGIN);
    while (next_key(reader, arena, &key)) {
        n_keys++;
        if (str_is(key, "Host"))
            read_string(reader, arena, &ret->host);
        else if (str_is(key, "Score") && json_peek(reader) == JSON_NUMBER)
            json_int64(reader, &ret->score);
        else
            json_fail(reader, JSON_E_TYPE, "no such key, or no number");
    }
    if (n_keys != 2)
        json_fail(reader, JSON_E_TYPE, "Host and Score are wanted");
}

bool reply_scores(Str text, Arena *arena, ReplyScores *ret) {
    JsonReader reader;

    *ret = (ReplyScores){0};
    json_reader_init(&reader, text);
    enter(&reader, JSON_ARRAY_BEGIN);
    while (json_element(&reader)) {
        ReplyScore *score = VEC_PUSH(ret, arena);

        assert(score);
        read_score(&reader, arena, score);
    }
    return finish(&reader);
}

static void read_uid(JsonReader *reader, Arena *arena, ReplyCandidate *candidate) {
    Str *uid = VEC_PUSH(&candidate->uids, arena), key;

    assert(uid);
    enter(reader, JSON_OBJECT_BEGIN);
    while (next_key(reader, arena, &key)) {
        if (str_is(key, "UID"))
            read_string(reader, arena, uid);
        else
            json_fail(reader, JSON_E_TYPE, "no such key");
    }
}

static void read_candidate(JsonReader *reader, Arena *arena, ReplyCandidate *candidate) {
    unsigned n_keys = 0;
    Str key;

    enter(reader, JSON_OBJECT_BEGIN);
    while (next_key(reader, arena, &key)) {
        n_keys++;
        if (str_is(key, "Pods")) {
            enter(reader, JSON_ARRAY_BEGIN);
            while (json_element(reader))
                read_uid(reader, arena, candidate);
        } else if (str_is(key, "NumPDBViolations") && json_peek(reader) == JSON_NUMBER) {
            json_int64(reader, &candidate->pdb_violations);
        } else {
            json_fail(reader, JSON_E_TYPE, "no such key, or no number");
        }
    }
    if (n_keys != 2)
        json_fail(reader, JSON_E_TYPE, "Pods and NumPDBViolations are wanted");
}

bool reply_candidates(Str text, Arena *arena, ReplyCandidates *ret) {
    JsonReader reader;
    Str key;

    *ret = (ReplyCandidates){0};
    json_reader_init(&reader, text);
    enter(&reader, JSON_OBJECT_BEGIN);
    if (!json_key(&reader, &key) || !str_is(key, "NodeNameToMetaVictims"))
        return false;
    enter(&reader, JSON_OBJECT_BEGIN);
    while (next_key(&reader, arena, &key)) {
        ReplyCandidate *candidate = VEC_PUSH(ret, arena);

        assert(candidate);
        candidate->node = key;
        read_candidate(&reader, arena, candidate);
    }
    if (json_key(&reader, &key))
        return false;
    return finish(&reader);
}

bool reply_error(Str text, Arena *arena, Str *ret) {
    JsonReader reader;
    Str key;

    json_reader_init(&reader, text);
    enter(&reader, JSON_OBJECT_BEGIN);
    if (!json_key(&reader, &key) || !str_is(key, "Error"))
        return false;
    read_string(&reader, arena, ret);
    if (json_key(&reader, &key))
        return false;
    return finish(&reader);
}
