#pragma once

/*
 * Fingerprint: a digest of a cluster's state.
 *
 * Two replicas with the same state of the same cluster have the same fingerprint, whatever the
 * order of events: rows, columns and numbers are not part of it. It covers what most decisions use:
 * each node's name, labels, taints, readiness, whether it is cordoned, its number of pods,
 * allocatable and requested amounts. While pods come and go two replicas differ for a moment.
 */

#include "base/digest.h"
#include "cluster/table.h"

/* The fingerprint of @table in *@ret; DIGEST_NONE if it has no nodes. Takes some milliseconds for
 * 15,000 nodes: too slow for a decision. 0, or -ENOMEM. */
int table_fingerprint(const NodeTable *table, Digest *ret) MUST_CHECK;
