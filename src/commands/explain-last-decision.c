/* Reads decisions of /api/v1/decisions by tables of their fields. */

#include "commands/explain-internal.h"

#include "base/calendar.h"
#include "base/nsec.h"
#include "json/fields.h"

#define RULE_FIELDS(type, member)                                                                  \
    {"policy", JSON_FIELD_TEXT, offsetof(type, member.policy)},                                    \
        {"rule", JSON_FIELD_TEXT, offsetof(type, member.name)},                                    \
        {"reason", JSON_FIELD_TEXT, offsetof(type, member.reason)},                                \
        {"unresolvable", JSON_FIELD_BOOL, offsetof(type, member.is_unresolvable)},                 \
        {"rejected", JSON_FIELD_INT, offsetof(type, member.rejected)},                             \
        {"observed", JSON_FIELD_INT, offsetof(type, member.observed)},                             \
        {"failed", JSON_FIELD_INT, offsetof(type, member.failed)}, {                               \
        "missing", JSON_FIELD_INT, offsetof(type, member.missing)                                  \
    }

static void decode_rule(JsonReader *reader, Arena *arena, void *target) {
    typedef struct Entry {
        ApiRule rule;
    } Entry;
    static const JsonField fields[] = {RULE_FIELDS(Entry, rule)};

    JSON_READ_FIELDS(reader, arena, fields, VEC_PUSH(&((ApiDecision *)target)->rules, arena));
}

static void decode_node(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        {"node", JSON_FIELD_TEXT, offsetof(ApiNode, name)},
        {"outcome", JSON_FIELD_TEXT, offsetof(ApiNode, outcome)},
        {"score", JSON_FIELD_INT, offsetof(ApiNode, score)},
        {"rank", JSON_FIELD_INT, offsetof(ApiNode, rank)},
        RULE_FIELDS(ApiNode, rule),
    };
    ApiNode *node = VEC_PUSH(&((ApiDecision *)target)->nodes, arena);
    size_t begin;

    (void)json_peek(reader);
    begin = reader->at;
    node->score = -1;
    JSON_READ_FIELDS(reader, arena, fields, node);
    node->raw = str_of(reader->data + begin, reader->at - begin);
}

#define AT(member) offsetof(ApiDecision, member)

static const JsonField fields[] = {
    {"id", JSON_FIELD_INT, AT(id)},
    {"generation", JSON_FIELD_INT, AT(generation)},
    {"durationSeconds", JSON_FIELD_DOUBLE, AT(duration)},
    {"hasNodes", JSON_FIELD_BOOL, AT(has_nodes)},
    {"exempt", JSON_FIELD_BOOL, AT(is_exempt)},
    {"time", JSON_FIELD_TEXT, AT(time)},
    {"error", JSON_FIELD_TEXT, AT(error)},
    {"target", JSON_FIELD_TEXT, AT(target)},
    {"nominated", JSON_FIELD_TEXT, AT(nominated)},
    {"policyDigest", JSON_FIELD_TEXT, AT(policy_digest)},
    {"mainReason.text", JSON_FIELD_TEXT, AT(main_reason)},
    {"pod.uid", JSON_FIELD_TEXT, AT(uid)},
    {"counts.known", JSON_FIELD_INT, AT(known)},
    {"counts.asked", JSON_FIELD_INT, AT(asked)},
    {"counts.passed", JSON_FIELD_INT, AT(passed)},
    {"counts.scored", JSON_FIELD_INT, AT(scored)},
    {"counts.rejected", JSON_FIELD_INT, AT(rejected)},
    {"counts.unknown", JSON_FIELD_INT, AT(unknown)},
    {"counts.narrowed", JSON_FIELD_INT, AT(narrowed)},
    {"counts.late", JSON_FIELD_INT, AT(late)},
    {"counts.unjudged", JSON_FIELD_INT, AT(unjudged)},
    {"rules", JSON_FIELD_ARRAY, .read = decode_rule},
};

void api_decision_decode(JsonReader *reader, Arena *arena, ApiDecision *decision) {
    static const JsonField page_fields[] = {
        {"nodes", JSON_FIELD_ARRAY, .read = decode_node}, {"next", JSON_FIELD_INT, AT(next)},
        {"hasNodes", JSON_FIELD_BOOL, AT(has_nodes)}, /* may be forgotten between two pages */
    };
    bool is_first = str_is_empty(decision->raw);
    Str raw = STR_NULL;
    JsonReader again;

    json_skip(reader, &raw);
    if (json_error(reader) != JSON_OK)
        return;
    decision->next = 0;
    json_reader_init(&again, raw);
    JSON_READ_FIELDS(&again, arena, page_fields, decision);
    if (is_first && json_error(&again) == JSON_OK) {
        decision->duration = -1;
        decision->raw = raw;
        json_reader_init(&again, raw);
        JSON_READ_FIELDS(&again, arena, fields, decision);
    }
    if (json_error(&again) != JSON_OK)
        json_fail(reader, json_error(&again), "not a decision");
}

/* The nomination is read again, from its text. */
void api_decision_decode_page(
    JsonReader *reader, Arena *arena, ApiDecision *decision, ApiNomination *nomination) {
    static const JsonField nomination_fields[] = {
        {"uid", JSON_FIELD_TEXT, offsetof(ApiNomination, uid)},
        {"node", JSON_FIELD_TEXT, offsetof(ApiNomination, node)},
        {"time", JSON_FIELD_TEXT, offsetof(ApiNomination, time)},
        {"outcome", JSON_FIELD_TEXT, offsetof(ApiNomination, outcome)},
        {"text", JSON_FIELD_TEXT, offsetof(ApiNomination, text)},
        {"feasible", JSON_FIELD_INT, offsetof(ApiNomination, feasible)},
        {"best", JSON_FIELD_INT, offsetof(ApiNomination, best)},
    };
    JsonReader again;
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("nomination"))) {
            json_skip(reader, &nomination->raw);
            json_reader_init(&again, nomination->raw);
            JSON_READ_FIELDS(&again, arena, nomination_fields, nomination);
            if (json_error(&again) != JSON_OK)
                json_fail(reader, json_error(&again), "not a nomination");
        } else if (json_key_is(reader, key, STR("decisions"))) {
            json_array(reader);
            while (json_element(reader))
                api_decision_decode(reader, arena, decision);
        } else
            json_skip(reader, NULL);
    }
}

int64_t api_decision_time(const ApiDecision *decision) {
    uint32_t nanos = 0;
    int64_t sec = 0;

    return calendar_parse(decision->time, &sec, &nanos) ? sec * NSEC_PER_SEC + nanos : 0;
}
