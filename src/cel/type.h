#pragma once

/*
 * Type: the checker's knowledge of a value. dyn is any type and fits everywhere. Simple types are
 * static and compare by pointer; the others are in an arena and compare by structure.
 *
 * As text: int, list(string), map(string, dyn), optional_type(T), type(int), null_type, a record's
 * name, a capital letter for a type parameter.
 */

#include "cel/value.h"

typedef enum CelTypeKind {
    CEL_T_DYN,
    CEL_T_ERROR, /* an expression with a reported error; fits everywhere, without another message */
    CEL_T_NULL,
    CEL_T_BOOL,
    CEL_T_INT,
    CEL_T_UINT,
    CEL_T_DOUBLE,
    CEL_T_STRING,
    CEL_T_BYTES,
    CEL_T_DURATION,
    CEL_T_TIMESTAMP,
    CEL_T_TYPE,     /* type(T); bare: the type of types */
    CEL_T_LIST,     /* list(T); bare (no parameters) only as a value: type([]) */
    CEL_T_MAP,      /* map(K, V) */
    CEL_T_OPTIONAL, /* optional_type(T) */
    CEL_T_RECORD,   /* closed: the fields are declared */
    CEL_T_OPAQUE,   /* by name: net.IP, kubernetes.Quantity, … with or without parameters */
    CEL_T_PARAM,    /* a type parameter of a declaration, or a variable of the checker */
} CelTypeKind;

struct CelType {
    CelTypeKind kind;
    uint8_t value_kind; /* the CelKind of its values; CEL_ABSENT when it could be several (dyn,
                           param) */
    uint8_t n_params;
    uint8_t depth;
    bool is_open;    /* there is a PARAM in it */
    uint16_t weight; /* number of types in its text, itself included; at most CEL_TYPE_WEIGHT_MAX */
    uint32_t variable; /* PARAM: its number in its signature, or the checker's (unify.h) */
    Str name;          /* "int", "list", "net.IP", the record's name, "T" */
    const CelType *const *params;
    const CelRecordType *record;
};

/* The types that expressions can name, as cel_NAME_type: X(name, CelTypeKind, CelKind, text). dyn
 * has no name (vector conversions/type/dyn_no_denotation). Lists, maps and optionals are bare. */
#define CEL_TYPES(X)                                                                               \
    X(bool, BOOL, BOOL, "bool")                                                                    \
    X(int, INT, INT, "int")                                                                        \
    X(uint, UINT, UINT, "uint")                                                                    \
    X(double, DOUBLE, DOUBLE, "double")                                                            \
    X(string, STRING, STRING, "string")                                                            \
    X(bytes, BYTES, BYTES, "bytes")                                                                \
    X(list, LIST, LIST, "list")                                                                    \
    X(map, MAP, MAP, "map")                                                                        \
    X(null, NULL, NULL, "null_type")                                                               \
    X(type, TYPE, TYPE, "type")                                                                    \
    X(duration, DURATION, DURATION, "google.protobuf.Duration")                                    \
    X(timestamp, TIMESTAMP, TIMESTAMP, "google.protobuf.Timestamp")                                \
    X(optional, OPTIONAL, OPTIONAL, "optional_type")                                               \
    X(quantity, OPAQUE, QUANTITY, "kubernetes.Quantity")                                           \
    X(semver, OPAQUE, SEMVER, "kubernetes.Semver")                                                 \
    X(ip, OPAQUE, IP, "net.IP")                                                                    \
    X(cidr, OPAQUE, CIDR, "net.CIDR")                                                              \
    X(url, OPAQUE, URL, "kubernetes.URL")                                                          \
    X(format, OPAQUE, FORMAT, "kubernetes.NamedFormat")

#define X(name, type_kind, value_kind, text) cel_##name##_type,
extern const CelType CEL_TYPES(X) cel_dyn_type, cel_error_type;
#undef X

/* All of them, terminated by NULL. */
extern const CelType *const cel_types[];

/* A field of a record. The record type's @get returns its value by field number. A field of type
 * error is never set: expressions that use it are rejected with @about as the message. */
typedef struct CelField {
    Str name;
    const CelType *type;
    bool always;       /* never absent: has() is always true */
    uint32_t max_size; /* bytes or elements, for the cost; 0: not known */
    Str about;         /* one line for users; may be empty */
} CelField;

/* A closed record: a misspelt field is an error when the expression is checked. */
struct CelRecordType {
    Str name;
    const CelField *fields;
    uint32_t n_fields;
    /* CEL_ABSENT: the field is not set. May allocate from @run. Pure. */
    CelValue (*get)(const CelRecord *record, uint32_t field, CelRun *run);
    const char *noun; /* for a field, in the error that it is not set: "metric"; NULL: "key" */
};

/* The number of field @name; UINT32_MAX: none. */
uint32_t cel_record_find(const CelRecordType *type, Str name);

/* Parameter @i; dyn for a bare list, map or optional_type. */
static inline const CelType *cel_type_param(const CelType *type, size_t i) {
    return i < type->n_params ? type->params[i] : &cel_dyn_type;
}

/* NULL: out of memory, too deep or too large. Parameters and @record must outlive the type; @name
 * is copied, but not by cel_param_of(). */
const CelType *cel_list_of(Arena *arena, const CelType *element) MUST_CHECK;
const CelType *cel_map_of(Arena *arena, const CelType *key, const CelType *value) MUST_CHECK;
const CelType *cel_optional_of(Arena *arena, const CelType *inner) MUST_CHECK;
const CelType *cel_type_of_type(Arena *arena, const CelType *type) MUST_CHECK;
const CelType *cel_opaque_of(Arena *arena, Str name, const CelType *const *params, size_t n)
    MUST_CHECK;
const CelType *cel_record_of(Arena *arena, const CelRecordType *record) MUST_CHECK;

const CelType *cel_param_of(Arena *arena, Str name, uint32_t variable) MUST_CHECK;

/* @type with other parameters; @params has type->n_params of them. */
const CelType *cel_type_with(Arena *arena, const CelType *type, const CelType *const *params)
    MUST_CHECK;

bool cel_type_equal(const CelType *a, const CelType *b);

/* Whether @type or a type inside it is of @kind. */
bool cel_type_contains(const CelType *type, CelTypeKind kind);

/* Appends the text above; @is_wire: as in the conformance vectors, opaque(optional_type, int). */
void cel_type_print(const CelType *type, bool is_wire, Buf *out);
