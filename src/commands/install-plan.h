#pragma once

/*
 * InstallPlan: the steps from a cluster without berth to one with it, and back, as text. Nothing
 * here does any of them.
 */

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "commands/install-sight.h"

typedef enum InstallMode {
    INSTALL_SECOND_SCHEDULER,
    INSTALL_DEFAULT_SCHEDULER,
    INSTALL_STANDALONE,
    _INSTALL_MODES,
} InstallMode;

const char *install_mode_name(InstallMode mode); /* "second-scheduler": what --mode takes */

typedef struct InstallSettings {
    ClusterSource source;
    InstallMode mode;
    const char *namespace;
    bool has_helm;      /* else kustomize */
    const char *policy; /* a file; NULL: not given */
} InstallSettings;

typedef struct InstallPlan {
    const InstallSettings *settings;
    const InstallSight *sight;
    Buf *out;
    unsigned n_steps;
    /* Words that commands begin with or have in them, for the cluster that was named. */
    Str kubectl, helm, cluster_flags;
    Str policy;       /* the file, as a word of a shell */
    Str policy_name;  /* its name, in quotes of YAML */
    Str policy_value; /* helm's way to give it, as a word: policies.a\.yaml=a.yaml */
    const char *namespace;
} InstallPlan;

/* All of it. @notes are lines about what could not be seen. 0, or -ENOMEM. */
int install_plan_print(
    const InstallSettings *settings, const InstallSight *sight, Str notes, Arena *arena, Buf *out);

/* --- for the files of the plan ---------------------------------------------------------- */

/* A numbered step: what it is for. */
void plan_step(InstallPlan *plan, const char *what);

/* A line about it; a command to paste. */
void plan_say(InstallPlan *plan, const char *format, ...) __attribute__((format(printf, 2, 3)));
void plan_command(InstallPlan *plan, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What was seen, and what follows from it. */
void plan_print_sight(InstallPlan *plan, Str notes);
void plan_print_warnings(InstallPlan *plan);

/* The steps of a mode. */
void plan_second_scheduler(InstallPlan *plan);
void plan_default_scheduler(InstallPlan *plan);
void plan_standalone(InstallPlan *plan);
