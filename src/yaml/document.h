#pragma once

/*
 * YamlNode: one YAML document as a tree; every node has its position in the source.
 *
 * Hides libfyaml, which parses the text and finds syntax errors. The result is a plain tree in an
 * arena. Duplicate keys are errors. Aliases, merge keys and tags are refused: policies need none,
 * and an alias bomb just gives a short error message.
 */

#include "base/diag.h"

#define YAML_SOURCE_MAX ((size_t)4 * 1024 * 1024) /* policies are only kilobytes */
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
    YamlKind kind; /* plain scalars: by YAML 1.2's core schema; quoted ones: strings */
    bool is_plain; /* a scalar without quotes that is not a block */
    bool boolean;
    Place place;
    Str text;    /* scalars: text with quotes and escapes resolved, followed by a NUL */
    double real; /* YAML_INT and YAML_FLOAT */
    size_t n;    /* number of items or pairs; scalars: 0 */
    union {
        int64_t integer; /* YAML_INT; if it does not fit, the node is a YAML_STRING */
        YamlNode **items;
        YamlPair *pairs; /* in the order written */
    };
};

struct YamlPair {
    YamlNode *key; /* always a scalar */
    YamlNode *value;
};

typedef struct YamlStream {
    Str file;   /* name, for messages */
    Str source; /* text without a byte order mark; places refer to it */
    size_t n_documents;
    YamlNode **documents; /* empty documents are left out */
    size_t n_unsupported; /* number of aliases, merge keys and tags: valid YAML that we refuse */
} YamlStream;

/* Parses @source, which must outlive the tree; everything else is in @arena. Mistakes are added to
 * @diags. Returns 0; -EINVAL if there was an error, and only n_unsupported of *ret is set; or
 * -ENOMEM. */
int yaml_parse(Str file, Str source, Arena *arena, DiagList *diags, YamlStream *ret);

/* Returns the value of @key in a mapping, or NULL (also if @node is NULL or no mapping). */
YamlNode *yaml_find(const YamlNode *node, Str key);

/* Returns the place of byte @offset of @source. */
Place yaml_place(Str file, Str source, size_t offset);

static inline bool yaml_is_scalar(const YamlNode *node) {
    return node->kind != YAML_SEQUENCE && node->kind != YAML_MAPPING;
}

/* Returns child @i of a collection: an item, or the value of a pair. */
static inline YamlNode *yaml_child(const YamlNode *node, size_t i) {
    return node->kind == YAML_MAPPING ? node->pairs[i].value : node->items[i];
}

/* Returns the text of a string; STR_NULL if @node is NULL or something else. */
static inline Str yaml_text(const YamlNode *node) {
    return node && node->kind == YAML_STRING ? node->text : STR_NULL;
}

/* Appends the path of the innermost value or key that begins at or before @place, for users who do
 * not see the text: "spec.filters[2].name". Appends nothing for the whole document. */
void yaml_path_at(const YamlNode *document, Place place, Buf *out);

/* Returns "a mapping", "a string", … */
const char *yaml_kind_name(YamlKind kind);

/* Writes a document as JSON text, for the decoder of Pods and Nodes, which reads only JSON. Numbers
 * keep their digits if JSON can read them; .inf and .nan become null. */
void yaml_to_json(const YamlNode *node, Buf *out);

/* Returns the place of the innermost node that wrote byte @offset of that text. Only for messages,
 * because it writes the text again. */
Place yaml_json_place(const YamlNode *node, size_t offset);
