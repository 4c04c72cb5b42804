#pragma once

/* A reflector with a client without a network, a clock that tests advance, and a sink that keeps
 * names and versions. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fuzz.h"
#include "kube/reflector.h"
#include "kube/test-fake-client.h"

/* --- a sink that keeps names and versions ------------------------------------------------ */

#define NAMES_MAX 32u

typedef struct Entry {
    char name[16], version[32];
} Entry;

typedef struct ReflectorState {
    Entry entries[NAMES_MAX];
    size_t n;
} ReflectorState;

typedef struct Sink {
    ReflectorState live, staged;
    bool is_staging;
    unsigned n_synced, n_lost, n_connected;
    int64_t retry_nsec;
    char why[REFLECTOR_ERROR_MAX];
    void (*changed)(struct Sink *sink); /* may be NULL */
    int fail_with;                      /* result of the next item, end or event */
    Arena *arena;
} Sink;

static int64_t now;

int64_t clock_monotonic_nsec(void) {
    return now;
}

static inline void state_remove(ReflectorState *state, Str name) {
    for (size_t i = 0; i < state->n; i++)
        if (str_is(name, state->entries[i].name)) {
            state->entries[i] = state->entries[--state->n];
            return;
        }
}

static inline void state_put(ReflectorState *state, Str name, Str version) {
    Entry *entry;

    state_remove(state, name);
    require(state->n < NAMES_MAX);
    entry = &state->entries[state->n++];
    (void)snprintf(entry->name, sizeof(entry->name), "%.*s", STR_FMT(name));
    (void)snprintf(entry->version, sizeof(entry->version), "%.*s", STR_FMT(version));
}

static inline int compare_entries(const void *a, const void *b) {
    return strcmp(((const Entry *)a)->name, ((const Entry *)b)->name);
}

/* Returns "a:1 b:2", sorted by name; valid until the next call. */
static inline const char *state_text(ReflectorState *state) {
    static char text[1024];
    size_t used = 0;

    text[0] = '\0';
    if (state->n > 0)
        qsort(state->entries, state->n, sizeof(Entry), compare_entries);
    for (size_t i = 0; i < state->n; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s:%s", i ? " " : "",
            state->entries[i].name, state->entries[i].version);
    return text;
}

static inline void sink_begin(void *context) {
    Sink *sink = context;

    sink->staged.n = 0;
    sink->is_staging = true;
}

static inline int judge(Sink *sink, Str object) {
    int r = sink->fail_with;

    sink->fail_with = 0;
    if (r != 0)
        return r;
    if (memmem(object.ptr, object.len, "unfit", 5))
        return SINK_UNFIT;
    return memmem(object.ptr, object.len, "garbage", 7) ? SINK_MALFORMED : 0;
}

static inline int sink_item(void *context, Str object) {
    Sink *sink = context;
    ObjectMeta meta;
    int r = judge(sink, object);

    require(sink->is_staging);
    arena_reset(sink->arena);
    if (r != 0)
        return r;
    if (!object_meta_read(object, sink->arena, false, &meta))
        return SINK_MALFORMED;
    state_put(&sink->staged, meta.name, meta.version);
    return 0;
}

static inline int sink_end(void *context) {
    Sink *sink = context;
    int r = sink->fail_with;

    require(sink->is_staging);
    sink->fail_with = 0;
    if (r != 0)
        return r;
    sink->live = sink->staged;
    sink->staged.n = 0;
    sink->is_staging = false;
    if (sink->changed)
        sink->changed(sink);
    return 0;
}

static inline int sink_apply(
    void *context, WatchEventType type, const ObjectMeta *meta, Str object) {
    Sink *sink = context;
    int r = judge(sink, object);

    require(!sink->is_staging);
    if (r < 0)
        return r;
    if (type == EVENT_DELETED || r > 0)
        state_remove(&sink->live, meta->name);
    else
        state_put(&sink->live, meta->name, meta->version);
    if (sink->changed)
        sink->changed(sink);
    return r;
}

static inline void sink_notice(
    void *context, ReflectorNotice notice, const char *why, int64_t retry) {
    Sink *sink = context;

    sink->n_synced += notice == REFLECTOR_SYNCED;
    sink->n_connected += notice == REFLECTOR_CONNECTED;
    if (notice != REFLECTOR_LOST && notice != REFLECTOR_EXPIRED)
        return;
    require(why[0] != '\0' && retry >= 0);
    sink->n_lost += notice == REFLECTOR_LOST;
    sink->retry_nsec = retry;
    (void)snprintf(sink->why, sizeof(sink->why), "%s", why);
}

#define require_case(name, condition)                                                              \
    ((condition) ? (void)0 : require_failed(name, __FILE__, __LINE__))

/* --- fixture -------------------------------------------------------------------------------- */

#define SILENCE_SEC 150u

typedef struct ReflectorFixture {
    Client *client;
    Reflector *reflector;
    Sink sink;
    size_t call; /* the current call */
} ReflectorFixture;

static inline void fixture_open(ReflectorFixture *fixture, uint64_t seed) {
    *fixture = (ReflectorFixture){.client = client_new(NULL), .call = SIZE_MAX};
    require(fixture->client);
    now = 1000 * NSEC_PER_SEC;
    fixture->sink.arena = arena_new((size_t)1024 * 1024);
    require(fixture->sink.arena);
    fixture->reflector = reflector_new(fixture->client, &(ReflectorOptions){
                                                            .path = "/api/v1/nodes",
                                                            .resource = "nodes",
                                                            .seed = seed,
                                                            .silence_sec = SILENCE_SEC,
                                                            .sink =
                                                                {
                                                                    .context = &fixture->sink,
                                                                    .begin = sink_begin,
                                                                    .item = sink_item,
                                                                    .end = sink_end,
                                                                    .apply = sink_apply,
                                                                    .notice = sink_notice,
                                                                },
                                                        });
    require(fixture->reflector);
}

static inline void fixture_close(ReflectorFixture *fixture) {
    reflector_free(fixture->reflector);
    client_free(fixture->client);
    arena_free(fixture->sink.arena);
}

static inline const ReflectorFigures *figures(const ReflectorFixture *fixture) {
    return reflector_figures(fixture->reflector);
}

/* Advances time until a new call starts. */
static inline void fixture_next_call(ReflectorFixture *fixture, const char *name) {
    size_t n = fake_n_calls(fixture->client);
    int64_t until = now + 3600 * NSEC_PER_SEC;

    while (fixture->call + 1 >= n) {
        int64_t at = reflector_tick(fixture->reflector, now);

        n = fake_n_calls(fixture->client);
        if (fixture->call + 1 < n)
            break;
        require_case(name, at > now && at < until);
        now = at;
    }
    require_case(name, n == fixture->call + 2); /* exactly one call */
    fixture->call = n - 1;
}

static inline void fixture_settle(ReflectorFixture *fixture) {
    require(client_wait(fixture->client, 0) == 0);
}

/* --- events of an API server ----------------------------------------------------------------- */

#define OBJ(name, version)                                                                         \
    "{\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"" version "\"}}"
#define EVENT(type, name, version) "{\"type\":\"" type "\",\"object\":" OBJ(name, version) "}\n"
#define ADDED(name, version) EVENT("ADDED", name, version)
#define MODIFIED(name, version) EVENT("MODIFIED", name, version)
#define DELETED(name, version) EVENT("DELETED", name, version)
#define BOOKMARK(version)                                                                          \
    "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"" version "\"}}}\n"
#define LIST_END(version)                                                                          \
    "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"" version              \
    "\",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}\n"
#define STATUS(code, reason, details)                                                              \
    "{\"kind\":\"Status\",\"message\":\"so it is\",\"code\":" code ",\"reason\":\"" reason         \
    "\",\"details\":" details "}"
#define ERROR(code, reason, details)                                                               \
    "{\"type\":\"ERROR\",\"object\":" STATUS(code, reason, details) "}\n"
#define PAGE(version, token, items)                                                                \
    "{\"kind\":\"NodeList\",\"metadata\":{\"resourceVersion\":\"" version                          \
    "\",\"continue\":\"" token "\"},\"items\":[" items "]}"
#define TOO_LARGE "{\"causes\":[{\"reason\":\"ResourceVersionTooLarge\"}],\"retryAfterSeconds\":1}"
