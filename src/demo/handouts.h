#pragma once

/*
 * Handouts: the files that the suggested commands read.
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
#include "demo/driver.h"
#include "demo/folder.h"
#include "demo/world.h"
#include "extender/view.h"

#define HANDOUT_PATH_MAX (FOLDER_PATH_MAX + 32u)
#define HANDOUT_POD_MAX ((size_t)64 * 1024)

typedef struct Handouts {
    Folder folder;
    char policy_path[HANDOUT_PATH_MAX], cluster_path[HANDOUT_PATH_MAX];
    char pod_path[HANDOUT_PATH_MAX], metrics_path[HANDOUT_PATH_MAX];
    Buf pod;      /* what is, or will be, in pod_path */
    char uid[40]; /* of the pending pod it is; empty: it is a sample */
    int64_t written_at_nsec;
} Handouts;

#define HANDOUTS_NONE ((Handouts){.folder = FOLDER_NONE, .pod = BUF_INIT(HANDOUT_POD_MAX)})

/* All return 0, or a negative errno with a sentence for a person in @error (FOLDER_ERROR_MAX), or
 * -ENOMEM without one. */

/* Opens the folder and writes what there is already; @policy is the demo's own, or NULL. */
int handouts_open(Handouts *handouts, World *world, const char *policy, char *error);
void handouts_done(Handouts *handouts);

/* Everything as it is now. @view is the one in force. */
int handouts_write(Handouts *handouts, World *world, const View *view, char *error);

/* After an attempt: the same, if it found no node and the files are old. */
int handouts_refresh(
    Handouts *handouts, World *world, const View *view, const Placement *placement, char *error);

/* Whether metrics_path is written for @rules: some metric does not stand in the cluster's own
 * file. */
bool handouts_have_metrics(const Program *rules);
