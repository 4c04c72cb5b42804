#pragma once

/*
 * The text of `berth install plan`: the steps to install berth in a cluster, and to remove it. It
 * is in install-plan.txt; this fills in what is known of the cluster.
 */

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "commands/install-facts.h"

typedef enum InstallMode {
    INSTALL_SECOND_SCHEDULER,
    INSTALL_DEFAULT_SCHEDULER,
    INSTALL_STANDALONE,
    _INSTALL_MODES,
} InstallMode;

const char *install_mode_name(InstallMode mode); /* "second-scheduler": a value of --mode */

typedef struct InstallSettings {
    ClusterSource source;
    InstallMode mode;
    const char *namespace;
    bool has_helm;      /* else kustomize */
    const char *policy; /* a file; NULL: not given */
} InstallSettings;

/* @notes are lines about facts that could not be found out. 0, or -ENOMEM. */
int install_plan_print(
    const InstallSettings *settings, const InstallFacts *facts, Str notes, Arena *arena, Buf *out);
