/* Pods that count on a node before a watch shows them there, by UID. */

#include "cluster/assumed-pods.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "cluster/record.h"

void assumed_pods_done(AssumedPods *assumed) {
    AssumedPod *entry;

    for (size_t i = 0; (entry = set_next(&assumed->entries, &i)); i++) {
        pod_record_unref(entry->pod);
        free(entry);
    }
    set_done(&assumed->entries);
}

static bool is_entry(const void *item, const void *key) {
    return str_eq(((const AssumedPod *)item)->pod->uid, *(const Str *)key);
}

AssumedPod *assumed_pods_find(const AssumedPods *assumed, Str uid) {
    return set_find(&assumed->entries, hash_str(uid), is_entry, &uid);
}

int assumed_pods_add(AssumedPods *assumed, const Pod *pod, int64_t until_nsec) {
    AssumedPod *entry = malloc(sizeof(*entry));
    int r;

    if (!entry)
        return -ENOMEM;
    *entry = (AssumedPod){.pod = pod, .until_nsec = until_nsec};
    r = set_add(&assumed->entries, hash_str(pod->uid), entry);
    if (r < 0)
        free(entry);
    return r;
}

const Pod *assumed_pods_take(AssumedPods *assumed, Str uid) {
    AssumedPod *entry = assumed_pods_find(assumed, uid);
    const Pod *pod;

    if (!entry)
        return NULL;
    pod = entry->pod;
    (void)set_remove(&assumed->entries, hash_str(uid), entry);
    free(entry);
    return pod;
}

/* Another entry may move into the slot of a removed one: @i stays. */
const Pod *assumed_pods_take_expired(AssumedPods *assumed, int64_t now_nsec, size_t *i) {
    AssumedPod *entry;

    for (; (entry = set_next(&assumed->entries, i)); (*i)++) {
        const Pod *pod = entry->pod;

        if (entry->until_nsec > now_nsec)
            continue;
        set_remove_at(&assumed->entries, *i);
        free(entry);
        return pod;
    }
    return NULL;
}

int64_t assumed_pods_next(const AssumedPods *assumed) {
    int64_t next = INT64_MAX;
    const AssumedPod *entry;

    for (size_t i = 0; (entry = set_next(&assumed->entries, &i)); i++)
        if (entry->until_nsec < next)
            next = entry->until_nsec;
    return next;
}
