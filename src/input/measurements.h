#pragma once

/* Measurements from a file of metric values (policy/metric-values.h), YAML or JSON. */

#include "cluster/measurement.h"
#include "cluster/snapshot.h"
#include "input/file.h"
#include "policy/program.h"

/* Reads values of @program's metrics for the nodes of @snapshot, as measured at @now_nsec (since
 * 1970) and @uptime_nsec (monotonic). @path "-" is standard input. The caller owns *ret. 0;
 * FILE_E_INVALID or FILE_E_UNREADABLE with errors in @diags; or -ENOMEM. */
int measurements_load(const char *path, const Program *program, Snapshot *snapshot,
    int64_t now_nsec, int64_t uptime_nsec, DiagList *diags, Measurements **ret) MUST_CHECK;
