#pragma once

/*
 * MetricSources: the servers of measured values, as the operator names them.
 *
 * Relative paths are relative to the file. Secrets are in files of their own, which are not read
 * here and need not exist yet.
 */

#include "input/file.h"
#include "load/source.h"

/* Both return 0, perhaps with warnings in @diags; FILE_E_INVALID or FILE_E_UNREADABLE
 * with errors in @diags; or -ENOMEM. Everything that *ret points to lives in @arena. */

/* The sources of a file. */
int sources_load(const char *path, Arena *arena, DiagList *diags, MetricSources *ret) MUST_CHECK;

/* The default source, by its URL (--prometheus), and the sources of a file; each may be NULL. Only
 * one of them can define the default. */
int sources_gather(const char *url, const char *path, Arena *arena, DiagList *diags,
    MetricSources *ret) MUST_CHECK;
