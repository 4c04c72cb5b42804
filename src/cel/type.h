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
    bool is_open;      /* there is a PARAM in it */
    uint16_t weight;   /* types inside, written out, itself included; CEL_TYPE_WEIGHT_MAX at most */
    uint32_t variable; /* PARAM: its number in its signature, or the checker's (unify.h) */
    Str name;          /* "int", "list", "net.IP", the record's name, "T" */
    const CelType *const *params;
    const CelRecordType *record;
};

extern const CelType cel_dyn_type, cel_error_type, cel_null_type, cel_bool_type, cel_int_type,
    cel_uint_type, cel_double_type, cel_string_type, cel_bytes_type, cel_duration_type,
    cel_timestamp_type, cel_type_type, cel_list_type /* bare */, cel_map_type /* bare */,
    cel_optional_type /* bare */, cel_quantity_type, cel_semver_type, cel_ip_type, cel_cidr_type,
    cel_url_type, cel_format_type;

/* A field of a record. The record type's @get returns its value by field number. Expressions that
 * use a field of type error are rejected with @about as the message; it is never set. */
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
    const char
        *noun; /* the word for a field in the error that it is not set: "metric"; NULL: "key" */
};

/* UINT32_MAX: none. */
uint32_t cel_record_find(const CelRecordType *type, Str name);

/* Parameter @i; dyn for a bare list, map or optional_type. */
static inline const CelType *cel_type_param(const CelType *type, size_t i) {
    return i < type->n_params ? type->params[i] : &cel_dyn_type;
}

/* NULL: out of memory, too deep or too heavy. */
const CelType *cel_list_of(Arena *arena, const CelType *element) MUST_CHECK;
const CelType *cel_map_of(Arena *arena, const CelType *key, const CelType *value) MUST_CHECK;
const CelType *cel_optional_of(Arena *arena, const CelType *inner) MUST_CHECK;
const CelType *cel_type_of_type(Arena *arena, const CelType *type) MUST_CHECK;
const CelType *cel_opaque_of(Arena *arena, Str name, const CelType *const *params, size_t n)
    MUST_CHECK;
const CelType *cel_record_of(Arena *arena, const CelRecordType *record) MUST_CHECK;

const CelType *cel_param_of(Arena *arena, Str name, uint32_t variable) MUST_CHECK;

/* The same kind of type around other parameters, as many as @type has. */
const CelType *cel_type_with(Arena *arena, const CelType *type, const CelType *const *params)
    MUST_CHECK;

bool cel_type_equal(const CelType *a, const CelType *b);

/* Whether it is of @kind, or something inside of it is. */
bool cel_type_contains(const CelType *type, CelTypeKind kind);

/* As above. @is_wire: as the conformance vectors spell it (opaque(optional_type, int)). */
void cel_type_print(const CelType *type, bool is_wire, Buf *out);
