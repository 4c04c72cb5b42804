#pragma once

/*
 * Callers: which schedulers ask us, how often, and when they last did.
 *
 * By spec.schedulerName of the pods that filters ask about: what tells an operator that the
 * scheduler they have in mind is the one that has been configured. Names are a caller's text, so
 * there are CALLERS_MAX at most; who comes later is counted together, without a name.
 *
 * Threads: any. Counting takes no lock once a name is known.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/str.h"

#define CALLERS_MAX 16u
#define CALLER_NAME_MAX 253u /* bytes; the API server takes no longer ones */

typedef struct Callers Callers;

Callers *callers_new(void); /* NULL when out of memory */
Callers *callers_free(Callers *callers);
DEFINE_CLEANUP(Callers *, callers_free)

/* A filter has asked about a pod that @name is to place, at @now_nsec since 1970. An empty name is
 * passed over; one that is too long is one too many. */
void callers_note(Callers *callers, Str name, int64_t now_nsec);

typedef struct Caller {
    Str name; /* lives as long as @callers; empty: all that were too many */
    uint64_t n_asked;
    int64_t asked_at_nsec; /* the last time, since 1970 */
} Caller;

/* All of them, in the order they came; how many. */
size_t callers_list(Callers *callers, Caller ret[CALLERS_MAX + 1]);
