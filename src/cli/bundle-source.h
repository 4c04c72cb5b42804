#pragma once

/* The bundle of a command: from a file, or from a running berth. */

#include "bundle/bundle.h"
#include "cli/berth-client.h"

/* The decisions to put into a bundle, and their form. */
typedef struct BundleRequest {
    int64_t last;
    bool is_anonymous;
    bool only_digest;
} BundleRequest;

/* Fetches the bundle of a berth, as a file, into @arena. Returns false, with the reason in @error
 * (BERTH_CLIENT_ERROR_MAX), if there is none. */
bool bundle_source_fetch(
    const BerthAccess *access, const BundleRequest *request, Arena *arena, Str *ret, char *error);

/* Reads @file, named @name in messages, or ends the process. The caller calls bundle_done(). */
void bundle_source_unpack(Str file, const char *name, Bundle *ret);

/* The same for the file at @path. */
void bundle_source_load(const char *path, Bundle *ret);
