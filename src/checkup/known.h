#pragma once

/*
 * Known: which of the Facts can be judged at all. A configuration that could not be read and a
 * berth that could not be asked have checks of their own (B101, B102, B201); all others pass over
 * them, and are skipped when nothing is left.
 */

#include <stdbool.h>
#include <stddef.h>

#include "checkup/facts.h"
#include "checkup/verdict.h"

#define OWN_WHERE_MAX 256u

/* An entry that lists berth. */
typedef struct Own {
    const SchedulerConfigFact *fact;
    const ExtenderEntry *entry;
    char where[OWN_WHERE_MAX]; /* "FILE:LINE" */
} Own;

bool config_is_readable(const SchedulerConfigFact *fact);

/* The next one from @at on, which moves on; false: no more. */
bool own_next(const Facts *facts, size_t *at, Own *ret);

/* Whether there is one. False: the verdict is that it is skipped, and why. */
bool own_expect(const Facts *facts, Verdict *verdict);

/* Whether kube-scheduler asks berth on loopback only, as beside it in one pod. */
bool own_is_loopback(const Facts *facts);

/* The next berth that could be asked, from @at on; NULL: no more. */
const BerthFact *berth_next(const Facts *facts, size_t *at);
size_t berth_count(const Facts *facts);
bool berth_expect(const Facts *facts, Verdict *verdict);

/* The same for those that know the cluster by themselves. */
const BerthFact *watcher_next(const Facts *facts, size_t *at);
bool watcher_expect(const Facts *facts, Verdict *verdict);

/* Whether there are two of them to compare. */
bool watchers_expect(const Facts *facts, Verdict *verdict);

/* Lets @judge compare each entry with each berth; without either, the check is skipped. */
typedef void (*PairJudge)(const Own *own, const BerthFact *berth, Verdict *verdict);
void pairs_judge(const Facts *facts, PairJudge judge, Verdict *verdict);

/* 36 of "v1.36.4"; -1: it is no such version. */
int release_minor(Str version);

/* Seconds since any scheduler asked this berth; INFINITY: none has. */
double berth_last_asked_sec(const BerthFact *berth);
