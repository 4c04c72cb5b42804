#pragma once

/*
 * A Client, and an Access, without a network: tests see the calls that are started and say
 * what is answered. Linked in place of client*.c and access.c.
 *
 * Answers are left in a queue and happen in client_wait(), as they would: a test of one
 * thread calls that itself, in a test of the watcher its thread does.
 *
 * Calls are known by their number, in the order in which they were started. Steps for a
 * call that is over are dropped.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "kube/client.h"

typedef struct FakeCall {
    const char *method, *path, *content_type, *body; /* "": none */
    unsigned first_byte_sec, silence_sec, total_sec;
    uint64_t bytes_max;
    bool is_cancelled; /* by its owner */
    bool is_over;
} FakeCall;

Access *fake_access_new(bool is_insecure);

/* The one client_new() made last; NULL after client_free(). */
Client *fake_client(void);

size_t fake_n_calls(Client *client);

/* A copy; its strings live as long as the client. */
FakeCall fake_call(Client *client, size_t n);

void fake_head(Client *client, size_t n, unsigned status, const char *type, int retry_after_sec);
void fake_data(Client *client, size_t n, Str bytes);
void fake_done(Client *client, size_t n, CallOutcome outcome);

/* Head, data and done. */
void fake_answer(Client *client, size_t n, unsigned status, const char *body);

/* Call @n leaves now: false, it may not, and is over. */
bool fake_send(Client *client, size_t n);

/* The next @n client_wait() do nothing but fail; how many are still to. */
void fake_fail_waits(Client *client, unsigned n);
unsigned fake_failing_waits(Client *client);

/* The next client_call() finds no memory. */
void fake_refuse_next(Client *client);

/* The first call from number @from on whose method and path (a part of it) are these; waits
 * for it. SIZE_MAX when none comes in ten seconds. */
size_t fake_wait_for(Client *client, const char *method, const char *part, size_t from);
