#pragma once

/*
 * Reads mappings of a policy file into structs, by their shapes (shape.h).
 *
 * Every mistake is reported at its place, unknown fields with a suggestion. Reading continues after
 * a mistake, so that one run reports them all. A list that does not fit into the arena is reported
 * by arena_has_failed() only.
 */

#include "model/selector.h"
#include "policy/shape.h"

/* Reads the fields of @mapping, which is a @shape, into the struct @into. @what names the mapping
 * in messages ("a filter"). The kinds of a rule (Shape.kinds) are left to the caller. False, with
 * errors reported. */
bool reader_fields(
    YamlReader *reader, const YamlNode *mapping, const char *what, const Shape *shape, void *into);

/* Whether @value is a list, or a map, of as many entries as @shape takes. False, with an error
 * reported. For a field with a function of its own it has been checked. */
bool reader_entries(
    YamlReader *reader, const YamlNode *value, const char *what, const Shape *shape);

/* The field of @mapping that is one of @shape's choices (shape_choice()), and its number. Reports
 * further ones, of which the first counts; and that there is none: NULL. */
const YamlPair *reader_choice(YamlReader *reader, const YamlNode *mapping, const char *what,
    const Shape *shape, size_t *ret_number);

/* Stores a value of @shape to @ret, whose type shape.h names. False, with an error reported, when
 * it is something else. */
bool reader_value(
    YamlReader *reader, const YamlNode *value, const char *what, const Shape *shape, void *ret);

/* As those of yaml/reader.h: each returns false, with an error reported, for another value. */

/* "90s", "5m", "2h30m", "30d", "1d12h": from 0 to READER_DURATION_MAX, in nanoseconds. */
#define READER_DURATION_MAX (INT64_C(36500) * 24 * 60 * 60 * 1000 * 1000 * 1000) /* 36500d */
bool reader_duration(YamlReader *reader, const YamlNode *value, const char *what, int64_t *ret_ns);

/* A list of at least one string. Numbers and booleans are taken as they are written: label values
 * like 1 and true need no quotes. */
bool reader_string_list(YamlReader *reader, const YamlNode *value, const char *what, StrList *ret);

/* "a, b or c" in @arena, of at least one word. */
Str reader_any_of(Arena *arena, const Str *words, size_t n);

/* The text of a scalar as a label value, as written. */
bool reader_label_value(YamlReader *reader, const YamlNode *value, const char *what, Str *ret);

/* Keys of labels and annotations, and names of resources: an optional DNS prefix and a name of at
 * most 63 characters. A resource without a prefix must be one of Kubernetes' own. */
bool reader_label_key(YamlReader *reader, const YamlNode *key);
bool reader_annotation_key(YamlReader *reader, const YamlNode *key);
bool reader_resource_name(YamlReader *reader, const YamlNode *name);

/* Whether a pod could request a resource of this name. Names without a domain are Kubernetes' own,
 * which refuses pods that request others; names with one (nvidia.com/gpu) belong to vendors. */
bool resource_name_is_possible(Str name);

/* The name that was most likely meant; STR_NULL: none. */
Str resource_name_meant(Str name);

/* The name of a namespace. An invalid one would silently match no pod. */
bool reader_namespace(YamlReader *reader, const YamlNode *name);

/* Whether @name is valid for a rule or a policy: letters, digits, '-', '_' and '.'. */
#define RULE_NAME_MAX 63u
bool rule_name_is_valid(Str name);
