/*
 * The reflector against scripted answers, case by case, and against a small API server that
 * restarts, forgets and breaks off at random.
 */

#include "kube/reflector.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/test-assert.h"
#include "kube/backoff.h"
#include "kube/frame.h"
#include "test-fake-client.h"

/* --- a sink that keeps names and versions ------------------------------------------------ */

#define NAMES_MAX 32u

typedef struct Entry {
    char name[16], version[32];
} Entry;

typedef struct State {
    Entry entries[NAMES_MAX];
    size_t n;
} State;

typedef struct Sink {
    State live, staged;
    bool is_staging;
    unsigned n_synced, n_lost, n_connected;
    int64_t retry_nsec;
    char why[REFLECTOR_ERROR_MAX];
    void (*changed)(struct Sink *sink); /* may be NULL */
    int fail_with;                      /* the next item, end or event meets this */
    Arena *arena;
} Sink;

static int64_t now;

static int64_t fake_clock(void) {
    return now;
}

static void state_remove(State *state, Str name) {
    for (size_t i = 0; i < state->n; i++)
        if (str_is(name, state->entries[i].name)) {
            state->entries[i] = state->entries[--state->n];
            return;
        }
}

static void state_put(State *state, Str name, Str version) {
    Entry *entry;

    state_remove(state, name);
    assert_true(state->n < NAMES_MAX);
    entry = &state->entries[state->n++];
    (void)snprintf(entry->name, sizeof(entry->name), "%.*s", STR_FMT(name));
    (void)snprintf(entry->version, sizeof(entry->version), "%.*s", STR_FMT(version));
}

static int compare_entries(const void *a, const void *b) {
    return strcmp(((const Entry *)a)->name, ((const Entry *)b)->name);
}

/* "a:1 b:2" */
static const char *state_text(State *state) {
    static char text[1024];
    size_t used = 0;

    text[0] = '\0';
    if (state->n > 0)
        qsort(state->entries, state->n, sizeof(Entry), compare_entries);
    for (size_t i = 0; i < state->n; i++)
        used += (size_t)snprintf(text + used,
            sizeof(text) - used,
            "%s%s:%s",
            i ? " " : "",
            state->entries[i].name,
            state->entries[i].version);
    return text;
}

static void sink_begin(void *context) {
    Sink *sink = context;

    sink->staged.n = 0;
    sink->is_staging = true;
}

static int judge(Sink *sink, Str object) {
    int r = sink->fail_with;

    sink->fail_with = 0;
    if (r != 0)
        return r;
    if (memmem(object.ptr, object.len, "unfit", 5))
        return SINK_UNFIT;
    return memmem(object.ptr, object.len, "garbage", 7) ? SINK_MALFORMED : 0;
}

static int sink_item(void *context, Str object) {
    Sink *sink = context;
    ObjectMeta meta;
    int r = judge(sink, object);

    assert_true(sink->is_staging);
    arena_reset(sink->arena);
    if (r != 0)
        return r;
    if (!object_meta_read(object, sink->arena, false, &meta))
        return SINK_MALFORMED;
    state_put(&sink->staged, meta.name, meta.version);
    return 0;
}

static int sink_end(void *context) {
    Sink *sink = context;
    int r = sink->fail_with;

    assert_true(sink->is_staging);
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

static int sink_apply(void *context, EventType type, const ObjectMeta *meta, Str object) {
    Sink *sink = context;
    int r = judge(sink, object);

    assert_false(sink->is_staging);
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

static void sink_notice(void *context, ReflectorNotice notice, const char *why, int64_t retry) {
    Sink *sink = context;

    sink->n_synced += notice == REFLECTOR_SYNCED;
    sink->n_connected += notice == REFLECTOR_CONNECTED;
    if (notice != REFLECTOR_LOST && notice != REFLECTOR_EXPIRED)
        return;
    assert_true(why[0] != '\0' && retry >= 0);
    sink->n_lost += notice == REFLECTOR_LOST;
    sink->retry_nsec = retry;
    (void)snprintf(sink->why, sizeof(sink->why), "%s", why);
}

/* --- a reflector in a laboratory ------------------------------------------------------------ */

#define SILENCE_SEC 150u

typedef struct Lab {
    Client *client;
    Reflector *reflector;
    Sink sink;
    size_t call; /* the one that is looked at */
} Lab;

static void lab_open(Lab *lab, uint64_t seed) {
    *lab = (Lab){.client = client_new(NULL), .call = SIZE_MAX};
    assert_non_null(lab->client);
    now = 1000 * NSEC_PER_SEC;
    lab->sink.arena = arena_new((size_t)1024 * 1024);
    assert_non_null(lab->sink.arena);
    lab->reflector = reflector_new(lab->client,
        &(ReflectorOptions){
            .path = "/api/v1/nodes",
            .resource = "nodes",
            .clock = fake_clock,
            .seed = seed,
            .silence_sec = SILENCE_SEC,
            .sink =
                {
                    .context = &lab->sink,
                    .begin = sink_begin,
                    .item = sink_item,
                    .end = sink_end,
                    .apply = sink_apply,
                    .notice = sink_notice,
                },
        });
    assert_non_null(lab->reflector);
}

static void lab_close(Lab *lab) {
    reflector_free(lab->reflector);
    client_free(lab->client);
    arena_free(lab->sink.arena);
}

static const ReflectorFigures *figures(const Lab *lab) {
    return reflector_figures(lab->reflector);
}

/* Lets time pass until a call is started that was not there before. */
static void lab_next_call(Lab *lab, const char *name) {
    size_t n = fake_n_calls(lab->client);
    int64_t until = now + 3600 * NSEC_PER_SEC;

    while (lab->call + 1 >= n) {
        int64_t at = reflector_tick(lab->reflector, now);

        n = fake_n_calls(lab->client);
        if (lab->call + 1 < n)
            break;
        assert_case(name, at > now && at < until);
        now = at;
    }
    assert_case(name, n == lab->call + 2); /* one, not several */
    lab->call = n - 1;
}

static void lab_settle(Lab *lab) {
    assert_int_equal(client_wait(lab->client, 0), 0);
}

/* --- scripts -----------------------------------------------------------------------------------
 */

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

typedef enum Op {
    OP_END,
    OP_CALL,    /* the next call; its path has text in it */
    OP_NOT,     /* ... and this not */
    OP_NOW,     /* the next call, without time passing */
    OP_HEAD,    /* number is the status; text the type, NULL: JSON */
    OP_DATA,    /* text */
    OP_DONE,    /* the answer is complete */
    OP_OUTCOME, /* it ends otherwise: number is a CallOutcome */
    OP_ANSWER,  /* status, and a whole body */
    OP_LATER,   /* number seconds pass */
    OP_STATE,   /* what the sink shows */
    OP_STAGED,  /* objects the sink holds of a list that is not whole */
    OP_SYNCED,  /* lists that were completed */
    OP_WHY,     /* the last trouble has this in it */
    OP_RETRY,   /* ... and waits number seconds at least */
    OP_SOON,    /* ... number seconds at most */
    OP_REFUSE,  /* the next call finds no memory */
    OP_FAIL,    /* the sink fails with number */
    OP_OVER,    /* the call has been ended by us */
    OP_OPEN,    /* ... has not */
    OP_FIGURE,  /* the figure at offset number is text */
} Op;

typedef struct Step {
    Op op;
    const char *text;
    int64_t number;
} Step;

#define CALL(part)                                                                                 \
    { OP_CALL, part, 0 }
#define NOT(part)                                                                                  \
    { OP_NOT, part, 0 }
#define NOW(part)                                                                                  \
    { OP_NOW, part, 0 }
#define HEAD(status)                                                                               \
    { OP_HEAD, NULL, status }
#define TYPE(type)                                                                                 \
    { OP_HEAD, type, 200 }
#define DATA(text)                                                                                 \
    { OP_DATA, text, 0 }
#define DONE                                                                                       \
    { OP_DONE, NULL, 0 }
#define OUTCOME(outcome)                                                                           \
    { OP_OUTCOME, NULL, outcome }
#define ANSWER(status, body)                                                                       \
    { OP_ANSWER, body, status }
#define LATER(seconds)                                                                             \
    { OP_LATER, NULL, seconds }
#define STATE(text)                                                                                \
    { OP_STATE, text, 0 }
#define STAGED(n)                                                                                  \
    { OP_STAGED, NULL, n }
#define SYNCED(n)                                                                                  \
    { OP_SYNCED, NULL, n }
#define WHY(part)                                                                                  \
    { OP_WHY, part, 0 }
#define RETRY(seconds)                                                                             \
    { OP_RETRY, NULL, seconds }
#define SOON(seconds)                                                                              \
    { OP_SOON, NULL, seconds }
#define REFUSE                                                                                     \
    { OP_REFUSE, NULL, 0 }
#define FAIL(code)                                                                                 \
    { OP_FAIL, NULL, code }
#define OVER                                                                                       \
    { OP_OVER, NULL, 0 }
#define OPEN                                                                                       \
    { OP_OPEN, NULL, 0 }
#define FIGURE(field, value)                                                                       \
    { OP_FIGURE, #value, offsetof(ReflectorFigures, field) }

#define STREAM "watch=1&allowWatchBookmarks=true&timeoutSeconds="
#define STREAM_LIST "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"

/* A streamed list of a:1, with the version 10; the watch goes on. */
#define LISTED CALL(STREAM_LIST), HEAD(200), DATA(ADDED("a", "1") LIST_END("10")), STATE("a:1")

/* The same from a server that has no streamed lists; the watch has begun. */
#define PAGED                                                                                      \
    CALL(STREAM_LIST), ANSWER(422, STATUS("422", "Invalid", "{}")), CALL("?limit=500"),            \
        ANSWER(200, PAGE("10", "", OBJ("a", "1"))), STATE("a:1"), CALL("&resourceVersion=10"),     \
        HEAD(200)

/* Where a list was to go on is forgotten: it is begun again, with this many objects a page. */
#define FORGOTTEN(items)                                                                           \
    ANSWER(200, PAGE("10", "more", OBJ("a", "1"))), CALL("continue=more"),                         \
        ANSWER(410, STATUS("410", "Expired", "{}")), CALL("?limit=" items), NOT("continue")

typedef struct Case {
    const char *name;
    Step steps[40];
} Case;

static const Case cases[] = {
    /* lists */
    {"streamed list",
        {CALL("/api/v1/nodes?" STREAM),
            NOT("resourceVersion="),
            HEAD(200),
            DATA(ADDED("a", "1") ADDED("b", "2")),
            STATE(""),
            SYNCED(0),
            DATA(LIST_END("10")),
            STATE("a:1 b:2"),
            SYNCED(1),
            OPEN,
            DATA(MODIFIED("a", "11") DELETED("b", "12")),
            STATE("a:11"),
            FIGURE(n_lists, 1),
            FIGURE(n_watches, 1),
            FIGURE(is_synced, 1)}},
    {"streamed list of nothing",
        {CALL(STREAM_LIST), HEAD(200), DATA(LIST_END("10")), STATE(""), SYNCED(1), OPEN}},
    {"changes inside a streamed list",
        {CALL(STREAM_LIST),
            HEAD(200),
            DATA(ADDED("a", "1") ADDED("b", "2") MODIFIED("a", "11") DELETED("b", "12")
                    ADDED("b", "13") DELETED("a", "14") ADDED("c", "15")),
            STATE(""),
            DATA(LIST_END("16")),
            STATE("b:13 c:15"),
            SYNCED(1),
            DATA(BOOKMARK("17")),
            DONE,
            CALL("&resourceVersion=17")}},
    {"a bookmark inside a streamed list: the server knows none, pages at once",
        {LISTED,
            DATA(ERROR("410", "Expired", "{}")),
            CALL(STREAM_LIST),
            HEAD(200),
            DATA(ADDED("b", "11") BOOKMARK("15")),
            OVER,
            STATE("a:1"),
            STAGED(0),
            FIGURE(n_failures, 0),
            NOW("?limit=500"),
            ANSWER(200, PAGE("16", "", OBJ("b", "11"))),
            STATE("b:11"),
            CALL("&resourceVersion=16"),
            HEAD(200),
            DATA(ERROR("410", "Expired", "{}")),
            CALL("?limit=500"),
            NOT("watch")}},
    {"a deletion first in a streamed list, of what cannot be read: listed again",
        {CALL(STREAM_LIST),
            HEAD(200),
            DATA("{\"type\":\"DELETED\",\"object\":{\"metadata\":{}}}\n" LIST_END("10")),
            OVER,
            CALL(STREAM_LIST)}},
    {"a streamed list that breaks is begun again, and the old state stays",
        {LISTED,
            DATA(ERROR("410", "Expired", "{}")),
            CALL(STREAM_LIST),
            HEAD(200),
            DATA(ADDED("b", "20")),
            OUTCOME(CALL_BROKEN),
            STATE("a:1"),
            CALL(STREAM_LIST),
            HEAD(200),
            DATA(ADDED("c", "21")),
            STATE("a:1"),
            DATA(LIST_END("22")),
            STATE("c:21")}},
    {"nothing of a streamed list that broke is left",
        {CALL(STREAM_LIST),
            HEAD(200),
            DATA(ADDED("a", "1")),
            STAGED(1),
            DATA(DELETED("b", "2") ADDED("c", "3")),
            OUTCOME(CALL_BROKEN),
            STAGED(0),
            CALL(STREAM_LIST),
            HEAD(200),
            DATA(ADDED("a", "1") LIST_END("10")),
            STATE("a:1")}},
    {"a streamed list that ends in the middle",
        {CALL(STREAM_LIST),
            HEAD(200),
            DATA(ADDED("a", "1")),
            DONE,
            WHY("inside a list"),
            CALL(STREAM_LIST)}},
    {"no streamed lists: pages, and never asked again",
        {PAGED,
            OPEN,
            SYNCED(1),
            FIGURE(n_lists, 1),
            FIGURE(n_failures, 0),
            DATA(ERROR("410", "Gone", "{}")),
            CALL("?limit=500"),
            NOT("watch")}},
    {"no streamed lists, said with 400",
        {CALL(STREAM_LIST), ANSWER(400, "what?"), CALL("?limit=500"), NOT("continue")}},
    {"several pages",
        {CALL(STREAM_LIST),
            ANSWER(422, ""),
            CALL("?limit=500"),
            ANSWER(200, PAGE("10", "to/k+n", OBJ("a", "1") "," OBJ("b", "2"))),
            STATE(""),
            CALL("?limit=500&continue=to%2Fk%2Bn"),
            ANSWER(200, PAGE("10", "", OBJ("c", "3"))),
            STATE("a:1 b:2 c:3"),
            SYNCED(1),
            CALL("&resourceVersion=10"),
            NOT("sendInitial"),
            FIGURE(n_lists, 1),
            FIGURE(n_watches, 0)}},
    {"pages that differ in their version: on from the first",
        {CALL(STREAM_LIST),
            ANSWER(422, ""),
            CALL("?limit=500"),
            ANSWER(200, PAGE("10", "more", OBJ("a", "1"))),
            CALL("continue=more"),
            ANSWER(200, PAGE("12", "", OBJ("b", "11"))),
            STATE("a:1 b:11"),
            CALL("&resourceVersion=10")}},
    {"an empty list",
        {CALL(STREAM_LIST),
            ANSWER(422, ""),
            CALL("?limit=500"),
            ANSWER(200, "{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":null}"),
            STATE(""),
            SYNCED(1),
            CALL("&resourceVersion=10")}},
    {"a page that fails is asked for again, not the whole list",
        {CALL(STREAM_LIST),
            ANSWER(422, ""),
            CALL("?limit=500"),
            ANSWER(200, PAGE("10", "more", OBJ("a", "1"))),
            CALL("continue=more"),
            OUTCOME(CALL_TIMEOUT),
            CALL("continue=more"),
            ANSWER(503, ""),
            CALL("continue=more"),
            ANSWER(200, PAGE("10", "", OBJ("b", "2"))),
            STATE("a:1 b:2"),
            FIGURE(n_lists, 1)}},
    {"a list that cannot be continued is begun again, in larger steps",
        {CALL(STREAM_LIST),
            ANSWER(422, ""),
            CALL("?limit=500"),
            FORGOTTEN("1000"),
            FORGOTTEN("2000"),
            FORGOTTEN("4000"),
            FORGOTTEN("5000"),
            FORGOTTEN("5000"),
            ANSWER(200, PAGE("20", "", OBJ("b", "2"))),
            STATE("b:2"),
            CALL("resourceVersion=20")}},
    {"pages that are too large are made smaller",
        {CALL(STREAM_LIST),
            ANSWER(422, ""),
            CALL("?limit=500"),
            HEAD(200),
            OUTCOME(CALL_TOO_LARGE),
            CALL("?limit=125"),
            OUTCOME(CALL_TOO_LARGE),
            CALL("?limit=31"),
            OUTCOME(CALL_TOO_LARGE),
            CALL("?limit=10"),
            OUTCOME(CALL_TOO_LARGE),
            CALL("?limit=10")}},
    {"... and those that come too slowly; what has come stays",
        {CALL(STREAM_LIST),
            ANSWER(422, ""),
            CALL("?limit=500"),
            ANSWER(200, PAGE("10", "more", OBJ("a", "1"))),
            CALL("?limit=500&continue=more"),
            HEAD(200),
            DATA("{\"metadata\":"),
            OUTCOME(CALL_TIMEOUT),
            STAGED(1),
            CALL("?limit=125&continue=more"),
            HEAD(200),
            OUTCOME(CALL_TOO_LARGE),
            CALL("?limit=31&continue=more"),
            ANSWER(200, PAGE("10", "", OBJ("b", "2"))),
            STATE("a:1 b:2"),
            FIGURE(n_lists, 1)}},
    {"a server that does not answer says nothing about pages",
        {CALL(STREAM_LIST),
            ANSWER(422, ""),
            CALL("?limit=500"),
            OUTCOME(CALL_TIMEOUT),
            CALL("?limit=500")}},
    {"answers that are no list",
        {CALL(STREAM_LIST),
            ANSWER(422, ""),
            CALL("?limit=500"),
            ANSWER(200, "{}"),
            WHY("no list"),
            CALL("?limit=500"),
            ANSWER(200, "<html>"),
            CALL("?limit=500"),
            ANSWER(200, PAGE("10", "", OBJ("a", "1") "]")),
            CALL("?limit=500"),
            ANSWER(200, PAGE("10", "", OBJ("a", "1") " {}")),
            WHY("cannot be read"),
            STATE(""),
            CALL("?limit=500"),
            ANSWER(200, PAGE("10", "", "")),
            SYNCED(1)}},
    {"a streamed list that stalls twice gives way to pages",
        {CALL(STREAM_LIST),
            HEAD(200),
            DATA(ADDED("a", "1")),
            LATER(SILENCE_SEC + 1),
            OVER,
            WHY("does not end"),
            CALL(STREAM_LIST),
            HEAD(200),
            LATER(SILENCE_SEC + 1),
            OVER,
            CALL("?limit=500")}},
    {"a streamed list that trickles",
        {CALL(STREAM_LIST),
            HEAD(200),
            LATER(140),
            DATA(ADDED("a", "1")),
            LATER(140),
            DATA(ADDED("b", "1")),
            OPEN,
            LATER(21),
            OVER,
            WHY("does not end")}},
    {"a server that does not answer says nothing about streamed lists",
        {CALL(STREAM_LIST),
            OUTCOME(CALL_TIMEOUT),
            CALL(STREAM_LIST),
            OUTCOME(CALL_TIMEOUT),
            CALL(STREAM_LIST),
            OUTCOME(CALL_TIMEOUT),
            CALL(STREAM_LIST)}},

    /* resuming */
    {"a watch that ends goes on from the newest event",
        {LISTED,
            DATA(MODIFIED("a", "11")),
            DONE,
            CALL("&resourceVersion=11"),
            NOT("sendInitial"),
            HEAD(200),
            DATA(ADDED("b", "12")),
            STATE("a:11 b:12"),
            SYNCED(1),
            FIGURE(n_lists, 1),
            FIGURE(n_restarts, 1),
            FIGURE(n_failures, 0),
            FIGURE(is_connected, 1)}},
    {"... or the newest bookmark",
        {LISTED,
            DATA(MODIFIED("a", "11") BOOKMARK("99")),
            DONE,
            CALL("&resourceVersion=99"),
            FIGURE(n_bookmarks, 2)}},
    {"the bookmark that ends a list counts too", {LISTED, DONE, CALL("&resourceVersion=10")}},
    {"a broken connection",
        {LISTED,
            DATA(MODIFIED("a", "11") "{\"type\":\"MODI"),
            OUTCOME(CALL_BROKEN),
            FIGURE(is_connected, 0),
            CALL("&resourceVersion=11"),
            HEAD(200),
            FIGURE(is_connected, 1),
            DATA(MODIFIED("a", "12")),
            STATE("a:12"),
            FIGURE(n_lists, 1)}},
    {"half an event at the normal end",
        {LISTED,
            DATA("{\"type\":\"MODI"),
            DONE,
            CALL("&resourceVersion=10"),
            HEAD(200),
            DATA(MODIFIED("a", "12")),
            STATE("a:12")}},
    {"an event in pieces",
        {LISTED,
            DATA("{\"type\":\"MODIFIED\",\"obj"),
            STATE("a:1"),
            DATA("ect\":" OBJ("a", "11")),
            STATE("a:1"),
            DATA("}\n"),
            STATE("a:11")}},
    {"no connection for a while",
        {LISTED,
            OUTCOME(CALL_BROKEN),
            CALL("&resourceVersion=10"),
            OUTCOME(CALL_REFUSED),
            CALL("&resourceVersion=10"),
            OUTCOME(CALL_REFUSED),
            CALL("&resourceVersion=10"),
            OUTCOME(CALL_TIMEOUT),
            CALL("&resourceVersion=10"),
            OUTCOME(CALL_UNAUTHORIZED),
            CALL("&resourceVersion=10"),
            STATE("a:1"),
            FIGURE(n_failures, 5),
            FIGURE(n_lists, 1)}},
    {"errors of the server",
        {LISTED,
            DONE,
            CALL("&resourceVersion=10"),
            ANSWER(500, STATUS("500", "x", "{}")),
            WHY("HTTP 500: so it is"),
            CALL("&resourceVersion=10"),
            ANSWER(503, "later"),
            CALL("&resourceVersion=10"),
            ANSWER(504, ""),
            CALL("&resourceVersion=10"),
            ANSWER(404, ""),
            CALL("&resourceVersion=10"),
            FIGURE(n_lists, 1)}},
    {"no rights",
        {CALL(STREAM_LIST),
            ANSWER(403, STATUS("403", "Forbidden", "{}")),
            WHY("HTTP 403: so it is (needs the rights list and watch on nodes)"),
            CALL(STREAM_LIST)}},
    {"what the server says stays a line",
        {CALL(STREAM_LIST),
            ANSWER(503, "{\"kind\":\"Status\",\"message\":\"one\\ntwo\\u001b[31m\",\"code\":503}"),
            WHY("HTTP 503: one\\x0atwo\\x1b[31m"),
            CALL(STREAM_LIST),
            HEAD(200),
            DATA("{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":500,\"message\":"
                 "\"a\\r\\nb\"}}\n"),
            WHY("error: 500 a\\x0d\\x0ab"),
            CALL(STREAM_LIST),
            TYPE("text/\x1b[2J"),
            DATA("x"),
            WHY("\"text/\\x1b[2J\", not JSON")}},
    {"a silent watch",
        {LISTED,
            LATER(SILENCE_SEC - 1),
            OPEN,
            LATER(2),
            OVER,
            WHY("silent"),
            CALL("&resourceVersion=10"),
            FIGURE(n_lists, 1)}},
    {"bookmarks keep a watch alive",
        {LISTED,
            LATER(100),
            DATA(BOOKMARK("11")),
            LATER(100),
            DATA(BOOKMARK("12")),
            LATER(100),
            OPEN,
            LATER(51),
            OVER,
            CALL("&resourceVersion=12")}},
    {"a watch that trickles is silent",
        {LISTED,
            LATER(100),
            DATA("{\"ty"),
            LATER(40),
            DATA("pe\""),
            LATER(11),
            OVER,
            CALL("&resourceVersion=10")}},
    {"a watch that is accepted and ends at once",
        {LISTED,
            DONE,
            CALL("&resourceVersion=10"),
            HEAD(200),
            DONE,
            WHY("before it began"),
            CALL("&resourceVersion=10"),
            FIGURE(n_lists, 1)}},
    {"no memory for a call",
        {LISTED, REFUSE, DONE, LATER(1), WHY("out of memory"), CALL("&resourceVersion=10")}},

    /* 410 and its kin */
    {"410 as a status",
        {LISTED,
            DONE,
            CALL("&resourceVersion=10"),
            ANSWER(410, STATUS("410", "Expired", "{}")),
            CALL(STREAM_LIST),
            HEAD(200),
            DATA(ADDED("b", "20")),
            STATE("a:1"),
            DATA(LIST_END("21")),
            STATE("b:20"),
            SYNCED(2),
            FIGURE(n_lists, 2)}},
    {"410 of a watch that was well: at once, however long the server was gone before",
        {LISTED,
            OUTCOME(CALL_BROKEN),
            CALL("&resourceVersion=10"),
            OUTCOME(CALL_REFUSED),
            CALL("&resourceVersion=10"),
            OUTCOME(CALL_REFUSED),
            CALL("&resourceVersion=10"),
            OUTCOME(CALL_REFUSED),
            CALL("&resourceVersion=10"),
            OUTCOME(CALL_REFUSED),
            CALL("&resourceVersion=10"),
            OUTCOME(CALL_REFUSED),
            CALL("&resourceVersion=10"),
            LATER(10),
            HEAD(200),
            DATA(BOOKMARK("11") ERROR("410", "Expired", "{}")),
            SOON(1),
            FIGURE(n_failures, 6),
            FIGURE(is_connected, 1),
            FIGURE(n_lists, 1)}},
    {"410 without a body",
        {LISTED, DONE, CALL("&resourceVersion=10"), ANSWER(410, ""), CALL(STREAM_LIST)}},
    {"410 as an event",
        {LISTED,
            DATA(ERROR("410", "Expired", "{}")),
            OVER,
            CALL(STREAM_LIST),
            STATE("a:1"),
            FIGURE(n_errors, 1)}},
    {"Gone as an event",
        {LISTED, DATA(ERROR("0", "Gone", "{}")), OVER, CALL(STREAM_LIST), STATE("a:1")}},
    {"events behind the error are not taken",
        {LISTED, DATA(ERROR("410", "Expired", "{}") MODIFIED("a", "11")), STATE("a:1")}},
    {"400 for the version we hold",
        {LISTED, DONE, CALL("&resourceVersion=10"), ANSWER(400, ""), CALL(STREAM_LIST)}},
    {"other errors as events: the version is still good",
        {LISTED,
            DATA(ERROR("500", "InternalError", "{}")),
            OVER,
            CALL("&resourceVersion=10"),
            HEAD(200),
            DATA(ERROR("429", "TooManyRequests", "{\"retryAfterSeconds\":7}")),
            OVER,
            RETRY(7),
            CALL("&resourceVersion=10"),
            FIGURE(n_lists, 1)}},
    {"nothing but errors as events: listed again",
        {LISTED,
            DATA(ERROR("500", "x", "{}")),
            CALL("&resourceVersion=10"),
            HEAD(200),
            DATA(ERROR("500", "x", "{}")),
            CALL("&resourceVersion=10"),
            HEAD(200),
            DATA(ERROR("500", "x", "{}")),
            CALL(STREAM_LIST)}},
    {"errors with events in between",
        {LISTED,
            DATA(ERROR("500", "x", "{}")),
            CALL("&resourceVersion=10"),
            HEAD(200),
            DATA(ERROR("500", "x", "{}")),
            CALL("&resourceVersion=10"),
            HEAD(200),
            DATA(BOOKMARK("11") ERROR("500", "x", "{}")),
            CALL("&resourceVersion=11")}},
    {"an error that is no status",
        {LISTED,
            DATA("{\"type\":\"ERROR\",\"object\":{\"kind\":\"Pod\"}}\n"),
            OVER,
            CALL("&resourceVersion=10")}},
    {"a version the server has not reached",
        {LISTED,
            DONE,
            CALL("&resourceVersion=10"),
            ANSWER(504, STATUS("504", "Timeout", TOO_LARGE)),
            RETRY(1),
            CALL("&resourceVersion=10"),
            ANSWER(504, STATUS("504", "Timeout", TOO_LARGE)),
            CALL("&resourceVersion=10"),
            ANSWER(504, STATUS("504", "Timeout", TOO_LARGE)),
            CALL(STREAM_LIST)}},
    {"Retry-After in the body",
        {LISTED,
            DONE,
            CALL("&resourceVersion=10"),
            ANSWER(429, STATUS("429", "TooManyRequests", "{\"retryAfterSeconds\":20}")),
            RETRY(20),
            CALL("&resourceVersion=10")}},

    /* what should not come */
    {"unknown types are passed over",
        {LISTED,
            DATA(EVENT("LATER", "z", "50") MODIFIED("a", "11")),
            STATE("a:11"),
            OPEN,
            FIGURE(n_unknown, 1)}},
    {"a line that is no event",
        {LISTED,
            DATA(MODIFIED("a", "11") "{\"type\":\n" MODIFIED("a", "12")),
            OVER,
            STATE("a:11"),
            FIGURE(n_malformed, 1),
            CALL(STREAM_LIST)}},
    {"a stream that never was one: the version is still good",
        {LISTED,
            DONE,
            CALL("&resourceVersion=10"),
            HEAD(200),
            DATA("\x1f\x8b\x08\n"),
            OVER,
            CALL("&resourceVersion=10"),
            HEAD(200),
            DATA("<html>\n"),
            CALL("&resourceVersion=10"),
            HEAD(200),
            DATA("hello\n"),
            CALL(STREAM_LIST)}},
    {"an event without a version",
        {LISTED,
            DATA("{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"b\"}}}\n"),
            OVER,
            CALL(STREAM_LIST)}},
    {"an object that is no JSON inside: listed again",
        {LISTED,
            DATA(ADDED("b-garbage", "11")),
            OVER,
            CALL(STREAM_LIST),
            HEAD(200),
            DATA(ADDED("a", "1") LIST_END("20")),
            STATE("a:1")}},
    {"... unless lists have it too",
        {LISTED,
            DATA(ADDED("b-garbage", "11")),
            OVER,
            CALL(STREAM_LIST),
            HEAD(200),
            DATA(ADDED("a", "1") ADDED("b-garbage", "11") LIST_END("20")),
            STATE("a:1"),
            FIGURE(n_unfit, 1),
            DATA(MODIFIED("b-garbage", "21")
                    MODIFIED("a", "22") "{\"type\":\"ADDED\",\"object\":{\"metadata\":{}}}\n"),
            OPEN,
            STATE("a:22"),
            FIGURE(n_unfit, 3),
            DONE,
            CALL("&resourceVersion=22")}},
    {"an object that cannot be used is not there",
        {LISTED,
            DATA(ADDED("b", "11") ADDED("c-unfit", "12")),
            OPEN,
            STATE("a:1 b:11"),
            FIGURE(n_unfit, 1),
            DONE,
            CALL("&resourceVersion=12")}},
    {"... nor in a list",
        {CALL(STREAM_LIST),
            HEAD(200),
            DATA(ADDED("a", "1") ADDED("c-unfit", "2") LIST_END("10")),
            STATE("a:1"),
            SYNCED(1),
            OPEN,
            FIGURE(n_unfit, 1)}},
    {"... nor in a page",
        {CALL(STREAM_LIST),
            ANSWER(422, ""),
            CALL("limit"),
            ANSWER(200, PAGE("10", "",
                            OBJ("a", "1") "," OBJ("b-unfit", "1") ",7,"
                                                                  "\"x\"," OBJ("c", "3"))),
            STATE("a:1 c:3"),
            SYNCED(1),
            FIGURE(n_unfit, 3)}},
    {"the wrong type",
        {LISTED,
            DONE,
            CALL("&resourceVersion=10"),
            TYPE("text/html"),
            DATA("<html>"),
            OVER,
            WHY("\"text/html\", not JSON"),
            CALL("&resourceVersion=10"),
            FIGURE(n_lists, 1),
            FIGURE(is_connected, 0)}},
    {"the wrong type and nothing else",
        {LISTED,
            DONE,
            CALL("&resourceVersion=10"),
            TYPE(""),
            DONE,
            WHY("not JSON"),
            CALL("&resourceVersion=10")}},
    {"a version that is far too long",
        {LISTED,
            DATA(MODIFIED("a",
                "0123456789012345678901234567890123456789012345678901234567890123456789"
                "0123456789012345678901234567890123456789012345678901234567890123456789"
                "0123456789012345678901234567890123456789012345678901234567890123456789"
                "0123456789012345678901234567890123456789012345678901234567890123456789")),
            OVER,
            CALL(STREAM_LIST)}},
    {"versions are opaque",
        {LISTED, DATA(MODIFIED("a", "x&y=z/1")), DONE, CALL("&resourceVersion=x%26y%3Dz%2F1")}},
    {"the sink is out of memory for an event",
        {LISTED, FAIL(-ENOMEM), DATA(ADDED("b", "11")), OVER, WHY("emory"), CALL(STREAM_LIST)}},
    {"... for an item of a streamed list",
        {CALL(STREAM_LIST),
            HEAD(200),
            FAIL(-ENOMEM),
            DATA(ADDED("a", "1")),
            OVER,
            CALL(STREAM_LIST)}},
    {"... at the end of a streamed list",
        {CALL(STREAM_LIST),
            HEAD(200),
            FAIL(-ENOMEM),
            DATA(LIST_END("10")),
            OVER,
            SYNCED(0),
            CALL(STREAM_LIST)}},
    {"... for a page",
        {CALL(STREAM_LIST),
            ANSWER(422, ""),
            CALL("limit"),
            FAIL(-ENOMEM),
            ANSWER(200, PAGE("10", "", OBJ("a", "1"))),
            WHY("memory"),
            SYNCED(0),
            CALL("limit")}},
    {"... at the end of the pages",
        {CALL(STREAM_LIST),
            ANSWER(422, ""),
            CALL("limit"),
            FAIL(-ENOMEM),
            ANSWER(200, PAGE("10", "", "")),
            WHY("emory"),
            SYNCED(0),
            CALL("limit")}},
};

static void check_figure(const Lab *lab, const char *name, const Step *step) {
    const char *at = (const char *)figures(lab) + step->number;
    int64_t want = 0, got;

    assert_case(name, str_to_int64(str_from_c(step->text), &want));
    if ((size_t)step->number == offsetof(ReflectorFigures, is_connected) ||
        (size_t)step->number == offsetof(ReflectorFigures, is_synced))
        got = *(const bool *)at;
    else
        got = (int64_t) * (const uint64_t *)(const void *)at;
    if (got != want)
        print_error("%s: figure at %d is %d\n", name, (int)step->number, (int)got);
    assert_case(name, got == want);
}

static void check_path(const Lab *lab, const char *name, const char *part) {
    const char *path = fake_call(lab->client, lab->call).path;

    if (!strstr(path, part))
        print_error("%s\n", path);
    assert_case(name, strstr(path, part));
}

static void play(Lab *lab, const char *name, const Step *step) {
    const char *text = step->text;

    switch (step->op) {
    case OP_END:
        break;
    case OP_CALL:
        lab_next_call(lab, name);
        check_path(lab, name, text);
        break;
    case OP_NOW:
        assert_case(name, fake_n_calls(lab->client) == lab->call + 2);
        lab->call++;
        check_path(lab, name, text);
        break;
    case OP_NOT:
        assert_case(name, !strstr(fake_call(lab->client, lab->call).path, text));
        break;
    case OP_HEAD:
        fake_head(
            lab->client, lab->call, (unsigned)step->number, text ? text : "application/json", -1);
        break;
    case OP_DATA:
        fake_data(lab->client, lab->call, str_from_c(text));
        break;
    case OP_DONE:
        fake_done(lab->client, lab->call, CALL_DONE);
        break;
    case OP_OUTCOME:
        fake_done(lab->client, lab->call, (CallOutcome)step->number);
        break;
    case OP_ANSWER:
        fake_answer(lab->client, lab->call, (unsigned)step->number, text);
        break;
    case OP_LATER:
        now += step->number * NSEC_PER_SEC;
        (void)reflector_tick(lab->reflector, now);
        break;
    case OP_STATE:
        assert_text(name, str_from_c(state_text(&lab->sink.live)), text);
        break;
    case OP_STAGED:
        assert_case(name, lab->sink.staged.n == (size_t)step->number);
        break;
    case OP_SYNCED:
        assert_case(name, lab->sink.n_synced == step->number);
        break;
    case OP_WHY:
        if (!strstr(lab->sink.why, text))
            print_error("%s: %s\n", name, lab->sink.why);
        assert_case(name, strstr(lab->sink.why, text));
        break;
    case OP_RETRY:
        assert_case(name, lab->sink.retry_nsec >= step->number * NSEC_PER_SEC);
        break;
    case OP_SOON:
        assert_case(name, lab->sink.retry_nsec <= step->number * NSEC_PER_SEC);
        break;
    case OP_REFUSE:
        fake_refuse_next(lab->client);
        break;
    case OP_FAIL:
        lab->sink.fail_with = (int)step->number;
        break;
    case OP_OVER:
        assert_case(name, fake_call(lab->client, lab->call).is_over);
        break;
    case OP_OPEN:
        assert_case(name, !fake_call(lab->client, lab->call).is_over);
        break;
    case OP_FIGURE:
        check_figure(lab, name, step);
        break;
    }
}

static void test_scripts(void **state) {
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        for (uint64_t seed = 0; seed < 3; seed++) {
            Lab lab;

            lab_open(&lab, seed);
            for (const Step *step = cases[i].steps; step->op != OP_END; step++) {
                play(&lab, cases[i].name, step);
                lab_settle(&lab);
                if (step->op == OP_FAIL) /* for the step behind it */
                    continue;
            }
            lab_close(&lab);
        }
}

/* --- limits ----------------------------------------------------------------------------------- */

static void test_calls_have_limits(void **state) {
    Lab lab;
    FakeCall call;
    int64_t least = INT64_MAX, most = 0;

    for (uint64_t seed = 0; seed < 300; seed++) {
        const char *at;
        int64_t seconds = 0;

        lab_open(&lab, seed);
        lab_next_call(&lab, "first");
        call = fake_call(lab.client, 0);
        at = strstr(call.path, "timeoutSeconds=");
        assert_non_null(at);
        assert_true(str_to_int64(str_of(at + 15, 3), &seconds));
        least = seconds < least ? seconds : least;
        most = seconds > most ? seconds : most;
        assert_int_equal(call.first_byte_sec, REFLECTOR_FIRST_BYTE_SEC);
        fake_answer(lab.client, 0, 422, "");
        lab_settle(&lab);
        lab_next_call(&lab, "page");
        call = fake_call(lab.client, 1);
        assert_int_equal(call.total_sec, REFLECTOR_PAGE_SEC);
        assert_int_equal(call.bytes_max, REFLECTOR_PAGE_MAX);
        lab_close(&lab);
    }
    assert_in_range(least, REFLECTOR_WATCH_LEAST_SEC, REFLECTOR_WATCH_LEAST_SEC + 20);
    assert_in_range(most, REFLECTOR_WATCH_MOST_SEC - 20, REFLECTOR_WATCH_MOST_SEC);
}

/* --- when it was last heard, and known to be complete ----------------------------------------- */

static int64_t seconds_since(int64_t at) {
    return (now - at) / NSEC_PER_SEC;
}

/* A server that refuses, or that is something else, is not heard: what we know gets old. */
static void test_refusals_are_not_heard(void **state) {
    static const struct {
        const char *name, *type;
        unsigned status;
    } refusals[] = {
        {"forbidden", "application/json", 403},
        {"overloaded", "application/json", 503},
        {"no API server", "text/html", 200},
    };

    for (size_t i = 0; i < ELEMENTS_OF(refusals); i++) {
        Lab lab;
        int64_t heard_at;

        lab_open(&lab, i);
        lab_next_call(&lab, refusals[i].name);
        fake_head(lab.client, 0, 200, "application/json", -1);
        now += NSEC_PER_SEC;
        fake_data(lab.client, 0, STR(LIST_END("10")));
        lab_settle(&lab);
        assert_case(refusals[i].name, seconds_since(figures(&lab)->heard_at_nsec) == 0);
        heard_at = now;
        fake_done(lab.client, 0, CALL_BROKEN);
        lab_settle(&lab);
        for (int n = 0; n < 50; n++) {
            lab_next_call(&lab, refusals[i].name);
            fake_head(lab.client, lab.call, refusals[i].status, refusals[i].type, -1);
            fake_data(lab.client, lab.call, STR(STATUS("0", "x", "{}")));
            fake_done(lab.client, lab.call, CALL_DONE);
            lab_settle(&lab);
        }
        assert_case(refusals[i].name, figures(&lab)->heard_at_nsec == heard_at);
        lab_next_call(&lab, refusals[i].name);
        fake_head(lab.client, lab.call, 200, "application/json", -1);
        lab_settle(&lab);
        assert_case(refusals[i].name, figures(&lab)->heard_at_nsec == now);
        lab_close(&lab);
    }
}

/* A list shows what was there when it began, however long it takes; a watch, all up to now. */
static void test_when_it_was_complete(void **state) {
    Lab lab;
    int64_t began;

    lab_open(&lab, 0);
    lab_next_call(&lab, "stream");
    began = now;
    fake_head(lab.client, 0, 200, "application/json", -1);
    now += 100 * NSEC_PER_SEC;
    fake_data(lab.client, 0, STR(ADDED("a", "1")));
    lab_settle(&lab);
    assert_int_equal(figures(&lab)->synced_at_nsec, 0);
    fake_data(lab.client, 0, STR(LIST_END("10")));
    lab_settle(&lab);
    assert_int_equal(figures(&lab)->synced_at_nsec, began);
    now += NSEC_PER_SEC;
    fake_data(lab.client, 0, STR(BOOKMARK("11")));
    lab_settle(&lab);
    assert_int_equal(figures(&lab)->synced_at_nsec, now);
    began = now;
    now += NSEC_PER_SEC;
    fake_done(lab.client, 0, CALL_BROKEN);
    lab_settle(&lab);
    lab_next_call(&lab, "again"); /* a watch that is open has not shown anything yet */
    fake_head(lab.client, lab.call, 200, "application/json", -1);
    lab_settle(&lab);
    assert_int_equal(figures(&lab)->synced_at_nsec, began);
    fake_data(lab.client, lab.call, STR(ADDED("b", "12"))); /* nor all that it missed */
    lab_settle(&lab);
    assert_int_equal(figures(&lab)->synced_at_nsec, began);
    now += REFLECTOR_CATCH_UP_SEC * NSEC_PER_SEC;
    fake_data(lab.client, lab.call, STR(ADDED("c", "13")));
    lab_settle(&lab);
    assert_int_equal(figures(&lab)->synced_at_nsec, now);
    lab_close(&lab);
}

static void send_many(Lab *lab, size_t total) {
    static char piece[1024 * 1024];

    memset(piece, 'x', sizeof(piece));
    for (size_t sent = 0; sent < total; sent += sizeof(piece)) {
        fake_data(lab->client, lab->call, str_of(piece, sizeof(piece)));
        lab_settle(lab);
        assert_true(reflector_held(lab->reflector) <=
                    REFLECTOR_PAGE_MAX + REFLECTOR_DOCUMENT_MAX + FRAME_KEEP_MAX);
    }
}

static void test_an_endless_event_is_cut_off(void **state) {
    Lab lab;

    lab_open(&lab, 0);
    lab_next_call(&lab, "first");
    fake_head(lab.client, 0, 200, "application/json", -1);
    send_many(&lab, 2 * REFLECTOR_DOCUMENT_MAX);
    assert_true(fake_call(lab.client, 0).is_over);
    assert_true(reflector_held(lab.reflector) <= FRAME_KEEP_MAX);
    lab_close(&lab);
}

static void test_an_endless_refusal_is_not_kept(void **state) {
    Lab lab;

    lab_open(&lab, 0);
    lab_next_call(&lab, "first");
    fake_head(lab.client, 0, 500, "text/plain", 33);
    send_many(&lab, (size_t)4 * 1024 * 1024);
    assert_true(reflector_held(lab.reflector) <= 2 * REFLECTOR_REFUSAL_MAX);
    fake_done(lab.client, 0, CALL_DONE);
    lab_settle(&lab);
    assert_true(lab.sink.retry_nsec >= 33 * NSEC_PER_SEC);
    assert_int_equal(reflector_held(lab.reflector), 0);
    lab_close(&lab);
}

/* Whatever a list took is given back when it is over. */
static void test_lists_leave_no_memory_behind(void **state) {
    static const char page[] = PAGE("10", "", OBJ("a", "1"));
    Lab lab;
    Str rest = str_from_c(page);

    lab_open(&lab, 0);
    lab_next_call(&lab, "first");
    fake_answer(lab.client, 0, 422, "");
    lab_settle(&lab);
    lab_next_call(&lab, "page");
    fake_head(lab.client, 1, 200, "application/json", -1);
    while (rest.len > 0) {
        char blanks[4096];

        memset(blanks, ' ', sizeof(blanks));
        fake_data(lab.client, 1, str_take(rest, 1));
        if (rest.ptr[0] == ',')
            for (int i = 0; i < 100; i++)
                fake_data(lab.client, 1, str_of(blanks, sizeof(blanks)));
        rest = str_skip(rest, 1);
    }
    lab_settle(&lab);
    assert_true(reflector_held(lab.reflector) > (size_t)400 * 1024);
    fake_done(lab.client, 1, CALL_DONE);
    lab_settle(&lab);
    assert_string_equal(state_text(&lab.sink.live), "a:1");
    assert_int_equal(reflector_held(lab.reflector), 0);
    lab_close(&lab);
}

/* A list in pages is fine, and the version it gave is too old by the time a watch asks. Takes
 * both calls. */
static void answer_in_vain(Lab *lab) {
    const char *path = fake_call(lab->client, lab->call).path;

    if (strstr(path, "sendInitialEvents")) {
        fake_answer(lab->client, lab->call, 422, "");
        lab_settle(lab);
        lab_next_call(lab, "page");
    }
    fake_answer(lab->client, lab->call, 200, PAGE("10", "", OBJ("a", "1")));
    lab_settle(lab);
    lab_next_call(lab, "watch");
    assert_non_null(strstr(fake_call(lab->client, lab->call).path, "&resourceVersion=10"));
    fake_answer(lab->client, lab->call, 410, STATUS("410", "Expired", "{}"));
    lab_settle(lab);
}

/* F8, F3: however a server fails, and whatever it lets succeed in between, it is asked at
 * most once a second on average. */
static void test_tries_are_rationed(void **state) {
    for (int kind = 0; kind < 5; kind++) {
        Lab lab;
        int64_t began;
        size_t n;

        lab_open(&lab, (uint64_t)kind);
        began = now;
        for (n = 0; n < 200; n++) {
            lab_next_call(&lab, "ration");
            if (kind == 4) {
                answer_in_vain(&lab);
                continue;
            }
            fake_head(lab.client, lab.call, kind == 3 ? 500 : 200, "application/json", -1);
            if (kind == 0)
                fake_data(lab.client, lab.call, STR(LIST_END("1")));
            else if (kind == 1)
                fake_data(lab.client, lab.call, STR(LIST_END("1") ERROR("410", "Expired", "{}")));
            else if (kind == 2)
                fake_data(lab.client, lab.call, STR(ADDED("a", "1")));
            fake_done(lab.client, lab.call, CALL_DONE);
            lab_settle(&lab);
        }
        if (kind == 0)
            assert_true(now - began >= (int64_t)(n - 1 - BACKOFF_BURST) * NSEC_PER_SEC);
        else /* where nothing is won, less and less often */
            assert_true(now - began >= (int64_t)n * 3 * NSEC_PER_SEC);
        lab_close(&lab);
    }
}

/* --- against a server ------------------------------------------------------------------------- */

#define SERVER_NAMES 8u
#define SERVER_EVENTS 400u

typedef struct ServerEvent {
    EventType type;
    char name[2];
} ServerEvent;

/* The truth: events 1..n, and the state after each. A version is the number of an event. */
typedef struct Server {
    Backoff dice;
    size_t n;
    ServerEvent events[SERVER_EVENTS + 1];
    char *texts[SERVER_EVENTS + 1];
    State states[SERVER_EVENTS + 1];
    size_t floor; /* versions below are forgotten */
    bool can_stream;

    size_t sent;      /* the open watch has seen events up to this */
    bool is_open;     /* ... and there is one */
    size_t listed_at; /* a list in pages shows this version */
    size_t shown;     /* the newest state the sink has shown */
    bool has_shown;
} Server;

static Server server;

static int64_t roll(int64_t n) {
    return backoff_pick(&server.dice, 0, n - 1);
}

static void server_change(void) {
    ServerEvent *event;
    State state = server.states[server.n];
    char version[16];
    bool is_there = false;

    if (server.n == SERVER_EVENTS)
        return;
    event = &server.events[++server.n];
    event->name[0] = (char)('a' + roll(SERVER_NAMES));
    for (size_t i = 0; i < state.n; i++)
        is_there |= strcmp(state.entries[i].name, event->name) == 0;
    event->type = !is_there ? EVENT_ADDED : roll(2) ? EVENT_MODIFIED : EVENT_DELETED;
    (void)snprintf(version, sizeof(version), "%zu", server.n);
    if (event->type == EVENT_DELETED)
        state_remove(&state, str_from_c(event->name));
    else
        state_put(&state, str_from_c(event->name), str_from_c(version));
    server.texts[server.n] = strdup(state_text(&state));
    server.states[server.n] = state;
}

/* Everything the sink ever shows is the truth at some version, and never an older one. */
static void check_shown(Sink *sink) {
    const char *text = state_text(&sink->live);
    size_t at = server.has_shown ? server.shown : 0;

    while (at <= server.n && strcmp(server.texts[at], text) != 0)
        at++;
    if (at > server.n)
        print_error("never was, or is older than %zu: %s\n", server.shown, text);
    assert_true(at <= server.n);
    server.shown = at;
    server.has_shown = true;
}

/* In pieces of any size. */
static void server_send(Lab *lab, Str text) {
    while (text.len > 0) {
        size_t len = 1 + (size_t)roll(200);

        fake_data(lab->client, lab->call, str_take(text, len));
        text = str_skip(text, len);
    }
}

static void send_event(Lab *lab, size_t i) {
    static const char *const words[] = {"ADDED", "MODIFIED", "DELETED"};
    char text[256];

    (void)snprintf(text,
        sizeof(text),
        "{\"type\":\"%s\",\"object\":{\"metadata\":{\"name\":\"%s\",\"resourceVersion\":\"%zu\"}}}"
        "\n",
        words[server.events[i].type],
        server.events[i].name,
        i);
    server_send(lab, str_from_c(text));
}

static void send_bookmark(Lab *lab, size_t version, bool is_end) {
    char text[256];

    (void)snprintf(text,
        sizeof(text),
        "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"%zu\"%s}}}\n",
        version,
        is_end ? ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}" : "");
    server_send(lab, str_from_c(text));
}

/* All up to now, some of it as events inside the list. */
static void serve_stream(Lab *lab) {
    const State *state = &server.states[server.n];

    server.sent = server.n;
    fake_head(lab->client, lab->call, 200, "application/json", -1);
    for (size_t i = 0; i < state->n; i++) {
        char text[256];

        (void)snprintf(text,
            sizeof(text),
            "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"%s\",\"resourceVersion\":"
            "\"%s\"}}}\n",
            state->entries[i].name,
            state->entries[i].version);
        server_send(lab, str_from_c(text));
        if (roll(20) == 0) {
            fake_done(lab->client, lab->call, CALL_BROKEN);
            return;
        }
    }
    for (int64_t n = roll(6); n > 0; n--)
        server_change();
    while (server.sent < server.n)
        send_event(lab, ++server.sent);
    send_bookmark(lab, server.sent, true);
    server.is_open = true;
}

/* Two objects a page. */
static void serve_page(Lab *lab, const char *path) {
    const char *at = strstr(path, "continue=");
    int64_t from = 0;
    char text[1024];
    size_t used;

    if (at) {
        assert_true(str_to_int64(str_from_c(at + 9), &from));
        if (server.listed_at < server.floor) {
            fake_answer(lab->client, lab->call, 410, STATUS("410", "Expired", "{}"));
            return;
        }
    } else {
        server.listed_at = server.n;
    }
    used = (size_t)snprintf(text,
        sizeof(text),
        "{\"metadata\":{\"resourceVersion\":\"%zu\",\"continue\":\"",
        server.listed_at);
    if ((size_t)from + 2 < server.states[server.listed_at].n)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%d", (int)from + 2);
    used += (size_t)snprintf(text + used, sizeof(text) - used, "\"},\"items\":[");
    for (size_t i = (size_t)from; i < (size_t)from + 2 && i < server.states[server.listed_at].n;
         i++)
        used += (size_t)snprintf(text + used,
            sizeof(text) - used,
            "%s{\"metadata\":{\"name\":\"%s\",\"resourceVersion\":\"%s\"}}",
            i > (size_t)from ? "," : "",
            server.states[server.listed_at].entries[i].name,
            server.states[server.listed_at].entries[i].version);
    (void)snprintf(text + used, sizeof(text) - used, "]}");
    fake_answer(lab->client, lab->call, 200, text);
}

static void serve_watch(Lab *lab, const char *path) {
    int64_t version = 0;

    assert_true(str_to_int64(str_from_c(strstr(path, "&resourceVersion=") + 17), &version));
    assert_true(version >= 0 && (size_t)version <= server.n);
    if ((size_t)version < server.floor) {
        if (roll(2)) {
            fake_answer(lab->client, lab->call, 410, STATUS("410", "Expired", "{}"));
        } else {
            fake_head(lab->client, lab->call, 200, "application/json", -1);
            server_send(lab, STR(ERROR("410", "Expired", "{}")));
        }
        return;
    }
    fake_head(lab->client, lab->call, 200, "application/json", -1);
    server.sent = (size_t)version;
    server.is_open = true;
}

static void serve(Lab *lab) {
    const char *path = fake_call(lab->client, lab->call).path;

    server.is_open = false;
    if (roll(8) == 0)
        fake_done(lab->client, lab->call, (CallOutcome)(CALL_REFUSED + roll(3)));
    else if (roll(12) == 0)
        fake_answer(lab->client, lab->call, roll(2) ? 500 : 429, "");
    else if (strstr(path, "sendInitialEvents") && !server.can_stream)
        fake_answer(lab->client, lab->call, 422, "");
    else if (strstr(path, "sendInitialEvents"))
        serve_stream(lab);
    else if (strstr(path, "limit="))
        serve_page(lab, path);
    else
        serve_watch(lab, path);
}

/* Something happens to an open watch. */
static void disturb(Lab *lab) {
    switch (roll(14)) {
    case 0:
        fake_done(lab->client, lab->call, CALL_DONE);
        break;
    case 1:
        server_send(lab, STR("{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"zz\""));
        fake_done(lab->client, lab->call, CALL_BROKEN);
        break;
    case 2:
        server_send(lab, STR("{\"type\":\"ADDED\",\"object\"}\n"));
        break;
    case 3:
        server_send(lab, STR(EVENT("LATER", "zz", "1")));
        return;
    case 4:
        server_send(lab, STR(ERROR("500", "InternalError", "{}")));
        break;
    case 5:
        server.floor = server.n;
        return;
    case 6:
        now += (SILENCE_SEC + 1) * NSEC_PER_SEC;
        (void)reflector_tick(lab->reflector, now);
        break;
    case 7:
        send_bookmark(lab, server.sent, false);
        return;
    default:
        for (int64_t n = roll(5); n > 0 && server.sent < server.n; n--)
            send_event(lab, ++server.sent);
        return;
    }
    server.is_open = false;
}

static void run_server(uint64_t seed) {
    Lab lab;

    lab_open(&lab, seed);
    lab.sink.changed = check_shown;
    server = (Server){.dice = BACKOFF_INIT(seed), .can_stream = seed % 2 == 0};
    server.texts[0] = strdup("");
    for (int64_t n = roll(20); n > 0; n--)
        server_change();
    for (int i = 0; i < 300; i++) {
        if (server.is_open && !fake_call(lab.client, lab.call).is_over) {
            server_change();
            disturb(&lab);
        } else {
            lab_next_call(&lab, "server");
            serve(&lab);
        }
        lab_settle(&lab);
    }
    /* Peace: whatever state it is in, it ends with the truth. */
    for (int i = 0; i < 1000 && strcmp(state_text(&lab.sink.live), server.texts[server.n]) != 0;
         i++) {
        if (!server.is_open || fake_call(lab.client, lab.call).is_over) {
            lab_next_call(&lab, "peace");
            serve(&lab);
        } else if (server.sent < server.n) {
            send_event(&lab, ++server.sent);
        }
        lab_settle(&lab);
    }
    assert_string_equal(state_text(&lab.sink.live), server.texts[server.n]);
    for (size_t i = 0; i <= server.n; i++)
        free(server.texts[i]);
    lab_close(&lab);
}

static void test_random_servers(void **state) {
    for (uint64_t seed = 0; seed < 300; seed++)
        run_server(seed);
}

/* F5: a thousand normal ends, no list. */
static void test_normal_ends_never_list(void **state) {
    Lab lab;
    char text[256], part[64];

    lab_open(&lab, 0);
    lab_next_call(&lab, "first");
    fake_head(lab.client, 0, 200, "application/json", -1);
    fake_data(lab.client, 0, STR(LIST_END("1")));
    fake_done(lab.client, 0, CALL_DONE);
    lab_settle(&lab);
    for (int i = 1; i <= 1000; i++) {
        lab_next_call(&lab, "next");
        (void)snprintf(part, sizeof(part), "&resourceVersion=%d", i);
        assert_non_null(strstr(fake_call(lab.client, lab.call).path, part));
        (void)snprintf(text,
            sizeof(text),
            "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"%d\"}}}\n",
            i + 1);
        fake_head(lab.client, lab.call, 200, "application/json", -1);
        fake_data(lab.client, lab.call, str_from_c(text));
        fake_done(lab.client, lab.call, CALL_DONE);
        lab_settle(&lab);
    }
    assert_int_equal(figures(&lab)->n_lists, 1);
    assert_int_equal(figures(&lab)->n_failures, 0);
    lab_close(&lab);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scripts),
        cmocka_unit_test(test_calls_have_limits),
        cmocka_unit_test(test_refusals_are_not_heard),
        cmocka_unit_test(test_when_it_was_complete),
        cmocka_unit_test(test_an_endless_event_is_cut_off),
        cmocka_unit_test(test_an_endless_refusal_is_not_kept),
        cmocka_unit_test(test_lists_leave_no_memory_behind),
        cmocka_unit_test(test_tries_are_rationed),
        cmocka_unit_test(test_random_servers),
        cmocka_unit_test(test_normal_ends_never_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
