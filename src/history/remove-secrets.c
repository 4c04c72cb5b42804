/*
 * Replaces pods as they were sent by what policies can read of them. References are taken and texts
 * exchanged under the lock, a few at a time; the writing in between happens without it.
 */

#include "base/clock.h"
#include "base/log.h"
#include "history/decisions-internal.h"

/* So many are taken, or exchanged, under one hold of the lock. */
#define AT_ONCE 64u

#define REDUCE_BUDGET ((size_t)256 * 1024 * 1024)

/* A pod as it was sent, and the decision that has it. */
typedef struct RawPod {
    uint64_t id;
    PodText *text;    /* a reference */
    PodText *reduced; /* a reference; NULL: it cannot be reduced, and the decision not replayed */
} RawPod;

static bool is_raw(const Kept *kept) {
    return kept->pod_text && kept->pod_text->is_raw;
}

/* Up to @n of the oldest decisions whose pod is still as it was sent; how many. */
static size_t take_raw(Decisions *decisions, RawPod *ret, size_t n) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&decisions->mutex);
    size_t n_found = 0;

    decisions_raise(&decisions->next_raw, decisions_oldest(decisions));
    while (decisions->next_raw < decisions->next &&
           !is_raw(decisions_at(decisions, decisions->next_raw)))
        decisions->next_raw++;
    for (uint64_t id = decisions->next_raw; n_found < n && id < decisions->next; id++) {
        Kept *kept = decisions_at(decisions, id);

        if (is_raw(kept))
            ret[n_found++] = (RawPod){.id = id, .text = pod_text_ref(kept->pod_text)};
    }
    return n_found;
}

/* Filter and prioritize sent the same text: mostly the one before, or near it. */
static PodText *reduce(const RawPod *pods, size_t i, Arena *arena) {
    Pod pod;

    for (size_t k = i; k-- > 0;)
        if (pods[k].text == pods[i].text)
            return pods[k].reduced ? pod_text_ref(pods[k].reduced) : NULL;
    arena_reset(arena);
    return pod_text_decode(pods[i].text, arena, &pod) ? pod_text_new(&pod) : NULL;
}

/* A decision that has another text by now, or none, stays as it is. */
static void exchange(Decisions *decisions, const RawPod *pods, size_t n) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&decisions->mutex);

    for (size_t i = 0; i < n; i++) {
        Kept *kept = decisions_at(decisions, pods[i].id);

        if (pods[i].id < decisions_oldest(decisions) || kept->pod_text != pods[i].text)
            continue;
        if (pods[i].reduced) {
            kept->pod_text = pod_texts_put(&decisions->pods, pods[i].reduced);
            decisions_use_pod(decisions, kept->pod_text);
            decisions_release_pod(decisions, pods[i].text);
        } else {
            (void)decisions_forget_inputs(decisions, kept);
        }
    }
    decisions_make_room(decisions); /* a nearly empty pod may be written longer than it was sent */
}

/* Adds to @n_lost. Returns how many there were. */
static size_t reduce_some(Decisions *decisions, Arena *arena, size_t *n_lost) {
    RawPod pods[AT_ONCE];
    size_t n = take_raw(decisions, pods, AT_ONCE);

    for (size_t i = 0; i < n; i++) {
        pods[i].reduced = reduce(pods, i, arena);
        *n_lost += pods[i].reduced == NULL;
    }
    if (n > 0)
        exchange(decisions, pods, n);
    for (size_t i = 0; i < n; i++) {
        pod_text_unref(pods[i].text);
        pod_text_unref(pods[i].reduced);
    }
    return n;
}

bool decisions_remove_secrets(Decisions *decisions) {
    _cleanup_(arena_freep) Arena *arena = decisions ? arena_new(REDUCE_BUDGET) : NULL;
    int64_t end = clock_monotonic_nsec() + REMOVE_SECRETS_NSEC;
    size_t n = 0, n_some = AT_ONCE, n_lost = 0;

    if (!decisions)
        return true;
    while (arena && n_some == AT_ONCE && n < REMOVE_SECRETS_MAX && clock_monotonic_nsec() < end) {
        n_some = reduce_some(decisions, arena, &n_lost);
        n += n_some;
    }
    if (n_lost > 0)
        log_warn("pods could not be kept: decisions about them cannot be replayed",
            LOG_INT("decisions", n_lost));
    return n_some < AT_ONCE;
}
