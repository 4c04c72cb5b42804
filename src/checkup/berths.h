#pragma once

/*
 * Iterates over the facts that can be judged. A configuration that could not be read and a berth
 * that could not be reached have checks of their own (B101, B102, B201); all others pass over them,
 * and are skipped when nothing is left.
 */

#include "checkup/facts.h"
#include "checkup/verdict.h"

#define BERTH_ENTRY_WHERE_MAX 256u

/* An entry that lists berth. */
typedef struct BerthEntry {
    size_t at; /* index of the next configuration */
    const SchedulerConfigFact *fact;
    const ExtenderEntry *entry;
    char where[BERTH_ENTRY_WHERE_MAX]; /* "FILE:LINE" */
} BerthEntry;

bool config_is_readable(const SchedulerConfigFact *fact);

/* Goes to the next one; false: no more. */
bool berth_entry_next(const InstallationFacts *facts, BerthEntry *entry);

/* For each BerthEntry @entry; without any, @verdict is "skipped". */
#define FOR_EACH_ENTRY(entry, facts, verdict)                                                      \
    for (BerthEntry entry = {.at = berth_entry_expect(facts, verdict) ? 0 : SIZE_MAX};             \
         berth_entry_next(facts, &(entry));)

/* Whether there is one. False: the verdict is that it is skipped, and why. */
bool berth_entry_expect(const InstallationFacts *facts, Verdict *verdict);

/* Whether kube-scheduler calls berth on loopback only, as in one pod with it. */
bool berth_entry_is_loopback(const InstallationFacts *facts);

/* The first berth that could be reached after @berth (NULL: of all); NULL: no more. */
const BerthFact *berth_next(const InstallationFacts *facts, const BerthFact *berth);
size_t berth_count(const InstallationFacts *facts);
bool berth_expect(const InstallationFacts *facts, Verdict *verdict);

/* For each of them; the second skips the check if there is none. */
#define FOR_ALL_BERTHS(berth, facts)                                                               \
    for (const BerthFact *berth = NULL; ((berth) = berth_next(facts, berth));)
#define FOR_EACH_BERTH(berth, facts, verdict)                                                      \
    if (berth_expect(facts, verdict))                                                              \
        FOR_ALL_BERTHS (berth, facts)

/* The same for those that watch the cluster. */
const BerthFact *watcher_next(const InstallationFacts *facts, const BerthFact *berth);
bool watcher_expect(const InstallationFacts *facts, Verdict *verdict);

#define FOR_EACH_WATCHER(berth, facts, verdict)                                                    \
    if (watcher_expect(facts, verdict))                                                            \
        for (const BerthFact *berth = NULL; ((berth) = watcher_next(facts, berth));)

/* Whether there are two of them to compare. */
bool watchers_expect(const InstallationFacts *facts, Verdict *verdict);

/* Whether objects of the cluster could be read. */
bool cluster_expect(const InstallationFacts *facts, Verdict *verdict);

/* Lets @judge compare each entry with each berth; without either, the check is skipped. */
typedef void (*PairJudge)(const BerthEntry *found, const BerthFact *berth, Verdict *verdict);
void pairs_judge(const InstallationFacts *facts, PairJudge judge, Verdict *verdict);

/* 36 of "v1.36.4"; -1: it is no such version. */
int release_minor(Str version);

/* Seconds since the last request of a scheduler; INFINITY: none. */
double berth_last_request_sec(const BerthFact *berth);
