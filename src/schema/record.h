#pragma once

/*
 * SchemaRecord: turns an object of the model into a value, field by field.
 *
 * A record is declared by one list of its fields, in the file of its subject:
 *
 *     #define TAINT(X)                                                              \
 *         X(key, KEY(item->key), "its key", PART_TAINTS)                        \
 *         …
 *     SCHEMA_RECORD(schema_taint, "Taint", ITEM(Taint), TAINT)
 *
 * The list generates its type, the code that reads its fields, the parts of a Node object it needs,
 * and its table in the docs. Everything is constant data: values need no environment to find their
 * type.
 *
 * Objects are wrapped only when an expression reads them: a value is a header and a pointer to the
 * object.
 */

#include "cel/run.h"
#include "cel/type.h"
#include "cel/value.h"

/* The part of a Node object that a field is read from (NodeParts), or of a running pod (PodPart).
 * Records of both running pods and the pod to be placed have a PodPart, too, although the pod to be
 * placed always has all fields. */
typedef enum SchemaPart {
    PART_NONE, /* always decoded, or not of a node */
    PART_LABELS,
    PART_TAINTS,
    PART_CONDITIONS,
    PART_ALLOCATABLE,
    PART_REST,
    PART_DETAILS,
    PART_POD, /* plus a PodPart: OF_POD() */
} SchemaPart;

typedef struct SchemaRecord {
    CelRecordType type;
    CelType of; /* @type as the type of a value */
    CelValue (*get)(const CelRecord *record, uint32_t field, CelRun *run);
    const uint8_t *parts; /* SchemaPart */
} SchemaRecord;

/* All records, as schema_NAME; nested ones come first. */
#define SCHEMA_RECORDS(X)                                                                          \
    X(decision_record), X(owner), X(pod_workload), X(toleration), X(requirements),                 \
        X(container_port), X(env_var), X(container), X(volume), X(resource_claim),                 \
        X(scheduling_gate), X(match_expression), X(label_selector), X(node_term),                  \
        X(node_preference), X(node_selector), X(node_affinity), X(pod_term), X(weighted_pod_term), \
        X(pod_affinity), X(affinity), X(spread_constraint), X(claim), X(pod_metadata),             \
        X(pod_spec), X(pod_status), X(pod_record), X(namespace_metadata), X(namespace_record),     \
        X(node_pod_metadata), X(node_pod_spec), X(node_pod_status), X(node_pod), X(taint),         \
        X(condition), X(image), X(address), X(attached_volume), X(node_info), X(node_metadata),    \
        X(node_spec), X(node_status), X(node_record), X(domain), X(cluster_record)

#define X(name) schema_##name
extern const SchemaRecord SCHEMA_RECORDS(X);
#undef X
extern const SchemaRecord *const schema_records[];
extern const size_t schema_n_records;

/* The `get` of every CelRecordType of the schema. */
CelValue schema_get(const CelRecord *record, uint32_t field, CelRun *run);

/* The record of @type; NULL: not a record of the schema. */
const SchemaRecord *schema_record_of(const CelType *type);

#define ALWAYS true /* has() is always true: an unset field has the API's default */
#define MAYBE false /* has() is false if unset; reading it is an error */

/* A field that users may expect but that is not kept: reading it is an error with the reason. */
#define REFUSED(X, title, text) X(title, &cel_error_type, MAYBE, 0, cel_absent(), text)

/* A row of the list: X(name, TYPE, value, description), and perhaps the part of a Node object. The
 * value is CEL_ABSENT if the field is not set; it may use @run and @object's variables. TYPE is
 * one of these: a type, its presence, and the size that the cost of expressions counts. */
#define TEXT(size) &cel_string_type, ALWAYS, size
#define INT &cel_int_type, ALWAYS, 0
#define BOOL &cel_bool_type, ALWAYS, 0
#define TIME &cel_timestamp_type, MAYBE, 0
#define VALUE(type, size) &type, ALWAYS, size

#define SCHEMA_FIELD(...) SCHEMA_FIELD_(__VA_ARGS__, )
#define SCHEMA_FIELD_(title, its_type, presence, size, value, text, ...)                           \
    {.name = {.ptr = #title, .len = sizeof(#title) - 1},                                           \
        .type = (its_type),                                                                        \
        .always = (presence),                                                                      \
        .max_size = (size),                                                                        \
        .about = {.ptr = (text), .len = sizeof(text) - 1}},
#define SCHEMA_NUMBER(title, ...) FIELD_##title,
#define SCHEMA_CASE(...) SCHEMA_CASE_(__VA_ARGS__, )
#define SCHEMA_CASE_(title, its_type, presence, size, value, ...)                                  \
    case FIELD_##title:                                                                            \
        return value;
#define SCHEMA_PART(...) SCHEMA_PART_(__VA_ARGS__, PART_NONE, )
#define SCHEMA_PART_(title, its_type, presence, size, value, text, part, ...) part,

/* For the list: a field of running pods that is kept if an expression reads it. */
#define OF_POD(part) (PART_POD + (part))

/* Defines a record. @object declares the variables that values of fields use, from @record. */
#define SCHEMA_RECORD(variable, title, object, LIST)                                               \
    static CelValue variable##_get(const CelRecord *record, uint32_t field, CelRun *run) {         \
        enum { LIST(SCHEMA_NUMBER) };                                                              \
        object;                                                                                    \
        (void)run;                                                                                 \
        switch (field) { LIST(SCHEMA_CASE) }                                                       \
        return cel_absent();                                                                       \
    }                                                                                              \
    static const CelField variable##_fields[] = {LIST(SCHEMA_FIELD)};                              \
    static const uint8_t variable##_parts[] = {LIST(SCHEMA_PART)};                                 \
    const SchemaRecord variable = {                                                                \
        .type = {.name = {.ptr = (title), .len = sizeof(title) - 1},                               \
            .fields = variable##_fields,                                                           \
            .n_fields = sizeof(variable##_fields) / sizeof(variable##_fields[0]),                  \
            .get = schema_get},                                                                    \
        .of = {.kind = CEL_T_RECORD,                                                               \
            .value_kind = CEL_RECORD,                                                              \
            .weight = 1,                                                                           \
            .name = {.ptr = (title), .len = sizeof(title) - 1},                                    \
            .record = &variable.type},                                                             \
        .get = variable##_get,                                                                     \
        .parts = variable##_parts}

/* The types of lists and maps, as cel_list_of() and cel_map_of() would make them. */
#define SCHEMA_LIST_TYPE(variable, element)                                                        \
    static const CelType *const variable##_params[] = {element};                                   \
    const CelType variable = {.kind = CEL_T_LIST,                                                  \
        .value_kind = CEL_LIST,                                                                    \
        .n_params = 1,                                                                             \
        .depth = 1,                                                                                \
        .weight = 2,                                                                               \
        .name = {.ptr = "list", .len = 4},                                                         \
        .params = variable##_params}

#define SCHEMA_MAP_TYPE(variable, its_value)                                                       \
    static const CelType *const variable##_params[] = {&cel_string_type, its_value};               \
    const CelType variable = {.kind = CEL_T_MAP,                                                   \
        .value_kind = CEL_MAP,                                                                     \
        .n_params = 2,                                                                             \
        .depth = 1,                                                                                \
        .weight = 3,                                                                               \
        .name = {.ptr = "map", .len = 3},                                                          \
        .params = variable##_params}

/* Sizes of strings for the cost of expressions. */
#define NAME_MAX_BYTES 253 /* of an object */
#define WORD_MAX_BYTES 63  /* namespaces, label values, words of the API */
#define KEY_MAX_BYTES 317  /* a prefix of 253, a slash, a name of 63 */
#define LABELS_ASSUMED 64  /* Kubernetes has no limit */

/* The object of @type whose member @member is @record. */
#define OBJECT_OF(record, type, member)                                                            \
    ((const type *)(const void *)((const char *)(record)-offsetof(type, member)))

/* A string; its pointer is never NULL. */
static inline CelValue schema_text(Str text) {
    return cel_string(text.ptr ? text : STR(""));
}

/* Seconds since 1970; 0: not given. */
static inline CelValue schema_time(int64_t sec) {
    return sec != 0 ? cel_timestamp(sec, 0) : cel_absent();
}
