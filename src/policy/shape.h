#pragma once

/*
 * Shape: the values that a place of a policy file accepts, as data.
 *
 * One table describes each mapping of the format. The reader (reader.h), the JSON Schema and the
 * tables of the documentation all use these tables, so they cannot differ.
 */

#include "base/digest.h"
#include "yaml/reader.h"

/* The type in parentheses is what reader_value() stores. */
typedef enum ShapeKind {
    SHAPE_ANY,        /* any value (const YamlNode *) */
    SHAPE_STRING,     /* matches @pattern, if given (Str; with @is_c const char *) */
    SHAPE_BOOL,       /* (bool) */
    SHAPE_TRUE,       /* `true`; false is an error (bool) */
    SHAPE_INT,        /* min..max (int64_t) */
    SHAPE_NUMBER,     /* min..max; with @is_above more than min (double) */
    SHAPE_SCALAR,     /* a string as written: label values, where 1 and true need no quotes (Str) */
    SHAPE_AMOUNT,     /* a quantity of at least 0, or a percentage: 500m, 1.5Gi, 10% (not stored) */
    SHAPE_DURATION,   /* 90s, 5m, 2h30m; @min to @max nanoseconds, if @max is given (int64_t) */
    SHAPE_EXPRESSION, /* CEL (const YamlNode *) */
    SHAPE_WORD,       /* one of @words (unsigned or an enum: its number, from @min on; with @is_text
                         Str) */
    SHAPE_LIST,   /* each is an @of; @min to @max of them, @max 0: no limit (scalars: StrList) */
    SHAPE_MAP,    /* any keys, each value is an @of; same limits (with @is_kept const YamlNode *) */
    SHAPE_OBJECT, /* @fields; at least @min of them (a struct; shape_selector: Selector) */
    SHAPE_EITHER, /* @of or @other (not stored) */
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
    bool is_text;             /* WORD: stores the word instead of its number */
    bool is_c;                /* STRING: stores a C string */
    bool is_kept;             /* MAP: stores the node; other code reads it */
    const char *pattern;      /* a regular expression for the JSON Schema */
    const char *hint;         /* for words and strings that are not accepted; may be NULL */
    const Shape *of, *other;
    const Field *fields;
    size_t n_fields;
    const RuleKind *const *kinds; /* OBJECT: exactly one of these in addition, or @or_field */
    const size_t *n_kinds;
    const char *or_field, *or_about;
    const char *const *one_of; /* OBJECT: exactly one of these fields; ends with NULL */
    const char *choice;        /* what messages call the choices: "kind" */
    /* STRING, SCALAR: returns false and reports an error if @value is not accepted. May be NULL. */
    bool (*check)(YamlReader *reader, const YamlNode *value);
};

/* One field in the table of a mapping. */
struct Field {
    Str name;
    bool is_required;
    const Shape *shape;
    size_t offset;     /* where reader_value() stores it in the struct */
    const char *about; /* one line for users */
    const char *what;  /* the name in messages, if it is not @name */
    /* If not NULL, reads the value instead of reader_value(). */
    void (*read)(YamlReader *reader, const YamlNode *value, void *into);
};

/* For the tables: {REQUIRED("key"), INTO(Dedicated, key, shape_label_key), "…"}. */
#define REQUIRED(title) .name = STR(title), .is_required = true
#define OPTIONAL(title) .name = STR(title)
#define INTO(type, member, its_shape) .shape = &(its_shape), .offset = offsetof(type, member)

#define SHAPE_OF(table) .kind = SHAPE_OBJECT, .fields = (table), .n_fields = ELEMENTS_OF(table)

/* A shape that accepts one of the given words: SHAPE_WORDS("a", "b"). */
#define SHAPE_WORDS(...)                                                                           \
    .kind = SHAPE_WORD, .words = (const char *const[]) {                                           \
        __VA_ARGS__, NULL                                                                          \
    }

extern const Shape shape_any, shape_string, shape_bool, shape_true, shape_scalar;
extern const Shape shape_duration, shape_expression;
extern const Shape shape_name;       /* of a rule or a policy */
extern const Shape shape_label_key;  /* an optional DNS prefix and a name */
extern const Shape shape_points;     /* points of a score: 0 to 100 */
extern const Shape shape_scalars;    /* a list of at least one scalar */
extern const Shape shape_label_keys; /* a list of at least one label key */
extern const Shape shape_namespaces; /* a list of at least one namespace */
extern const Shape shape_selector;   /* matchLabels, matchExpressions */

/* Iterates over the fields of which a mapping must have exactly one. The API server reports the
 * first of them as missing if there is none, so @or_field comes first. */
typedef struct ShapeChoice {
    Str name;
    const Shape *shape;
} ShapeChoice;
bool shape_choice(const Shape *shape, size_t number, ShapeChoice *ret);

/* Writes the policy format as a JSON Schema (draft 2020-12). */
void policy_json_schema(Buf *out);

/* Writes the policy format as a CustomResourceDefinition in YAML (crd.c), and its schema of the
 * spec as JSON, structural as the API server requires. */
void policy_crd(Buf *out);
Digest policy_crd_digest(void); /* of the CRD's spec; also in an annotation */
void policy_spec_schema(Buf *out);

/* Writes the policy format as Markdown tables, for docs/policy.md. */
void policy_describe(Buf *out);
