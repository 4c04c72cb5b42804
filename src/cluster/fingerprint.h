#pragma once

/*
 * Fingerprint: a digest of a cluster's state.
 *
 * Two berths that know the same of the same cluster have the same fingerprint, whatever the order
 * in which they learned it: rows, columns and numbers are not part of it, nodes and amounts are.
 * It covers what decisions mostly use: of each node its name, labels, taints, whether it is ready
 * and cordoned, how many pods it has, what it offers and what they request. While pods come and go
 * two replicas differ for a moment.
 */

#include "base/cleanup.h"
#include "base/digest.h"
#include "cluster/table.h"

/* Of all nodes of @table, in *@ret; DIGEST_NONE when there are none. Takes some milliseconds for
 * 15,000 nodes: not for a decision. 0, or -ENOMEM. */
int table_fingerprint(const NodeTable *table, Digest *ret) MUST_CHECK;
