#include "load/poller.h"

#include <math.h>
#include <signal.h>

#include "base/clock.h"
#include "load/source.h"
#include "load/test-prometheus.h"

static void test_measures(void **state) {
    const Gauge gauge = gauge_of("sum by (node) (x{a=\"b\"})", HOUR);
    Scene scene;
    PollStatus status;
    int64_t before = clock_wall_nsec();

    (void)state;
    scene_init_at(&scene, "/prom");
    scene_follow(&scene, &gauge, 1, 7);
    await(count_published(&scene.listener) == 1);

    pthread_mutex_lock(&scene.listener.lock);
    assert_true(scene.listener.last->owner == 7);
    assert_int_equal(scene.listener.last->n, 1);
    assert_true(value_of(scene.listener.last->items[0], "a") == 0.25);
    assert_true(value_of(scene.listener.last->items[0], "b") == 0.5);
    assert_true(scene.listener.last->items[0]->at_nsec >= before);
    pthread_mutex_unlock(&scene.listener.lock);

    assert_true(prometheus_received(&scene.prometheus, "POST /prom/api/v1/query HTTP/1.1"));
    assert_true(
        prometheus_received(&scene.prometheus, "Content-Type: application/x-www-form-urlencoded"));
    assert_true(prometheus_received(
        &scene.prometheus, "\nquery=sum%20by%20%28node%29%20%28x%7Ba%3D%22b%22%7D%29&timeout=10s"));
    assert_false(prometheus_received(&scene.prometheus, "time=1"));

    status = scene_status(&scene, 0);
    assert_true(status.is_polled);
    assert_int_equal(status.state, POLL_OK);
    assert_true(status.answered_at_nsec >= before && status.answered_uptime > 0);
    assert_true(status.failing_since_nsec == 0);
    assert_true(status.duration_nsec > 0 && status.n_bytes > 100);
    assert_true(status.n_ok == 1 && status.n_failed == 0);
    assert_int_equal(status.report.n_covered, 2);
    assert_string_equal(status.error, "");
    scene_done(&scene);
}

/* A warning of the server is kept, without control characters. */
static void test_warning(void **state) {
    const Gauge gauge = gauge_of("x", HOUR);
    Scene scene;

    (void)state;
    scene_init(&scene);
    atomic_store(&scene.prometheus.mode, SERVER_WARNING);
    scene_follow(&scene, &gauge, 1, 7);
    await(state_is(&scene, 0, POLL_OK));
    assert_non_null(strstr(scene_status(&scene, 0).warning, "a store is"));
    assert_null(strchr(scene_status(&scene, 0).warning, 033));
    scene_done(&scene);
}

/* Gauges with the same query share one request. */
static void test_sharing(void **state) {
    Gauge gauges[4];
    Scene scene;

    (void)state;
    for (size_t i = 0; i < 4; i++)
        gauges[i] = gauge_of("x", HOUR);
    gauges[1].max_age_nsec = 2 * HOUR;
    gauges[2].from = STR("default");
    gauges[2].interval_nsec = 2 * HOUR;
    gauges[3].query = STR("y");
    scene_init(&scene);
    scene_follow(&scene, gauges, 4, 1);
    for (size_t i = 0; i < 4; i++)
        await(state_is(&scene, i, POLL_OK));
    assert_int_equal(atomic_load(&scene.prometheus.n_requests), 2);
    for (size_t i = 0; i < 4; i++)
        assert_true(scene_status(&scene, i).n_ok == 1);

    /* A new gauge is polled at once, for all that share the query. */
    gauges[3] = gauge_of("x", HOUR);
    gauges[3].max_age_nsec = 3 * HOUR;
    scene_follow(&scene, gauges, 4, 2);
    await(state_is(&scene, 3, POLL_OK));
    assert_int_equal(atomic_load(&scene.prometheus.n_requests), 3);
    assert_true(scene_status(&scene, 0).n_ok == 2);
    scene_done(&scene);
}

/* The shortest interval of the gauges that share a query counts. */
static void test_intervals(void **state) {
    Gauge gauges[2] = {gauge_of("x", HOUR), gauge_of("x", 100 * NSEC_PER_MSEC)};
    Scene scene;

    (void)state;
    scene_init(&scene);
    scene_follow(&scene, gauges, 1, 1);
    await(state_is(&scene, 0, POLL_OK));
    scene_follow(&scene, gauges, 2, 2);
    await(scene_status(&scene, 0).n_ok >= 4);
    assert_true(scene_status(&scene, 1).n_ok >= 3);
    scene_done(&scene);
}

static void test_has_one_request_under_way(void **state) {
    const Gauge gauge = gauge_of("x", 1);
    Scene scene;

    (void)state;
    scene_init(&scene);
    atomic_store(&scene.prometheus.mode, SERVER_SLOW);
    scene_follow(&scene, &gauge, 1, 1);
    await(scene_status(&scene, 0).n_ok >= 4);
    assert_int_equal(atomic_load(&scene.prometheus.n_under_way_most), 1);
    scene_done(&scene);
}

/* Hanging jobs of one source do not delay another source. */
static void test_hanging_source_does_not_delay_another(void **state) {
    char names[12][8], url[64], error[ACCESS_ERROR_MAX];
    Gauge gauges[13];
    MetricSource sources[2];
    Scene scene;
    FakePrometheus other;

    (void)state;
    for (size_t i = 0; i < 12; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "q%zu", i);
        gauges[i] = gauge_of(names[i], HOUR);
    }
    gauges[12] = gauge_of("x", 100 * NSEC_PER_MSEC);
    gauges[12].from = STR("other");
    scene_init(&scene);
    prometheus_init(&other);
    atomic_store(&scene.prometheus.mode, SERVER_HANG);
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u", test_server_port(other.server));
    sources[0] = scene.source;
    sources[1] = (MetricSource){.name = STR("other"), .server.url = url};
    assert_int_equal(
        poller_configure(scene.poller, &(MetricSources){.items = sources, .n = 2}, error), 0);
    scene_follow(&scene, gauges, 13, 1);
    await(scene_status(&scene, 12).n_ok >= 5);
    assert_true(atomic_load(&scene.prometheus.n_under_way_most) <= POLL_SHARE_MAX);
    assert_true(atomic_load(&scene.prometheus.n_under_way_most) > 0);
    assert_true(poller_stop(scene.poller, 5 * NSEC_PER_SEC));
    scene_done(&scene);
    prometheus_done(&other);
}

/* --- changing gauges --- */

static Snapshot *empty_cluster(void) {
    _cleanup_(store_freep) Store *store = store_new();

    assert_non_null(store);
    return test_load_publish(store);
}

static void set_cluster(Listener *listener, Snapshot *snapshot) {
    pthread_mutex_lock(&listener->lock);
    snapshot_unref(listener->snapshot);
    listener->snapshot = snapshot;
    pthread_mutex_unlock(&listener->lock);
}

static void test_no_cluster(void **state) {
    const Gauge gauge = gauge_of("x", HOUR);
    Scene scene;
    unsigned n_snapshots_read;

    (void)state;
    scene_init(&scene);
    set_cluster(&scene.listener, NULL);
    scene_follow(&scene, &gauge, 1, 1);
    await(atomic_load(&scene.listener.n_snapshots_read) >= 2);
    set_cluster(&scene.listener, empty_cluster());
    n_snapshots_read = atomic_load(&scene.listener.n_snapshots_read);
    await(atomic_load(&scene.listener.n_snapshots_read) >= n_snapshots_read + 2);
    assert_int_equal(atomic_load(&scene.prometheus.n_requests), 0);
    assert_int_equal(scene_status(&scene, 0).state, POLL_WAITING);
    set_cluster(&scene.listener, two_nodes());
    await(state_is(&scene, 0, POLL_OK));
    assert_int_equal(scene_status(&scene, 0).report.n_nodes, 2);
    scene_done(&scene);
}

/* Values of gauges that stay are available at once, under their new numbers. */
static void test_keeps_values_of_gauges_that_stay(void **state) {
    Gauge gauges[3] = {gauge_of("x", HOUR), gauge_of("y", HOUR), gauge_of("z", HOUR)};
    Measurements *known = NULL;
    PollStatus statuses[3];
    uint64_t owner = 0;
    Scene scene;

    (void)state;
    scene_init(&scene);
    assert_int_equal(poller_follow(scene.poller, gauges, 2, 1, &known), 0);
    assert_null(known->items[0]);
    measurements_unref(known);
    await(state_is(&scene, 0, POLL_OK) && state_is(&scene, 1, POLL_OK));

    atomic_store(&scene.prometheus.mode, SERVER_HANG);
    gauges[1].name = STR("called otherwise");
    assert_int_equal(poller_follow(scene.poller, &gauges[1], 2, 2, &known), 0);
    assert_true(known->owner == 2);
    assert_non_null(known->items[0]);
    assert_null(known->items[1]);
    assert_true(value_of(known->items[0], "b") == 0.5);
    measurements_unref(known);
    assert_int_equal(poller_status(scene.poller, statuses, 3, &owner), 2);
    assert_true(owner == 2);
    assert_int_equal(statuses[0].state, POLL_OK);
    assert_int_equal(statuses[1].state, POLL_WAITING);
    assert_int_equal(poller_status(scene.poller, statuses, 0, &owner), 2);
    scene_done(&scene);
}

static bool last_owner_is(Listener *listener, uint64_t owner) {
    bool is_it;

    pthread_mutex_lock(&listener->lock);
    is_it = listener->last && listener->last->owner == owner;
    pthread_mutex_unlock(&listener->lock);
    return is_it;
}

/* The last publication has the order of its owner: y, x for even owners, x for odd ones. */
static bool check_order(Listener *listener) {
    bool is_there = false;

    pthread_mutex_lock(&listener->lock);
    if (listener->last) {
        const Measurements *last = listener->last;
        bool is_swapped = last->owner % 2 == 0;

        is_there = true;
        assert_int_equal(last->n, is_swapped ? 2 : 1);
        for (size_t i = 0; i < last->n; i++)
            if (last->items[i])
                assert_true(value_of(last->items[i], "a") == (is_swapped && i == 0 ? 2.5 : 0.25));
            else
                is_there = false;
    }
    pthread_mutex_unlock(&listener->lock);
    return is_there;
}

/* An answer that arrives after the numbers have changed counts for the gauge that was polled. */
static void test_late_answer(void **state) {
    const Gauge gauges[2] = {gauge_of("x", 100 * NSEC_PER_MSEC), gauge_of("y", HOUR)};
    const Gauge swapped[2] = {gauges[1], gauges[0]};
    Scene scene;

    (void)state;
    scene_init(&scene);
    atomic_store(&scene.prometheus.mode, SERVER_SLOW);
    for (uint64_t owner = 1; owner <= 60; owner++) {
        scene_follow(&scene, owner % 2 ? gauges : swapped, owner % 2 ? 1 : 2, owner);
        pause_msec(13);
        (void)check_order(&scene.listener);
    }
    await(state_is(&scene, 0, POLL_OK) && state_is(&scene, 1, POLL_OK));
    await(last_owner_is(&scene.listener, 60) && check_order(&scene.listener));
    scene_done(&scene);
}

static void test_publishes_nothing_for_a_replaced_list(void **state) {
    const Gauge gauges[2] = {gauge_of("x", HOUR), gauge_of("y", HOUR)};
    Scene scene;

    (void)state;
    scene_init(&scene);
    atomic_store(&scene.prometheus.mode, SERVER_SLOW);
    scene_follow(&scene, &gauges[0], 1, 1);
    await(atomic_load(&scene.prometheus.n_requests) == 1);
    scene_follow(&scene, (const Gauge[]){gauges[1], gauges[0]}, 2, 2);
    await(last_owner_is(&scene.listener, 2));
    pthread_mutex_lock(&scene.listener.lock);
    assert_int_equal(scene.listener.last->n, 2);
    assert_true(scene.listener.last->items[0] || scene.listener.last->items[1]);
    pthread_mutex_unlock(&scene.listener.lock);
    scene_done(&scene);
}

/* A job without gauges is cancelled. */
static void test_cancels_job_without_gauges(void **state) {
    const Gauge gauge = gauge_of("x", HOUR);
    Scene scene;

    (void)state;
    scene_init(&scene);
    atomic_store(&scene.prometheus.mode, SERVER_HANG);
    scene_follow(&scene, &gauge, 1, 1);
    await(atomic_load(&scene.prometheus.n_under_way) == 1);
    scene_follow(&scene, NULL, 0, 2);
    await(atomic_load(&scene.prometheus.n_gone) == 1);
    scene_done(&scene);
}

static void test_stop(void **state) {
    const Gauge gauges[3] = {gauge_of("x", HOUR), gauge_of("y", HOUR), gauge_of("z", HOUR)};
    Scene scene;

    (void)state;
    scene_init(&scene);
    atomic_store(&scene.prometheus.mode, SERVER_HANG);
    scene_follow(&scene, gauges, 3, 1);
    await(atomic_load(&scene.prometheus.n_under_way) == 3);
    assert_true(poller_stop(scene.poller, 500 * NSEC_PER_MSEC));
    assert_true(poller_stop(scene.poller, 0));
    scene_done(&scene);
}

/* --- sources --- */

static void test_no_source(void **state) {
    Gauge gauges[2] = {gauge_of("x", HOUR), gauge_of("x", HOUR)};
    char error[ACCESS_ERROR_MAX];
    MetricSource sources[2];
    PollStatus status;
    Scene scene;

    (void)state;
    gauges[0].from = STR("other");
    gauges[1] = (Gauge){.name = STR("cpu"),
        .source = GAUGE_RESOURCES,
        .resource = STR("cpu"),
        .interval_nsec = HOUR,
        .max_age_nsec = HOUR};
    scene_init(&scene);
    scene_follow(&scene, gauges, 2, 1);
    await(state_is(&scene, 0, POLL_NO_SOURCE) && state_is(&scene, 1, POLL_NO_SOURCE));
    status = scene_status(&scene, 0);
    assert_string_equal(
        status.error, "there is no source named \"other\"; configured: \"default\"");
    assert_true(status.failing_since_nsec > 0);
    assert_non_null(strstr(scene_status(&scene, 1).error, "no API server is known"));
    await(count_notices(&scene.listener) == 2);

    sources[0] = sources[1] = scene.source;
    sources[1].name = STR("other");
    assert_int_equal(
        poller_configure(scene.poller, &(MetricSources){.items = sources, .n = 2}, error), 0);
    await(state_is(&scene, 0, POLL_OK));
    assert_true(scene_status(&scene, 0).failing_since_nsec == 0);

    assert_int_equal(poller_configure(scene.poller, &(MetricSources){0}, error), 0);
    await(state_is(&scene, 0, POLL_NO_SOURCE));
    assert_string_equal(scene_status(&scene, 0).error,
        "there is no source named \"other\", nor any other: give berth --prometheus or --sources");
    scene_done(&scene);
}

static void test_bad_source(void **state) {
    const MetricSource source = {.name = STR("default"), .server.url = "ftp://nowhere"};
    const PollerCallbacks callbacks = {.snapshot = give_snapshot};
    char error[ACCESS_ERROR_MAX] = "";
    Poller *poller = NULL;

    (void)state;
    assert_true(poller_new(&(PollerOptions){.sources = &(MetricSources){.items = &source, .n = 1}},
                    &callbacks, &poller, error) < 0);
    assert_null(poller);
    assert_true(error[0] != '\0');
}

/* Everything is polled again at once. */
static void test_configure(void **state) {
    const Gauge gauge = gauge_of("x", HOUR);
    char error[ACCESS_ERROR_MAX];
    Scene scene;

    (void)state;
    scene_init(&scene);
    scene_follow(&scene, &gauge, 1, 1);
    await(state_is(&scene, 0, POLL_OK));
    atomic_store(&scene.prometheus.mode, SERVER_HANG);
    assert_int_equal(poller_configure(scene.poller, &scene.sources, error), 0);
    await(atomic_load(&scene.prometheus.n_under_way) == 1);
    assert_int_equal(scene_status(&scene, 0).state, POLL_OK);
    atomic_store(&scene.prometheus.mode, SERVER_OK);
    assert_int_equal(poller_configure(scene.poller, &scene.sources, error), 0);
    await(atomic_load(&scene.prometheus.n_gone) == 1);
    await(scene_status(&scene, 0).n_ok == 2);
    scene_done(&scene);
}

/* cpu and memory come from one answer. */
static void test_resources(void **state) {
    Gauge gauges[4];
    Scene scene;

    (void)state;
    for (size_t i = 0; i < 4; i++)
        gauges[i] = (Gauge){
            .name = i % 2 ? STR("memory") : STR("cpu"),
            .source = GAUGE_RESOURCES,
            .resource = i % 2 ? STR("memory") : STR("cpu"),
            .is_of_pods = i >= 2,
            .namespace_label = STR("namespace"),
            .pod_label = STR("pod"),
            .interval_nsec = HOUR,
            .max_age_nsec = HOUR,
        };
    scene_init_api(&scene);
    scene_follow(&scene, gauges, 4, 1);
    for (size_t i = 0; i < 4; i++)
        await(state_is(&scene, i, POLL_OK));
    assert_int_equal(atomic_load(&scene.prometheus.n_nodes), 1);
    assert_int_equal(atomic_load(&scene.prometheus.n_pods), 1);
    assert_int_equal(atomic_load(&scene.prometheus.n_posts), 0);
    await(count_published(&scene.listener) > 0 && atomic_load(&scene.prometheus.n_requests) == 2);
    {
        Measurements *known = NULL;

        assert_int_equal(poller_follow(scene.poller, gauges, 4, 2, &known), 0);
        assert_true(value_of(known->items[0], "a") == 1.5);
        assert_true(isnan(value_of(known->items[0], "b")));
        assert_true(value_of(known->items[1], "a") == 2048);
        assert_true(value_of(known->items[2], "b") == 0.5);
        assert_true(value_of(known->items[3], "b") == 1024);
        measurements_unref(known);
    }
    scene_done(&scene);
}

/* Two gauges of one custom metric share a request; one of another metric has its own, which fails.
 */
static void test_custom(void **state) {
    Gauge gauges[3];
    Scene scene;

    (void)state;
    for (size_t i = 0; i < 3; i++)
        gauges[i] = (Gauge){
            .name = STR("x"),
            .source = GAUGE_CUSTOM,
            .query = i < 2 ? STR("warm") : STR("cold"),
            .interval_nsec = HOUR,
            .max_age_nsec = HOUR + (int64_t)i,
        };
    scene_init_api(&scene);
    atomic_store(&scene.prometheus.mode, SERVER_NOT_FOUND);
    scene_follow(&scene, gauges, 3, 1);
    await(state_is(&scene, 0, POLL_OK) && state_is(&scene, 1, POLL_OK));
    await(state_is(&scene, 2, POLL_FAILING));
    assert_int_equal(atomic_load(&scene.prometheus.n_nodes), 1);
    assert_non_null(strstr(scene_status(&scene, 2).error, "is an adapter installed"));
    {
        Measurements *known = NULL;

        assert_int_equal(poller_follow(scene.poller, gauges, 3, 2, &known), 0);
        assert_true(value_of(known->items[0], "a") == 36.5);
        assert_true(value_of(known->items[1], "a") == 36.5);
        measurements_unref(known);
    }
    scene_done(&scene);
}

static void test_annotation(void **state) {
    const Gauge gauge = {
        .name = STR("x"), .source = GAUGE_ANNOTATION, .annotation = STR("load"), .max_age_nsec = 1};
    Scene scene;

    (void)state;
    scene_init(&scene);
    scene_follow(&scene, &gauge, 1, 1);
    assert_false(scene_status(&scene, 0).is_polled);
    assert_int_equal(scene_status(&scene, 0).state, POLL_OK);
    scene_done(&scene);
}

static void test_state_names(void **state) {
    (void)state;
    assert_string_equal(poll_state_name(POLL_WAITING), "waiting");
    assert_string_equal(poll_state_name(POLL_OK), "ok");
    assert_string_equal(poll_state_name(POLL_FAILING), "failing");
    assert_string_equal(poll_state_name(POLL_UNJOINED), "unjoined");
    assert_string_equal(poll_state_name(POLL_NO_SOURCE), "no_source");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_measures),
        cmocka_unit_test(test_warning),
        cmocka_unit_test(test_sharing),
        cmocka_unit_test(test_intervals),
        cmocka_unit_test(test_has_one_request_under_way),
        cmocka_unit_test(test_hanging_source_does_not_delay_another),
        cmocka_unit_test(test_no_cluster),
        cmocka_unit_test(test_keeps_values_of_gauges_that_stay),
        cmocka_unit_test(test_late_answer),
        cmocka_unit_test(test_publishes_nothing_for_a_replaced_list),
        cmocka_unit_test(test_cancels_job_without_gauges),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_no_source),
        cmocka_unit_test(test_bad_source),
        cmocka_unit_test(test_configure),
        cmocka_unit_test(test_resources),
        cmocka_unit_test(test_custom),
        cmocka_unit_test(test_annotation),
        cmocka_unit_test(test_state_names),
    };

    (void)signal(
        SIGPIPE, SIG_IGN); /* as the daemon does: a server may close while it is written to */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
