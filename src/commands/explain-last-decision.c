/* Reads decisions of /api/v1/decisions by tables of their fields. */

#include "commands/explain-internal.h"

#include "base/calendar.h"
#include "base/nsec.h"
#include "json/fields.h"

/* Of an ApiRule, @at this place in the struct. */
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
        {"node", JSON_FIELD_TEXT, offsetof(ApiNode, name)},
        {"outcome", JSON_FIELD_TEXT, offsetof(ApiNode, outcome)},
        {"score", JSON_FIELD_INT, offsetof(ApiNode, score)},
        {"rank", JSON_FIELD_INT, offsetof(ApiNode, rank)},
        RULE_FIELDS(offsetof(ApiNode, rule)),
    };
    ApiNode *node = VEC_PUSH((ApiNodes *)target, arena);

    node->score = -1;
    node->raw = read_fields(reader, arena, fields, ELEMENTS_OF(fields), node);
}

#define AT(member) offsetof(ApiDecision, member)

static const JsonField decision_fields[] = {
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
    {"counts.unknown", JSON_FIELD_INT, AT(unknown)},
    {"counts.narrowed", JSON_FIELD_INT, AT(narrowed)},
    {"counts.late", JSON_FIELD_INT, AT(late)},
    {"counts.unjudged", JSON_FIELD_INT, AT(unjudged)},
    JSON_LIST_OF("rules", ApiDecision, rules, n_rules, SIZE_MAX, rule_fields),
    {"nodes", JSON_FIELD_ARRAY, AT(nodes), decode_node},
    {"next", JSON_FIELD_INT, AT(next)},
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
        {"uid", JSON_FIELD_TEXT, offsetof(ApiNomination, uid)},
        {"node", JSON_FIELD_TEXT, offsetof(ApiNomination, node)},
        {"time", JSON_FIELD_TEXT, offsetof(ApiNomination, time)},
        {"text", JSON_FIELD_TEXT, offsetof(ApiNomination, text)},
        {"feasible", JSON_FIELD_INT, offsetof(ApiNomination, feasible)},
        {"best", JSON_FIELD_INT, offsetof(ApiNomination, best)},
    };
    ApiNomination *nomination = target;

    nomination->raw = read_fields(reader, arena, fields, ELEMENTS_OF(fields), nomination);
}

void api_page_decode(JsonReader *reader, Arena *arena, ApiPage *page) {
    static const JsonField fields[] = {
        {"nomination", JSON_FIELD_CUSTOM, offsetof(ApiPage, nomination), decode_nomination},
        {"decisions", JSON_FIELD_ARRAY, offsetof(ApiPage, decision), api_decision_decode},
    };

    JSON_READ_FIELDS(reader, arena, fields, page);
}

int64_t api_decision_time(const ApiDecision *decision) {
    uint32_t nanos = 0;
    int64_t sec = 0;

    return calendar_parse(decision->time, &sec, &nanos) ? sec * NSEC_PER_SEC + nanos : 0;
}
