/* Deferred replies: server_defer() and server_answer(). */

#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "http/test-defer-fixture.h"

/* --- clients ------------------------------------------------------------------------ */

static void ask(int fd, const char *path, const char *body) {
    char text[512];
    int len = snprintf(text, sizeof(text),
        "POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: %zu\r\n\r\n%s", path, strlen(body), body);

    assert_true(len > 0 && (size_t)len < sizeof(text));
    client_send(fd, str_of(text, (size_t)len));
}

/* Reads exactly one reply, and its body into @body (skips it if it does not fit). Returns the
 * status; 0: the connection has ended. */
static unsigned read_reply(int fd, char *body, size_t size, bool *ret_close) {
    static const char length_is[] = "Content-Length: ";
    char head[1024], rest[4096];
    int64_t status, length;
    const char *at;
    size_t n = 0;

    while (n < 4 || memcmp(head + n - 4, "\r\n\r\n", 4) != 0) {
        assert_true(n < sizeof(head) - 1);
        if (recv(fd, head + n, 1, 0) != 1)
            return 0;
        n++;
    }
    head[n] = '\0';
    at = strstr(head, length_is);
    assert_non_null(at);
    at += sizeof(length_is) - 1;
    assert_true(str_to_int64(str_of(at, strcspn(at, "\r")), &length));
    assert_true(str_to_int64(str_of(head + strlen("HTTP/1.1 "), 3), &status));
    if (ret_close)
        *ret_close = strstr(head, "Connection: close") != NULL;
    if ((size_t)length < size) {
        assert_int_equal(recv(fd, body, (size_t)length, MSG_WAITALL), length);
        body[length] = '\0';
        return (unsigned)status;
    }
    while (length > 0) {
        ssize_t got = recv(fd, rest, length < 4096 ? (size_t)length : sizeof(rest), 0);

        assert_true(got > 0);
        length -= got;
    }
    return (unsigned)status;
}

static void expect(int fd, const char *want) {
    char body[128];

    assert_int_equal(read_reply(fd, body, sizeof(body), NULL), 200);
    assert_string_equal(body, want);
}

static void expect_end(int fd) {
    char byte;

    assert_true(recv(fd, &byte, 1, 0) <= 0);
    (void)close(fd);
}

/* --- tests -------------------------------------------------------------------------- */

/* A deferred request does not block the only worker, and no deadline applies to it. */
static void test_others_are_served_meanwhile(void **state) {
    DeferFixture fixture;
    ServerOptions options = server_default_options();
    int64_t seen_at, waited;
    int fd, other;

    options.n_workers = 1;
    start_fixture(&fixture, options);
    fd = connect_to(&fixture);
    other = connect_to(&fixture);
    for (int i = 0; i < 3; i++) { /* on the same connection */
        ask(fd, "/later", "a");
        wait_for_queue(&fixture, 1);
        seen_at = clock_monotonic_nsec();
        assert_int_equal(figures_of(&fixture).deferred, 1);
        ask(other, "/now", "b");
        expect(other, "[b]");
        ask(other, "/inside", "c");
        expect(other, "<c>");
        (void)close(other);
        server_tick(fixture.server, clock_monotonic_nsec() + 1000 * NSEC_PER_SEC);
        server_tick(fixture.server, clock_monotonic_nsec() + 2000 * NSEC_PER_SEC);
        other = connect_to(&fixture);
        waited = clock_monotonic_nsec() - seen_at;
        assert_true(server_answer(take_one(&fixture), fill, &fixture));
        expect(fd, "<a>");
        assert_int_equal(wait_for_outcomes(&fixture, 2 * (size_t)i + 2), 0);
        assert_int_equal(fixture.last.status, 200);
        assert_int_equal(fixture.last.bytes_in, 1);
        assert_int_equal(fixture.last.bytes_out, 3);
        assert_true(fixture.last.duration_nsec >= waited);
        assert_int_equal(figures_of(&fixture).deferred, 0);
    }
    (void)close(fd);
    (void)close(other);
    stop_fixture(&fixture);
}

/* Pipelined requests are answered in order. */
static void test_answers_pipelined_requests_in_order(void **state) {
    DeferFixture fixture;
    int fd;

    start_fixture(&fixture, server_default_options());
    fd = connect_to(&fixture);
    ask(fd, "/later", "1");
    ask(fd, "/now", "2");
    ask(fd, "/later", "3");
    ask(fd, "/inside", "4");
    assert_true(server_answer(take_one(&fixture), fill, &fixture));
    expect(fd, "<1>");
    expect(fd, "[2]");
    assert_true(server_answer(take_one(&fixture), fill, &fixture));
    expect(fd, "<3>");
    expect(fd, "<4>");
    (void)close(fd);
    stop_fixture(&fixture);
}

static void *answer_all(void *context) {
    DeferFixture *fixture = context;
    HttpPending *pending;
    unsigned rng = (unsigned)(uintptr_t)&rng;

    while ((pending = take(fixture, &rng)))
        (void)server_answer(pending, fill, fixture);
    return NULL;
}

static void dismiss(DeferFixture *fixture, pthread_t *answerers, size_t n) {
    pthread_mutex_lock(&fixture->lock);
    fixture->is_over = true;
    pthread_cond_broadcast(&fixture->changed);
    pthread_mutex_unlock(&fixture->lock);
    for (size_t i = 0; i < n; i++)
        (void)pthread_join(answerers[i], NULL);
}

#define CLIENTS 16
#define ROUNDS 40

typedef struct Client {
    DeferFixture *fixture;
    unsigned number;
} Client;

static void *be_client(void *context) {
    static const struct {
        const char *path, *reply;
    } ways[] = {{"/later", "<%s>"}, {"/slow", "<%s>"}, {"/now", "[%s]"}, {"/inside", "<%s>"}};
    const Client *client = context;
    int fd = connect_to(client->fixture);

    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned way = (i + client->number) % ELEMENTS_OF(ways);
        char body[32], want[64];

        (void)snprintf(body, sizeof(body), "%u of %u", i, client->number);
        if (ways[way].reply[0] == '<')
            (void)snprintf(want, sizeof(want), "<%s>", body);
        else
            (void)snprintf(want, sizeof(want), "[%s]", body);
        ask(fd, ways[way].path, body);
        expect(fd, want);
    }
    (void)close(fd);
    return NULL;
}

/* Many deferred requests, answered in any order, before and after handle() has returned. */
static void test_many_at_once(void **state) {
    DeferFixture fixture;
    Client clients[CLIENTS];
    pthread_t threads[CLIENTS], answerers[3];

    start_fixture(&fixture, server_default_options());
    for (size_t i = 0; i < ELEMENTS_OF(answerers); i++)
        assert_int_equal(pthread_create(&answerers[i], NULL, answer_all, &fixture), 0);
    for (unsigned i = 0; i < CLIENTS; i++) {
        clients[i] = (Client){.fixture = &fixture, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, be_client, &clients[i]), 0);
    }
    for (size_t i = 0; i < CLIENTS; i++)
        (void)pthread_join(threads[i], NULL);
    dismiss(&fixture, answerers, ELEMENTS_OF(answerers));
    assert_int_equal(wait_for_outcomes(&fixture, CLIENTS * ROUNDS / 4 * 3), 0);
    assert_int_equal(atomic_load(&fixture.n_filled), CLIENTS * ROUNDS / 4 * 3);
    assert_int_equal(figures_of(&fixture).deferred, 0);
    wait_for_memory(&fixture);
    stop_fixture(&fixture);
}

/* A deferred reply that the socket does not take at once is sent like any other. */
static void test_sends_large_replies(void **state) {
    DeferFixture fixture;
    char byte;
    int fd;

    start_fixture(&fixture, server_default_options());
    fd = connect_to(&fixture);
    ask(fd, "/later", "x");
    assert_true(server_answer(take_one(&fixture), fill_large, NULL));
    while (figures_of(&fixture).memory < LARGE) /* counted while it is pending */
        (void)usleep(1000);
    assert_int_equal(read_reply(fd, &byte, 1, NULL), 200);
    assert_int_equal(wait_for_outcomes(&fixture, 1), 0);
    assert_int_equal(fixture.last.bytes_out, LARGE);
    wait_for_memory(&fixture);
    (void)close(fd);
    stop_fixture(&fixture);
}

/* A closed client is noticed only when its reply is sent; then all memory is freed. */
static void test_closed_clients(void **state) {
    DeferFixture fixture;
    const struct linger reset = {.l_onoff = 1};
    int fds[4];

    start_fixture(&fixture, server_default_options());
    for (size_t i = 0; i < ELEMENTS_OF(fds); i++) {
        fds[i] = connect_to(&fixture);
        ask(fds[i], "/later", "x");
    }
    wait_for_queue(&fixture, ELEMENTS_OF(fds));
    for (size_t i = 0; i < ELEMENTS_OF(fds); i++) {
        if (i % 2 == 0)
            assert_int_equal(setsockopt(fds[i], SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
        (void)close(fds[i]);
    }
    (void)usleep(10 * 1000);
    server_tick(fixture.server, clock_monotonic_nsec() + 1000 * NSEC_PER_SEC);
    assert_int_equal(figures_of(&fixture).deferred, ELEMENTS_OF(fds));
    for (size_t i = 0; i < ELEMENTS_OF(fds); i++)
        assert_true(server_answer(take_one(&fixture), fill, &fixture));
    /* A client that closed may still be sent its reply. */
    assert_true(wait_for_outcomes(&fixture, ELEMENTS_OF(fds)) >= ELEMENTS_OF(fds) / 2);
    assert_int_equal(fixture.last.tag, TAG);
    wait_for_memory(&fixture);
    fds[0] = connect_to(&fixture);
    ask(fds[0], "/now", "y");
    expect(fds[0], "[y]");
    (void)close(fds[0]);
    stop_fixture(&fixture);
}

static void test_drain_waits_for_deferred_replies(void **state) {
    DeferFixture fixture;
    char body[16];
    bool is_closed = false;
    int fd;

    start_fixture(&fixture, server_default_options());
    fd = connect_to(&fixture);
    ask(fd, "/later", "x");
    wait_for_queue(&fixture, 1);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(server_drain(fixture.server), 1);
        server_tick(fixture.server, clock_monotonic_nsec() + 1000 * NSEC_PER_SEC);
    }
    assert_true(server_answer(take_one(&fixture), fill, &fixture));
    assert_int_equal(read_reply(fd, body, sizeof(body), &is_closed), 200);
    assert_string_equal(body, "<x>");
    assert_true(is_closed);
    expect_end(fd);
    while (server_drain(fixture.server) > 0)
        (void)usleep(1000);
    stop_fixture(&fixture);
}

/* server_free() cuts deferred requests; later answers are dropped. */
static void test_ends_without_answers(void **state) {
    DeferFixture fixture;
    HttpPending *late[8];
    int fds[8];

    start_fixture(&fixture, server_default_options());
    for (size_t i = 0; i < ELEMENTS_OF(fds); i++) {
        fds[i] = connect_to(&fixture);
        ask(fds[i], "/later", "x");
    }
    for (size_t i = 0; i < ELEMENTS_OF(late); i++)
        late[i] = take_one(&fixture);
    stop_fixture(&fixture);
    assert_int_equal(wait_for_outcomes(&fixture, ELEMENTS_OF(fds)), ELEMENTS_OF(fds));
    for (size_t i = 0; i < ELEMENTS_OF(late); i++) {
        expect_end(fds[i]);
        assert_false(server_answer(late[i], fill, &fixture));
    }
    assert_int_equal(atomic_load(&fixture.n_filled), 0);
}

/* server_free() while fill functions run and handle() has not returned. */
static void test_ends_among_answers(void **state) {
    for (int i = 0; i < 25; i++) {
        DeferFixture fixture;
        pthread_t answerers[2];
        int fds[6];

        start_fixture(&fixture, server_default_options());
        for (size_t k = 0; k < ELEMENTS_OF(fds); k++) {
            fds[k] = connect_to(&fixture);
            ask(fds[k], k % 3 == 2 ? "/slow" : "/later", "x");
        }
        wait_for_queue(&fixture, (size_t)i % ELEMENTS_OF(fds));
        for (size_t k = 0; k < ELEMENTS_OF(answerers); k++)
            assert_int_equal(pthread_create(&answerers[k], NULL, answer_all, &fixture), 0);
        fixture.server = server_free(fixture.server);
        dismiss(&fixture, answerers, ELEMENTS_OF(answerers));
        for (size_t k = 0; k < ELEMENTS_OF(fds); k++)
            (void)close(fds[k]);
        assert_int_equal(fixture.n_queue, 0);
    }
}

static void *answer_slowly(void *context) {
    DeferFixture *fixture = context;

    assert_true(server_answer(take_one(fixture), fill_slowly, fixture));
    return NULL;
}

/* server_free() does not free memory that a fill function uses. */
static void test_end_waits_for_fill(void **state) {
    DeferFixture fixture;
    pthread_t answerer;
    int fd;

    start_fixture(&fixture, server_default_options());
    fd = connect_to(&fixture);
    ask(fd, "/later", "x");
    assert_int_equal(pthread_create(&answerer, NULL, answer_slowly, &fixture), 0);
    while (!atomic_load(&fixture.is_filling))
        (void)usleep(1000);
    atomic_store(&fixture.may_go_on, true);
    stop_fixture(&fixture);
    assert_int_equal(atomic_load(&fixture.n_filled), 1);
    (void)pthread_join(answerer, NULL);
    (void)close(fd);
}

/* Half of the connections may be deferred. A new connection evicts only a silent one, neither a
 * deferred nor an idle one; it is not kept if only the share of new ones is left. */
static void test_limits_of_connections(void **state) {
    DeferFixture fixture;
    ServerOptions options = server_default_options();
    char body[16];
    int fds[2], more[2], idle, other, silent;

    options.connections_max = 4;
    start_fixture(&fixture, options);
    for (size_t i = 0; i < ELEMENTS_OF(fds); i++) {
        fds[i] = connect_to(&fixture);
        ask(fds[i], "/later", "x");
    }
    wait_for_queue(&fixture, ELEMENTS_OF(fds));
    idle = connect_to(&fixture);
    ask(idle, "/now", "y");
    expect(idle, "[y]");
    other = connect_to(&fixture);
    ask(other, "/later", "z");
    assert_int_equal(read_reply(other, body, sizeof(body), NULL), 503);
    assert_string_equal(body, "no\n");
    expect_end(other);

    silent = connect_to(&fixture);
    for (size_t i = 0; i < ELEMENTS_OF(more); i++) {
        more[i] = connect_to(&fixture);
        ask(more[i], "/now", "y");
        expect(more[i], "[y]");
        expect_end(more[i]);
    }
    expect_end(silent);
    ask(idle, "/now", "y");
    expect(idle, "[y]");
    (void)close(idle);
    for (size_t i = 0; i < ELEMENTS_OF(fds); i++)
        assert_true(server_answer(take_one(&fixture), fill, &fixture));
    for (size_t i = 0; i < ELEMENTS_OF(fds); i++) {
        expect(fds[i], "<x>");
        (void)close(fds[i]);
    }
    stop_fixture(&fixture);
}

/* Deferred requests count towards memory_max, and are refused when it is used up. */
static void test_deferred_requests_count_as_memory(void **state) {
    DeferFixture fixture;
    ServerOptions options = server_default_options();
    char body[16];
    int first, second;

    options.memory_max = 2 * LARGE; /* with the reserve for known clients */
    options.body_max = LARGE / 4;
    start_fixture(&fixture, options);
    first = connect_to(&fixture);
    ask(first, "/greedy", "x");
    wait_for_queue(&fixture, 1);
    assert_true(figures_of(&fixture).memory >= LARGE);
    second = connect_to(&fixture);
    ask(second, "/greedy", "y");
    assert_int_equal(read_reply(second, body, sizeof(body), NULL), 503);
    assert_true(server_answer(take_one(&fixture), fill, &fixture));
    expect(first, "<x>");
    assert_int_equal(wait_for_outcomes(&fixture, 1), 0);
    wait_for_memory(&fixture);
    (void)close(first);
    (void)close(second);
    stop_fixture(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_others_are_served_meanwhile),
        cmocka_unit_test(test_answers_pipelined_requests_in_order),
        cmocka_unit_test(test_many_at_once),
        cmocka_unit_test(test_sends_large_replies),
        cmocka_unit_test(test_closed_clients),
        cmocka_unit_test(test_drain_waits_for_deferred_replies),
        cmocka_unit_test(test_ends_without_answers),
        cmocka_unit_test(test_ends_among_answers),
        cmocka_unit_test(test_end_waits_for_fill),
        cmocka_unit_test(test_limits_of_connections),
        cmocka_unit_test(test_deferred_requests_count_as_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
