/* Reads decisions of /api/v1/decisions by tables of their fields. */

#include "commands/explain-internal.h"

#include "base/calendar.h"
#include "base/nsec.h"
#include "json/fields.h"

/* The fields of an ApiRule that is at offset @at of the struct. */
#define RULE_FIELDS(at)                                                                            \
    {"policy", JSON_FIELD_TEXT, (at) + offsetof(ApiRule, policy)},                                 \
        {"rule", JSON_FIELD_TEXT, (at) + offsetof(ApiRule, name)},                                 \
        {"reason", JSON_FIELD_TEXT, (at) + offsetof(ApiRule, reason)},                             \
        {"unresolvable", JSON_FIELD_BOOL, (at) + offsetof(ApiRule, is_unresolvable)},              \
        {"rejected", JSON_FIELD_INT, (at) + offsetof(ApiRule, rejected)},                          \
        {"observed", JSON_FIELD_INT, (at) + offsetof(ApiRule, observed)},                          \
        {"failed", JSON_FIELD_INT, (at) + offsetof(ApiRule, failed)}, {                            \
        "missing", JSON_FIELD_INT, (at) + offsetof(ApiRule, missing)                               \
    }

static const JsonField rule_fields[] = {RULE_FIELDS(0)};

/* Reads an object, and returns its text. */
static Str read_fields(
    JsonReader *reader, Arena *arena, const JsonField *fields, size_t n, void *target) {
    size_t begin;

    (void)json_peek(reader);
    begin = reader->at;
    json_read_fields(reader, arena, fields, n, target);
    return str_of(reader->data + begin, reader->at - begin);
}

static void decode_node(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_MEMBER("node", TEXT, ApiNode, name),
        JSON_MEMBER("outcome", TEXT, ApiNode, outcome),
        JSON_MEMBER("score", INT, ApiNode, score),
        JSON_MEMBER("rank", INT, ApiNode, rank),
        RULE_FIELDS(offsetof(ApiNode, rule)),
    };
    ApiNode *node = VEC_PUSH((ApiNodes *)target, arena);

    node->score = -1;
    node->raw = read_fields(reader, arena, fields, ELEMENTS_OF(fields), node);
}

static const JsonField decision_fields[] = {
    JSON_MEMBER("id", INT, ApiDecision, id),
    JSON_MEMBER("generation", INT, ApiDecision, generation),
    JSON_MEMBER("durationSeconds", DOUBLE, ApiDecision, duration),
    JSON_MEMBER("hasNodes", BOOL, ApiDecision, has_nodes),
    JSON_MEMBER("exempt", BOOL, ApiDecision, is_exempt),
    JSON_MEMBER("time", TEXT, ApiDecision, time),
    JSON_MEMBER("error", TEXT, ApiDecision, error),
    JSON_MEMBER("target", TEXT, ApiDecision, target),
    JSON_MEMBER("nominated", TEXT, ApiDecision, nominated),
    JSON_MEMBER("policyDigest", TEXT, ApiDecision, policy_digest),
    JSON_MEMBER("mainReason.text", TEXT, ApiDecision, main_reason),
    JSON_MEMBER("pod.uid", TEXT, ApiDecision, uid),
    JSON_MEMBER("counts.known", INT, ApiDecision, known),
    JSON_MEMBER("counts.asked", INT, ApiDecision, asked),
    JSON_MEMBER("counts.passed", INT, ApiDecision, passed),
    JSON_MEMBER("counts.unknown", INT, ApiDecision, unknown),
    JSON_MEMBER("counts.narrowed", INT, ApiDecision, narrowed),
    JSON_MEMBER("counts.late", INT, ApiDecision, late),
    JSON_MEMBER("counts.unjudged", INT, ApiDecision, unjudged),
    JSON_LIST_OF("rules", ApiDecision, rules, n_rules, SIZE_MAX, rule_fields),
    JSON_MEMBER("nodes", ARRAY, ApiDecision, nodes, .read = decode_node),
    JSON_MEMBER("next", INT, ApiDecision, next),
};

void api_decision_decode(JsonReader *reader, Arena *arena, void *target) {
    ApiDecision *decision = target;
    Str raw;

    if (str_is_empty(decision->raw))
        decision->duration = -1;
    decision->next = 0;
    raw = read_fields(reader, arena, decision_fields, ELEMENTS_OF(decision_fields), decision);
    if (str_is_empty(decision->raw))
        decision->raw = raw;
}

static void decode_nomination(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_MEMBER("uid", TEXT, ApiNomination, uid),
        JSON_MEMBER("node", TEXT, ApiNomination, node),
        JSON_MEMBER("time", TEXT, ApiNomination, time),
        JSON_MEMBER("text", TEXT, ApiNomination, text),
        JSON_MEMBER("feasible", INT, ApiNomination, feasible),
        JSON_MEMBER("best", INT, ApiNomination, best),
    };
    ApiNomination *nomination = target;

    nomination->raw = read_fields(reader, arena, fields, ELEMENTS_OF(fields), nomination);
}

void api_page_decode(JsonReader *reader, Arena *arena, ApiPage *page) {
    static const JsonField fields[] = {
        JSON_CUSTOM("nomination", ApiPage, nomination, decode_nomination),
        JSON_MEMBER("decisions", ARRAY, ApiPage, decision, .read = api_decision_decode),
    };

    JSON_READ_FIELDS(reader, arena, fields, page);
}

int64_t api_decision_time(const ApiDecision *decision) {
    uint32_t nanos = 0;
    int64_t sec = 0;

    return calendar_parse(decision->time, &sec, &nanos) ? sec * NSEC_PER_SEC + nanos : 0;
}
