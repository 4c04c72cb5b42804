#pragma once

/*
 * Difference: how two snapshots differ, as text for users.
 *
 * "Here" is the snapshot berth uses, "there" a newly read one. All kept fields are compared, except
 * resourceVersion, which changes without the others, and tolerations, which are not kept for
 * running pods. Sums of requests are compared too: they are updated by events, so a wrong sum shows
 * even if all objects are equal.
 *
 *     node n7: label zone is "a" here, "b" there
 *     node n8: only there
 *     pod shop/web-0: node is "n7" here, "n8" there
 */

#include "cluster/snapshot.h"

#define DIFFERENCE_VALUE_MAX 80u /* bytes of a value that are shown */

typedef struct Difference {
    size_t n_nodes_only_here, n_nodes_only_there;
    size_t n_nodes_differ; /* nodes with at least one different field */
    size_t n_sums_differ;  /* nodes whose number of pods or sums of requests differ */
    size_t n_pods_only_here, n_pods_only_there;
    size_t n_pods_moved;  /* on another node */
    size_t n_pods_differ; /* in another field */
    size_t n_lines;       /* differences found, one line each */
} Difference;

/* Appends the first @max_lines differences to @out, a line each: nodes by name, then pods
 * by namespace and name. All of them are counted. 0; -ENOMEM; or the error of @out. */
int difference_find(
    const Snapshot *here, const Snapshot *there, size_t max_lines, Buf *out, Difference *ret);

static inline bool difference_is_none(const Difference *difference) {
    return difference->n_lines == 0;
}
