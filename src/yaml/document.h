#pragma once

/*
 * YamlNode: one YAML document as a tree in which every node knows its place.
 *
 * A thin layer over libfyaml that hides it: libfyaml does the parsing and finds
 * syntax errors; what comes out is a plain tree in an arena. Duplicate keys are
 * errors. Aliases, merge keys and tags are refused, not resolved: a policy needs
 * none, and an alias bomb is then only a short error message.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/diag.h"
#include "base/str.h"

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
    YamlKind kind; /* of plain scalars by YAML 1.2's core schema; quoted ones are strings */
    Place place;
    Str text;      /* scalars: the text as it reads (quotes and escapes resolved) */
    bool is_plain; /* scalars: written without quotes, and not as a block */
    bool boolean;
    int64_t integer; /* YAML_INT; one that does not fit is a YAML_STRING */
    double real;     /* YAML_INT and YAML_FLOAT */
    size_t n;        /* sequence: items; mapping: pairs */
    YamlNode **items;
    YamlPair *pairs; /* in the order written */
};

struct YamlPair {
    YamlNode *key; /* always a scalar */
    YamlNode *value;
};

typedef struct YamlStream {
    Str file;   /* its name, for messages */
    Str source; /* its text, less a byte order mark: what places count in */
    size_t n_documents;
    YamlNode **documents; /* empty documents are left out */
    size_t n_unsupported; /* aliases, merge keys and tags: errors that only we make of them */
} YamlStream;

/* Parses @source. Everything the tree points to lives in @arena, except
 * @source itself, which must outlive it. Problems are added to @diags; returns 0,
 * or -EINVAL when there was at least one error (of *ret only n_unsupported counts then), or
 * -ENOMEM. */
int yaml_parse(Str file, Str source, Arena *arena, DiagList *diags, YamlStream *ret);

/* The value of @key in a mapping, or NULL (also when @node is NULL or no mapping). */
const YamlNode *yaml_find(const YamlNode *node, Str key);

/* The place of @width bytes of @source from @offset on, as far as they are on one line. */
Place yaml_place(Str file, Str source, size_t offset, size_t width);

/* "a mapping", "a string", … */
const char *yaml_kind_name(YamlKind kind);

/* The document as JSON text: how YAML pods and cluster lists reach the one
 * decoder that knows Pods and Nodes. Numbers keep their digits where JSON can read
 * them; .inf and .nan become null. */
void yaml_to_json(const YamlNode *node, Buf *out);
