/* Pages of page workers: the queue, refused requests, and the end. */

#include "api/page-workers.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "http/test-client.h"

#define TAG 3

typedef struct Fixture {
    Server *server;
    PageWorkers *workers;
    sem_t has_started, may_end;
    atomic_uint n_done;
    atomic_int nice;
} Fixture;

static void make_page(void *context, const HttpRequest *request, HttpReply *reply) {
    Fixture *fixture = context;
    Str *slice = ARENA_NEW(request->arena, Str);

    if (str_is(request->path, "/slow")) {
        (void)sem_post(&fixture->has_started);
        while (sem_wait(&fixture->may_end) < 0)
            ;
    }
    atomic_store(&fixture->nice, getpriority(PRIO_PROCESS, (id_t)gettid()));
    atomic_fetch_add(&fixture->n_done, 1);
    assert_non_null(slice);
    *slice = arena_copy(request->arena, request->path);
    *reply = (HttpReply){.status = 200, .slices = slice, .n_slices = 1, .tag = TAG};
}

static bool admit(void *context, const HttpRequest *request, HttpReply *reply) {
    return true;
}

static void handle(void *context, const HttpRequest *request, HttpReply *reply) {
    static const Str busy = STR("busy");
    Fixture *fixture = context;

    if (!page_workers_add(
            fixture->workers, request, TAG, str_is(request->query, "long"), make_page))
        *reply = (HttpReply){.status = 503, .slices = &busy, .n_slices = 1, .tag = TAG};
}

static void fixture_open(Fixture *fixture) {
    const ServerCallbacks callbacks = {.context = fixture, .admit = admit, .handle = handle};
    ServerOptions options = server_default_options();

    *fixture = (Fixture){0};
    (void)sem_init(&fixture->has_started, 0, 0);
    (void)sem_init(&fixture->may_end, 0, 0);
    options.port = 0;
    assert_int_equal(page_workers_new(fixture, &fixture->workers), 0);
    assert_int_equal(server_new(&options, &callbacks, &fixture->server), 0);
}

static void fixture_close(Fixture *fixture) {
    fixture->server = server_free(fixture->server);
    fixture->workers = page_workers_free(fixture->workers);
    (void)sem_destroy(&fixture->has_started);
    (void)sem_destroy(&fixture->may_end);
}

static int ask(const Fixture *fixture, const char *path) {
    int fd = client_connect(server_port(fixture->server), /* buffer= */ 0), len;
    char text[256];

    len = snprintf(
        text, sizeof(text), "GET %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", path);
    client_send(fd, str_of(text, (size_t)len));
    return fd;
}

/* Whether @fd receives a reply that contains @text. */
static bool reply_contains(int fd, const char *text) {
    char reply[1024];

    (void)client_read_all(fd, reply, sizeof(reply));
    (void)close(fd);
    return strstr(reply, text) != NULL;
}

static void test_pages_are_made(void **state) {
    Fixture fixture;

    fixture_open(&fixture);
    assert_true(reply_contains(ask(&fixture, "/one"), "\r\n\r\n/one"));
    assert_true(reply_contains(ask(&fixture, "/two"), "\r\n\r\n/two"));
    assert_true(atomic_load(&fixture.nice) >= 10);
    fixture_close(&fixture);
}

/* Slow pages wait for slow pages; fast pages do not. */
static void test_one_worker_stays_free_for_fast_pages(void **state) {
    int slow[4];
    Fixture fixture;

    fixture_open(&fixture);
    for (size_t i = 0; i < ELEMENTS_OF(slow); i++)
        slow[i] = ask(&fixture, "/slow?long");
    (void)sem_wait(&fixture.has_started);
    for (size_t i = 0; i < 10; i++)
        assert_true(reply_contains(ask(&fixture, "/quick"), "/quick"));
    assert_int_equal(sem_trywait(&fixture.has_started), -1); /* one at a time */
    for (size_t i = 0; i < ELEMENTS_OF(slow); i++)
        (void)sem_post(&fixture.may_end);
    for (size_t i = 0; i < ELEMENTS_OF(slow); i++)
        assert_true(reply_contains(slow[i], "/slow"));
    fixture_close(&fixture);
}

/* Returns the number of requests that were answered. */
static size_t count_answered(const int *fds, size_t n) {
    size_t n_answered = 0;
    char byte;

    for (size_t i = 0; i < n; i++)
        n_answered += recv(fds[i], &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
    return n_answered;
}

/* Slow pages must not fill the queue for others. */
static void test_slow_do_not_fill_queue(void **state) {
    const size_t n_taken = 1 + PAGE_SLOW_MAX; /* one is being made */
    int slow[PAGE_QUEUE_MAX];
    size_t n_busy = 0;
    Fixture fixture;

    fixture_open(&fixture);
    slow[0] = ask(&fixture, "/slow?long");
    (void)sem_wait(&fixture.has_started);
    for (size_t i = 1; i < ELEMENTS_OF(slow); i++)
        slow[i] = ask(&fixture, "/slow?long");
    for (unsigned i = 0;
         i < 60000 && count_answered(slow, ELEMENTS_OF(slow)) < ELEMENTS_OF(slow) - n_taken; i++)
        (void)usleep(1000);
    assert_true(reply_contains(ask(&fixture, "/quick"), "/quick"));
    for (size_t i = 0; i < ELEMENTS_OF(slow); i++)
        (void)sem_post(&fixture.may_end);
    for (size_t i = 0; i < ELEMENTS_OF(slow); i++)
        n_busy += reply_contains(slow[i], "busy");
    assert_int_equal(n_busy, ELEMENTS_OF(slow) - n_taken);
    fixture_close(&fixture);
}

/* All page workers are busy and the queue is full: further pages get 503, other requests are
 * served. */
static void test_full_queue_answers_503(void **state) {
    int slow[PAGE_WORKERS], waiting[PAGE_QUEUE_MAX];
    ServerFigures figures;
    Fixture fixture;

    fixture_open(&fixture);
    for (size_t i = 0; i < PAGE_WORKERS; i++)
        slow[i] = ask(&fixture, "/slow");
    for (size_t i = 0; i < PAGE_WORKERS; i++)
        (void)sem_wait(&fixture.has_started);
    for (size_t i = 0; i < PAGE_QUEUE_MAX; i++)
        waiting[i] = ask(&fixture, "/quick");
    do {
        (void)usleep(1000);
        server_figures(fixture.server, &figures);
    } while (figures.deferred < PAGE_WORKERS + PAGE_QUEUE_MAX);
    assert_true(reply_contains(ask(&fixture, "/one-more"), "HTTP/1.1 503"));
    for (size_t i = 0; i < PAGE_WORKERS; i++)
        (void)sem_post(&fixture.may_end);
    for (size_t i = 0; i < PAGE_QUEUE_MAX; i++)
        assert_true(reply_contains(waiting[i], "/quick"));
    for (size_t i = 0; i < PAGE_WORKERS; i++)
        assert_true(reply_contains(slow[i], "/slow"));
    assert_true(reply_contains(ask(&fixture, "/one-more"), "/one-more"));
    fixture_close(&fixture);
}

/* Pages of closed connections are not made. */
static void test_end_drops_queued_pages(void **state) {
    int fds[PAGE_WORKERS + 4];
    ServerFigures figures;
    Fixture fixture;

    fixture_open(&fixture);
    for (size_t i = 0; i < ELEMENTS_OF(fds); i++)
        fds[i] = ask(&fixture, "/slow");
    for (size_t i = 0; i < PAGE_WORKERS; i++)
        (void)sem_wait(&fixture.has_started);
    do {
        (void)usleep(1000);
        server_figures(fixture.server, &figures);
    } while (figures.deferred < ELEMENTS_OF(fds));
    for (size_t i = 0; i < PAGE_WORKERS; i++)
        (void)sem_post(&fixture.may_end);
    while (atomic_load(&fixture.n_done) < PAGE_WORKERS)
        (void)usleep(1000);
    for (size_t i = 0; i < ELEMENTS_OF(fds); i++) /* some may have started by now */
        (void)sem_post(&fixture.may_end);
    fixture_close(&fixture);
    for (size_t i = 0; i < ELEMENTS_OF(fds); i++)
        (void)close(fds[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages_are_made),
        cmocka_unit_test(test_one_worker_stays_free_for_fast_pages),
        cmocka_unit_test(test_slow_do_not_fill_queue),
        cmocka_unit_test(test_full_queue_answers_503),
        cmocka_unit_test(test_end_drops_queued_pages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
