/*
 * The reflector against a small API server that restarts, forgets and breaks off at random:
 * whatever the sink shows was true, never goes back, and in the end is what there is.
 */

#include "kube/backoff.h"
#include "kube/reflector.h"
#include "kube/test-reflector.h"

#define SERVER_NAMES 8u
#define SERVER_EVENTS 400u

typedef struct ServerEvent {
    WatchEventType type;
    char name[2];
} ServerEvent;

/* The truth: events 1..n, and the state after each. A version is the number of an event. */
typedef struct Server {
    Backoff rng;
    size_t n;
    ServerEvent events[SERVER_EVENTS + 1];
    char *texts[SERVER_EVENTS + 1];
    ReflectorState states[SERVER_EVENTS + 1];
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
    return backoff_pick(&server.rng, 0, n - 1);
}

static void server_change(void) {
    ServerEvent *event;
    ReflectorState state = server.states[server.n];
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

    (void)snprintf(text, sizeof(text),
        "{\"type\":\"%s\",\"object\":{\"metadata\":{\"name\":\"%s\",\"resourceVersion\":\"%zu\"}}}"
        "\n",
        words[server.events[i].type], server.events[i].name, i);
    server_send(lab, str_from_c(text));
}

static void send_bookmark(Lab *lab, size_t version, bool is_end) {
    char text[256];

    (void)snprintf(text, sizeof(text),
        "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"%zu\"%s}}}\n",
        version, is_end ? ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}" : "");
    server_send(lab, str_from_c(text));
}

/* All up to now, some of it as events inside the list. */
static void serve_stream(Lab *lab) {
    const ReflectorState *state = &server.states[server.n];

    server.sent = server.n;
    fake_head(lab->client, lab->call, 200, "application/json", -1);
    for (size_t i = 0; i < state->n; i++) {
        char text[256];

        (void)snprintf(text, sizeof(text),
            "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"%s\",\"resourceVersion\":"
            "\"%s\"}}}\n",
            state->entries[i].name, state->entries[i].version);
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
    server = (Server){.rng = BACKOFF_INIT(seed), .can_stream = seed % 2 == 0};
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_servers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
