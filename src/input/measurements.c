/* Reads a file of metric values. */

#include "input/measurements.h"

#include <errno.h>

#include "policy/metric-values.h"

#define READ_BUDGET ((size_t)256 * 1024 * 1024)

int measurements_load(const char *path, const Program *program, Snapshot *snapshot,
    int64_t now_nsec, int64_t uptime_nsec, DiagList *diags, Measurements **ret) {
    _cleanup_(arena_freep) Arena *arena = arena_new(READ_BUDGET);
    _cleanup_(measurements_unrefp) Measurements *measurements = NULL;
    YamlReader reader = {.arena = arena, .diags = diags};
    YamlStream stream;
    MetricValues measured = {0};
    size_t n_errors = diags->n_errors;
    int r = arena ? file_read_yaml(path, &reader, &stream) : -ENOMEM;

    if (r != 0)
        return r;
    if (stream.n_documents > 0)
        metric_values_open(&reader, stream.documents[0], &measured);
    if (stream.n_documents > 1)
        reader_error(&reader, stream.documents[1], "a file of metric values has one document");
    r = metric_values_read(&reader, &measured, program, snapshot_table(snapshot), now_nsec,
        uptime_nsec, &measurements);
    if (r < 0)
        return r;
    if (diags->n_errors > n_errors)
        return FILE_E_INVALID;
    *ret = TAKE_PTR(measurements);
    return 0;
}
