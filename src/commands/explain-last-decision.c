#include "commands/explain-last-decision.h"

/* A field of the rule, if it is one. */
static bool decode_rule_field(JsonReader *reader, Arena *arena, Str key, LastRule *rule) {
    if (json_key_is(reader, key, STR("policy")))
        json_string(reader, arena, &rule->policy);
    else if (json_key_is(reader, key, STR("rule")))
        json_string(reader, arena, &rule->name);
    else if (json_key_is(reader, key, STR("reason")))
        json_string(reader, arena, &rule->reason);
    else if (json_key_is(reader, key, STR("unresolvable")))
        json_bool(reader, &rule->is_unresolvable);
    else if (json_key_is(reader, key, STR("rejected")))
        json_int64(reader, &rule->rejected);
    else if (json_key_is(reader, key, STR("observed")))
        json_int64(reader, &rule->observed);
    else if (json_key_is(reader, key, STR("failed")))
        json_int64(reader, &rule->failed);
    else if (json_key_is(reader, key, STR("missing")))
        json_int64(reader, &rule->missing);
    else
        return false;
    return true;
}

static void decode_rules(JsonReader *reader, Arena *arena, LastDecision *decision) {
    Str key;

    json_array(reader);
    while (json_element(reader)) {
        LastRule *rule = VEC_PUSH(&decision->rules, arena);

        if (!rule) {
            json_fail(reader, JSON_E_MEMORY, "too many rules");
            return;
        }
        json_object(reader);
        while (json_key(reader, &key))
            if (!decode_rule_field(reader, arena, key, rule))
                json_skip(reader, NULL);
    }
}

static void decode_node(JsonReader *reader, Arena *arena, LastNode *node) {
    size_t begin;
    Str key;

    (void)json_peek(reader);
    begin = reader->at;
    node->score = -1;
    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("node")))
            json_string(reader, arena, &node->name);
        else if (json_key_is(reader, key, STR("outcome")))
            json_string(reader, arena, &node->outcome);
        else if (json_key_is(reader, key, STR("score")))
            json_int64(reader, &node->score);
        else if (json_key_is(reader, key, STR("rank")))
            json_int64(reader, &node->rank);
        else if (!decode_rule_field(reader, arena, key, &node->rule))
            json_skip(reader, NULL);
    }
    node->raw = str_of(reader->data + begin, reader->at - begin);
}

static void decode_nodes(JsonReader *reader, Arena *arena, LastDecision *decision) {
    json_array(reader);
    while (json_element(reader)) {
        LastNode *node = VEC_PUSH(&decision->nodes, arena);

        if (!node) {
            json_fail(reader, JSON_E_MEMORY, "too many nodes");
            return;
        }
        decode_node(reader, arena, node);
    }
}

static void decode_counts(JsonReader *reader, LastDecision *decision) {
    const struct {
        Str key;
        int64_t *value;
    } counts[] = {
        {STR("known"), &decision->known},
        {STR("asked"), &decision->asked},
        {STR("passed"), &decision->passed},
        {STR("scored"), &decision->scored},
        {STR("rejected"), &decision->rejected},
        {STR("unknown"), &decision->unknown},
        {STR("narrowed"), &decision->narrowed},
        {STR("late"), &decision->late},
        {STR("unjudged"), &decision->unjudged},
    };
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        size_t i = 0;

        while (i < ELEMENTS_OF(counts) && !json_key_is(reader, key, counts[i].key))
            i++;
        if (i < ELEMENTS_OF(counts))
            json_int64(reader, counts[i].value);
        else
            json_skip(reader, NULL);
    }
}

static void decode_pod(JsonReader *reader, Arena *arena, LastDecision *decision) {
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("uid")))
            json_string(reader, arena, &decision->uid);
        else
            json_skip(reader, NULL);
    }
}

static bool decode_text(JsonReader *reader, Arena *arena, Str key, LastDecision *decision) {
    const struct {
        Str key;
        Str *value;
    } texts[] = {
        {STR("time"), &decision->time},
        {STR("error"), &decision->error},
        {STR("target"), &decision->target},
        {STR("policyDigest"), &decision->policy_digest},
    };

    for (size_t i = 0; i < ELEMENTS_OF(texts); i++)
        if (json_key_is(reader, key, texts[i].key)) {
            json_string(reader, arena, texts[i].value);
            return true;
        }
    return false;
}

static void decode_field(JsonReader *reader, Arena *arena, Str key, LastDecision *decision) {
    if (json_key_is(reader, key, STR("id")))
        json_int64(reader, &decision->id);
    else if (json_key_is(reader, key, STR("generation")))
        json_int64(reader, &decision->generation);
    else if (json_key_is(reader, key, STR("durationSeconds")))
        json_double(reader, &decision->duration);
    else if (json_key_is(reader, key, STR("hasNodes")))
        json_bool(reader, &decision->has_nodes);
    else if (json_key_is(reader, key, STR("exempt")))
        json_bool(reader, &decision->is_exempt);
    else if (json_key_is(reader, key, STR("pod")))
        decode_pod(reader, arena, decision);
    else if (json_key_is(reader, key, STR("counts")))
        decode_counts(reader, decision);
    else if (json_key_is(reader, key, STR("rules")))
        decode_rules(reader, arena, decision);
    else if (!decode_text(reader, arena, key, decision))
        json_skip(reader, NULL);
}

void last_decision_decode(JsonReader *reader, Arena *arena, LastDecision *decision) {
    bool is_first = decision->fields.n == 0;
    Str key;

    if (is_first)
        decision->duration = -1;
    decision->next = 0;
    json_object(reader);
    while (json_key(reader, &key)) {
        LastField *field;
        size_t begin;

        if (json_key_is(reader, key, STR("nodes"))) {
            decode_nodes(reader, arena, decision);
            continue;
        }
        if (json_key_is(reader, key, STR("next"))) {
            json_int64(reader, &decision->next);
            continue;
        }
        if (!is_first && json_key_is(reader, key, STR("hasNodes"))) {
            json_bool(reader, &decision->has_nodes); /* they may be forgotten between two pages */
            continue;
        }
        if (!is_first) {
            json_skip(reader, NULL);
            continue;
        }
        (void)json_peek(reader);
        begin = reader->at;
        decode_field(reader, arena, key, decision);
        field = VEC_PUSH(&decision->fields, arena);
        if (!field)
            json_fail(reader, JSON_E_MEMORY, "too many fields");
        else
            *field = (LastField){key, str_of(reader->data + begin, reader->at - begin)};
    }
}
