#pragma once

/*
 * YamlNode: one YAML document as a tree; every node has its position in the source.
 *
 * A thin layer that hides libfyaml, which parses and finds syntax errors; the result is a plain
 * tree in an arena. Duplicate keys are errors. Aliases, merge keys and tags are refused, not
 * resolved: a policy needs none, and an alias bomb is only a short error message.
 */

#include "base/diag.h"

#define YAML_SOURCE_MAX ((size_t)4 * 1024 * 1024) /* policies are kilobytes */
#define YAML_DEPTH_MAX 64u

typedef enum YamlKind {
    YAML_NULL,
    YAML_BOOL,
    YAML_INT,
    YAML_FLOAT,
    YAML_STRING,
    YAML_SEQUENCE,
    YAML_MAPPING,
} YamlKind;

typedef struct YamlNode YamlNode;
typedef struct YamlPair YamlPair;

struct YamlNode {
    YamlKind kind; /* plain scalars by YAML 1.2's core schema; quoted ones are strings */
    bool is_plain; /* scalars: written without quotes, and not as a block */
    bool boolean;
    Place place;
    Str text;    /* scalars: the text, with quotes and escapes resolved, and a NUL behind it */
    double real; /* YAML_INT and YAML_FLOAT */
    size_t n;    /* sequence: items; mapping: pairs; scalars: 0 */
    union {
        int64_t integer; /* YAML_INT; one that does not fit is a YAML_STRING */
        YamlNode **items;
        YamlPair *pairs; /* in the order written */
    };
};

struct YamlPair {
    YamlNode *key; /* always a scalar */
    YamlNode *value;
};

typedef struct YamlStream {
    Str file;   /* its name, for messages */
    Str source; /* its text without a byte order mark; places refer to it */
    size_t n_documents;
    YamlNode **documents; /* empty documents are left out */
    size_t n_unsupported; /* aliases, merge keys and tags: valid YAML that we refuse */
} YamlStream;

/* Parses @source. The tree lives in @arena, except @source itself, which must outlive it. Problems
 * are added to @diags. 0; -EINVAL: there was at least one error, and only n_unsupported of *ret is
 * set; or -ENOMEM. */
int yaml_parse(Str file, Str source, Arena *arena, DiagList *diags, YamlStream *ret);

/* The value of @key in a mapping, or NULL (also when @node is NULL or no mapping). */
YamlNode *yaml_find(const YamlNode *node, Str key);

/* The place of byte @offset of @source. */
Place yaml_place(Str file, Str source, size_t offset);

static inline bool yaml_is_scalar(const YamlNode *node) {
    return node->kind != YAML_SEQUENCE && node->kind != YAML_MAPPING;
}

/* Child @i of a collection: an item, or the value of a pair. */
static inline YamlNode *yaml_child(const YamlNode *node, size_t i) {
    return node->kind == YAML_MAPPING ? node->pairs[i].value : node->items[i];
}

/* The text of a string; STR_NULL: @node is NULL or something else. */
static inline Str yaml_text(const YamlNode *node) {
    return node && node->kind == YAML_STRING ? node->text : STR_NULL;
}

/* Appends the path of the innermost value, or key, that begins at or before @place, for users who
 * do not see the text: "spec.filters[2].name"; nothing for the document as a whole. */
void yaml_path_at(const YamlNode *document, Place place, Buf *out);

/* "a mapping", "a string", … */
const char *yaml_kind_name(YamlKind kind);

/* The document as JSON text, for the decoder of Pods and Nodes, which reads JSON only. Numbers keep
 * their digits where JSON can read them; .inf and .nan become null. */
void yaml_to_json(const YamlNode *node, Buf *out);

/* Where byte @offset of that text comes from: the place of the innermost node. For messages: it
 * writes the text once more. */
Place yaml_json_place(const YamlNode *node, size_t offset);
