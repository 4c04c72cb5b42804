#pragma once

/*
 * The rules that every seed must keep:
 *
 *   once      the API server binds a pod at most once, to a node that a filter passed for it
 *   honest    if berth reports a bind as done, it is committed, on that node
 *   room      a node never gets more than its rules allow, if only berth binds pods to it
 *   known     a filter counts each pod that the API server has bound and reported to this replica,
 *             and none twice
 *   equal     once the faults are over, every replica's view equals the API server's objects
 *   complete  ... and no pod is pending if a node has room for it
 *
 * if kube-scheduler binds (test-sim-unbound.h), instead of room:
 *
 *   few over      at most SIM_OVER_MAX pods are over the limits of their nodes
 *   not for long  no pod is assumed longer than WATCHER_EXPECT_SEC after its last filter request
 */

#include <stdbool.h>
#include <stdint.h>

#include "extender/view.h"
#include "live/test-sim-berth.h"
#include "live/test-sim-net.h"
#include "live/test-sim-server.h"

void sim_check_begin(void);
void sim_check_start(const SimBerth *berth); /* a new process: it knows nothing */

/* A pod was created on a node, without berth. */
void sim_check_foreign(const SimObject *pod);

/* The replica sends a Binding of this pod. */
void sim_check_posted(const SimBerth *berth, unsigned name, unsigned uid);

void sim_check_news(const SimBerth *berth, const SimNews *news);
void sim_check_passed(unsigned uid, unsigned node);
void sim_check_binding(const SimObject *pod);
void sim_check_reported(unsigned uid, unsigned node);
void sim_check_view(const SimBerth *berth, const View *view);
void sim_check_end(void);
