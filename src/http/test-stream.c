/* Streams: server_stream(), stream_send() and stream_close(). */

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
#define ROOM 256u /* above SERVER_STREAMS_MAX: some may have ended unnoticed */

/* Counts recorded by the callbacks, and the open streams. */
typedef struct StreamFixture {
    Server *server;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    HttpStream *streams[ROOM];
    size_t n;
    size_t n_ended;
    HttpOutcome last; /* with the tag TAG */
} StreamFixture;

static bool admit(void *context, const HttpRequest *request, HttpReply *reply) {
    return true;
}

static void handle(void *context, const HttpRequest *request, HttpReply *reply) {
    static const Str no = STR("no\n");
    StreamFixture *fixture = context;
    HttpStream *stream = server_stream(request, TAG);

    *reply = (HttpReply){.status = 503, .slices = &no, .n_slices = 1, .tag = 77};
    if (!stream)
        return;
    if (str_is(request->path, "/greet"))
        assert_true(stream_send(stream, STR("hello\n")));
    pthread_mutex_lock(&fixture->lock);
    assert_true(fixture->n < ROOM);
    fixture->streams[fixture->n++] = stream;
    pthread_cond_broadcast(&fixture->changed);
    pthread_mutex_unlock(&fixture->lock);
}

static void finished(void *context, const HttpOutcome *outcome) {
    StreamFixture *fixture = context;

    pthread_mutex_lock(&fixture->lock);
    if (outcome->tag == TAG) {
        fixture->last = *outcome;
        fixture->n_ended++;
    }
    pthread_cond_broadcast(&fixture->changed);
    pthread_mutex_unlock(&fixture->lock);
}

static void start_fixture(StreamFixture *fixture) {
    const ServerCallbacks callbacks = {
        .context = fixture, .admit = admit, .handle = handle, .finished = finished};
    ServerOptions options = server_default_options();

    *fixture =
        (StreamFixture){.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    options.port = 0;
    assert_int_equal(server_new(&options, &callbacks, &fixture->server), 0);
}

static void stop_fixture(StreamFixture *fixture) {
    fixture->server = server_free(fixture->server);
    for (size_t i = 0; i < fixture->n; i++)
        stream_close(fixture->streams[i]);
    fixture->n = 0;
}

/* Waits for a stream and takes it. */
static HttpStream *take_stream(StreamFixture *fixture) {
    HttpStream *stream;

    pthread_mutex_lock(&fixture->lock);
    while (fixture->n == 0)
        pthread_cond_wait(&fixture->changed, &fixture->lock);
    stream = fixture->streams[--fixture->n];
    pthread_mutex_unlock(&fixture->lock);
    return stream;
}

static HttpOutcome wait_for_end(StreamFixture *fixture, size_t n) {
    HttpOutcome outcome;

    pthread_mutex_lock(&fixture->lock);
    while (fixture->n_ended < n)
        pthread_cond_wait(&fixture->changed, &fixture->lock);
    outcome = fixture->last;
    pthread_mutex_unlock(&fixture->lock);
    return outcome;
}

static ServerFigures figures_of(const StreamFixture *fixture) {
    ServerFigures figures;

    server_figures(fixture->server, &figures);
    return figures;
}

/* --- clients ---------------------------------------------------------------------------------- */

static int request_stream(const StreamFixture *fixture, const char *request_line) {
    char text[256];
    int fd = client_connect(server_port(fixture->server), /* buffer= */ 0);
    int len = snprintf(text, sizeof(text), "%s\r\nHost: a\r\n\r\n", request_line);

    client_send(fd, str_of(text, (size_t)len));
    return fd;
}

/* Reads to the end of @until, or of input: at most @size - 1 bytes, NUL-terminated. */
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

/* Starts @fixture and a client of one stream. Reads the reply's head into @head. Returns the
 * client's socket. */
static int open_stream(StreamFixture *fixture, const char *request_line, HttpStream **ret,
    char head[static HEAD_MAX]) {
    int fd;

    start_fixture(fixture);
    fd = request_stream(fixture, request_line);
    *ret = take_stream(fixture);
    (void)read_head(fd, head, HEAD_MAX);
    return fd;
}

static void close_stream(StreamFixture *fixture, int fd) {
    (void)close(fd);
    stop_fixture(fixture);
}

/* Sends until stream_send() fails. */
static void send_to_the_end(HttpStream *stream, Str bytes) {
    while (stream_send(stream, bytes))
        (void)usleep(1000);
    stream_close(stream);
}

/* --- tests ------------------------------------------------------------------------------------ */

static void test_delivers_sent_bytes(void **state) {
    char text[HEAD_MAX];
    HttpOutcome outcome;
    HttpStream *stream;
    StreamFixture fixture;
    int fd;

    fd = open_stream(&fixture, "GET /listen HTTP/1.1", &stream, text); /* before anything is sent */
    assert_non_null(strstr(text, "HTTP/1.1 200 OK\r\n"));
    assert_non_null(strstr(text, "Content-Type: text/event-stream\r\n"));
    assert_non_null(strstr(text, "Transfer-Encoding: chunked\r\n"));
    assert_non_null(strstr(text, "Cache-Control: no-store\r\n"));
    assert_non_null(strstr(text, "Connection: close\r\n"));
    assert_true(stream_send(stream, STR("one\n")));
    assert_string_equal(read_to(fd, "one\n\r\n", text, sizeof(text)), "4\r\none\n\r\n");
    assert_true(stream_send(stream, STR("three\n")));
    assert_string_equal(read_to(fd, "three\n\r\n", text, sizeof(text)), "6\r\nthree\n\r\n");
    assert_true(figures_of(&fixture).memory >= SERVER_STREAM_BUFFER);
    assert_true(stream_send(stream, STR("end\n")));
    stream_close(stream);
    assert_string_equal(read_to(fd, "", text, sizeof(text)), "4\r\nend\n\r\n0\r\n\r\n");
    outcome = wait_for_end(&fixture, 1);
    assert_int_equal(outcome.status, 200);
    assert_int_equal(outcome.bytes_out, 14);
    assert_true(outcome.handle_nsec > 0);
    close_stream(&fixture, fd);
}

static void test_http_1_0_and_head_requests(void **state) {
    char text[HEAD_MAX];
    HttpStream *stream;
    StreamFixture fixture;
    int fd;

    fd = open_stream(&fixture, "GET /listen HTTP/1.0", &stream, text);
    assert_null(strstr(text, "chunked"));
    assert_true(stream_send(stream, STR("one\n")));
    assert_string_equal(read_to(fd, "\n", text, sizeof(text)), "one\n");
    assert_true(stream_send(stream, STR("two\n")));
    stream_close(stream);
    assert_string_equal(read_to(fd, "", text, sizeof(text)), "two\n");
    (void)close(fd);

    fd = request_stream(&fixture, "HEAD /listen HTTP/1.1");
    stream = take_stream(&fixture);
    assert_non_null(strstr(read_to(fd, "", text, sizeof(text)), "text/event-stream"));
    send_to_the_end(stream, STR("x"));
    close_stream(&fixture, fd);
}

static void test_head_replies_have_no_body(void **state) {
    char text[HEAD_MAX];
    StreamFixture fixture;
    int fd;

    start_fixture(&fixture);
    fd = request_stream(&fixture, "HEAD /greet HTTP/1.1");
    assert_null(strstr(read_to(fd, "", text, sizeof(text)), "hello"));
    assert_int_equal(wait_for_end(&fixture, 1).bytes_out, 0);
    close_stream(&fixture, fd);
}

/* The bytes exceed the ring, so that it wraps. */
static void test_sends_more_than_the_buffer(void **state) {
    static char block[100 * 1000];
    uint64_t n_sent = 0, n_read = 0;
    char text[4096];
    HttpStream *stream;
    StreamFixture fixture;
    ssize_t n;
    int fd;

    for (size_t i = 0; i < sizeof(block); i++)
        block[i] = (char)('a' + i % 26);
    fd = open_stream(&fixture, "GET /listen HTTP/1.0", &stream, text);
    for (size_t round = 0; round < 20; round++) {
        assert_true(stream_send(stream, str_of(block, sizeof(block))));
        n_sent += sizeof(block);
        while (n_read < n_sent && (n = recv(fd, text, sizeof(text), 0)) > 0)
            for (ssize_t i = 0; i < n; i++, n_read++)
                assert_int_equal(text[i], block[n_read % sizeof(block)]);
        assert_int_equal(n_read, n_sent);
    }
    stream_close(stream);
    assert_int_equal(wait_for_end(&fixture, 1).bytes_out, n_sent);
    close_stream(&fixture, fd);
}

static void test_limits_streams(void **state) {
    int fds[SERVER_STREAMS_MAX + 1];
    char text[HEAD_MAX];
    StreamFixture fixture;

    start_fixture(&fixture);
    for (size_t i = 0; i <= SERVER_STREAMS_MAX; i++) {
        fds[i] = request_stream(&fixture, "GET /listen HTTP/1.1");
        (void)read_head(fds[i], text, sizeof(text));
        assert_true((strstr(text, "HTTP/1.1 200") != NULL) == (i < SERVER_STREAMS_MAX));
    }
    (void)close(fds[0]);
    while (
        figures_of(&fixture).connections > SERVER_STREAMS_MAX) { /* only a send notices the close */
        pthread_mutex_lock(&fixture.lock);
        for (size_t i = 0; i < fixture.n; i++)
            (void)!stream_send(fixture.streams[i], STR("x"));
        pthread_mutex_unlock(&fixture.lock);
        (void)usleep(1000);
    }
    for (size_t i = 1; i <= SERVER_STREAMS_MAX; i++)
        (void)close(fds[i]);
    stop_fixture(&fixture);
}

static void test_ends_when_the_client_closes(void **state) {
    HttpStream *stream;
    StreamFixture fixture;
    int fd;

    start_fixture(&fixture);
    fd = request_stream(&fixture, "GET /listen HTTP/1.1");
    stream = take_stream(&fixture);
    (void)close(fd);
    send_to_the_end(stream, STR("still there?\n"));
    assert_int_equal(wait_for_end(&fixture, 1).status, 200);
    while (figures_of(&fixture).memory > 0)
        (void)usleep(1000);
    stop_fixture(&fixture);
}

/* A client that reads nothing is disconnected when the buffer is full, not before. */
static void test_disconnects_a_client_that_does_not_read(void **state) {
    static char block[64 * 1024];
    HttpStream *stream;
    StreamFixture fixture;
    int fd;

    start_fixture(&fixture);
    fd = request_stream(&fixture, "GET /listen HTTP/1.1");
    stream = take_stream(&fixture);
    for (size_t i = 0; i < SERVER_STREAM_BUFFER / sizeof(block); i++)
        assert_true(stream_send(stream, str_of(block, sizeof(block))));
    send_to_the_end(stream, str_of(block, sizeof(block)));
    (void)wait_for_end(&fixture, 1);
    assert_int_equal(figures_of(&fixture).refused[SERVER_REFUSED_WRITE_TIME], 1);
    while (figures_of(&fixture).memory > 0)
        (void)usleep(1000);
    close_stream(&fixture, fd);
}

/* With a test clock: a silent stream is not cut; a stream whose client does not read is. */
static void test_deadlines(void **state) {
    static char block[SERVER_STREAM_BUFFER];
    int64_t now = clock_monotonic_nsec();
    char text[HEAD_MAX];
    HttpStream *stream;
    StreamFixture fixture;
    int fd;

    /* qemu returns only 4 bytes of TCP_INFO, without the count of acknowledged bytes. */
    if (getenv("MESON_EXE_WRAPPER"))
        skip();
    start_fixture(&fixture);
    fd = client_connect(server_port(fixture.server), /* buffer= */ 4096);
    client_send(fd, STR("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
    stream = take_stream(&fixture);
    (void)read_head(fd, text, sizeof(text));
    for (unsigned hour = 0; hour < 48; hour++)
        server_tick(fixture.server, now += 3600 * NSEC_PER_SEC);
    assert_true(stream_send(stream, STR("x")));
    assert_string_equal(read_to(fd, "x\r\n", text, sizeof(text)), "1\r\nx\r\n");

    assert_true(stream_send(stream, str_of(block, sizeof(block))));
    (void)read_to(fd, "\r\n", text, sizeof(text)); /* the first bytes have arrived */
    (void)usleep(50 * 1000);                       /* and the buffer is full */
    server_tick(fixture.server, now += NSEC_PER_SEC);
    server_tick(fixture.server, now += (SERVER_WRITE_SEC + 1) * NSEC_PER_SEC);
    send_to_the_end(stream, STR("x"));
    (void)wait_for_end(&fixture, 1);
    assert_int_equal(figures_of(&fixture).refused[SERVER_REFUSED_WRITE_TIME], 1);
    close_stream(&fixture, fd);
}

static void test_drain_ends_streams(void **state) {
    char text[HEAD_MAX];
    HttpStream *stream;
    StreamFixture fixture;
    int fd;

    fd = open_stream(&fixture, "GET /listen HTTP/1.1", &stream, text);
    server_retire(fixture.server);
    assert_true(stream_send(stream, STR("last\n")));
    while (server_drain(fixture.server) > 0)
        (void)usleep(1000);
    assert_string_equal(read_to(fd, "", text, sizeof(text)), "5\r\nlast\n\r\n0\r\n\r\n");
    assert_false(stream_send(stream, STR("more\n")));
    stream_close(stream);
    close_stream(&fixture, fd);
}

static void test_streams_outlive_the_server(void **state) {
    HttpStream *stream;
    char text[HEAD_MAX];
    StreamFixture fixture;
    int fd;

    fd = open_stream(&fixture, "GET /listen HTTP/1.1", &stream, text);
    fixture.server = server_free(fixture.server);
    assert_false(stream_send(stream, STR("x")));
    stream_close(stream);
    close_stream(&fixture, fd);
}

/* --- many at once ----------------------------------------------------------------------------- */

#define N_CLIENTS 8u
#define N_ROUNDS 20u

typedef struct Clients {
    StreamFixture *fixture;
    atomic_uint n_clients; /* still running */
    atomic_uint seed;
} Clients;

/* Opens streams, reads a little or nothing, and closes them. */
static void *come_and_go(void *context) {
    Clients *clients = context;
    unsigned rng = atomic_fetch_add(&clients->seed, 1);
    char text[4096];

    for (unsigned i = 0; i < N_ROUNDS; i++) {
        /* A client over the limit gets a 503 and nothing after it. */
        int fd = request_stream(clients->fixture,
            i % 5 == 0 ? "GET / HTTP/1.0" : "GET / HTTP/1.1\r\nConnection: close");
        unsigned n_reads = (unsigned)rand_r(&rng) % 4;

        for (unsigned n = 0; n < n_reads && recv(fd, text, sizeof(text), 0) > 0; n++)
            ;
        (void)usleep((useconds_t)rand_r(&rng) % 3000);
        (void)close(fd);
    }
    atomic_fetch_sub(&clients->n_clients, 1);
    return NULL;
}

/* Sends to all streams. Closes streams whose client has closed, and some others at random. */
static void send_to_all(StreamFixture *fixture, Str news, unsigned *rng) {
    size_t n = 0;

    pthread_mutex_lock(&fixture->lock);
    for (size_t i = 0; i < fixture->n; i++)
        if (stream_send(fixture->streams[i], news) && rand_r(rng) % 50 != 0)
            fixture->streams[n++] = fixture->streams[i];
        else
            stream_close(fixture->streams[i]);
    fixture->n = n;
    pthread_mutex_unlock(&fixture->lock);
}

static void test_many_clients(void **state) {
    static char news[3000];
    pthread_t threads[N_CLIENTS];
    unsigned rng = 1;
    StreamFixture fixture;
    Clients clients = {.fixture = &fixture, .n_clients = N_CLIENTS};

    memset(news, 'n', sizeof(news));
    start_fixture(&fixture);
    for (size_t i = 0; i < N_CLIENTS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, &clients), 0);
    while (atomic_load(&clients.n_clients) > 0) {
        send_to_all(&fixture, str_of(news, sizeof(news)), &rng);
        server_tick(fixture.server, clock_monotonic_nsec());
        (void)usleep(300);
    }
    for (size_t i = 0; i < N_CLIENTS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    stop_fixture(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_delivers_sent_bytes),
        cmocka_unit_test(test_http_1_0_and_head_requests),
        cmocka_unit_test(test_head_replies_have_no_body),
        cmocka_unit_test(test_sends_more_than_the_buffer),
        cmocka_unit_test(test_limits_streams),
        cmocka_unit_test(test_ends_when_the_client_closes),
        cmocka_unit_test(test_disconnects_a_client_that_does_not_read),
        cmocka_unit_test(test_deadlines),
        cmocka_unit_test(test_drain_ends_streams),
        cmocka_unit_test(test_streams_outlive_the_server),
        cmocka_unit_test(test_many_clients),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
