#pragma once

/*
 * Known: which of the InstallationFacts can be judged at all. A configuration that could not be
 * read and a berth that could not be asked have checks of their own (B101, B102, B201); all others
 * pass over them, and are skipped when nothing is left.
 */

#include <stdbool.h>
#include <stddef.h>

#include "checkup/facts.h"
#include "checkup/verdict.h"

#define BERTH_ENTRY_WHERE_MAX 256u

/* An entry that lists berth. */
typedef struct BerthEntry {
    const SchedulerConfigFact *fact;
    const ExtenderEntry *entry;
    char where[BERTH_ENTRY_WHERE_MAX]; /* "FILE:LINE" */
} BerthEntry;

bool config_is_readable(const SchedulerConfigFact *fact);

/* The next one from @at on, which moves on; false: no more. */
bool berth_entry_next(const InstallationFacts *facts, size_t *at, BerthEntry *ret);

/* Whether there is one. False: the verdict is that it is skipped, and why. */
bool berth_entry_expect(const InstallationFacts *facts, Verdict *verdict);

/* Whether kube-scheduler asks berth on loopback only, as beside it in one pod. */
bool berth_entry_is_loopback(const InstallationFacts *facts);

/* The next berth that could be asked, from @at on; NULL: no more. */
const BerthFact *berth_next(const InstallationFacts *facts, size_t *at);
size_t berth_count(const InstallationFacts *facts);
bool berth_expect(const InstallationFacts *facts, Verdict *verdict);

/* The same for those that know the cluster by themselves. */
const BerthFact *watcher_next(const InstallationFacts *facts, size_t *at);
bool watcher_expect(const InstallationFacts *facts, Verdict *verdict);

/* Whether there are two of them to compare. */
bool watchers_expect(const InstallationFacts *facts, Verdict *verdict);

/* Lets @judge compare each entry with each berth; without either, the check is skipped. */
typedef void (*PairJudge)(const BerthEntry *own, const BerthFact *berth, Verdict *verdict);
void pairs_judge(const InstallationFacts *facts, PairJudge judge, Verdict *verdict);

/* 36 of "v1.36.4"; -1: it is no such version. */
int release_minor(Str version);

/* Seconds since any scheduler asked this berth; INFINITY: none has. */
double berth_last_asked_sec(const BerthFact *berth);
