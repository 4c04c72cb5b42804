#pragma once

/*
 * PlannedView: berth's filter and prioritize over a View, while pods are added to its nodes that
 * are not there yet. A change costs what it changes: the results of other nodes are the view's.
 *
 * Nominated pods of the view's table do not count by themselves: add them.
 */

#include "extender/view.h"
#include "scheduler/scheduler.h"

#define PLANNED_VIEW_BUDGET ((size_t)1024 * 1024 * 1024)

typedef struct PlannedView PlannedView;

/* Takes a reference to @view. 0, or -ENOMEM. */
int planned_view_new(View *view, PlannedView **ret) MUST_CHECK;
PlannedView *planned_view_free(PlannedView *planned); /* takes NULL, returns NULL */
DEFINE_CLEANUP(PlannedView *, planned_view_free)

/* Pods are on these rows from now on, and live as long as it. 0, or -ENOMEM. */
int planned_view_add(PlannedView *planned, const PodChange *changes, size_t n) MUST_CHECK;

/* For a Scheduler over the rows of the view's table. */
SchedulerExtender planned_view_verbs(PlannedView *planned);
