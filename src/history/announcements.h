#pragma once

/*
 * Announcements: what is worth a Kubernetes Event (kube/event-poster.h posts them).
 *
 *   NoNodePassed   of a pod: a filter let no node pass, and why, by reason
 *   Bypassed       of a pod: it was bound, and nobody asked us
 *   PolicyRefused  of our own pod: a policy on disk is wrong, the last good one stays in force
 *   MetricsStale   of our own pod: a metric has had no value for longer than its maxAge
 *
 * A pod gets one NoNodePassed in ANNOUNCEMENTS_POD_SEC, and all of them together one a second after
 * a burst of ten: a cluster that is full has thousands of pods that wait. Where we do not know
 * our own pod, nothing is said about it.
 *
 * Threads: any.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "extender/verbs.h"
#include "extender/view.h"
#include "kube/event-poster.h"
#include "model/pod.h"

#define ANNOUNCEMENTS_POD_SEC 300
#define ANNOUNCEMENTS_PER_SEC 1
#define ANNOUNCEMENTS_BURST 10
#define ANNOUNCEMENTS_REASONS 3u /* told of one filter; the others are counted */
#define ANNOUNCEMENTS_PODS 4096u /* remembered; a newer one takes the place of another */

typedef struct Announcements Announcements;

/* Our own pod; texts outlive the Announcements. Without all three: none. */
typedef struct OwnPod {
    const char *namespace, *name, *uid;
} OwnPod;

typedef struct AnnouncementsOptions {
    OwnPod self;
    void *context;
    void (*announce)(void *context, const PodEvent *announcement); /* texts are borrowed */
} AnnouncementsOptions;

Announcements *announcements_new(const AnnouncementsOptions *options); /* NULL: out of memory */
Announcements *announcements_free(Announcements *announcements);       /* takes NULL */
DEFINE_CLEANUP(Announcements *, announcements_free)

/* A filter has decided. Costs nothing where a node passed. */
void announcements_note_filter(
    Announcements *announcements, const View *view, const Decision *decision, int64_t now_nsec);

void announcements_note_bypassed(Announcements *announcements, const Pod *pod, int64_t now_nsec);

/* How the last read of policies went, now and then: @error is empty when well. Said once for each
 * different error. */
void announcements_note_policy(Announcements *announcements, Str error, int64_t now_nsec);

/* The last value of a metric has grown too old. */
void announcements_note_stale(
    Announcements *announcements, Str policy, Str metric, Str source, int64_t now_nsec);

/* Those that were one too many. */
uint64_t announcements_dropped(Announcements *announcements);
