/* Replies that go on: server_stream(), stream_send() and stream_close(). */

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "http/server.h"
#include "http/test-client.h"

#define TAG 7
#define HEAD_MAX 1024u
#define ROOM 256u /* more than there are at a time: some may have ended without our knowing */

/* What the callbacks have seen, and the streams that were opened. */
typedef struct Radio {
    Server *server;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    HttpStream *streams[ROOM];
    size_t n;
    size_t n_ended;
    HttpOutcome last; /* with the tag TAG */
} Radio;

static bool admit(void *context, const HttpRequest *request, HttpReply *reply) {
    return true;
}

static void handle(void *context, const HttpRequest *request, HttpReply *reply) {
    static const Str no = STR("no\n");
    Radio *radio = context;
    HttpStream *stream = server_stream(request, TAG);

    *reply = (HttpReply){.status = 503, .slices = &no, .n_slices = 1, .tag = 77};
    if (!stream)
        return;
    pthread_mutex_lock(&radio->lock);
    assert_true(radio->n < ROOM);
    radio->streams[radio->n++] = stream;
    pthread_cond_broadcast(&radio->changed);
    pthread_mutex_unlock(&radio->lock);
}

static void finished(void *context, const HttpOutcome *outcome) {
    Radio *radio = context;

    pthread_mutex_lock(&radio->lock);
    if (outcome->tag == TAG) {
        radio->last = *outcome;
        radio->n_ended++;
    }
    pthread_cond_broadcast(&radio->changed);
    pthread_mutex_unlock(&radio->lock);
}

static void switch_on(Radio *radio) {
    const ServerCallbacks callbacks = {
        .context = radio, .admit = admit, .handle = handle, .finished = finished};
    ServerOptions options = server_default_options();

    *radio = (Radio){.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    options.port = 0;
    assert_int_equal(server_new(&options, &callbacks, &radio->server), 0);
}

static void switch_off(Radio *radio) {
    radio->server = server_free(radio->server);
    for (size_t i = 0; i < radio->n; i++)
        stream_close(radio->streams[i]);
    radio->n = 0;
}

/* The first of the streams, once there is one; it is the caller's from now on. */
static HttpStream *take_stream(Radio *radio) {
    HttpStream *stream;

    pthread_mutex_lock(&radio->lock);
    while (radio->n == 0)
        pthread_cond_wait(&radio->changed, &radio->lock);
    stream = radio->streams[--radio->n];
    pthread_mutex_unlock(&radio->lock);
    return stream;
}

static HttpOutcome wait_for_end(Radio *radio, size_t n) {
    HttpOutcome outcome;

    pthread_mutex_lock(&radio->lock);
    while (radio->n_ended < n)
        pthread_cond_wait(&radio->changed, &radio->lock);
    outcome = radio->last;
    pthread_mutex_unlock(&radio->lock);
    return outcome;
}

static ServerFigures figures_of(const Radio *radio) {
    ServerFigures figures;

    server_figures(radio->server, &figures);
    return figures;
}

/* --- clients ---------------------------------------------------------------------------------- */

static int listen_to(const Radio *radio, const char *request_line) {
    char text[256];
    int fd = client_connect(server_port(radio->server), /* buffer= */ 0);
    int len = snprintf(text, sizeof(text), "%s\r\nHost: a\r\n\r\n", request_line);

    client_send(fd, str_of(text, (size_t)len));
    return fd;
}

/* All up to the end of @until, at most @size - 1 bytes, NUL-terminated; or to the end of it all. */
static const char *read_to(int fd, const char *until, char *text, size_t size) {
    size_t n = 0, len = strlen(until);

    while (n < size - 1 && recv(fd, text + n, 1, 0) == 1) {
        n++;
        if (len > 0 && n >= len && memcmp(text + n - len, until, len) == 0)
            break;
    }
    text[n] = '\0';
    return text;
}

static const char *read_head(int fd, char *text, size_t size) {
    return read_to(fd, "\r\n\r\n", text, size);
}

/* A radio, and one who listens to it: the head of what they are sent goes to @head. Returns their
 * socket. */
static int tune_in(
    Radio *radio, const char *request_line, HttpStream **ret, char head[static HEAD_MAX]) {
    int fd;

    switch_on(radio);
    fd = listen_to(radio, request_line);
    *ret = take_stream(radio);
    (void)read_head(fd, head, HEAD_MAX);
    return fd;
}

static void tune_out(Radio *radio, int fd) {
    (void)close(fd);
    switch_off(radio);
}

/* Sends until nobody listens. */
static void send_to_the_end(HttpStream *stream, Str bytes) {
    while (stream_send(stream, bytes))
        (void)usleep(1000);
    stream_close(stream);
}

/* --- tests ------------------------------------------------------------------------------------ */

static void test_what_is_sent_arrives(void **state) {
    char text[HEAD_MAX];
    HttpOutcome outcome;
    HttpStream *stream;
    Radio radio;
    int fd;

    fd = tune_in(&radio, "GET /listen HTTP/1.1", &stream, text); /* before anything is sent */
    assert_non_null(strstr(text, "HTTP/1.1 200 OK\r\n"));
    assert_non_null(strstr(text, "Content-Type: text/event-stream\r\n"));
    assert_non_null(strstr(text, "Transfer-Encoding: chunked\r\n"));
    assert_non_null(strstr(text, "Cache-Control: no-store\r\n"));
    assert_non_null(strstr(text, "Connection: close\r\n"));
    assert_true(stream_send(stream, STR("one\n")));
    assert_string_equal(read_to(fd, "one\n\r\n", text, sizeof(text)), "4\r\none\n\r\n");
    assert_true(stream_send(stream, STR("three\n")));
    assert_string_equal(read_to(fd, "three\n\r\n", text, sizeof(text)), "6\r\nthree\n\r\n");
    assert_true(figures_of(&radio).memory >= SERVER_STREAM_BUFFER);
    assert_true(stream_send(stream, STR("end\n")));
    stream_close(stream);
    assert_string_equal(read_to(fd, "", text, sizeof(text)), "4\r\nend\n\r\n0\r\n\r\n");
    outcome = wait_for_end(&radio, 1);
    assert_int_equal(outcome.status, 200);
    assert_int_equal(outcome.bytes_out, 14);
    assert_true(outcome.handle_nsec > 0);
    tune_out(&radio, fd);
}

static void test_old_clients(void **state) {
    char text[HEAD_MAX];
    HttpStream *stream;
    Radio radio;
    int fd;

    fd = tune_in(&radio, "GET /listen HTTP/1.0", &stream, text);
    assert_null(strstr(text, "chunked"));
    assert_true(stream_send(stream, STR("one\n")));
    assert_string_equal(read_to(fd, "\n", text, sizeof(text)), "one\n");
    assert_true(stream_send(stream, STR("two\n")));
    stream_close(stream);
    assert_string_equal(read_to(fd, "", text, sizeof(text)), "two\n");
    (void)close(fd);

    fd = listen_to(&radio, "HEAD /listen HTTP/1.1");
    stream = take_stream(&radio);
    assert_non_null(strstr(read_to(fd, "", text, sizeof(text)), "text/event-stream"));
    send_to_the_end(stream, STR("x"));
    tune_out(&radio, fd);
}

/* More than fits at a time, so that the ring goes round. */
static void test_much(void **state) {
    static char block[100 * 1000];
    uint64_t n_sent = 0, n_read = 0;
    char text[4096];
    HttpStream *stream;
    Radio radio;
    ssize_t n;
    int fd;

    for (size_t i = 0; i < sizeof(block); i++)
        block[i] = (char)('a' + i % 26);
    fd = tune_in(&radio, "GET /listen HTTP/1.0", &stream, text);
    for (size_t round = 0; round < 20; round++) {
        assert_true(stream_send(stream, str_of(block, sizeof(block))));
        n_sent += sizeof(block);
        while (n_read < n_sent && (n = recv(fd, text, sizeof(text), 0)) > 0)
            for (ssize_t i = 0; i < n; i++, n_read++)
                assert_int_equal(text[i], block[n_read % sizeof(block)]);
        assert_int_equal(n_read, n_sent);
    }
    stream_close(stream);
    assert_int_equal(wait_for_end(&radio, 1).bytes_out, n_sent);
    tune_out(&radio, fd);
}

static void test_enough(void **state) {
    int fds[SERVER_STREAMS_MAX + 1];
    char text[HEAD_MAX];
    Radio radio;

    switch_on(&radio);
    for (size_t i = 0; i <= SERVER_STREAMS_MAX; i++) {
        fds[i] = listen_to(&radio, "GET /listen HTTP/1.1");
        (void)read_head(fds[i], text, sizeof(text));
        assert_true((strstr(text, "HTTP/1.1 200") != NULL) == (i < SERVER_STREAMS_MAX));
    }
    (void)close(fds[0]);
    while (
        figures_of(&radio).connections > SERVER_STREAMS_MAX) { /* it is noticed when it is told */
        pthread_mutex_lock(&radio.lock);
        for (size_t i = 0; i < radio.n; i++)
            (void)!stream_send(radio.streams[i], STR("x"));
        pthread_mutex_unlock(&radio.lock);
        (void)usleep(1000);
    }
    for (size_t i = 1; i <= SERVER_STREAMS_MAX; i++)
        (void)close(fds[i]);
    switch_off(&radio);
}

static void test_client_goes(void **state) {
    HttpStream *stream;
    Radio radio;
    int fd;

    switch_on(&radio);
    fd = listen_to(&radio, "GET /listen HTTP/1.1");
    stream = take_stream(&radio);
    (void)close(fd);
    send_to_the_end(stream, STR("anybody?\n"));
    assert_int_equal(wait_for_end(&radio, 1).status, 200);
    while (figures_of(&radio).memory > 0)
        (void)usleep(1000);
    switch_off(&radio);
}

/* Who reads nothing is given up when the buffer is full, and no sooner. */
static void test_client_does_not_read(void **state) {
    static char block[64 * 1024];
    HttpStream *stream;
    Radio radio;
    int fd;

    switch_on(&radio);
    fd = listen_to(&radio, "GET /listen HTTP/1.1");
    stream = take_stream(&radio);
    for (size_t i = 0; i < SERVER_STREAM_BUFFER / sizeof(block); i++)
        assert_true(stream_send(stream, str_of(block, sizeof(block))));
    send_to_the_end(stream, str_of(block, sizeof(block)));
    (void)wait_for_end(&radio, 1);
    assert_int_equal(figures_of(&radio).refused[SERVER_REFUSED_WRITE_TIME], 1);
    while (figures_of(&radio).memory > 0)
        (void)usleep(1000);
    tune_out(&radio, fd);
}

/* Time goes by as we say. Silence is no reason to be cut; not to take what was said is. */
static void test_deadlines(void **state) {
    static char block[SERVER_STREAM_BUFFER];
    int64_t now = clock_monotonic_nsec();
    char text[HEAD_MAX];
    HttpStream *stream;
    Radio radio;
    int fd;

    /* qemu gives 4 bytes of TCP_INFO, and not the count of bytes that a client took. */
    if (getenv("MESON_EXE_WRAPPER"))
        skip();
    switch_on(&radio);
    fd = client_connect(server_port(radio.server), /* buffer= */ 4096);
    client_send(fd, STR("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
    stream = take_stream(&radio);
    (void)read_head(fd, text, sizeof(text));
    for (unsigned hour = 0; hour < 48; hour++)
        server_tick(radio.server, now += 3600 * NSEC_PER_SEC);
    assert_true(stream_send(stream, STR("x")));
    assert_string_equal(read_to(fd, "x\r\n", text, sizeof(text)), "1\r\nx\r\n");

    assert_true(stream_send(stream, str_of(block, sizeof(block))));
    (void)read_to(fd, "\r\n", text, sizeof(text)); /* the first of it is there */
    (void)usleep(50 * 1000);                       /* and its buffer full */
    server_tick(radio.server, now += NSEC_PER_SEC);
    server_tick(radio.server, now += (SERVER_WRITE_SEC + 1) * NSEC_PER_SEC);
    send_to_the_end(stream, STR("x"));
    (void)wait_for_end(&radio, 1);
    assert_int_equal(figures_of(&radio).refused[SERVER_REFUSED_WRITE_TIME], 1);
    tune_out(&radio, fd);
}

static void test_drain(void **state) {
    char text[HEAD_MAX];
    HttpStream *stream;
    Radio radio;
    int fd;

    fd = tune_in(&radio, "GET /listen HTTP/1.1", &stream, text);
    server_retire(radio.server);
    assert_true(stream_send(stream, STR("last\n")));
    while (server_drain(radio.server) > 0)
        (void)usleep(1000);
    assert_string_equal(read_to(fd, "", text, sizeof(text)), "5\r\nlast\n\r\n0\r\n\r\n");
    assert_false(stream_send(stream, STR("more\n")));
    stream_close(stream);
    tune_out(&radio, fd);
}

static void test_end_of_the_server(void **state) {
    HttpStream *stream;
    char text[HEAD_MAX];
    Radio radio;
    int fd;

    fd = tune_in(&radio, "GET /listen HTTP/1.1", &stream, text);
    radio.server = server_free(radio.server);
    assert_false(stream_send(stream, STR("x")));
    stream_close(stream);
    tune_out(&radio, fd);
}

/* --- many at once ----------------------------------------------------------------------------- */

#define N_CLIENTS 8u
#define N_ROUNDS 20u

typedef struct Crowd {
    Radio *radio;
    atomic_uint n_clients; /* that are still at it */
    atomic_uint seed;
} Crowd;

/* Listens for a while, reads or does not, and goes. */
static void *come_and_go(void *context) {
    Crowd *crowd = context;
    unsigned rng = atomic_fetch_add(&crowd->seed, 1);
    char text[4096];

    for (unsigned i = 0; i < N_ROUNDS; i++) {
        /* One who is not let in, since there are enough, is not to wait for more than the 503. */
        int fd = listen_to(
            crowd->radio, i % 5 == 0 ? "GET / HTTP/1.0" : "GET / HTTP/1.1\r\nConnection: close");
        unsigned n_reads = (unsigned)rand_r(&rng) % 4;

        for (unsigned n = 0; n < n_reads && recv(fd, text, sizeof(text), 0) > 0; n++)
            ;
        (void)usleep((useconds_t)rand_r(&rng) % 3000);
        (void)close(fd);
    }
    atomic_fetch_sub(&crowd->n_clients, 1);
    return NULL;
}

/* One round of news; who does not listen any more is dropped, and now and then one who does. */
static void tell_all(Radio *radio, Str news, unsigned *rng) {
    size_t n = 0;

    pthread_mutex_lock(&radio->lock);
    for (size_t i = 0; i < radio->n; i++)
        if (stream_send(radio->streams[i], news) && rand_r(rng) % 50 != 0)
            radio->streams[n++] = radio->streams[i];
        else
            stream_close(radio->streams[i]);
    radio->n = n;
    pthread_mutex_unlock(&radio->lock);
}

static void test_crowd(void **state) {
    static char news[3000];
    pthread_t threads[N_CLIENTS];
    unsigned rng = 1;
    Radio radio;
    Crowd crowd = {.radio = &radio, .n_clients = N_CLIENTS};

    memset(news, 'n', sizeof(news));
    switch_on(&radio);
    for (size_t i = 0; i < N_CLIENTS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, &crowd), 0);
    while (atomic_load(&crowd.n_clients) > 0) {
        tell_all(&radio, str_of(news, sizeof(news)), &rng);
        server_tick(radio.server, clock_monotonic_nsec());
        (void)usleep(300);
    }
    for (size_t i = 0; i < N_CLIENTS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    switch_off(&radio);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_sent_arrives),
        cmocka_unit_test(test_old_clients),
        cmocka_unit_test(test_much),
        cmocka_unit_test(test_enough),
        cmocka_unit_test(test_client_goes),
        cmocka_unit_test(test_client_does_not_read),
        cmocka_unit_test(test_deadlines),
        cmocka_unit_test(test_drain),
        cmocka_unit_test(test_end_of_the_server),
        cmocka_unit_test(test_crowd),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
