#pragma once

/* A server whose requests the test answers later. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "http/server.h"
#include "http/test-client.h"

#define QUEUE_MAX 256u
#define TAG 5
#define LARGE ((size_t)8 * 1024 * 1024) /* more than the kernel buffers for one socket */

/* Counts recorded by the callbacks, and the deferred requests. */
typedef struct DeferFixture {
    Server *server;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    HttpPending *queue[QUEUE_MAX];
    size_t n_queue;
    HttpOutcome last; /* with the tag TAG */
    size_t n_sent, n_broken;
    bool is_over; /* tells answering threads to end */
    atomic_uint n_filled;
    atomic_bool is_filling, may_go_on;
} DeferFixture;

static inline void put(DeferFixture *fixture, HttpPending *pending) {
    pthread_mutex_lock(&fixture->lock);
    assert_true(fixture->n_queue < QUEUE_MAX);
    fixture->queue[fixture->n_queue++] = pending;
    pthread_cond_broadcast(&fixture->changed);
    pthread_mutex_unlock(&fixture->lock);
}

/* Waits for a deferred request and takes a random one. NULL: the test ends. */
static inline HttpPending *take(DeferFixture *fixture, unsigned *rng) {
    HttpPending *pending = NULL;

    pthread_mutex_lock(&fixture->lock);
    while (fixture->n_queue == 0 && !fixture->is_over)
        pthread_cond_wait(&fixture->changed, &fixture->lock);
    if (fixture->n_queue > 0) {
        size_t i = (size_t)rand_r(rng) % fixture->n_queue;

        pending = fixture->queue[i];
        fixture->queue[i] = fixture->queue[--fixture->n_queue];
    }
    pthread_mutex_unlock(&fixture->lock);
    return pending;
}

static inline HttpPending *take_one(DeferFixture *fixture) {
    unsigned rng = 1;

    return take(fixture, &rng);
}

static inline void wait_for_queue(DeferFixture *fixture, size_t n) {
    pthread_mutex_lock(&fixture->lock);
    while (fixture->n_queue < n)
        pthread_cond_wait(&fixture->changed, &fixture->lock);
    pthread_mutex_unlock(&fixture->lock);
}

/* Waits until @n deferred requests have ended; returns the number of broken ones. */
static inline size_t wait_for_outcomes(DeferFixture *fixture, size_t n) {
    size_t n_broken;

    pthread_mutex_lock(&fixture->lock);
    while (fixture->n_sent + fixture->n_broken < n)
        pthread_cond_wait(&fixture->changed, &fixture->lock);
    n_broken = fixture->n_broken;
    pthread_mutex_unlock(&fixture->lock);
    return n_broken;
}

static inline bool admit(void *context, const HttpRequest *request, HttpReply *reply) {
    return true;
}

/* Replies with the body between two texts, in three slices of the arena. */
static inline void echo(const HttpRequest *request, HttpReply *reply, Str open, Str close) {
    Str *slices = ARENA_ARRAY(request->arena, Str, 3);

    assert_non_null(slices);
    slices[0] = arena_copy(request->arena, open);
    slices[1] = request->body;
    slices[2] = arena_copy(request->arena, close);
    reply->status = 200;
    reply->content_type = "text/plain";
    reply->slices = slices;
    reply->n_slices = 3;
}

static inline void fill(void *context, const HttpRequest *request, HttpReply *reply) {
    DeferFixture *fixture = context;

    assert_int_equal(reply->tag, TAG);
    assert_int_equal(reply->status, 0);
    atomic_fetch_add(&fixture->n_filled, 1);
    echo(request, reply, STR("<"), STR(">"));
}

static inline void fill_large(void *context, const HttpRequest *request, HttpReply *reply) {
    Str *slice = ARENA_NEW(request->arena, Str);

    (void)context;
    assert_non_null(slice);
    *slice = str_of(arena_zalloc(request->arena, 1, LARGE), LARGE);
    assert_non_null(slice->ptr);
    reply->status = 200;
    reply->slices = slice;
    reply->n_slices = 1;
}

/* Signals that it runs, then waits for permission to continue. */
static inline void fill_slowly(void *context, const HttpRequest *request, HttpReply *reply) {
    DeferFixture *fixture = context;

    atomic_store(&fixture->is_filling, true);
    while (!atomic_load(&fixture->may_go_on))
        (void)usleep(1000);
    (void)usleep(20 * 1000); /* gives the other threads time to reach the lock */
    fill(context, request, reply);
}

static inline void handle(void *context, const HttpRequest *request, HttpReply *reply) {
    static const Str no = STR("no\n");
    DeferFixture *fixture = context;
    HttpPending *pending;

    if (str_is(request->path, "/now")) {
        echo(request, reply, STR("["), STR("]"));
        return;
    }
    if (str_is(request->path, "/greedy"))
        assert_non_null(arena_alloc(request->arena, LARGE));
    pending = server_defer(request, TAG);
    if (!pending) {
        *reply = (HttpReply){.status = 503, .slices = &no, .n_slices = 1};
    } else if (str_is(request->path, "/inside")) {
        assert_true(server_answer(pending, fill, fixture));
    } else {
        put(fixture, pending);
        reply->status = 500; /* must be ignored */
        reply->tag = 77;
        if (str_is(request->path, "/slow"))
            (void)usleep(20 * 1000); /* most answers come before this is over */
    }
}

static inline void finished(void *context, const HttpOutcome *outcome) {
    DeferFixture *fixture = context;

    pthread_mutex_lock(&fixture->lock);
    if (outcome->tag == TAG) {
        fixture->last = *outcome;
        if (outcome->status == 0)
            fixture->n_broken++;
        else
            fixture->n_sent++;
    }
    pthread_cond_broadcast(&fixture->changed);
    pthread_mutex_unlock(&fixture->lock);
}

static inline void start_fixture(DeferFixture *fixture, ServerOptions options) {
    const ServerCallbacks callbacks = {
        .context = fixture, .admit = admit, .handle = handle, .finished = finished};

    *fixture =
        (DeferFixture){.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    options.port = 0;
    assert_int_equal(server_new(&options, &callbacks, &fixture->server), 0);
}

static inline void stop_fixture(DeferFixture *fixture) {
    assert_int_equal(fixture->n_queue, 0);
    fixture->server = server_free(fixture->server);
}

static inline ServerFigures figures_of(const DeferFixture *fixture) {
    ServerFigures figures;

    server_figures(fixture->server, &figures);
    return figures;
}

/* Memory is freed a little after finished(). */
static inline void wait_for_memory(const DeferFixture *fixture) {
    while (figures_of(fixture).memory > 0)
        (void)usleep(1000);
}

static inline int connect_to(const DeferFixture *fixture) {
    return client_connect(server_port(fixture->server), /* buffer= */ 0);
}
