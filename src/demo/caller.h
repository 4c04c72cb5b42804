#pragma once

/*
 * Caller: calls an extender the way kube-scheduler does.
 *
 * POST with a JSON body of known length over HTTP/1.1, the connection kept; only
 * a reply of status 200 counts. One thread.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "extender/verbs.h"

#define CALLER_REPLY_MAX ((size_t)64 * 1024 * 1024)

/* kube-scheduler's default for httpTimeout is 5 s. */
#define CALLER_TIMEOUT_MSEC 5000L

typedef struct Caller Caller;

/* @url without a slash at its end. NULL when out of memory. */
Caller *caller_new(const char *url);
Caller *caller_free(Caller *caller); /* takes NULL */
DEFINE_CLEANUP(Caller *, caller_free)

enum {
    _CALLER_E_SUCCESS,
    CALLER_E_CONNECTION, /* no reply */
    CALLER_E_STATUS,     /* a reply, but not 200 */
};

/* Calls @verb. The reply is in @arena, @ret_nsec how long it took. 0; one of the
 * above with what happened in caller_error(); or -ENOMEM. */
int caller_call(
    Caller *caller, Verb verb, Str body, Arena *arena, Str *ret_reply, int64_t *ret_nsec);

/* What went wrong in the last call. Borrowed. */
const char *caller_error(const Caller *caller);
