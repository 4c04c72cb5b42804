/* Decides for each bound pod whether it bypassed berth. */

#include "live/bypass.h"

#include "base/nsec.h"

void bypass_note_synced(Bypass *bypass, int64_t now_nsec) {
    int64_t never = 0;

    (void)atomic_compare_exchange_strong(&bypass->synced_at_nsec, &never, now_nsec);
}

bool pod_is_managed(const Pod *pod, const Str *managed, size_t n_managed) {
    for (size_t i = 0; i < n_managed; i++)
        if (resources_find(&pod->requests, managed[i]))
            return true;
    return n_managed == 0;
}

static bool is_early(const Bypass *bypass, int64_t now_nsec) {
    int64_t synced_at = atomic_load(&bypass->synced_at_nsec);

    return synced_at == 0 || now_nsec - synced_at < BYPASS_GRACE_SEC * NSEC_PER_SEC;
}

bool bypass_note_bound(Bypass *bypass, const Pod *pod, int64_t now_nsec) {
    int64_t since_nsec = now_nsec - BYPASS_ASKED_SEC * NSEC_PER_SEC;

    if (is_early(bypass, now_nsec) || !pod_is_managed(pod, bypass->managed, bypass->n_managed) ||
        !recent_pods_is_bypass(bypass->recent, pod, since_nsec) ||
        exemptions_cover(bypass->exempt, pod))
        return false;
    atomic_fetch_add(&bypass->n, 1);
    return true;
}
