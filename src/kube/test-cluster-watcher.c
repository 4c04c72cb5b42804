/* The watcher's thread against a client that answers as the test wants: what is published, and what
 * people are told. */

#include "kube/cluster-watcher.h"

#include "kube/test-cluster-watcher.h"

static bool has_listed_nodes(const WatcherStatus *status) {
    return status->kinds[WATCHER_NODES].is_synced;
}

static bool has_both(const WatcherStatus *status) {
    return status->kinds[WATCHER_NODES].is_synced && status->kinds[WATCHER_PODS].is_synced &&
           status->n_published > 0;
}

static void test_nothing_is_published_before_all_is_known(void **state) {
    Lab lab;
    WatcherStatus status;

    lab_open(&lab);
    assert_false(watcher_is_synced(lab.watcher));
    fake_head(lab.client, lab.nodes, 200, "application/json", -1);
    send_node(&lab, "ADDED", "n1", 1);
    send_text(&lab, lab.nodes, LIST_END);
    status = wait_for_status(&lab, has_listed_nodes);
    assert_int_equal(status.n_published, 0);
    assert_false(status.kinds[WATCHER_PODS].is_synced);
    assert_false(watcher_is_synced(lab.watcher));

    fake_head(lab.client, lab.pods, 200, "application/json", -1);
    send_text(&lab, lab.pods, LIST_END);
    wait_for_pods(&lab, "n1", 0);
    status = wait_for_status(&lab, has_both);
    assert_true(watcher_is_synced(lab.watcher));
    assert_int_equal(status.n_nodes, 1);
    assert_true(status.kinds[WATCHER_NODES].is_connected);
    assert_int_equal(status.kinds[WATCHER_NODES].n_lists, 1);
    assert_string_equal(status.server, "https://fake.invalid:6443");
    lab_close(&lab);
}

/* Nothing at all is something that can be known. */
static void test_an_empty_cluster_is_published(void **state) {
    Lab lab;

    lab_open(&lab);
    fake_head(lab.client, lab.nodes, 200, "application/json", -1);
    fake_head(lab.client, lab.pods, 200, "application/json", -1);
    send_text(&lab, lab.nodes, LIST_END);
    send_text(&lab, lab.pods, LIST_END);
    (void)wait_for_status(&lab, has_both);
    assert_true(watcher_is_synced(lab.watcher));
    lab_close(&lab);
}

static void test_events_are_published_in_turns(void **state) {
    Lab lab;
    char name[16];

    lab_open(&lab);
    lab_sync(&lab);
    for (int i = 0; i < 2000; i++) {
        (void)snprintf(name, sizeof(name), "p%d", i);
        send_pod(&lab, "ADDED", name, i % 2 ? "n1" : "n2");
    }
    wait_for_pods(&lab, "n2", 1000);
    wait_for_pods(&lab, "n1", 1001);
    pthread_mutex_lock(&lab.mutex);
    assert_true(lab.n_published < 1000); /* a turn each at the very most */
    pthread_mutex_unlock(&lab.mutex);
    send_pod(&lab, "DELETED", "first", "n1");
    wait_for_pods(&lab, "n1", 1000);
    lab_close(&lab);
}

/* Of a list nobody is told, nor of pods that are made with a node; else, once a pod. */
static void test_bound_pods_are_told(void **state) {
    Lab lab;

    lab_open(&lab);
    lab_sync(&lab);
    assert_int_equal(lab.n_pods_bound, 0);
    send_pod(&lab, "ADDED", "waits", "");
    send_pod(&lab, "MODIFIED", "waits", "n2");
    send_pod(&lab, "MODIFIED", "waits", "n2");
    send_pod(&lab, "ADDED", "static", "n2");
    send_pod(&lab, "MODIFIED", "static", "n2");
    wait_for_pods(&lab, "n2", 2);
    pthread_mutex_lock(&lab.mutex);
    assert_int_equal(lab.n_pods_bound, 1);
    assert_string_equal(lab.last_bound, "waits");
    pthread_mutex_unlock(&lab.mutex);
    lab_close(&lab);
}

static bool is_lost(const WatcherStatus *status) {
    return status->kinds[WATCHER_PODS].n_failures > 0;
}

static bool is_back(const WatcherStatus *status) {
    return status->kinds[WATCHER_PODS].is_connected && status->kinds[WATCHER_PODS].n_restarts > 0;
}

static void test_what_is_known_stays_while_the_server_is_gone(void **state) {
    Lab lab;
    WatcherStatus status;
    size_t before;

    lab_open(&lab);
    lab_sync(&lab);
    before = lab.pods;
    fake_done(lab.client, lab.pods, CALL_BROKEN);
    status = wait_for_status(&lab, is_lost);
    assert_string_equal(status.kinds[WATCHER_PODS].last_error, "as the test wants it");
    assert_false(status.kinds[WATCHER_PODS].is_connected);
    assert_true(status.kinds[WATCHER_PODS].is_synced && watcher_is_synced(lab.watcher));
    assert_int_equal(status.n_pods, 1);
    lab.pods = fake_wait_for(lab.client, "GET", "/api/v1/pods?", before + 1);
    assert_true(lab.pods != SIZE_MAX);
    assert_non_null(strstr(fake_call(lab.client, lab.pods).path, "&resourceVersion=100"));
    fake_head(lab.client, lab.pods, 200, "application/json", -1);
    send_pod(&lab, "ADDED", "later", "n1");
    wait_for_pods(&lab, "n1", 2);
    status = wait_for_status(&lab, is_back);
    assert_string_equal(status.kinds[WATCHER_PODS].last_error, "");
    assert_int_equal(status.kinds[WATCHER_PODS].n_lists, 1);
    lab_close(&lab);
}

static bool has_two_unfit(const WatcherStatus *status) {
    return status->kinds[WATCHER_NODES].n_unfit == 2;
}

/* A node that we cannot read is a node that is not there; the others are not its victims. */
static void test_objects_that_cannot_be_read(void **state) {
    Lab lab;
    WatcherStatus status;

    lab_open(&lab);
    fake_head(lab.client, lab.nodes, 200, "application/json", -1);
    send_text(&lab, lab.nodes,
        "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"n0\",\"resourceVersion\":\"1\","
        "\"labels\":7}}}\n");
    send_node(&lab, "ADDED", "n1", 2);
    send_node(&lab, "ADDED", "n2", 3);
    send_text(&lab, lab.nodes, LIST_END);
    fake_head(lab.client, lab.pods, 200, "application/json", -1);
    send_text(&lab, lab.pods, LIST_END);
    wait_for_pods(&lab, "n1", 0);
    send_text(&lab, lab.nodes,
        "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"n1\",\"resourceVersion\":"
        "\"101\",\"labels\":7}}}\n");
    wait_for_pods(&lab, "n1", SIZE_MAX);
    status = wait_for_status(&lab, has_two_unfit);
    assert_true(status.kinds[WATCHER_NODES].is_connected);
    assert_int_equal(status.n_nodes, 1);
    lab_close(&lab);
}

static bool is_malformed(const WatcherStatus *status) {
    return status->kinds[WATCHER_NODES].n_malformed == 1;
}

/* One that is not even JSON inside says nothing for certain: all is listed anew. */
static void test_an_object_that_is_no_json(void **state) {
    Lab lab;

    lab_open(&lab);
    lab_sync(&lab);
    send_text(&lab, lab.nodes,
        "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"n1\",\"resourceVersion\":"
        "\"101\"},\"status\":{\"allocatable\":{\"cpu\" \"8\"}}}}\n");
    (void)wait_for_status(&lab, is_malformed);
    lab.nodes = fake_wait_for(lab.client, "GET", "/api/v1/nodes?", lab.nodes + 1);
    assert_true(lab.nodes != SIZE_MAX);
    assert_non_null(strstr(fake_call(lab.client, lab.nodes).path, "sendInitialEvents"));
    lab_close(&lab);
}

static bool has_touched(const WatcherStatus *status) {
    return status->marks.n_written == 1 && status->marks.n_failed == 1;
}

static void test_touching(void **state) {
    Lab lab;
    size_t first, second;

    lab_open(&lab);
    watcher_mark_node(lab.watcher, STR("n1"));
    watcher_mark_node(lab.watcher, STR("../pods"));
    watcher_mark_node(lab.watcher, STR("n2"));
    first = fake_wait_for(lab.client, "PATCH", "/api/v1/nodes/n1", 0);
    second = fake_wait_for(lab.client, "PATCH", "/api/v1/nodes/n2", 0);
    assert_true(first != SIZE_MAX && second != SIZE_MAX);
    assert_non_null(strstr(fake_call(lab.client, first).body, WATCHER_RETRY_ANNOTATION));
    fake_answer(lab.client, first, 200, "{}");
    fake_answer(lab.client, second, 403, "");
    (void)wait_for_status(&lab, has_touched);
    lab_close(&lab);
}

static bool has_announced(const WatcherStatus *status) {
    return status->events.n_written == 1 && status->events.n_failed == 1;
}

/* Events are written if they may be; that the right is missing is told once. */
static void test_announcing(void **state) {
    static const PodEvent event = {
        .reason = "NoNodePassed",
        .action = "Filter",
        .note = STR("none"),
        .namespace = STR("shop"),
        .pod = STR("web"),
        .uid = STR("u-web"),
    };
    static const char refusal[] =
        "{\"kind\":\"Status\",\"code\":403,\"message\":\"berth cannot create resource events\"}";
    Lab lab;
    size_t post, last;

    lab_open(&lab);
    watcher_post_event(lab.watcher, &event); /* it may not: nobody is asked */
    assert_false(lab_turn(&lab).posts_events);
    lab_close(&lab);

    lab_open_with(&lab, &(WatcherOptions){.identity = "me", .posts_events = true});
    watcher_post_event(lab.watcher, &event);
    post = fake_wait_for(lab.client, "POST", "/apis/events.k8s.io/v1/namespaces/shop/events", 0);
    assert_true(post != SIZE_MAX);
    assert_non_null(strstr(fake_call(lab.client, post).body, "\"reportingInstance\":\"me\""));
    fake_answer(lab.client, post, 201, "{}");
    watcher_post_event(lab.watcher, &event);
    post = fake_wait_for(lab.client, "POST", "/events", post + 1);
    assert_true(post != SIZE_MAX);
    fake_answer(lab.client, post, 403, refusal);
    assert_true(wait_for_status(&lab, has_announced).posts_events);
    (void)lab_turn(&lab);
    lab_close(&lab);
    assert_int_equal(count_told(&lab, WATCHER_EVENTS_FORBIDDEN, WATCHER_NODES, &last), 1);
}

/* A snapshot that nobody could take has not been shown; it is offered again, but not at once. */
static void test_a_snapshot_that_is_not_taken(void **state) {
    Lab lab;

    lab_open(&lab);
    freeze_time();
    lab.n_refuse = 2;
    fake_head(lab.client, lab.nodes, 200, "application/json", -1);
    send_node(&lab, "ADDED", "n1", 1);
    send_text(&lab, lab.nodes, LIST_END);
    fake_head(lab.client, lab.pods, 200, "application/json", -1);
    send_text(&lab, lab.pods, LIST_END);
    wait_for_offers(&lab, 1);
    assert_int_equal(lab_turn(&lab).n_published, 0);
    assert_false(watcher_is_synced(lab.watcher));

    skip_msec(999);
    send_pod(&lab, "ADDED", "p", "n1");
    (void)lab_turn(&lab);
    wait_for_offers(&lab, 1);
    skip_msec(1);
    (void)lab_turn(&lab);
    wait_for_offers(&lab, 2);
    assert_false(watcher_is_synced(lab.watcher));
    skip_sec(1);
    assert_int_equal(lab_turn(&lab).n_published, 1);
    wait_for_pods(&lab, "n1", 1);
    assert_true(watcher_is_synced(lab.watcher));
    lab_close(&lab);
}

/* --- what is told ----------------------------------------------------------------------------- */

/* A server that takes us back and drops us, again and again, is not worth two lines each time;
 * but the last word is the truth. */
static void test_flapping_is_not_told_each_time(void **state) {
    Lab lab;
    size_t n_lost, n_connected, last_lost, last_connected;

    lab_open(&lab);
    lab_sync(&lab);
    freeze_time();
    for (int i = 0; i < 40; i++) {
        size_t before = lab.pods;

        send_text(&lab, lab.pods, BOOKMARK);
        fake_done(lab.client, lab.pods, CALL_BROKEN);
        (void)lab_turn(&lab);
        skip_sec(2);
        lab.pods = fake_wait_for(lab.client, "GET", "/api/v1/pods?", before + 1);
        assert_true(lab.pods != SIZE_MAX);
        fake_head(lab.client, lab.pods, 200, "application/json", -1);
        (void)lab_turn(&lab);
    }
    skip_sec(11);
    (void)lab_turn(&lab);
    lab_close(&lab);
    n_lost = count_told(&lab, WATCHER_LOST, WATCHER_PODS, &last_lost);
    n_connected = count_told(&lab, WATCHER_CONNECTED, WATCHER_PODS, &last_connected);
    assert_in_range(n_lost, 5, 9); /* 80 s, once in ten */
    assert_in_range(n_connected, 5, 10);
    assert_true(last_connected > last_lost);
}

static void test_waiting_that_fails_is_told_once(void **state) {
    Lab lab;
    size_t last;

    lab_open(&lab);
    fake_fail_waits(lab.client, 5);
    while (fake_failing_waits(lab.client) > 0)
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    lab_sync(&lab); /* it goes on */
    lab_close(&lab);
    assert_int_equal(count_told(&lab, WATCHER_WAIT_FAILED, WATCHER_NODES, &last), 1);
}

static void test_names(void **state) {
    assert_string_equal(watcher_kind_name(WATCHER_NODES), "nodes");
    assert_string_equal(watcher_kind_name(WATCHER_PODS), "pods");
    assert_null(watcher_free(NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_published_before_all_is_known),
        cmocka_unit_test(test_an_empty_cluster_is_published),
        cmocka_unit_test(test_events_are_published_in_turns),
        cmocka_unit_test(test_bound_pods_are_told),
        cmocka_unit_test(test_what_is_known_stays_while_the_server_is_gone),
        cmocka_unit_test(test_objects_that_cannot_be_read),
        cmocka_unit_test(test_an_object_that_is_no_json),
        cmocka_unit_test(test_touching),
        cmocka_unit_test(test_announcing),
        cmocka_unit_test(test_a_snapshot_that_is_not_taken),
        cmocka_unit_test(test_flapping_is_not_told_each_time),
        cmocka_unit_test(test_waiting_that_fails_is_told_once),
        cmocka_unit_test(test_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
