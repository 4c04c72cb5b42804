/* Pages that page workers make: the queue, who is sent away, and the end. */

#include "api/page-workers.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "http/test-client.h"

#define TAG 3

typedef struct Office {
    Server *server;
    PageWorkers *workers;
    sem_t has_begun, may_end;
    atomic_uint n_done;
    atomic_int nice;
} Office;

static void make_page(void *context, const HttpRequest *request, HttpReply *reply) {
    Office *office = context;
    Str *slice = ARENA_NEW(request->arena, Str);

    if (str_is(request->path, "/slow")) {
        (void)sem_post(&office->has_begun);
        while (sem_wait(&office->may_end) < 0)
            ;
    }
    atomic_store(&office->nice, getpriority(PRIO_PROCESS, (id_t)gettid()));
    atomic_fetch_add(&office->n_done, 1);
    assert_non_null(slice);
    *slice = arena_copy(request->arena, request->path);
    *reply = (HttpReply){.status = 200, .slices = slice, .n_slices = 1, .tag = TAG};
}

static bool admit(void *context, const HttpRequest *request, HttpReply *reply) {
    return true;
}

static void handle(void *context, const HttpRequest *request, HttpReply *reply) {
    static const Str busy = STR("busy");
    Office *office = context;

    if (!page_workers_add(office->workers, request, TAG,
            str_is(request->query, "long") ? PAGE_SLOW : PAGE_FAST, make_page))
        *reply = (HttpReply){.status = 503, .slices = &busy, .n_slices = 1, .tag = TAG};
}

static void open_office(Office *office) {
    const ServerCallbacks callbacks = {.context = office, .admit = admit, .handle = handle};
    ServerOptions options = server_default_options();

    *office = (Office){0};
    (void)sem_init(&office->has_begun, 0, 0);
    (void)sem_init(&office->may_end, 0, 0);
    options.port = 0;
    assert_int_equal(page_workers_new(office, &office->workers), 0);
    assert_int_equal(server_new(&options, &callbacks, &office->server), 0);
}

static void close_office(Office *office) {
    office->server = server_free(office->server);
    office->workers = page_workers_free(office->workers);
    (void)sem_destroy(&office->has_begun);
    (void)sem_destroy(&office->may_end);
}

static int ask(const Office *office, const char *path) {
    int fd = client_connect(server_port(office->server), /* buffer= */ 0), len;
    char text[256];

    len = snprintf(
        text, sizeof(text), "GET %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", path);
    client_send(fd, str_of(text, (size_t)len));
    return fd;
}

/* Whether @fd gets a reply that has @text in it. */
static bool shows(int fd, const char *text) {
    char reply[1024];

    (void)client_read_all(fd, reply, sizeof(reply));
    (void)close(fd);
    return strstr(reply, text) != NULL;
}

static void test_pages_are_made(void **state) {
    Office office;

    open_office(&office);
    assert_true(shows(ask(&office, "/one"), "\r\n\r\n/one"));
    assert_true(shows(ask(&office, "/two"), "\r\n\r\n/two"));
    assert_true(atomic_load(&office.nice) >= 10);
    close_office(&office);
}

/* What takes long waits for what takes long, and the rest does not. */
static void test_one_is_free(void **state) {
    int slow[4];
    Office office;

    open_office(&office);
    for (size_t i = 0; i < ELEMENTS_OF(slow); i++)
        slow[i] = ask(&office, "/slow?long");
    (void)sem_wait(&office.has_begun);
    for (size_t i = 0; i < 10; i++)
        assert_true(shows(ask(&office, "/quick"), "/quick"));
    assert_int_equal(sem_trywait(&office.has_begun), -1); /* one at a time */
    for (size_t i = 0; i < ELEMENTS_OF(slow); i++)
        (void)sem_post(&office.may_end);
    for (size_t i = 0; i < ELEMENTS_OF(slow); i++)
        assert_true(shows(slow[i], "/slow"));
    close_office(&office);
}

/* How many have been answered. */
static size_t count_answered(const int *fds, size_t n) {
    size_t n_answered = 0;
    char byte;

    for (size_t i = 0; i < n; i++)
        n_answered += recv(fds[i], &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
    return n_answered;
}

/* Those who ask for much do not fill the queue for the rest. */
static void test_slow_do_not_fill_queue(void **state) {
    const size_t n_taken = 1 + PAGE_SLOW_MAX; /* one is at work */
    int slow[PAGE_QUEUE_MAX];
    size_t n_busy = 0;
    Office office;

    open_office(&office);
    slow[0] = ask(&office, "/slow?long");
    (void)sem_wait(&office.has_begun);
    for (size_t i = 1; i < ELEMENTS_OF(slow); i++)
        slow[i] = ask(&office, "/slow?long");
    for (unsigned i = 0;
         i < 60000 && count_answered(slow, ELEMENTS_OF(slow)) < ELEMENTS_OF(slow) - n_taken; i++)
        (void)usleep(1000);
    assert_true(shows(ask(&office, "/quick"), "/quick"));
    for (size_t i = 0; i < ELEMENTS_OF(slow); i++)
        (void)sem_post(&office.may_end);
    for (size_t i = 0; i < ELEMENTS_OF(slow); i++)
        n_busy += shows(slow[i], "busy");
    assert_int_equal(n_busy, ELEMENTS_OF(slow) - n_taken);
    close_office(&office);
}

/* All page workers are busy, the queue is full: further requests get 503, others are served. */
static void test_too_many(void **state) {
    int slow[PAGE_WORKERS], waiting[PAGE_QUEUE_MAX];
    ServerFigures figures;
    Office office;

    open_office(&office);
    for (size_t i = 0; i < PAGE_WORKERS; i++)
        slow[i] = ask(&office, "/slow");
    for (size_t i = 0; i < PAGE_WORKERS; i++)
        (void)sem_wait(&office.has_begun);
    for (size_t i = 0; i < PAGE_QUEUE_MAX; i++)
        waiting[i] = ask(&office, "/quick");
    do {
        (void)usleep(1000);
        server_figures(office.server, &figures);
    } while (figures.deferred < PAGE_WORKERS + PAGE_QUEUE_MAX);
    assert_true(shows(ask(&office, "/one-more"), "HTTP/1.1 503"));
    for (size_t i = 0; i < PAGE_WORKERS; i++)
        (void)sem_post(&office.may_end);
    for (size_t i = 0; i < PAGE_QUEUE_MAX; i++)
        assert_true(shows(waiting[i], "/quick"));
    for (size_t i = 0; i < PAGE_WORKERS; i++)
        assert_true(shows(slow[i], "/slow"));
    assert_true(shows(ask(&office, "/one-more"), "/one-more"));
    close_office(&office);
}

/* What nobody waits for any more is not made. */
static void test_end(void **state) {
    int fds[PAGE_WORKERS + 4];
    ServerFigures figures;
    Office office;

    open_office(&office);
    for (size_t i = 0; i < ELEMENTS_OF(fds); i++)
        fds[i] = ask(&office, "/slow");
    for (size_t i = 0; i < PAGE_WORKERS; i++)
        (void)sem_wait(&office.has_begun);
    do {
        (void)usleep(1000);
        server_figures(office.server, &figures);
    } while (figures.deferred < ELEMENTS_OF(fds));
    for (size_t i = 0; i < PAGE_WORKERS; i++)
        (void)sem_post(&office.may_end);
    while (atomic_load(&office.n_done) < PAGE_WORKERS)
        (void)usleep(1000);
    for (size_t i = 0; i < ELEMENTS_OF(fds); i++) /* some may have begun by now */
        (void)sem_post(&office.may_end);
    close_office(&office);
    for (size_t i = 0; i < ELEMENTS_OF(fds); i++)
        (void)close(fds[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages_are_made),
        cmocka_unit_test(test_one_is_free),
        cmocka_unit_test(test_slow_do_not_fill_queue),
        cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
