#pragma once

/*
 * YamlWriter: JSON text as YAML for users, in kubectl's style: block mappings, lists at the
 * column of their key, and quotes only where they are needed.
 *
 * A string is written without quotes only if no YAML parser, of 1.1 or 1.2, can take it for
 * anything else; all others keep their JSON quotes, which YAML reads alike.
 */

#include "base/buf.h"

/* Appends @json, one value, to @out, with a newline at the end. 0; -EINVAL: it is no JSON; or the
 * error of @out. */
int yaml_from_json(Str json, Buf *out) MUST_CHECK;
