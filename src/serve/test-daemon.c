#include "serve/daemon.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "http/test-client.h"

/* A bind that blocks until the test releases it. */
typedef struct SlowBind {
    sem_t has_begun, may_end;
} SlowBind;

static void bind_slowly(void *context, const BindArgs *args, char *error, size_t size) {
    SlowBind *slow = context;

    (void)sem_post(&slow->has_begun);
    while (sem_wait(&slow->may_end) < 0)
        ;
}

static int connect_to(const Daemon *daemon) {
    const char *colon = strrchr(daemon_url(daemon, LISTEN_VERBS), ':');

    assert_non_null(colon);
    return client_connect((uint16_t)strtoul(colon + 1, NULL, 10), /* buffer= */ 0);
}

static void start(DaemonOptions *options, Daemon **ret) {
    char error[DAEMON_ERROR_MAX];

    options->server = server_default_options();
    options->server.port = 0;
    options->quiet = true;
    assert_int_equal(daemon_new(options, ret, error), 0);
}

static void test_ends_after_daemon_stop(void **state) {
    _cleanup_(daemon_freep) Daemon *daemon = NULL;
    DaemonOptions options = {0};

    start(&options, &daemon);
    daemon_stop(daemon);
    assert_true(daemon_run(daemon));
}

/* A busy worker cannot be joined; daemon_run() reports it. */
static void test_ends_with_a_busy_worker(void **state) {
    static const char request[] =
        "POST /bind HTTP/1.1\r\nHost: a\r\nContent-Length: 63\r\n\r\n"
        "{\"PodName\":\"a\",\"PodNamespace\":\"b\",\"PodUID\":\"c\",\"Node\":\"node-d\"}";
    SlowBind slow;
    const BindHook binder = {.context = &slow, .bind = bind_slowly};
    Daemon *daemon = NULL;
    DaemonOptions options = {.bind_hook = &binder};
    int fd;

    assert_int_equal(sem_init(&slow.has_begun, 0, 0), 0);
    assert_int_equal(sem_init(&slow.may_end, 0, 0), 0);
    start(&options, &daemon);
    fd = connect_to(daemon);
    client_send(fd, str_from_c(request));
    while (sem_wait(&slow.has_begun) < 0)
        ;

    daemon_stop(daemon);
    assert_false(daemon_run(daemon));

    (void)sem_post(&slow.may_end); /* a process would exit now; a test frees its memory */
    daemon_free(daemon);
    (void)close(fd);
    (void)sem_destroy(&slow.has_begun);
    (void)sem_destroy(&slow.may_end);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends_after_daemon_stop),
        cmocka_unit_test(test_ends_with_a_busy_worker),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
