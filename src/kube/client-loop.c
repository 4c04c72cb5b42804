/*
 * The loop: what is marked is acted on between libcurl's steps, turn by turn (client.c says why).
 */

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "kube/client-internal.h"

#define IDLE_MAX 64L /* connections that are kept for later */
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

/* The server does not know us. Once more, if we can be somebody else by now. */
static void call_refused(Call *call) {
    Client *client = call->client;
    uint64_t version = identity_version(call->identity);
    char error[ACCESS_ERROR_MAX];

    attempt_end(call);
    call->is_stopped = false;
    if (call->attempt < ATTEMPTS) {
        if (identity_version(client->identity) == version)
            access_reject(client->access);
        if (client_identify(client, error) < 0)
            call_stop(call, CALL_UNAUTHORIZED, "%s", error);
        else if (identity_version(client->identity) != version) {
            call_begin(call);
            return;
        }
    }
    call_stop(call,
        CALL_UNAUTHORIZED,
        "%s: it does not accept the credentials of %s (401 Unauthorized)",
        access_server(client->access),
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
    const char *what; /* "%s: … %u s" */
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
        next = earlier(next,
            (Deadline){
                after(call->started_at, CLIENT_CONNECT_SEC), "no connection", CLIENT_CONNECT_SEC});
    if (call->has_head)
        return earlier(next,
            (Deadline){after(call->heard_at, limits->silence_sec),
                "nothing more came",
                limits->silence_sec});
    return earlier(next,
        (Deadline){
            after(call->started_at, limits->first_byte_sec), "no answer", limits->first_byte_sec});
}

static void call_check_time(Call *call, int64_t now) {
    Deadline deadline = call_deadline(call);

    if (now < deadline.at)
        return;
    call_stop(call,
        CALL_TIMEOUT,
        "%s: %s within %u s",
        access_server(call->client->access),
        deadline.what,
        deadline.sec);
    call_done(call);
}

/* --- turns --- */

static void begin_waiting(ClientLoop *loop) {
    for (Call *call = loop->first; call; call = call->next)
        if (call->state == STATE_WAITING && !call->is_cancelled && call->born < loop->n_turns)
            call_begin(call);
}

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

static void check_times(ClientLoop *loop) {
    int64_t now = clock_monotonic_nsec();

    for (Call *call = loop->first; call; call = call->next)
        if (call->state == STATE_RUNNING && !call->is_cancelled)
            call_check_time(call, now);
}

static void free_ended(ClientLoop *loop) {
    Call *next;

    for (Call *call = loop->first; call; call = next) {
        next = call->next;
        if (call->state == STATE_OVER || call->is_cancelled)
            call_free(call);
    }
}

static int fold_multi(CURLMcode code) {
    return code == CURLM_OK ? 0 : code == CURLM_OUT_OF_MEMORY ? -ENOMEM : -EIO;
}

static int loop_turn(ClientLoop *loop) {
    int n_running, r;

    loop->is_busy = true;
    loop->n_turns++;
    begin_waiting(loop);
    r = fold_multi(curl_multi_perform(loop->multi, &n_running));
    finish_ended(loop);
    check_times(loop);
    loop->is_busy = false;
    free_ended(loop);
    return r;
}

/* Up to @timeout_msec, but not past the next deadline, nor when a call waits to begin. */
static int patience_msec(const ClientLoop *loop, int timeout_msec) {
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
    r = fold_multi(curl_multi_poll(
        loop->multi, &more, fd >= 0 ? 1 : 0, patience_msec(loop, timeout_msec), NULL));
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

/* --- its life --- */

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
