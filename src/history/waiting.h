#pragma once

/*
 * Waiting: how many pods wait because of us, cheaply enough for every page and every second.
 *
 * The same pods that history/pods-summary.h shows as waiting: the newest filter of the pod found no
 * node, and no bind followed. Only headlines are looked at, the newest PODS_SUMMARY_DECISIONS_MAX;
 * pods that were bound past us are not looked up in the cluster.
 *
 * Threads: any.
 */

#include <stddef.h>

#include "history/decisions.h"

/* @decisions NULL: 0. Also 0 when out of memory. */
size_t waiting_count(Decisions *decisions);
