#pragma once

/*
 * Details of running pods (model/pod-details.h) as a cluster keeps them: only the fields that
 * policies read, in parts that pods of one template share (cluster/record-pool.h).
 */

#include "cluster/record-pool.h"
#include "model/pod-details.h"
#include "model/pod-parts.h"

/* A copy of the fields of @parts, to which the caller gets a reference (block_drop()); NULL if that
 * is nothing. False when out of memory. */
bool kept_details_take(RecordPool *pool, const PodDetails *details, const PodParts *parts,
    const PodDetails **ret) MUST_CHECK;

/* Whether all fields are equal; either may be NULL, and need not be kept. */
bool kept_details_equal(const PodDetails *a, const PodDetails *b);

/* The memory that it takes if nothing is shared. Takes NULL. */
size_t kept_details_size(const PodDetails *kept);
