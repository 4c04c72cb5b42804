#pragma once

/*
 * DemoFiles: the files for the suggested commands: the cluster, a pod and the measured values,
 * written together so that they are consistent. The pod is the last pending one, or a sample. One
 * thread.
 */

#include "demo/environment.h"
#include "extender/view.h"

#define DEMO_FILES_POD_MAX ((size_t)64 * 1024)

typedef struct DemoFiles {
    DemoEnvironment *env;
    Buf pod;      /* the text of pod.json; empty: before the first write */
    char uid[40]; /* of the pending pod; empty: a sample */
    int64_t written_at_nsec;
} DemoFiles;

/* Writes cluster.json, pod.json and metrics.json; @view is the one in force. Both return 0; a
 * negative errno with a message in @error (DEMO_ERROR_MAX); or -ENOMEM without one. */
int demo_files_write(DemoFiles *files, const View *view, char *error);

/* The same after a failed attempt, if the files are old. */
int demo_files_refresh(DemoFiles *files, const View *view, const Placement *placement, char *error);

/* The text of metrics.json: the measured values, for `berth explain --metrics`. */
void demo_files_print_metrics(
    const View *view, const DemoWorkloads *workloads, int64_t now_nsec, Buf *out);

/* Whether there is a metrics.json for @rules: some metric is not an annotation. */
bool demo_files_have_metrics(const Program *rules);
