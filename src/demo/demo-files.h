#pragma once

/*
 * DemoFiles: the files that the suggested commands read.
 *
 * The cluster, a pod, the policy if it is the demo's own, and what was measured: in the demo's
 * folder, written together, so that the one fits the other. The pod is the last that found no node;
 * while there is none, a sample.
 *
 * One thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
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
    Buf pod;      /* what is, or will be, in pod_path */
    char uid[40]; /* of the pending pod it is; empty: it is a sample */
    int64_t written_at_nsec;
} DemoFiles;

#define DEMO_FILES_NONE                                                                            \
    ((DemoFiles){.folder = DEMO_FOLDER_NONE, .pod = BUF_INIT(DEMO_FILES_POD_MAX)})

/* All return 0, or a negative errno with a sentence for a person in @error (DEMO_FOLDER_ERROR_MAX),
 * or -ENOMEM without one. */

/* Opens the folder and writes what there is already; @policy is the demo's own, or NULL. */
int demo_files_open(DemoFiles *files, DemoCluster *cluster, const char *policy, char *error);
void demo_files_done(DemoFiles *files);

/* Everything as it is now. @view is the one in force. */
int demo_files_write(DemoFiles *files, DemoCluster *cluster, const View *view, char *error);

/* After an attempt: the same, if it found no node and the files are old. */
int demo_files_refresh(DemoFiles *files, DemoCluster *cluster, const View *view,
    const Placement *placement, char *error);

/* Whether metrics_path is written for @rules: some metric does not stand in the cluster's own
 * file. */
bool demo_files_have_metrics(const Program *rules);
