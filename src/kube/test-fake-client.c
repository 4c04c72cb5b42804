#include "test-fake-client.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/nsec.h"
#include "base/thread.h"

#define TIMEOUT_SEC 10

struct Access {
    bool is_insecure;
};

struct Call {
    Buf *answer;
    Client *client;
    CallHandler handler;
    FakeCall seen;
    unsigned status;
    int retry_after_sec;
};

/* A part of an answer, in the queue. */
typedef struct Step {
    struct Step *next;
    size_t call;
    enum { STEP_HEAD, STEP_DATA, STEP_DONE } kind;
    unsigned status;
    int retry_after_sec;
    CallOutcome outcome;
    char *bytes; /* data, or the content type */
    size_t len;
} Step;

struct Client {
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* signals a call, a step or a wake-up */
    Call **calls;
    size_t n_calls;
    Step *first, **end;
    bool is_woken, refuses_next;
    unsigned n_failing_waits;
};

static Client *newest;

/* --- access ---------------------------------------------------------------------------- */

Access *fake_access_new(bool is_insecure) {
    Access *access = calloc(1, sizeof(*access));

    if (access)
        access->is_insecure = is_insecure;
    return access;
}

Access *access_free(Access *access) {
    free(access);
    return NULL;
}

const char *access_server(const Access *access) {
    return "https://fake.invalid:6443";
}

const char *access_origin(const Access *access) {
    return "a test";
}

bool access_is_insecure(const Access *access) {
    return access->is_insecure;
}

/* --- functions of client.h ---------------------------------------------------------------- */

Client *client_new(Access *access) {
    Client *client = calloc(1, sizeof(*client));

    if (!client)
        return NULL;
    pthread_mutex_init(&client->mutex, NULL);
    deadline_cond_init(&client->changed);
    client->end = &client->first;
    newest = client;
    return client;
}

static void free_call(Call *call) {
    free((char *)(uintptr_t)call->seen.method);
    free((char *)(uintptr_t)call->seen.path);
    free((char *)(uintptr_t)call->seen.content_type);
    free((char *)(uintptr_t)call->seen.body);
    free(call);
}

Client *client_free(Client *client) {
    if (!client)
        return NULL;
    for (size_t i = 0; i < client->n_calls; i++)
        free_call(client->calls[i]);
    free(client->calls);
    while (client->first) {
        Step *step = client->first;

        client->first = step->next;
        free(step->bytes);
        free(step);
    }
    pthread_cond_destroy(&client->changed);
    pthread_mutex_destroy(&client->mutex);
    free(client);
    newest = NULL;
    return NULL;
}

static char *copy_str(Str text) {
    char *to = calloc(1, text.len + 1);

    if (!to)
        abort();
    if (text.len > 0)
        memcpy(to, text.ptr, text.len);
    return to;
}

static char *copy(const char *text) {
    return copy_str(str_from_c(text));
}

static Call *make_call(Client *client, const CallOptions *options, const CallHandler *handler) {
    Call *call = calloc(1, sizeof(*call));

    if (!call)
        abort();
    *call = (Call){
        .client = client,
        .handler = *handler,
        .answer = options->answer,
        .retry_after_sec = -1,
        .seen =
            {
                .method = copy(options->method),
                .path = copy(options->path),
                .content_type = copy(options->content_type),
                .body = copy_str(options->body),
                .first_byte_sec = options->first_byte_sec,
                .silence_sec = options->silence_sec,
                .total_sec = options->total_sec,
                .bytes_max = options->bytes_max,
            },
    };
    return call;
}

Call *client_call(Client *client, const CallOptions *options, const CallHandler *handler) {
    Call *call = NULL;

    pthread_mutex_lock(&client->mutex);
    if (!client->refuses_next) {
        call = make_call(client, options, handler);
        client->calls = realloc(client->calls, (client->n_calls + 1) * sizeof(Call *));
        if (!client->calls)
            abort();
        client->calls[client->n_calls++] = call;
    }
    client->refuses_next = false;
    pthread_cond_broadcast(&client->changed);
    pthread_mutex_unlock(&client->mutex);
    return call;
}

void call_cancel(Call *call) {
    if (!call)
        return;
    pthread_mutex_lock(&call->client->mutex);
    call->seen.is_over = call->seen.is_cancelled = true;
    pthread_mutex_unlock(&call->client->mutex);
}

static void set_over(Call *call) {
    pthread_mutex_lock(&call->client->mutex);
    call->seen.is_over = true;
    pthread_mutex_unlock(&call->client->mutex);
}

static void finish(Call *call, CallOutcome outcome) {
    CallResult result = {
        .outcome = outcome,
        .status = call->status,
        .was_sent = outcome != CALL_REFUSED && outcome != CALL_UNAUTHORIZED,
        .retry_after_sec = call->retry_after_sec,
        .error = outcome == CALL_DONE ? "" : "as the test wants it",
    };

    set_over(call);
    call->handler.done(call->handler.context, &result);
}

static bool take_data(Call *call, Str bytes) {
    if (call->handler.data)
        return call->handler.data(call->handler.context, bytes);
    if (call->answer)
        buf_append(call->answer, bytes);
    return !call->answer || buf_error(call->answer) == 0;
}

static void run_step(Client *client, Call *call, const Step *step) {
    CallHead head = {
        .status = step->status,
        .content_type = str_of(step->bytes, step->len),
        .retry_after_sec = step->retry_after_sec,
    };

    switch (step->kind) {
    case STEP_HEAD:
        call->status = step->status;
        call->retry_after_sec = step->retry_after_sec;
        if (call->handler.head)
            call->handler.head(call->handler.context, &head);
        break;
    case STEP_DATA:
        if (!take_data(call, str_of(step->bytes, step->len)) && !call->seen.is_over)
            finish(call, CALL_ENDED);
        break;
    case STEP_DONE:
        finish(call, step->outcome);
        break;
    }
}

static Step *take_step(Client *client, Call **ret_call) {
    Step *step;

    pthread_mutex_lock(&client->mutex);
    step = client->first;
    if (step) {
        client->first = step->next;
        if (!client->first)
            client->end = &client->first;
        *ret_call = client->calls[step->call];
        if ((*ret_call)->seen.is_over)
            *ret_call = NULL;
    }
    pthread_mutex_unlock(&client->mutex);
    return step;
}

int client_wait(Client *client, int timeout_msec) {
    struct timespec until = deadline_in(timeout_msec * NSEC_PER_MSEC);
    Step *step;
    Call *call;

    pthread_mutex_lock(&client->mutex);
    if (client->n_failing_waits > 0) {
        client->n_failing_waits--;
        pthread_mutex_unlock(&client->mutex);
        return -EIO;
    }
    while (!client->first && !client->is_woken && timeout_msec > 0)
        if (pthread_cond_timedwait(&client->changed, &client->mutex, &until) == ETIMEDOUT)
            break;
    client->is_woken = false;
    pthread_mutex_unlock(&client->mutex);
    while ((step = take_step(client, &call))) {
        if (call)
            run_step(client, call, step);
        free(step->bytes);
        free(step);
    }
    return 0;
}

void client_wake(Client *client) {
    pthread_mutex_lock(&client->mutex);
    client->is_woken = true;
    pthread_cond_broadcast(&client->changed);
    pthread_mutex_unlock(&client->mutex);
}

/* --- functions for tests ------------------------------------------------------------------- */

Client *fake_client(void) {
    return newest;
}

size_t fake_n_calls(Client *client) {
    size_t n;

    pthread_mutex_lock(&client->mutex);
    n = client->n_calls;
    pthread_mutex_unlock(&client->mutex);
    return n;
}

FakeCall fake_call(Client *client, size_t n) {
    FakeCall seen;

    pthread_mutex_lock(&client->mutex);
    if (n >= client->n_calls)
        abort();
    seen = client->calls[n]->seen;
    pthread_mutex_unlock(&client->mutex);
    return seen;
}

static void push(Client *client, Step from) {
    Step *step = malloc(sizeof(*step));

    if (!step)
        abort();
    *step = from;
    pthread_mutex_lock(&client->mutex);
    if (step->call >= client->n_calls)
        abort();
    *client->end = step;
    client->end = &step->next;
    pthread_cond_broadcast(&client->changed);
    pthread_mutex_unlock(&client->mutex);
}

/* Copies bytes to memory of exactly their size, for AddressSanitizer. */
static char *copy_bytes(Str bytes) {
    char *to = malloc(bytes.len > 0 ? bytes.len : 1);

    if (!to)
        abort();
    if (bytes.len > 0)
        memcpy(to, bytes.ptr, bytes.len);
    return to;
}

void fake_head(Client *client, size_t n, unsigned status, const char *type, int retry_after_sec) {
    push(client, (Step){
                     .kind = STEP_HEAD,
                     .call = n,
                     .status = status,
                     .retry_after_sec = retry_after_sec,
                     .bytes = copy_bytes(str_from_c(type)),
                     .len = strlen(type),
                 });
}

void fake_data(Client *client, size_t n, Str bytes) {
    push(
        client, (Step){.kind = STEP_DATA, .call = n, .bytes = copy_bytes(bytes), .len = bytes.len});
}

void fake_done(Client *client, size_t n, CallOutcome outcome) {
    push(client, (Step){.kind = STEP_DONE, .call = n, .outcome = outcome});
}

void fake_answer(Client *client, size_t n, unsigned status, const char *body) {
    fake_head(client, n, status, "application/json", -1);
    fake_data(client, n, str_from_c(body));
    fake_done(client, n, CALL_DONE);
}

bool fake_send(Client *client, size_t n) {
    Call *call;

    pthread_mutex_lock(&client->mutex);
    call = client->calls[n];
    pthread_mutex_unlock(&client->mutex);
    if (!call->handler.may_send || call->handler.may_send(call->handler.context))
        return true;
    finish(call, CALL_REFUSED);
    return false;
}

void fake_fail_waits(Client *client, unsigned n) {
    pthread_mutex_lock(&client->mutex);
    client->n_failing_waits = n;
    client->is_woken = true;
    pthread_cond_broadcast(&client->changed);
    pthread_mutex_unlock(&client->mutex);
}

unsigned fake_failing_waits(Client *client) {
    unsigned n;

    pthread_mutex_lock(&client->mutex);
    n = client->n_failing_waits;
    pthread_mutex_unlock(&client->mutex);
    return n;
}

void fake_refuse_next(Client *client) {
    pthread_mutex_lock(&client->mutex);
    client->refuses_next = true;
    pthread_mutex_unlock(&client->mutex);
}

static size_t find(const Client *client, const char *method, const char *part, size_t from) {
    for (size_t i = from; i < client->n_calls; i++)
        if (strcmp(client->calls[i]->seen.method, method) == 0 &&
            strstr(client->calls[i]->seen.path, part))
            return i;
    return SIZE_MAX;
}

size_t fake_wait_for(Client *client, const char *method, const char *part, size_t from) {
    struct timespec until = deadline_in(TIMEOUT_SEC * NSEC_PER_SEC);
    size_t n;

    pthread_mutex_lock(&client->mutex);
    while ((n = find(client, method, part, from)) == SIZE_MAX)
        if (pthread_cond_timedwait(&client->changed, &client->mutex, &until) == ETIMEDOUT)
            break;
    pthread_mutex_unlock(&client->mutex);
    return n;
}
