#include "history/tidy.h"

#include "base/clock.h"
#include "base/log.h"

/* The lock is held while so many are taken, or exchanged. */
#define AT_ONCE 64u

#define REDUCE_BUDGET ((size_t)256 * 1024 * 1024)

/* Filter and prioritize brought the same text: mostly the one before, or near it. */
static PodText *reduce(const RawPod *pods, PodText *const *reduced, size_t i, Arena *arena) {
    for (size_t k = i; k-- > 0;)
        if (pods[k].text == pods[i].text)
            return reduced[k] ? pod_text_ref(reduced[k]) : NULL;
    return pod_text_reduce(pods[i].text, arena);
}

/* Adds to @n_lost. Returns how many there were. */
static size_t tidy_some(Decisions *decisions, Arena *arena, size_t *n_lost) {
    RawPod pods[AT_ONCE];
    PodText *reduced[AT_ONCE];
    size_t n = decisions_raw(decisions, pods, AT_ONCE);

    for (size_t i = 0; i < n; i++) {
        reduced[i] = reduce(pods, reduced, i, arena);
        *n_lost += reduced[i] == NULL;
    }
    if (n > 0)
        decisions_reduce(decisions, pods, reduced, n);
    for (size_t i = 0; i < n; i++) {
        pod_text_unref(pods[i].text);
        pod_text_unref(reduced[i]);
    }
    return n;
}

static void tell_lost(size_t n_lost) {
    if (n_lost > 0)
        log_warn("pods could not be kept: decisions about them cannot be made again",
            LOG_INT("decisions", n_lost));
}

bool decisions_tidy(Decisions *decisions) {
    _cleanup_(arena_freep) Arena *arena = decisions ? arena_new(REDUCE_BUDGET) : NULL;
    int64_t end = clock_monotonic_nsec() + TIDY_NSEC;
    size_t n = 0, n_some = AT_ONCE, n_lost = 0;

    if (!decisions)
        return true;
    while (arena && n_some == AT_ONCE && n < TIDY_MAX && clock_monotonic_nsec() < end) {
        n_some = tidy_some(decisions, arena, &n_lost);
        n += n_some;
    }
    tell_lost(n_lost);
    return n_some < AT_ONCE;
}
