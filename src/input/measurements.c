/* Reads a file of metric values. */

#include "input/measurements.h"

#include <errno.h>

#include "input/file.h"
#include "policy/metric-values.h"
#include "yaml/document.h"

#define READ_BUDGET ((size_t)256 * 1024 * 1024)

static int read_text(const char *path, DiagList *diags, Buf *text) {
    char error[FILE_ERROR_MAX];
    int r = file_read(path, text, error);

    if (r == 0 || r == -ENOMEM)
        return r;
    diag_add(diags, DIAG_ERROR, (Place){0}, STR_NULL, str_from_c(error), STR_NULL);
    return MEASUREMENTS_E_UNREADABLE;
}

int measurements_load(const char *path, const Program *program, Snapshot *snapshot,
    int64_t now_nsec, int64_t uptime_nsec, DiagList *diags, Measurements **ret) {
    _cleanup_(arena_freep) Arena *arena = arena_new(READ_BUDGET);
    _cleanup_(buf_done) Buf text = BUF_INIT(YAML_SOURCE_MAX);
    _cleanup_(measurements_unrefp) Measurements *measurements = NULL;
    YamlReader reader = {.arena = arena, .diags = diags};
    YamlStream stream = {0};
    MetricValues measured = {0};
    size_t n_errors = diags->n_errors;
    int r = arena ? read_text(path, diags, &text) : -ENOMEM;

    if (r != 0)
        return r;
    reader.source = buf_str(&text);
    r = yaml_parse(str_from_c(path), reader.source, arena, diags, &stream);
    if (r == -EINVAL)
        return MEASUREMENTS_E_INVALID;
    if (r < 0)
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
        return MEASUREMENTS_E_INVALID;
    *ret = TAKE_PTR(measurements);
    return 0;
}
