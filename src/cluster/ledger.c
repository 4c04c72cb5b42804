#include "cluster/ledger.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "cluster/record.h"

void ledger_done(Ledger *ledger) {
    LedgerEntry *entry;

    for (size_t i = 0; (entry = set_next(&ledger->entries, &i)); i++) {
        pod_record_unref(entry->pod);
        free(entry);
    }
    set_done(&ledger->entries);
}

static bool is_entry(const void *item, const void *key) {
    return str_eq(((const LedgerEntry *)item)->pod->uid, *(const Str *)key);
}

LedgerEntry *ledger_find(const Ledger *ledger, Str uid) {
    return set_find(&ledger->entries, hash_str(uid), is_entry, &uid);
}

int ledger_add(Ledger *ledger, const Pod *pod, int64_t until_nsec) {
    LedgerEntry *entry = malloc(sizeof(*entry));
    int r;

    if (!entry)
        return -ENOMEM;
    *entry = (LedgerEntry){.pod = pod, .until_nsec = until_nsec};
    r = set_add(&ledger->entries, hash_str(pod->uid), entry);
    if (r < 0)
        free(entry);
    return r;
}

const Pod *ledger_take(Ledger *ledger, Str uid) {
    LedgerEntry *entry = ledger_find(ledger, uid);
    const Pod *pod;

    if (!entry)
        return NULL;
    pod = entry->pod;
    (void)set_remove(&ledger->entries, hash_str(uid), entry);
    free(entry);
    return pod;
}

/* What is removed makes room for another in the same slot: @i stays. */
const Pod *ledger_take_expired(Ledger *ledger, int64_t now_nsec, size_t *i) {
    LedgerEntry *entry;

    for (; (entry = set_next(&ledger->entries, i)); (*i)++) {
        const Pod *pod = entry->pod;

        if (entry->until_nsec > now_nsec)
            continue;
        set_remove_at(&ledger->entries, *i);
        free(entry);
        return pod;
    }
    return NULL;
}

int64_t ledger_next(const Ledger *ledger) {
    int64_t next = INT64_MAX;
    const LedgerEntry *entry;

    for (size_t i = 0; (entry = set_next(&ledger->entries, &i)); i++)
        if (entry->until_nsec < next)
            next = entry->until_nsec;
    return next;
}
