#pragma once

/* A reflector with a small API server. Choices decide when it changes, fails, forgets versions and
 * disconnects: streamed lists, pages, watches cut anywhere, errors, bookmarks and 410s in any
 * order. The sink shows only true states, never an older one, and the current one in the end. */

#include "base/test-choices.h"
#include "kube/test-reflector.h"

#define SERVER_NAMES 8u
#define SERVER_EVENTS 400u

typedef struct ServerEvent {
    WatchEventType type;
    char name[2];
} ServerEvent;

/* The true history: events 1..n, and the state after each. A version is the number of an event. */
typedef struct Server {
    Choices choices;
    bool is_faultless; /* no more faults */
    size_t n;
    ServerEvent events[SERVER_EVENTS + 1];
    char *texts[SERVER_EVENTS + 1];
    ReflectorState states[SERVER_EVENTS + 1];
    size_t floor; /* older versions are forgotten */
    bool can_stream;

    size_t sent;      /* the open watch has sent events up to this one */
    bool is_open;     /* the watch is open */
    size_t listed_at; /* a list in pages shows this version */
    size_t shown;     /* the newest state that the sink has shown */
    bool has_shown;
} Server;

static Server server;

static unsigned pick(unsigned n) {
    return choose(&server.choices, n);
}

/* Decides on a fault, with probability 1/@n. */
static bool has_fault(unsigned n) {
    return !server.is_faultless && choose_rarely(&server.choices, n);
}

static void server_change(void) {
    ServerEvent *event;
    ReflectorState state = server.states[server.n];
    char version[16];
    bool is_there = false;

    if (server.n == SERVER_EVENTS)
        return;
    event = &server.events[++server.n];
    event->name[0] = (char)('a' + pick(SERVER_NAMES));
    for (size_t i = 0; i < state.n; i++)
        is_there |= strcmp(state.entries[i].name, event->name) == 0;
    event->type = !is_there ? EVENT_ADDED : pick(2) ? EVENT_MODIFIED : EVENT_DELETED;
    (void)snprintf(version, sizeof(version), "%zu", server.n);
    if (event->type == EVENT_DELETED)
        state_remove(&state, str_from_c(event->name));
    else
        state_put(&state, str_from_c(event->name), str_from_c(version));
    server.texts[server.n] = strdup(state_text(&state));
    server.states[server.n] = state;
}

/* The sink must show the true state at some version, and never an older one. */
static void check_shown(Sink *sink) {
    const char *text = state_text(&sink->live);
    size_t at = server.has_shown ? server.shown : 0;

    while (at <= server.n && strcmp(server.texts[at], text) != 0)
        at++;
    if (at > server.n)
        (void)fprintf(stderr, "never was, or is older than %zu: %s\n", server.shown, text);
    require(at <= server.n);
    server.shown = at;
    server.has_shown = true;
}

/* Sends @text in pieces of any size. */
static void server_send(ReflectorFixture *fixture, Str text) {
    while (text.len > 0) {
        size_t len = 200u - pick(200); /* 200 bytes, after the last choice */

        fake_data(fixture->client, fixture->call, str_take(text, len));
        text = str_skip(text, len);
    }
}

static void send_event(ReflectorFixture *fixture, size_t i) {
    static const char *const words[] = {"ADDED", "MODIFIED", "DELETED"};
    char text[256];

    (void)snprintf(text, sizeof(text),
        "{\"type\":\"%s\",\"object\":{\"metadata\":{\"name\":\"%s\",\"resourceVersion\":\"%zu\"}}}"
        "\n",
        words[server.events[i].type], server.events[i].name, i);
    server_send(fixture, str_from_c(text));
}

static void send_bookmark(ReflectorFixture *fixture, size_t version, bool is_end) {
    char text[256];

    (void)snprintf(text, sizeof(text),
        "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"%zu\"%s}}}\n",
        version, is_end ? ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}" : "");
    server_send(fixture, str_from_c(text));
}

/* Sends a streamed list, with some changes as events in it. */
static void serve_stream(ReflectorFixture *fixture) {
    const ReflectorState *state = &server.states[server.n];

    server.sent = server.n;
    fake_head(fixture->client, fixture->call, 200, "application/json", -1);
    for (size_t i = 0; i < state->n; i++) {
        char text[256];

        (void)snprintf(text, sizeof(text),
            "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"%s\",\"resourceVersion\":"
            "\"%s\"}}}\n",
            state->entries[i].name, state->entries[i].version);
        server_send(fixture, str_from_c(text));
        if (has_fault(20)) {
            fake_done(fixture->client, fixture->call, CALL_BROKEN);
            return;
        }
    }
    for (unsigned n = pick(6); n > 0; n--)
        server_change();
    while (server.sent < server.n)
        send_event(fixture, ++server.sent);
    send_bookmark(fixture, server.sent, true);
    server.is_open = true;
}

/* Sends a page with two objects. */
static void serve_page(ReflectorFixture *fixture, const char *path) {
    const char *at = strstr(path, "continue=");
    int64_t from = 0;
    char text[1024];
    size_t used;

    if (at) {
        require(str_to_int64(str_from_c(at + 9), &from));
        if (server.listed_at < server.floor) {
            fake_answer(fixture->client, fixture->call, 410, STATUS("410", "Expired", "{}"));
            return;
        }
    } else {
        server.listed_at = server.n;
    }
    used = (size_t)snprintf(text, sizeof(text),
        "{\"metadata\":{\"resourceVersion\":\"%zu\",\"continue\":\"", server.listed_at);
    if ((size_t)from + 2 < server.states[server.listed_at].n)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%d", (int)from + 2);
    used += (size_t)snprintf(text + used, sizeof(text) - used, "\"},\"items\":[");
    for (size_t i = (size_t)from; i < (size_t)from + 2 && i < server.states[server.listed_at].n;
         i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used,
            "%s{\"metadata\":{\"name\":\"%s\",\"resourceVersion\":\"%s\"}}",
            i > (size_t)from ? "," : "", server.states[server.listed_at].entries[i].name,
            server.states[server.listed_at].entries[i].version);
    (void)snprintf(text + used, sizeof(text) - used, "]}");
    fake_answer(fixture->client, fixture->call, 200, text);
}

static void serve_watch(ReflectorFixture *fixture, const char *path) {
    int64_t version = 0;

    require(str_to_int64(str_from_c(strstr(path, "&resourceVersion=") + 17), &version));
    require(version >= 0 && (size_t)version <= server.n);
    if ((size_t)version < server.floor) {
        if (pick(2)) {
            fake_answer(fixture->client, fixture->call, 410, STATUS("410", "Expired", "{}"));
        } else {
            fake_head(fixture->client, fixture->call, 200, "application/json", -1);
            server_send(fixture, STR(ERROR("410", "Expired", "{}")));
        }
        return;
    }
    fake_head(fixture->client, fixture->call, 200, "application/json", -1);
    server.sent = (size_t)version;
    server.is_open = true;
}

static void serve(ReflectorFixture *fixture) {
    const char *path = fake_call(fixture->client, fixture->call).path;

    server.is_open = false;
    if (has_fault(8))
        fake_done(fixture->client, fixture->call, (CallOutcome)(CALL_REFUSED + pick(3)));
    else if (has_fault(12))
        fake_answer(fixture->client, fixture->call, pick(2) ? 500 : 429, "");
    else if (strstr(path, "sendInitialEvents") && !server.can_stream)
        fake_answer(fixture->client, fixture->call, 422, "");
    else if (strstr(path, "sendInitialEvents"))
        serve_stream(fixture);
    else if (strstr(path, "limit="))
        serve_page(fixture, path);
    else
        serve_watch(fixture, path);
}

/* Does something random on an open watch. */
static void disturb(ReflectorFixture *fixture) {
    switch (pick(17)) {
    case 1:
        fake_done(fixture->client, fixture->call, CALL_DONE);
        break;
    case 2:
        server_send(fixture, STR("{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"zz\""));
        fake_done(fixture->client, fixture->call, CALL_BROKEN);
        break;
    case 3:
        server_send(fixture, STR("{\"type\":\"ADDED\",\"object\"}\n"));
        break;
    case 4:
        server_send(fixture, STR(EVENT("LATER", "zz", "1")));
        return;
    case 5:
        server_send(fixture, STR(ERROR("500", "InternalError", "{}")));
        break;
    case 6:
        server.floor = server.n;
        return;
    case 7:
        now += (SILENCE_SEC + 1) * NSEC_PER_SEC;
        (void)reflector_tick(fixture->reflector, now);
        break;
    case 8:
        send_bookmark(fixture, server.sent, pick(2));
        return;
    case 9:
        server_send(fixture, STR(ERROR("410", "Expired", "{}")));
        break;
    case 10: /* no document */
        server_send(fixture, STR("\n \r\n\n"));
        return;
    default:
        for (unsigned n = pick(5); n > 0 && server.sent < server.n; n--)
            send_event(fixture, ++server.sent);
        return;
    }
    server.is_open = false;
}

/* Runs @steps, or until all bytes of @choices are used. */
static void run_server(Choices choices, uint64_t seed, int steps) {
    ReflectorFixture fixture;

    fixture_open(&fixture, seed);
    fixture.sink.changed = check_shown;
    server = (Server){.choices = choices, .can_stream = seed % 2 == 0};
    server.texts[0] = strdup("");
    for (unsigned n = pick(20); n > 0; n--)
        server_change();
    for (int i = 0; i < steps && (server.choices.rng || server.choices.n > 0); i++) {
        if (server.is_open && !fake_call(fixture.client, fixture.call).is_over) {
            server_change();
            disturb(&fixture);
        } else {
            fixture_next_call(&fixture, "server");
            serve(&fixture);
        }
        fixture_settle(&fixture);
    }
    /* Without faults it reaches the true state from any state. */
    server.is_faultless = true;
    for (int i = 0; i < 1000 && strcmp(state_text(&fixture.sink.live), server.texts[server.n]) != 0;
         i++) {
        if (!server.is_open || fake_call(fixture.client, fixture.call).is_over) {
            fixture_next_call(&fixture, "without faults");
            serve(&fixture);
        } else if (server.sent < server.n) {
            send_event(&fixture, ++server.sent);
        }
        fixture_settle(&fixture);
    }
    require(strcmp(state_text(&fixture.sink.live), server.texts[server.n]) == 0);
    for (size_t i = 0; i <= server.n; i++)
        free(server.texts[i]);
    fixture_close(&fixture);
}
