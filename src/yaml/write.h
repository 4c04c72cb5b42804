#pragma once

/*
 * YamlWriter: converts JSON text to YAML for users, in kubectl's style: block mappings, lists at
 * the column of their key, and quotes only where needed.
 *
 * A string has no quotes only if every parser of YAML 1.1 or 1.2 reads it as a string. Others keep
 * their JSON quotes, which are valid YAML.
 */

#include "base/buf.h"

/* Whether @raw, which may be the text between the quotes of a JSON string, needs no quotes. */
bool yaml_is_plain(Str raw);

/* Appends @json, one value, to @out, with a newline at the end. Returns 0; -EINVAL if it is invalid
 * JSON; or the error of @out. */
int yaml_from_json(Str json, Buf *out) MUST_CHECK;
