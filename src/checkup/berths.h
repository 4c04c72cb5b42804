#pragma once

/*
 * Iterates over the facts that can be judged. A configuration that could not be read and a berth
 * that could not be reached have checks of their own (B101, B102, B201); all others pass over them,
 * and are skipped when nothing is left.
 */

#include "checkup/verdict.h"

bool config_is_readable(const SchedulerConfigFact *fact);

/* Calls @judge for each subject of @scope; without any, @verdict is "skipped". */
void scope_judge(
    CheckScope scope, CheckJudge judge, const InstallationFacts *facts, Verdict *verdict);

/* Go to the next subject of @at, which begins with its facts only; false: no more. */
bool entry_next(CheckSubject *at);   /* an entry that lists berth */
bool reached_next(CheckSubject *at); /* a berth that could be reached */
bool pod_next(CheckSubject *at);     /* a pod of berth */

/* For each CheckSubject @at with an entry. */
#define FOR_EACH_ENTRY(at, facts_) for (CheckSubject at = {.facts = (facts_)}; entry_next(&(at));)

/* Whether there is one. False: @verdict is "skipped", and why; so do those below. */
bool entry_expect(const InstallationFacts *facts, Verdict *verdict);

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

/* The first of them with @flag, a bool of BerthFact; NULL: none. */
#define BERTH_WITH(facts, flag) berth_with((facts), offsetof(BerthFact, flag))
const BerthFact *berth_with(const InstallationFacts *facts, size_t flag);

/* The first of them that requires client certificates; NULL: none. */
const BerthFact *berth_with_client_ca(const InstallationFacts *facts);

bool pods_expect(const InstallationFacts *facts, Verdict *verdict);

/* Whether objects of the cluster could be read. */
bool cluster_expect(const InstallationFacts *facts, Verdict *verdict);

/* 36 of "v1.36.4"; -1: it is no such version. */
int release_minor(Str version);

/* Seconds since the last request of a scheduler; INFINITY: none. */
double berth_last_request_sec(const BerthFact *berth);
