/*
 * A call waits, runs and is over:
 *
 *     client_call() ──> WAITING ──> RUNNING ──> OVER ──> freed at the end of the turn
 *                                   └─<─┘ 401: once more, with other credentials
 *
 * libcurl's callbacks may not start or remove transfers, and handlers may do both at any
 * time. So handlers only ever mark (WAITING, is_cancelled), and a turn of client_wait()
 * acts on the marks between libcurl's steps; nothing is freed while it runs.
 */

#include "kube/client.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "kube/client-internal.h"

/* --- calls --- */

static bool call_copy(Call *call, const CallOptions *options) {
    call->method = strdup(options->method);
    call->path = strdup(options->path);
    if (!call->method || !call->path)
        return false;
    if (!options->content_type)
        return true;
    if (asprintf(&call->content_line, "Content-Type: %s", options->content_type) < 0) {
        call->content_line = NULL;
        return false;
    }
    call->body = BUF_INIT(options->body.len);
    buf_append(&call->body, options->body);
    return buf_error(&call->body) == 0;
}

Call *client_call(Client *client, const CallOptions *options, const CallHandler *handler) {
    ClientLoop *loop = client->loop;
    Call *call = calloc(1, sizeof(*call));

    if (!call)
        return NULL;
    assert(options->path[0] == '/' && handler->done);
    call->client = client;
    call->handler = *handler;
    call->limits = *options;
    call->born = loop->n_turns;
    call->retry_after_sec = -1;
    call->previous = loop->last;
    *(loop->last ? &loop->last->next : &loop->first) = call;
    loop->last = call;
    if (!call_copy(call, options)) {
        call->is_cancelled = true;
        if (!loop->is_busy)
            call_free(call);
        return NULL;
    }
    return call;
}

void call_stop(Call *call, CallOutcome why, const char *format, ...) {
    va_list arguments;

    if (call->is_stopped)
        return;
    call->is_stopped = true;
    call->outcome = why;
    va_start(arguments, format);
    message_setv(call->error, sizeof(call->error), format, arguments);
    va_end(arguments);
}

void call_free(Call *call) {
    ClientLoop *loop = call->client->loop;

    attempt_end(call);
    *(call->previous ? &call->previous->next : &loop->first) = call->next;
    *(call->next ? &call->next->previous : &loop->last) = call->previous;
    free(call->method);
    free(call->path);
    free(call->content_line);
    free(call->location);
    buf_done(&call->body);
    free(call);
}

void call_cancel(Call *call) {
    if (!call)
        return;
    call->is_cancelled = true;
    if (!call->client->loop->is_busy)
        call_free(call);
}

/* --- clients --- */

Client *client_new_in(ClientLoop *loop, Access *access) {
    Client *client = NULL;
    Origin origin;

    if (origin_parse(str_from_c(access_server(access)), &origin))
        client = calloc(1, sizeof(*client));
    if (!client)
        return NULL;
    client->loop = loop;
    client->access = access;
    client->origin = origin;
    client->proxies = proxy_environment();
    return client;
}

Client *client_new(Access *access) {
    _cleanup_(client_loop_freep) ClientLoop *loop = client_loop_new();
    Client *client = loop ? client_new_in(loop, access) : NULL;

    if (!client)
        return NULL;
    client->owns_loop = true;
    (void)TAKE_PTR(loop);
    return client;
}

static void free_calls(Client *client) {
    Call *next;

    for (Call *call = client->loop->first; call; call = next) {
        next = call->next;
        if (call->client == client)
            call_free(call);
    }
}

Client *client_free(Client *client) {
    if (!client)
        return NULL;
    assert(!client->loop->is_busy);
    free_calls(client);
    identity_unref(client->identity);
    if (client->owns_loop)
        client_loop_free(client->loop);
    free(client);
    return NULL;
}

int client_identify(Client *client, char *error) {
    Credentials credentials;
    Identity *identity = NULL;
    int r;

    r = access_authorize(client->access,
        clock_monotonic_nsec(),
        clock_wall_nsec() / NSEC_PER_SEC,
        &credentials,
        error);
    if (r < 0)
        return r;
    if (client->identity && identity_version(client->identity) == credentials.version)
        return 0;
    r = identity_new(&(IdentityOptions){.server = access_server(client->access),
                         .origin = &client->origin,
                         .proxies = &client->proxies,
                         .credentials = &credentials},
        &identity,
        error);
    if (r < 0)
        return r;
    identity_unref(client->identity);
    client->identity = identity;
    return 0;
}

int client_wait(Client *client, int timeout_msec) {
    return client_loop_wait(client->loop, timeout_msec);
}

void client_wake(Client *client) {
    client_loop_wake(client->loop);
}
