#pragma once

/*
 * DemoFiles: the files for the suggested commands: the cluster, a pod, the built-in policy and the
 * measured values, written together so that they are consistent. The pod is the last pending one,
 * or a sample. One thread.
 */

#include "demo/demo-cluster.h"
#include "demo/demo-folder.h"
#include "demo/demo-scheduler.h"
#include "extender/view.h"

#define DEMO_FILES_PATH_MAX (DEMO_FOLDER_PATH_MAX + 32u)
#define DEMO_FILES_POD_MAX ((size_t)64 * 1024)

typedef struct DemoFiles {
    DemoFolder folder;
    char policy_path[DEMO_FILES_PATH_MAX], cluster_path[DEMO_FILES_PATH_MAX];
    char pod_path[DEMO_FILES_PATH_MAX], metrics_path[DEMO_FILES_PATH_MAX];
    Buf pod;      /* the text of pod_path */
    char uid[40]; /* of the pending pod; empty: a sample */
    int64_t written_at_nsec;
} DemoFiles;

#define DEMO_FILES_NONE                                                                            \
    ((DemoFiles){.folder = DEMO_FOLDER_NONE, .pod = BUF_INIT(DEMO_FILES_POD_MAX)})

/* All return 0; a negative errno with a message in @error (DEMO_FOLDER_ERROR_MAX); or -ENOMEM
 * without one. */

/* Opens the folder and writes the first files; @policy is the built-in one, or NULL. */
int demo_files_open(DemoFiles *files, DemoCluster *cluster, const char *policy, char *error);
void demo_files_done(DemoFiles *files);

/* Writes all files. @view is the one in force. */
int demo_files_write(DemoFiles *files, DemoCluster *cluster, const View *view, char *error);

/* The same after a failed attempt, if the files are old. */
int demo_files_refresh(DemoFiles *files, DemoCluster *cluster, const View *view,
    const Placement *placement, char *error);

/* The text of metrics_path: the measured values, for `berth explain --metrics`. */
void demo_files_print_metrics(const View *view, int64_t now_nsec, Buf *out);

/* Whether metrics_path is written for @rules: some metric is not an annotation. */
bool demo_files_have_metrics(const Program *rules);
