#pragma once

/*
 * A Client and an Access without a network: tests see the started calls and decide the answers.
 * Linked in place of client*.c and access.c.
 *
 * Answers are queued and delivered by client_wait(), which a single-threaded test calls itself, and
 * otherwise the watcher's thread.
 *
 * Calls are numbered in the order in which they start. Steps for a call that has ended are dropped.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "kube/client.h"

typedef struct FakeCall {
    const char *method, *path, *content_type, *body; /* "": none */
    unsigned first_byte_sec, silence_sec, total_sec;
    uint64_t bytes_max;
    bool is_cancelled; /* by call_cancel() */
    bool is_over;
} FakeCall;

Access *fake_access_new(bool is_insecure);

/* The latest client of client_new(); NULL after client_free(). */
Client *fake_client(void);

size_t fake_n_calls(Client *client);

/* A copy of call @n; its strings are owned by the client. */
FakeCall fake_call(Client *client, size_t n);

void fake_head(Client *client, size_t n, unsigned status, const char *type, int retry_after_sec);
void fake_data(Client *client, size_t n, Str bytes);
void fake_done(Client *client, size_t n, CallOutcome outcome);

/* Queues head, data and done. */
void fake_answer(Client *client, size_t n, unsigned status, const char *body);

/* Calls may_send() of call @n; if it returns false, ends the call. */
bool fake_send(Client *client, size_t n);

/* Makes the next @n calls of client_wait() fail; fake_failing_waits(): how many remain. */
void fake_fail_waits(Client *client, unsigned n);
unsigned fake_failing_waits(Client *client);

/* Makes the next client_call() return NULL. */
void fake_refuse_next(Client *client);

/* Waits for the first call from @from on with this method and a path that contains @part. SIZE_MAX
 * after ten seconds. */
size_t fake_wait_for(Client *client, const char *method, const char *part, size_t from);
