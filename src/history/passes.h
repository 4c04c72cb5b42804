#pragma once

/*
 * Passes: what filter said a short while ago, for bind to look up.
 *
 * A bind request names a pod by UID and a node, and nothing else. Whoever binds for the
 * scheduler must know the pod, to count what it asks for, and should not put it on a
 * node that filter has refused, or that it was never asked about. So each filter's
 * answer is kept for a while: the pod, and the nodes that passed as one bit a row of the
 * cluster's names. A later answer about the same pod takes the place of the one before.
 *
 * This says what was; whether the pod still fits is judged anew when it is bound. So the
 * window may be generous. It must be: between filter and bind kube-scheduler waits for
 * volumes (VolumeBinding, 10 minutes unless configured otherwise) and for Permit plugins
 * (15 minutes at most), and a pod that is refused then has its volumes made in vain.
 *
 * Rows: one belongs to the same node as long as NodeNames.since says so
 * (cluster/names.h). A node that was deleted and made anew is another one: it has not
 * passed. Nodes that the cluster does not know have no row and are not kept.
 *
 * Threads: any; one lock, held for a look-up or for dropping what is over. A Pass that
 * has not been given to passes_keep() is its maker's alone.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/nsec.h"
#include "base/str.h"
#include "cluster/names.h"
#include "model/pod.h"

#define PASSES_WINDOW_NSEC (15 * 60 * NSEC_PER_SEC)

/* What is kept at most; the oldest go first. 16,384 answers over 5,000 nodes, about
 * pods as they usually are, take some 40 MB. */
#define PASSES_MAX 16384u
#define PASSES_BYTES_MAX ((size_t)64 * 1024 * 1024)

/* One answer. No pod is as large that an API server has stored. */
#define PASS_BYTES_MAX ((size_t)1024 * 1024)

typedef struct Passes Passes;
typedef struct Pass Pass;

/* Limits as above, but for tests. NULL when out of memory. */
Passes *passes_new(size_t max, size_t bytes_max, int64_t window_nsec);
Passes *passes_free(Passes *passes); /* takes NULL, returns NULL */
DEFINE_CLEANUP(Passes *, passes_free)

/* An answer about @pod, which is copied, over @names of the snapshot it was made with; no
 * node has passed yet. NULL when it cannot be kept: no UID, too large, no memory. */
Pass *pass_new(const Pod *pod, const NodeNames *names);

/* The node of @row has passed. Rows over those of the names, the unknown node's, are
 * passed over. Takes NULL. */
void pass_add(Pass *pass, uint32_t row);

/* Takes @pass, in every case, as the newest answer about its pod, made at @now_nsec
 * (monotonic). Takes NULL: nothing happens. Drops what is over. */
void passes_keep(Passes *passes, Pass *pass, int64_t now_nsec);

enum {
    _PASSES_E_SUCCESS,
    PASSES_E_UNKNOWN, /* no filter request about this pod, or none that is still kept */
    PASSES_E_NODE,    /* there was one, and this node did not pass */
    PASSES_E_LATE,    /* it passed, too long ago */
};

/* Whether the pod @uid passed on @node, a name of @names: those of the present snapshot,
 * or of any that is not older than the one filter saw. 0: *ret is the pod as filter saw
 * it, a record (cluster/record.h) with a reference for the caller. Else PASSES_E_*, and
 * *ret is NULL. */
int passes_find(Passes *passes, Str uid, Str node, const NodeNames *names, int64_t now_nsec,
    const Pod **ret) MUST_CHECK;

typedef struct PassesFigures {
    size_t n, bytes;
    uint64_t n_kept;    /* since the start */
    uint64_t n_dropped; /* of these: to make room, before their time was over */
} PassesFigures;

void passes_figures(Passes *passes, PassesFigures *ret);
