#include <math.h>
#include <signal.h>

#include "base/clock.h"
#include "base/test-folder.h"
#include "load/test-prometheus.h"

/* --- bad answers ------ */

static void test_bad_answers(void **state) {
    static const struct {
        ServerMode mode;
        PollState state;
        const char *texts[3]; /* of the error */
    } cases[] = {
        {SERVER_FAILS, POLL_FAILING, {"answers 503 Service Unavailable; ", "still be starting"}},
        {SERVER_BUSY, POLL_FAILING, {"429 Too Many Requests", "a longer interval"}},
        {SERVER_HTML, POLL_FAILING, {"a web page instead of JSON"}},
        {SERVER_LOGIN, POLL_FAILING, {"a web page instead of JSON"}},
        {SERVER_LARGE, POLL_FAILING, {"larger than 32 MiB", "aggregate in the query"}},
        {SERVER_ENDLESS, POLL_FAILING, {"larger than 32 MiB", "aggregate in the query"}},
        {SERVER_GARBAGE, POLL_FAILING, {""}},
        {SERVER_CUT, POLL_FAILING, {""}},
        {SERVER_BAD_QUERY, POLL_FAILING, {"400 Bad Request", "unexpected end of input"}},
        {SERVER_UNAUTHORIZED, POLL_FAILING, {"401 Unauthorized", "check bearerTokenFile"}},
        {SERVER_FORBIDDEN, POLL_FAILING, {"403 Forbidden", "check bearerTokenFile"}},
        {SERVER_NOT_FOUND, POLL_FAILING,
            {"404 Not Found", "404 page not found", "is the path before /api/v1 right?"}},
        {SERVER_REDIRECT_LOOP, POLL_FAILING, {"redirects to /again", "after 3 redirects"}},
        {SERVER_NO_LOCATION, POLL_FAILING, {"redirects without a Location"}},
        {SERVER_EMPTY, POLL_UNJOINED, {"no series"}},
        {SERVER_UNKNOWN_NODES, POLL_UNJOINED, {""}},
        {SERVER_NO_NUMBERS, POLL_UNJOINED, {""}},
    };
    const Gauge gauge = gauge_of("x", HOUR);

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        char name[32];
        PollStatus status;
        Scene scene;

        (void)snprintf(name, sizeof(name), "case %zu", i);
        scene_init(&scene);
        atomic_store(&scene.prometheus.mode, cases[i].mode);
        scene_follow(&scene, &gauge, 1, 1);
        await(!state_is(&scene, 0, POLL_WAITING));
        status = scene_status(&scene, 0);
        if (!strstr(status.error, scene.url))
            print_error("%s: %s\n", name, status.error);
        assert_case(name, status.state == cases[i].state);
        assert_case(name, strstr(status.error, scene.url));
        for (size_t k = 0; k < 3 && cases[i].texts[k]; k++) {
            if (!strstr(status.error, cases[i].texts[k]))
                print_error("%s: %s\n", cases[i].texts[k], status.error);
            assert_case(name, strstr(status.error, cases[i].texts[k]));
        }
        assert_case(name, (status.n_failed > 0) == (status.state == POLL_FAILING));
        assert_case(name, status.failing_since_nsec > 0);
        await(count_notices(&scene.listener) == 1);
        assert_case(name, scene.listener.notices[0].is == cases[i].state);
        assert_string_equal(scene.listener.notices[0].error, status.error);
        scene_done(&scene);
    }
}

/* Samples that are not a number, or of an unknown node, are counted. */
static void test_counts_dropped_samples(void **state) {
    const Gauge gauge = gauge_of("x", 100 * NSEC_PER_MSEC);
    PollStatus status;
    Scene scene;

    (void)state;
    scene_init(&scene);
    atomic_store(&scene.prometheus.mode, SERVER_NO_NUMBERS);
    scene_follow(&scene, &gauge, 1, 1);
    await(scene_status(&scene, 0).n_ok >= 2);
    status = scene_status(&scene, 0);
    assert_true(status.n_dropped[JOIN_NAN] == status.n_ok);
    assert_true(status.n_dropped[JOIN_INFINITE] == status.n_ok);
    atomic_store(&scene.prometheus.mode, SERVER_UNKNOWN_NODES);
    await(scene_status(&scene, 0).n_dropped[JOIN_NO_NODE] >= 2);
    scene_done(&scene);
}

/* --- no server ------ */

static void test_refused(void **state) {
    const Gauge gauge = gauge_of("x", HOUR);
    PollStatus status;
    Scene scene;

    (void)state;
    scene_init(&scene);
    test_server_free(scene.prometheus.server);
    scene.prometheus.server = NULL;
    scene_follow(&scene, &gauge, 1, 1);
    await(state_is(&scene, 0, POLL_FAILING));
    status = scene_status(&scene, 0);
    assert_non_null(strstr(status.error, scene.url));
    assert_non_null(strstr(status.error, "connection refused; is it up"));
    scene_done(&scene);
}

/* The timeout is the interval if that is shorter. */
static void test_timeout_of_silent_server(void **state) {
    const Gauge gauge = gauge_of("x", NSEC_PER_SEC);
    PollStatus status;
    Scene scene;

    (void)state;
    scene_init(&scene);
    atomic_store(&scene.prometheus.mode, SERVER_HANG);
    scene_follow(&scene, &gauge, 1, 1);
    await(state_is(&scene, 0, POLL_FAILING));
    status = scene_status(&scene, 0);
    assert_true(prometheus_received(&scene.prometheus, "&timeout=1s"));
    assert_non_null(strstr(status.error, "within 1 s; is it up"));
    scene_done(&scene);
}

static void test_reports_expired_certificate(void **state) {
    TestPair ca = test_pair_new(&(TestPairOptions){.common_name = "ca", .is_ca = true});
    TestPair pair = test_pair_new(&(TestPairOptions){
        .common_name = "x", .is_for_loopback = true, .has_expired = true, .issuer = &ca});
    const Gauge gauge = gauge_of("x", HOUR);
    char *pem = test_pair_certificate(&ca), url[64], error[ACCESS_ERROR_MAX];
    MetricSource source;
    Folder folder;
    Scene scene;
    TestServer *server;

    (void)state;
    scene_init(&scene);
    folder_init(&folder);
    server = test_server_new(&(TestServerOptions){
        .handler = answer_request, .context = &scene.prometheus, .pair = &pair});
    (void)snprintf(url, sizeof(url), "https://127.0.0.1:%u", test_server_port(server));
    source = (MetricSource){.name = STR("default"),
        .server.url = url,
        .server.ca_file = folder_write(&folder, "ca.pem", str_from_c(pem))};
    assert_int_equal(
        poller_configure(scene.poller, &(MetricSources){.items = &source, .n = 1}, error), 0);
    scene_follow(&scene, &gauge, 1, 1);
    await(state_is(&scene, 0, POLL_FAILING));
    assert_non_null(strstr(scene_status(&scene, 0).error, "has expired"));
    scene_done(&scene);
    test_server_free(server);
    folder_done(&folder);
    test_pair_done(&pair);
    test_pair_done(&ca);
    free(pem);
}

/* --- recovery -------- */

static void test_recovery(void **state) {
    static const ServerMode modes[] = {SERVER_FAILS, SERVER_CUT, SERVER_HTML};
    const Gauge gauge = gauge_of("x", 100 * NSEC_PER_MSEC);
    Scene scene;

    (void)state;
    scene_init(&scene);
    scene_follow(&scene, &gauge, 1, 1);
    for (size_t i = 0; i < ELEMENTS_OF(modes); i++) {
        Measurements *known = NULL;
        uint64_t n_ok;

        await(state_is(&scene, 0, POLL_OK));
        atomic_store(&scene.prometheus.mode, modes[i]);
        await(state_is(&scene, 0, POLL_FAILING));
        assert_true(scene_status(&scene, 0).answered_at_nsec > 0);
        assert_int_equal(poller_follow(scene.poller, &gauge, 1, i + 2, &known), 0);
        assert_true(value_of(known->items[0], "a") == 0.25); /* the last value stays */
        measurements_unref(known);
        n_ok = scene_status(&scene, 0).n_ok;
        atomic_store(&scene.prometheus.mode, SERVER_OK);
        await(scene_status(&scene, 0).n_ok > n_ok);
        assert_string_equal(scene_status(&scene, 0).error, "");
        assert_true(scene_status(&scene, 0).failing_since_nsec == 0);
    }
    assert_int_equal(count_notices(&scene.listener), 1); /* not once per failure */
    scene_done(&scene);
}

/* One answer is enough to retry all other jobs that failed before. */
static void test_one_answer_retries_all_failed_jobs(void **state) {
    char names[6][8];
    Gauge gauges[6];
    Scene scene;

    (void)state;
    for (size_t i = 0; i < 6; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "q%zu", i);
        gauges[i] = gauge_of(names[i], i == 0 ? 100 * NSEC_PER_MSEC : HOUR);
    }
    scene_init(&scene);
    atomic_store(&scene.prometheus.mode, SERVER_BUSY_503);
    scene_follow(&scene, gauges, 6, 1);
    for (size_t i = 0; i < 6; i++)
        await(state_is(&scene, i, POLL_FAILING));
    atomic_store(&scene.prometheus.mode, SERVER_OK);
    scene_follow(&scene, (const Gauge[]){gauge_of("new", HOUR), gauges[0], gauges[5]}, 3, 2);
    for (size_t i = 0; i < 3; i++)
        await(state_is(&scene, i, POLL_OK));
    scene_done(&scene);
}

/* A slow answer is as old as the query, not older. */
static void test_slow_answer_is_as_old_as_its_query(void **state) {
    const Gauge gauge = gauge_of("x", HOUR);
    const Measurement *measurement;
    Scene scene;

    (void)state;
    scene_init(&scene);
    atomic_store(&scene.prometheus.mode, SERVER_LATE_DATE);
    scene_follow(&scene, &gauge, 1, 1);
    await(count_published(&scene.listener) > 0);
    measurement = scene.listener.last->items[0];
    assert_non_null(measurement->lags_nsec);
    assert_true(measurement->lags_nsec[names_find(measurement->names, STR("a"))] == 0);
    assert_true(
        measurement->lags_nsec[names_find(measurement->names, STR("b"))] >= 58 * NSEC_PER_SEC);
    assert_true(
        measurement->lags_nsec[names_find(measurement->names, STR("b"))] <= 62 * NSEC_PER_SEC);
    scene_done(&scene);
}

/* --- one of several jobs --- */

/* The longest time within @msec that @gauge had no new answer. */
static int64_t longest_pause(Scene *scene, size_t gauge, int msec) {
    int64_t begin = clock_monotonic_nsec(), last = begin, now = begin, longest = 0;
    uint64_t n_ok = scene_status(scene, gauge).n_ok;

    for (; now < begin + msec * NSEC_PER_MSEC; now = clock_monotonic_nsec()) {
        uint64_t n = scene_status(scene, gauge).n_ok;

        if (now - last > longest)
            longest = now - last;
        if (n != n_ok)
            last = now;
        n_ok = n;
        pause_msec(10);
    }
    return longest;
}

/* A job that is never answered does not delay other jobs of the same server. */
static void test_hanging_job_does_not_delay_others(void **state) {
    const Gauge gauges[2] = {gauge_of("x", 1800 * NSEC_PER_MSEC), gauge_of("y", 2 * NSEC_PER_SEC)};
    Scene scene;

    (void)state;
    scene_init(&scene);
    atomic_store(&scene.prometheus.mode, SERVER_Y_HANGS);
    scene_follow(&scene, gauges, 2, 1);
    await(state_is(&scene, 0, POLL_OK));
    assert_true(longest_pause(&scene, 0, 5500) < 2400 * NSEC_PER_MSEC);
    assert_int_equal(scene_status(&scene, 1).state, POLL_FAILING);
    scene_done(&scene);
}

/* Answers to other jobs do not make it retry at once each time. */
static void test_failing_job_is_retried_slowly(void **state) {
    const Gauge gauges[2] = {gauge_of("x", 100 * NSEC_PER_MSEC), gauge_of("y", NSEC_PER_SEC)};
    Scene scene;

    (void)state;
    scene_init(&scene);
    atomic_store(&scene.prometheus.mode, SERVER_Y_FAILS);
    scene_follow(&scene, gauges, 2, 1);
    await(scene_status(&scene, 0).n_ok >= 20);
    assert_true(atomic_load(&scene.prometheus.n_y) >= 2);
    assert_true(atomic_load(&scene.prometheus.n_y) <= 5);
    atomic_store(&scene.prometheus.mode, SERVER_OK);
    await(state_is(&scene, 1, POLL_OK));
    scene_done(&scene);
}

/* A resource that cannot be parsed fails, with a message, for each of its gauges and for no
 * other. */
static void test_bad_resource(void **state) {
    static const Str resources[] = {STR("cpu"), STR("memory"), STR("memory")};
    Gauge gauges[3];
    Scene scene;

    (void)state;
    for (size_t i = 0; i < 3; i++)
        gauges[i] = (Gauge){.name = STR("g"),
            .source = GAUGE_RESOURCES,
            .resource = resources[i],
            .interval_nsec = HOUR,
            .max_age_nsec = HOUR * (int64_t)(i + 1)};
    scene_init_api(&scene);
    atomic_store(&scene.prometheus.mode, SERVER_BAD_MEMORY);
    scene_follow(&scene, gauges, 3, 1);
    for (size_t i = 0; i < 3; i++) {
        await(!state_is(&scene, i, POLL_WAITING));
        assert_int_equal(scene_status(&scene, i).state, i == 0 ? POLL_OK : POLL_FAILING);
    }
    assert_non_null(strstr(scene_status(&scene, 1).error, "expected a quantity"));
    assert_string_equal(scene_status(&scene, 2).error, scene_status(&scene, 1).error);
    scene_done(&scene);
}

/* --- redirects -------- */

static void test_follows_redirect_on_the_same_host(void **state) {
    const Gauge gauge = gauge_of("x", HOUR);
    Scene scene;

    (void)state;
    scene_init_at(&scene, "/here");
    atomic_store(&scene.prometheus.mode, SERVER_REDIRECT);
    scene_follow(&scene, &gauge, 1, 1);
    await(state_is(&scene, 0, POLL_OK));
    assert_int_equal(atomic_load(&scene.prometheus.n_requests), 2);
    assert_true(prometheus_received(&scene.prometheus, "POST /there/api/v1/query HTTP/1.1"));
    assert_true(prometheus_received(&scene.prometheus, "\nquery=x&timeout=10s"));
    scene_done(&scene);
}

/* Neither query nor credentials go to another host. */
static void test_does_not_follow_redirect_to_another_host(void **state) {
    const Gauge gauge = gauge_of("x", HOUR);
    char error[ACCESS_ERROR_MAX];
    Folder folder;
    MetricSource source;
    Scene scene;
    FakePrometheus other;

    (void)state;
    scene_init(&scene);
    prometheus_init(&other);
    folder_init(&folder);
    (void)snprintf(scene.prometheus.elsewhere, sizeof(scene.prometheus.elsewhere),
        "http://127.0.0.1:%u/api/v1/query", test_server_port(other.server));
    source = scene.source;
    source.server.token_file = folder_write(&folder, "token", STR("secret"));
    assert_int_equal(
        poller_configure(scene.poller, &(MetricSources){.items = &source, .n = 1}, error), 0);
    atomic_store(&scene.prometheus.mode, SERVER_REDIRECT_AWAY);
    scene_follow(&scene, &gauge, 1, 1);
    await(state_is(&scene, 0, POLL_FAILING));
    assert_true(prometheus_received(&scene.prometheus, "Authorization: Bearer secret"));
    assert_non_null(strstr(scene_status(&scene, 0).error, scene.url));
    assert_non_null(strstr(scene_status(&scene, 0).error, scene.prometheus.elsewhere));
    assert_null(strstr(scene_status(&scene, 0).error, "secret"));
    assert_int_equal(test_server_connections(other.server), 0);
    scene_done(&scene);
    prometheus_done(&other);
    folder_done(&folder);
}

/* A server that rejects POST is queried by GET, from then on without trying POST. */
static void test_falls_back_to_get(void **state) {
    const Gauge gauge = gauge_of("a+b", 100 * NSEC_PER_MSEC);
    Scene scene;

    (void)state;
    scene_init_at(&scene, "/p");
    atomic_store(&scene.prometheus.mode, SERVER_GET_ONLY);
    scene_follow(&scene, &gauge, 1, 1);
    await(scene_status(&scene, 0).n_ok >= 3);
    assert_int_equal(atomic_load(&scene.prometheus.n_posts), 1);
    assert_true(prometheus_received(
        &scene.prometheus, "GET /p/api/v1/query?query=a%2Bb&timeout=1s HTTP/1.1"));
    assert_true(scene_status(&scene, 0).n_failed == 0);
    scene_done(&scene);
}

/* --- poller_once --- */

static void test_once_sends_each_query_once(void **state) {
    Gauge gauges[4] = {
        gauge_of("x", HOUR), gauge_of("x", 1), gauge_of("y", HOUR), gauge_of("z", HOUR)};
    Measurements *measurements = NULL;
    PollStatus statuses[4];
    Scene scene;

    (void)state;
    gauges[2].from = STR("none");
    scene_init(&scene);
    assert_int_equal(poller_once(&scene.sources, NULL, gauges, 4, scene.listener.snapshot,
                         20 * NSEC_PER_SEC, &measurements, statuses),
        0);
    assert_int_equal(atomic_load(&scene.prometheus.n_requests), 2);
    assert_int_equal(statuses[0].state, POLL_OK);
    assert_int_equal(statuses[1].state, POLL_OK);
    assert_int_equal(statuses[2].state, POLL_NO_SOURCE);
    assert_int_equal(statuses[3].state, POLL_OK);
    assert_true(value_of(measurements->items[3], "a") == 0.25);
    assert_null(measurements->items[2]);
    measurements_unref(measurements);

    atomic_store(&scene.prometheus.mode, SERVER_NOT_FOUND);
    assert_int_equal(poller_once(&scene.sources, NULL, gauges, 1, scene.listener.snapshot,
                         20 * NSEC_PER_SEC, &measurements, statuses),
        0);
    assert_int_equal(atomic_load(&scene.prometheus.n_requests), 3);
    assert_int_equal(statuses[0].state, POLL_FAILING);
    assert_non_null(strstr(statuses[0].error, "404"));
    assert_null(measurements->items[0]);
    measurements_unref(measurements);
    scene_done(&scene);
}

static void test_once_gives_up_on_silent_server(void **state) {
    const Gauge gauges[2] = {gauge_of("x", HOUR), gauge_of("y", HOUR)};
    Measurements *measurements = NULL;
    PollStatus statuses[2];
    Scene scene;

    (void)state;
    scene_init(&scene);
    atomic_store(&scene.prometheus.mode, SERVER_HANG);
    assert_int_equal(poller_once(&scene.sources, NULL, gauges, 2, scene.listener.snapshot,
                         NSEC_PER_SEC / 5, &measurements, statuses),
        0);
    assert_int_equal(statuses[0].state, POLL_FAILING);
    assert_non_null(strstr(statuses[1].error, "no answer within 0.2 s"));
    measurements_unref(measurements);
    scene_done(&scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_answers),
        cmocka_unit_test(test_counts_dropped_samples),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_timeout_of_silent_server),
        cmocka_unit_test(test_reports_expired_certificate),
        cmocka_unit_test(test_recovery),
        cmocka_unit_test(test_one_answer_retries_all_failed_jobs),
        cmocka_unit_test(test_slow_answer_is_as_old_as_its_query),
        cmocka_unit_test(test_hanging_job_does_not_delay_others),
        cmocka_unit_test(test_failing_job_is_retried_slowly),
        cmocka_unit_test(test_bad_resource),
        cmocka_unit_test(test_follows_redirect_on_the_same_host),
        cmocka_unit_test(test_does_not_follow_redirect_to_another_host),
        cmocka_unit_test(test_falls_back_to_get),
        cmocka_unit_test(test_once_sends_each_query_once),
        cmocka_unit_test(test_once_gives_up_on_silent_server),
    };

    (void)signal(
        SIGPIPE, SIG_IGN); /* as the daemon does: a server may close while it is written to */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
