#pragma once

/*
 * ViewVerbs: the policies of a View as the extender of a Scheduler, over nodes that its owner
 * provides.
 *
 * Policies in mode Observe do not take part, as in a reply to kube-scheduler.
 */

#include "extender/view.h"
#include "scheduler/scheduler.h"

typedef struct ViewVerbs {
    const Program *program;
    /* Makes the input to judge @rows of the scheduler's cluster for @pod. 0, or -ENOMEM. */
    int (*make_input)(void *context, const Pod *pod, int64_t now_nsec, const uint32_t *rows,
        size_t n, Arena *arena, JudgeInput *ret);
    void *context;
} ViewVerbs;

/* The extender that judges by @verbs, which is borrowed. */
SchedulerExtender view_verbs(ViewVerbs *verbs);
