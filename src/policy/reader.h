#pragma once

/*
 * PolicyReader: from a YAML tree to typed fields, with every mistake reported at
 * its place.
 *
 * A mapping is described by a table of fields; what is not in the table is an
 * error with a suggestion. Reading goes on after a mistake, so that one run shows
 * them all.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/str.h"
#include "model/selector.h"
#include "policy/shape.h"
#include "yaml/document.h"
#include "yaml/reader.h"

typedef YamlReader PolicyReader;

struct Field {
    Str name;
    bool is_required;
    const Shape *shape; /* what may stand there; NULL in files that nobody describes */
    const char *about;  /* one line for people; may be NULL */
    void (*read)(PolicyReader *reader, const YamlNode *value, void *into);
};

/* Reads the fields of a mapping into @into. @what names it in messages ("a
 * filter"). */
void reader_fields(PolicyReader *reader, const YamlNode *mapping, const char *what,
    const Field *fields, size_t n_fields, void *into);

/* The same for a mapping in which @others may stand, too; they are left to the
 * caller. */
void reader_fields_besides(PolicyReader *reader, const YamlNode *mapping, const char *what,
    const Field *fields, size_t n_fields, const Str *others, size_t n_others, void *into);

/* What yaml/reader.h says of its own holds for these; a list fails also when the arena has no room
 * for it, which the arena remembers (arena_has_failed()). */

/* A length of time: "90s", "5m", "2h30m", and days: "30d", "1d12h". From 0 to READER_DURATION_MAX.
 * In nanoseconds. */
#define READER_DURATION_MAX (INT64_C(36500) * 24 * 60 * 60 * 1000 * 1000 * 1000) /* 36500d */
bool reader_duration(
    PolicyReader *reader, const YamlNode *value, const char *what, int64_t *ret_ns);

/* The number of a word among @words, which end with NULL. */
bool reader_word(PolicyReader *reader, const YamlNode *value, const char *what,
    const char *const *words, unsigned *ret);

/* A list of at least one string. Numbers and booleans are taken as they are
 * written: label values like 1 and true need no quotes. */
bool reader_string_list(
    PolicyReader *reader, const YamlNode *value, const char *what, const Str **ret, size_t *ret_n);

/* The text of a scalar that stands for a label value, as written. */
bool reader_label_value(PolicyReader *reader, const YamlNode *value, const char *what, Str *ret);

/* A label key: an optional DNS prefix and a name of at most 63 characters. Names of
 * resources look the same. */
bool reader_label_key(PolicyReader *reader, const YamlNode *key);
bool reader_annotation_key(PolicyReader *reader, const YamlNode *key);
bool reader_resource_name(PolicyReader *reader, const YamlNode *name);

/* The name of a namespace: small letters, digits and '-', at most 63. Any other would match no pod,
 * and nobody would be told. */
bool reader_namespace(PolicyReader *reader, const YamlNode *name);

/* matchLabels and matchExpressions, as Kubernetes writes them. */
void reader_selector(PolicyReader *reader, const YamlNode *value, Selector *ret);
