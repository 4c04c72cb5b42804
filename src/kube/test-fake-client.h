#pragma once

/*
 * A Client and an Access without a network: tests see the started calls and decide the answers.
 * Linked in place of client*.c and access.c.
 *
 * Answers are queued and delivered by client_wait(): a single-threaded test calls it itself, in
 * tests of the watcher its thread does.
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
    bool is_cancelled; /* by its owner */
    bool is_over;
} FakeCall;

Access *fake_access_new(bool is_insecure);

/* The client that client_new() made last; NULL after client_free(). */
Client *fake_client(void);

size_t fake_n_calls(Client *client);

/* A copy; its strings live as long as the client. */
FakeCall fake_call(Client *client, size_t n);

void fake_head(Client *client, size_t n, unsigned status, const char *type, int retry_after_sec);
void fake_data(Client *client, size_t n, Str bytes);
void fake_done(Client *client, size_t n, CallOutcome outcome);

/* Head, data and done. */
void fake_answer(Client *client, size_t n, unsigned status, const char *body);

/* Sends call @n now. False: may_send() forbade it, and the call has ended. */
bool fake_send(Client *client, size_t n);

/* The next @n calls of client_wait() fail; returns how many are left. */
void fake_fail_waits(Client *client, unsigned n);
unsigned fake_failing_waits(Client *client);

/* The next client_call() finds no memory. */
void fake_refuse_next(Client *client);

/* Waits for the first call from number @from on with this method and a path that contains @path.
 * SIZE_MAX after ten seconds. */
size_t fake_wait_for(Client *client, const char *method, const char *part, size_t from);
