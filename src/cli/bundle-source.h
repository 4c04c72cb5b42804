#pragma once

/*
 * The bundle of a command: from a file, or from a running berth.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "bundle/bundle.h"
#include "cli/server-source.h"

/* Which decisions, and how. */
typedef struct BundleRequest {
    int64_t last;
    bool is_anonymous;
    bool only_digest;
} BundleRequest;

/* Each returns 0; or an exit code, after complaining as @who. */

/* The file as a berth sends it, in @arena. */
int bundle_source_fetch(
    ServerSource *source, const BundleRequest *request, const char *who, Arena *arena, Str *ret);

/* The content of @file; @name is for messages. bundle_done() ends it, also after a failure. */
int bundle_source_unpack(Str file, const char *name, const char *who, Bundle *ret);

/* The same of a file by its path. */
int bundle_source_load(const char *path, const char *who, Bundle *ret);
