#pragma once

/* The bundle of a command: from a file, or from a running berth. */

#include "bundle/bundle.h"
#include "cli/berth-client.h"

/* Which decisions, and how. */
typedef struct BundleRequest {
    int64_t last;
    bool is_anonymous;
    bool only_digest;
} BundleRequest;

/* The file as a berth sends it, in @arena. False when there is none, with the reason in @error
 * (BERTH_CLIENT_ERROR_MAX). */
bool bundle_source_fetch(
    const BerthAccess *access, const BundleRequest *request, Arena *arena, Str *ret, char *error);

/* The content of @file; @name is for messages. bundle_done() ends it. */
void bundle_source_unpack(Str file, const char *name, Bundle *ret);

/* The same of a file by its path. */
void bundle_source_load(const char *path, Bundle *ret);
