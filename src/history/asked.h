#pragma once

/*
 * Asked: which pods we were asked about lately, and by which schedulers.
 *
 * A pod that a scheduler has bound without asking us went past every policy: the
 * extender is ignorable and was not reached, or somebody else bound it. To tell, it is
 * enough to remember the pods of filter requests, by a hash of their UID, and the names
 * of the schedulers that placed them. What comes from a scheduler that never asks is
 * none of our business.
 *
 * Bounded: the ASKED_MAX pods asked about last are known, of older ones nothing is; a
 * pod that waits is asked about again and again and stays known. After a restart nothing
 * is known, and a pod that was asked about before it looks like one that went past.
 *
 * Threads: any; one lock, held for a few instructions.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/str.h"

#define ASKED_MAX 65536u
#define ASKED_SCHEDULERS_MAX 64u
#define ASKED_NAME_MAX 253u /* bytes of a scheduler's name; the API server takes no longer ones */

typedef struct Asked Asked;

/* @max pods are known at most: ASKED_MAX, but for tests. NULL when out of memory. */
Asked *asked_new(size_t max);
Asked *asked_free(Asked *asked); /* takes NULL, returns NULL */
DEFINE_CLEANUP(Asked *, asked_free)

/* A filter request about the pod @uid, which @scheduler is to place, at @now_nsec. An empty UID is
 * not noted, nor a name that is empty, too long, or one too many. */
void asked_note(Asked *asked, Str uid, Str scheduler, int64_t now_nsec);

/* Whether the pod is among those asked about last. */
bool asked_knows(Asked *asked, Str uid);

/* Whether a pod of this scheduler was asked about at @since_nsec or later. */
bool asked_has_scheduler(Asked *asked, Str name, int64_t since_nsec);
