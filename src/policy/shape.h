#pragma once

/*
 * Shape: the values that a place of a policy file accepts, as data.
 *
 * One table describes each mapping of the format. It reads the file (reader.h), finds unknown
 * fields, and becomes the JSON Schema and the tables of the documentation. So these cannot differ.
 */

#include "base/digest.h"
#include "yaml/reader.h"

/* In brackets: the type that reader_value() stores. */
typedef enum ShapeKind {
    SHAPE_ANY,        /* any value (const YamlNode *) */
    SHAPE_STRING,     /* like @pattern, if that is given (Str; with @is_c const char *) */
    SHAPE_BOOL,       /* (bool) */
    SHAPE_TRUE,       /* `true`; false is an error (bool) */
    SHAPE_INT,        /* min..max (int64_t) */
    SHAPE_NUMBER,     /* min..max; with @is_above more than min (double) */
    SHAPE_SCALAR,     /* a string as written: label values, where 1 and true need no quotes (Str) */
    SHAPE_AMOUNT,     /* a quantity, not below 0, or a share: 500m, 1.5Gi, 10% (not stored) */
    SHAPE_DURATION,   /* 90s, 5m, 2h30m; @min to @max nanoseconds, if @max is given (int64_t) */
    SHAPE_EXPRESSION, /* CEL (const YamlNode *) */
    SHAPE_WORD,       /* one of @words (unsigned or an enum: its number, from @min on; with @is_text
                         Str) */
    SHAPE_LIST,       /* of @of, at least @min, at most @max; 0: no limit (scalars: StrList) */
    SHAPE_MAP,        /* any key to @of; the same limits (with @is_kept const YamlNode *) */
    SHAPE_OBJECT,     /* @fields; at least @min of them (a struct; shape_selector: Selector) */
    SHAPE_EITHER,     /* @of or @other (not stored) */
} ShapeKind;

typedef struct StrList {
    const Str *items;
    size_t n;
} StrList;

typedef struct Field Field;
typedef struct RuleKind RuleKind; /* kind.h */
typedef struct Shape Shape;

struct Shape {
    ShapeKind kind;
    double min, max;
    bool is_above;
    const char *const *words; /* ends with NULL */
    bool is_text;             /* WORD: the word itself is stored */
    bool is_c;                /* STRING: it is stored as a C string */
    bool is_kept;             /* MAP: it is stored, for another reader */
    const char *pattern;      /* a regular expression for the JSON Schema */
    const char *hint;         /* for words and strings that are not accepted; may be NULL */
    const Shape *of, *other;
    const Field *fields;
    size_t n_fields;
    const RuleKind *const *kinds; /* OBJECT: exactly one of these in addition, or @or_field */
    const size_t *n_kinds;
    const char *or_field, *or_about;
    const char *const *one_of; /* OBJECT: exactly one of these fields; ends with NULL */
    const char *choice;        /* what these are, for messages: "kind" */
    /* STRING, SCALAR: reports a value that is not accepted, and returns false. May be NULL. */
    bool (*check)(YamlReader *reader, const YamlNode *value);
};

/* A row of a mapping's table. */
struct Field {
    Str name;
    bool is_required;
    const Shape *shape;
    size_t offset;     /* of the member that reader_value() stores to */
    const char *about; /* one line for users */
    const char *what;  /* the name in messages, if it is not @name */
    /* Reads the value instead of reader_value(). May be NULL. */
    void (*read)(YamlReader *reader, const YamlNode *value, void *into);
};

/* Parts of a row: {REQUIRED("key"), INTO(Dedicated, key, shape_label_key), "…"}. */
#define REQUIRED(title) .name = STR(title), .is_required = true
#define OPTIONAL(title) .name = STR(title)
#define INTO(type, member, its_shape) .shape = &(its_shape), .offset = offsetof(type, member)

#define SHAPE_OF(table) .kind = SHAPE_OBJECT, .fields = (table), .n_fields = ELEMENTS_OF(table)

/* SHAPE_WORDS("a", "b"): one of them. */
#define SHAPE_WORDS(...)                                                                           \
    .kind = SHAPE_WORD, .words = (const char *const[]) {                                           \
        __VA_ARGS__, NULL                                                                          \
    }

extern const Shape shape_any, shape_string, shape_bool, shape_true, shape_scalar;
extern const Shape shape_duration, shape_expression;
extern const Shape shape_name;       /* of a rule or a policy */
extern const Shape shape_label_key;  /* an optional DNS prefix and a name */
extern const Shape shape_points;     /* of a score: 0 to 100 */
extern const Shape shape_scalars;    /* a list of at least one */
extern const Shape shape_label_keys; /* the same of label keys */
extern const Shape shape_namespaces; /* the same of names of namespaces */
extern const Shape shape_selector;   /* matchLabels, matchExpressions */

/* Fields of which a mapping must have exactly one. The API server reports the first as missing if
 * there is none, so @or_field comes first. Returns false if there are no more. */
typedef struct ShapeChoice {
    Str name;
    const Shape *shape;
} ShapeChoice;
bool shape_choice(const Shape *shape, size_t number, ShapeChoice *ret);

/* The format of policies as a JSON Schema (draft 2020-12). */
void policy_json_schema(Buf *out);

/* The same as a CustomResourceDefinition, in YAML (crd.c); and the schema of the spec in it, as
 * JSON: structural, as the API server requires. */
void policy_crd(Buf *out);
Digest policy_crd_digest(void); /* of its spec; an annotation has it */
void policy_spec_schema(Buf *out);

/* As Markdown tables for docs/policy.md. */
void policy_describe(Buf *out);
