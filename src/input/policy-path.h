#pragma once

/*
 * PolicyPath: the name of a value in a policy, for --set and the what-if page.
 *
 *     gpu.params.maxLoad                          keys are joined by dots
 *     gpu.devices.headroom["nvidia.com/gpu"]      a key with dots, in brackets and quotes
 *     gpu.metrics[0].interval                     an item of a list, from 0
 *
 * A key with dots that exists is also found without brackets, as are names of policies and rules.
 */

#include "base/buf.h"

/* Whether @path begins with @name, as NAME or ["NAME"]; @ret_rest is the part behind it. */
bool policy_path_take_name(Str path, Str name, Str *ret_rest);

/* The first key of @path, for a name that does not exist; @ret_quoted: in brackets. */
Str policy_path_take_key(Str path, Str *ret_rest, bool *ret_quoted);

/* Whether @path begins with [N]. */
bool policy_path_take_index(Str path, size_t *ret, Str *ret_rest);

/* Appends @key to a path, in brackets where it needs them. */
void policy_path_add(Buf *path, Str key);
