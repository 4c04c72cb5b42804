#pragma once

/*
 * Bypass: pods that were bound without our having been asked.
 *
 * kube-scheduler skips an extender that is `ignorable` and cannot be reached, and tells
 * nobody but its own log. We can tell: a scheduler that asks us at all asks about every
 * pod (of those that want a managed resource, where it is configured so), before it binds
 * it. A pod that gets its node from such a scheduler, and that we never heard of, went past
 * every policy.
 *
 * Pods that no policy is for (policy/exemption.h) went past nothing.
 *
 * A scheduler that has not asked for BYPASS_ASKED_SEC may ask another berth by now: of several, a
 * Service or a change of the leader sends it elsewhere. It is not blamed any more then.
 *
 * In the first BYPASS_GRACE_SEC after the first list nobody is blamed: the pod may have
 * been asked about before we were there.
 *
 * Threads: any.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "model/pod.h"
#include "policy/exemption.h"

#define BYPASS_GRACE_SEC 60
#define BYPASS_ASKED_SEC 600

typedef struct Bypass Bypass;

/* @managed: only pods that ask for one of these resources are asked about; none: all are.
 * @exempt may be NULL. Both are borrowed. NULL when out of memory. */
Bypass *bypass_new(const Str *managed, size_t n_managed, const Exemptions *exempt);
Bypass *bypass_free(Bypass *bypass); /* takes NULL */
DEFINE_CLEANUP(Bypass *, bypass_free)

/* The cluster has been listed. Only the first time counts. */
void bypass_note_synced(Bypass *bypass, int64_t now_nsec);

/* We were asked about @pod. */
void bypass_note_asked(Bypass *bypass, const Pod *pod, int64_t now_nsec);

/* @pod has got its node: whether it went past us. */
bool bypass_note_bound(Bypass *bypass, const Pod *pod, int64_t now_nsec);

uint64_t bypass_count(const Bypass *bypass);
