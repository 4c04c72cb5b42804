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

/* Reads the fields of @mapping into the struct @into, as @shape describes them. @what names the
 * mapping in messages ("a filter"). The caller reads the kinds of a rule (Shape.kinds). Returns
 * false if it reported errors. */
bool reader_fields(
    YamlReader *reader, const YamlNode *mapping, const char *what, const Shape *shape, void *into);

/* Whether @value is a list or map with as many entries as @shape allows; if not, reports an error.
 * Called before the function of a field that has one (Field.read). */
bool reader_entries(
    YamlReader *reader, const YamlNode *value, const char *what, const Shape *shape);

/* Returns the field of @mapping that is one of @shape's choices (shape_choice()), and its number.
 * Reports an error if there is none (returns NULL) or more than one (returns the first). */
const YamlPair *reader_choice(YamlReader *reader, const YamlNode *mapping, const char *what,
    const Shape *shape, size_t *ret_number);

/* Stores @value to @ret, whose type depends on @shape (see shape.h). Returns false, with an error
 * reported, if @value does not have this shape. */
bool reader_value(
    YamlReader *reader, const YamlNode *value, const char *what, const Shape *shape, void *ret);

/* Each of these returns false and reports an error if the value is invalid, like yaml/reader.h. */

/* "90s", "5m", "2h30m", "30d", "1d12h": from 0 to READER_DURATION_MAX, in nanoseconds. */
#define READER_DURATION_MAX (INT64_C(36500) * 24 * 60 * 60 * 1000 * 1000 * 1000) /* 36500d */
bool reader_duration(YamlReader *reader, const YamlNode *value, const char *what, int64_t *ret_ns);

/* Reads a list of at least one string. Numbers and booleans are read as they are written: label
 * values like 1 and true need no quotes. */
bool reader_string_list(YamlReader *reader, const YamlNode *value, const char *what, StrList *ret);

/* Returns "a, b or c", allocated in @arena. @n is at least 1. */
Str reader_any_of(Arena *arena, const Str *words, size_t n);

/* Reads the text of a scalar, as it is written, as a label value. */
bool reader_label_value(YamlReader *reader, const YamlNode *value, const char *what, Str *ret);

/* Check keys of labels and annotations, and names of resources: an optional DNS prefix and a name
 * of at most 63 characters. A resource without a prefix must be one of Kubernetes' own. */
bool reader_label_key(YamlReader *reader, const YamlNode *key);
bool reader_annotation_key(YamlReader *reader, const YamlNode *key);
bool reader_resource_name(YamlReader *reader, const YamlNode *name);

/* Whether a pod could request a resource of this name. Names without a domain belong to Kubernetes,
 * which rejects pods with unknown ones. Names with a domain (nvidia.com/gpu) belong to vendors. */
bool resource_name_is_possible(Str name);

/* Returns the resource name that was probably meant; STR_NULL: none. */
Str resource_name_meant(Str name);

/* Checks the name of a namespace: an invalid one would silently match no pod. */
bool reader_namespace(YamlReader *reader, const YamlNode *name);

/* Whether @name is valid for a rule or a policy: letters, digits, '-', '_' and '.'. */
#define RULE_NAME_MAX 63u
bool rule_name_is_valid(Str name);
