#pragma once

/*
 * Ledger: pods that count on a node before any watch shows them there.
 *
 * Entries by UID; each holds a record of the pod with that node as its node, and a time
 * after which it counts no more. Knows nothing of rows. Not thread safe.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/set.h"
#include "base/str.h"
#include "model/pod.h"

typedef struct LedgerEntry {
    const Pod *pod; /* a reference */
    int64_t until_nsec;
} LedgerEntry;

typedef struct Ledger {
    Set entries;
} Ledger;

void ledger_done(Ledger *ledger);

static inline size_t ledger_count(const Ledger *ledger) {
    return ledger->entries.n_used;
}

/* NULL when there is none; until the ledger changes. */
LedgerEntry *ledger_find(const Ledger *ledger, Str uid);

/* Adds an entry; there must be none of this UID. Takes the reference to @pod unless it
 * fails. 0, or -ENOMEM. */
int ledger_add(Ledger *ledger, const Pod *pod, int64_t until_nsec) MUST_CHECK;

/* Removes the entry of @uid. Its pod, whose reference is the caller's now; NULL when there
 * was none. */
const Pod *ledger_take(Ledger *ledger, Str uid);

/* Removes an entry whose time is over at @now; as ledger_take(). @i is 0 at first and then left
 * alone; NULL when there are no more. */
const Pod *ledger_take_expired(Ledger *ledger, int64_t now_nsec, size_t *i);

/* When the first entry will be over; INT64_MAX when there is none. */
int64_t ledger_next(const Ledger *ledger);
