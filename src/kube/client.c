/*
 * The states of a call:
 *
 *     client_call() ──> WAITING ──> RUNNING ──> OVER ──> freed at the end of the turn
 *                                   └─<─┘ 401: once more, with other credentials
 *
 * libcurl's callbacks must not start or remove transfers, but handlers, which run inside them, may.
 * So handlers only set marks (WAITING, is_cancelled), and client_wait() acts on them between
 * libcurl's steps; nothing is freed while it runs.
 */

#include "kube/client.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "kube/client-internal.h"
#include "kube/secret.h"

/* --- calls --- */

static void call_free(Call *call);

static bool add_line(Call *call, Str name, Str value) {
    char *line;

    assert(call->n_lines <= CALL_HEADERS_MAX);
    if (asprintf(&line, "%.*s: %.*s", STR_FMT(name), STR_FMT(value)) < 0)
        return false;
    call->lines[call->n_lines++] = line;
    return true;
}

static bool call_copy(Call *call, const CallOptions *options) {
    call->method = strdup(options->method);
    call->path = strdup(options->path);
    if (!call->method || !call->path)
        return false;
    for (size_t i = 0; i < options->n_headers; i++)
        if (!add_line(call, options->headers[i].name, options->headers[i].value))
            return false;
    if (!options->content_type)
        return true;
    if (!add_line(call, STR("Content-Type"), str_from_c(options->content_type)))
        return false;
    call->has_body = true;
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

void call_blame(Call *call, CallOutcome why, const char *format, ...) {
    char what[CLIENT_ERROR_MAX];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    call_stop(call, why, "%s: %s", access_server(call->client->access), what);
}

static void call_free(Call *call) {
    ClientLoop *loop = call->client->loop;

    attempt_end(call);
    *(call->previous ? &call->previous->next : &loop->first) = call->next;
    *(call->next ? &call->next->previous : &loop->last) = call->previous;
    free(call->method);
    free(call->path);
    for (size_t i = 0; i < call->n_lines; i++)
        secret_free(call->lines[i]);
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

Client *client_free(Client *client) {
    if (!client)
        return NULL;
    assert(!client->loop->is_busy);
    for (Call *call = client->loop->first, *next; call; call = next) {
        next = call->next;
        if (call->client == client)
            call_free(call);
    }
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

    r = access_authorize(client->access, clock_monotonic_nsec(), clock_wall_nsec() / NSEC_PER_SEC,
        &credentials, error);
    if (r < 0)
        return r;
    if (client->identity && client->identity->version == credentials.version)
        return 0;
    r = identity_new(
        access_server(client->access), &client->origin, &credentials, &identity, error);
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

/* --- the loop ---------------------------------------------------------------------------- */

#define IDLE_MAX 64L /* kept connections */
#define ATTEMPTS 2

/* --- a call begins and ends --- */

static void call_done(Call *call) {
    const CallResult result = {
        .outcome = call->outcome,
        .status = call->status,
        .was_sent = call->n_sent > 0,
        .retry_after_sec = call->retry_after_sec,
        .error = call->outcome == CALL_DONE ? NULL : call->error,
    };

    call->state = STATE_OVER;
    if (call->is_cancelled)
        return;
    call->client->loop->n_events++;
    call->handler.done(call->handler.context, &result);
}

static void call_begin(Call *call) {
    call->state = STATE_RUNNING;
    if (!attempt_start(call))
        call_done(call);
}

/* After a 401: tries once more if there are new credentials. */
static void call_refused(Call *call) {
    Client *client = call->client;
    uint64_t version = call->identity->version;
    char error[ACCESS_ERROR_MAX];

    attempt_end(call);
    call->is_stopped = false;
    if (call->attempt < ATTEMPTS) {
        if (client->identity->version == version)
            access_reject(client->access);
        if (client_identify(client, error) < 0)
            call_stop(call, CALL_UNAUTHORIZED, "%s", error);
        else if (client->identity->version != version) {
            call_begin(call);
            return;
        }
    }
    call_blame(call, CALL_UNAUTHORIZED,
        "it does not accept the credentials of %s (401 Unauthorized)",
        access_origin(client->access));
    call_done(call);
}

static void call_finish(Call *call, CURLcode code) {
    if (call->is_cancelled) {
        call->state = STATE_OVER;
        return;
    }
    if (call_is_unauthorized(call) && call->has_head) {
        call_refused(call);
        return;
    }
    if (code == CURLE_OK && call->has_head && !call->is_stopped)
        call->outcome = CALL_DONE;
    else
        client_explain(call, code);
    call_done(call);
}

/* --- timers --- */

static int64_t after(int64_t from, unsigned sec) {
    return sec > 0 ? from + (int64_t)sec * NSEC_PER_SEC : INT64_MAX;
}

typedef struct Deadline {
    int64_t at;
    const char *what; /* the message, before "within 10 s" */
    unsigned sec;
} Deadline;

static Deadline earlier(Deadline a, Deadline b) {
    return b.at < a.at ? b : a;
}

static Deadline call_deadline(const Call *call) {
    const CallOptions *limits = &call->limits;
    Deadline next = {
        after(call->begun_at, limits->total_sec), "was not answered to the end", limits->total_sec};

    if (call->n_sent == 0)
        next = earlier(next, (Deadline){after(call->started_at, CLIENT_CONNECT_SEC),
                                 "no connection", CLIENT_CONNECT_SEC});
    if (call->has_head)
        return earlier(next, (Deadline){after(call->received_at, limits->silence_sec),
                                 "nothing more came", limits->silence_sec});
    return earlier(next, (Deadline){after(call->started_at, limits->first_byte_sec), "no answer",
                             limits->first_byte_sec});
}

/* --- turns --- */

static void finish_ended(ClientLoop *loop) {
    CURLMsg *message;
    int n_left;

    while ((message = curl_multi_info_read(loop->multi, &n_left))) {
        CURLcode code = message->data.result;
        Call *call = NULL;

        if (message->msg != CURLMSG_DONE ||
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &call) != CURLE_OK || !call)
            continue;
        call_finish(call, code);
    }
}

static int errno_of(CURLMcode code) {
    return code == CURLM_OK ? 0 : code == CURLM_OUT_OF_MEMORY ? -ENOMEM : -EIO;
}

static int loop_turn(ClientLoop *loop) {
    int n_running, r;
    int64_t now;

    loop->is_busy = true;
    loop->n_turns++;
    for (Call *call = loop->first; call; call = call->next)
        if (call->state == STATE_WAITING && !call->is_cancelled && call->born < loop->n_turns)
            call_begin(call);
    r = errno_of(curl_multi_perform(loop->multi, &n_running));
    finish_ended(loop);
    now = clock_monotonic_nsec();
    for (Call *call = loop->first; call; call = call->next) {
        Deadline deadline = call_deadline(call);

        if (call->state != STATE_RUNNING || call->is_cancelled || now < deadline.at)
            continue;
        call_blame(call, CALL_TIMEOUT, "%s within %u s", deadline.what, deadline.sec);
        call_done(call);
    }
    loop->is_busy = false;
    for (Call *call = loop->first, *next; call; call = next) {
        next = call->next;
        if (call->state == STATE_OVER || call->is_cancelled)
            call_free(call);
    }
    return r;
}

/* How long to wait: up to @timeout_msec or the next deadline; 0 if a call can begin. */
static int wait_msec(const ClientLoop *loop, int timeout_msec) {
    int64_t now = clock_monotonic_nsec(), left = timeout_msec * NSEC_PER_MSEC;

    for (const Call *call = loop->first; call; call = call->next) {
        int64_t at = call->state == STATE_WAITING ? now : call_deadline(call).at;

        if (at - now < left)
            left = at > now ? at - now : 0;
    }
    return (int)((left + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC);
}

static int loop_wait(ClientLoop *loop, int fd, int timeout_msec) {
    struct curl_waitfd more = {.fd = fd, .events = CURL_WAIT_POLLIN};
    uint64_t n_events = loop->n_events;
    int r;

    assert(!loop->is_busy);
    r = loop_turn(loop);
    if (r < 0 || loop->n_events != n_events)
        return r;
    r = errno_of(
        curl_multi_poll(loop->multi, &more, fd >= 0 ? 1 : 0, wait_msec(loop, timeout_msec), NULL));
    if (r < 0)
        return r;
    return loop_turn(loop);
}

int client_loop_wait(ClientLoop *loop, int timeout_msec) {
    return loop_wait(loop, /* fd= */ -1, timeout_msec);
}

int client_wait_fd(Client *client, int fd, int timeout_msec) {
    return loop_wait(client->loop, fd, timeout_msec);
}

void client_loop_wake(ClientLoop *loop) {
    (void)curl_multi_wakeup(loop->multi);
}

/* --- create and free --- */

static void start_libcurl(void) {
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
}

ClientLoop *client_loop_new(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    _cleanup_(client_loop_freep) ClientLoop *loop = calloc(1, sizeof(*loop));

    (void)pthread_once(&once, start_libcurl);
    if (!loop)
        return NULL;
    loop->multi = curl_multi_init();
    if (!loop->multi ||
        curl_multi_setopt(loop->multi, CURLMOPT_MAXCONNECTS, IDLE_MAX) != CURLM_OK ||
        curl_multi_setopt(loop->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING) != CURLM_OK)
        return NULL;
    return TAKE_PTR(loop);
}

ClientLoop *client_loop_free(ClientLoop *loop) {
    if (!loop)
        return NULL;
    assert(!loop->is_busy && !loop->first);
    if (loop->multi)
        (void)curl_multi_cleanup(loop->multi);
    free(loop);
    return NULL;
}
