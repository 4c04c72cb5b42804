/* The watcher's publications and notices, with a client that the tests control. */

#include "kube/cluster-watcher.h"

#include "kube/test-cluster-watcher.h"

static bool has_listed_nodes(const WatcherStatus *status) {
    return status->kinds[WATCHER_NODES].is_synced;
}

static bool has_both(const WatcherStatus *status) {
    return status->kinds[WATCHER_NODES].is_synced && status->kinds[WATCHER_PODS].is_synced &&
           status->n_published > 0;
}

static void test_publishes_nothing_before_all_lists(void **state) {
    WatcherFixture fixture;
    WatcherStatus status;

    fixture_open(&fixture);
    assert_false(watcher_is_synced(fixture.watcher));
    fake_head(fixture.client, fixture.nodes, 200, "application/json", -1);
    send_node(&fixture, "ADDED", "n1", 1);
    send_text(&fixture, fixture.nodes, LIST_END);
    status = wait_for_status(&fixture, has_listed_nodes);
    assert_int_equal(status.n_published, 0);
    assert_false(status.kinds[WATCHER_PODS].is_synced);
    assert_false(watcher_is_synced(fixture.watcher));

    fake_head(fixture.client, fixture.pods, 200, "application/json", -1);
    send_text(&fixture, fixture.pods, LIST_END);
    wait_for_pods(&fixture, "n1", 0);
    status = wait_for_status(&fixture, has_both);
    assert_true(watcher_is_synced(fixture.watcher));
    assert_int_equal(status.n_nodes, 1);
    assert_true(status.kinds[WATCHER_NODES].is_connected);
    assert_int_equal(status.kinds[WATCHER_NODES].n_lists, 1);
    assert_string_equal(status.server, "https://fake.invalid:6443");
    fixture_close(&fixture);
}

static void test_an_empty_cluster_is_published(void **state) {
    WatcherFixture fixture;

    fixture_open(&fixture);
    fake_head(fixture.client, fixture.nodes, 200, "application/json", -1);
    fake_head(fixture.client, fixture.pods, 200, "application/json", -1);
    send_text(&fixture, fixture.nodes, LIST_END);
    send_text(&fixture, fixture.pods, LIST_END);
    (void)wait_for_status(&fixture, has_both);
    assert_true(watcher_is_synced(fixture.watcher));
    fixture_close(&fixture);
}

static void test_publishes_events_together(void **state) {
    WatcherFixture fixture;
    char name[16];

    fixture_open(&fixture);
    fixture_sync(&fixture);
    for (int i = 0; i < 2000; i++) {
        (void)snprintf(name, sizeof(name), "p%d", i);
        send_pod(&fixture, "ADDED", name, i % 2 ? "n1" : "n2");
    }
    wait_for_pods(&fixture, "n2", 1000);
    wait_for_pods(&fixture, "n1", 1001);
    pthread_mutex_lock(&fixture.mutex);
    assert_true(fixture.n_published < 1000); /* not one for each event */
    pthread_mutex_unlock(&fixture.mutex);
    send_pod(&fixture, "DELETED", "first", "n1");
    wait_for_pods(&fixture, "n1", 1000);
    fixture_close(&fixture);
}

/* pod_bound() is called once per pod; not for pods of a list or created with a node. */
static void test_reports_bound_pods_once(void **state) {
    WatcherFixture fixture;

    fixture_open(&fixture);
    fixture_sync(&fixture);
    assert_int_equal(fixture.n_pods_bound, 0);
    send_pod(&fixture, "ADDED", "waits", "");
    send_pod(&fixture, "MODIFIED", "waits", "n2");
    send_pod(&fixture, "MODIFIED", "waits", "n2");
    send_pod(&fixture, "ADDED", "static", "n2");
    send_pod(&fixture, "MODIFIED", "static", "n2");
    wait_for_pods(&fixture, "n2", 2);
    pthread_mutex_lock(&fixture.mutex);
    assert_int_equal(fixture.n_pods_bound, 1);
    assert_string_equal(fixture.last_bound, "waits");
    pthread_mutex_unlock(&fixture.mutex);
    fixture_close(&fixture);
}

/* One container shrinks from 3 to 1 cpu, another grows from 1 to 4. */
static void test_counts_resized_pods_by_version(void **state) {
    static const struct {
        const char *version;
        int64_t cpu;
    } cases[] = {
        {"{\"major\":\"1\",\"minor\":\"36\"}", 7000},
        {"{\"major\":\"1\",\"minor\":\"33+\"}", 7000},
        {"{\"major\":\"1\",\"minor\":\"37\"}", 5000},
        {"{\"major\":\"1\",\"minor\":\"40+\"}", 5000},
        {"{}", 5000},
        {"no version", 5000},
    };

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        const NodeTable *table;
        WatcherFixture fixture;
        const Pod *pod;
        uint32_t row;

        fixture_open_version(&fixture, &(WatcherOptions){0}, cases[i].version);
        fixture_sync(&fixture);
        send_text(&fixture, fixture.pods,
            "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"p\",\"namespace\":\"d\","
            "\"uid\":\"u\",\"resourceVersion\":\"150\"},\"spec\":{\"nodeName\":\"n2\","
            "\"containers\":[{\"name\":\"a\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}},"
            "{\"name\":\"b\",\"resources\":{\"requests\":{\"cpu\":\"4\"}}}]},"
            "\"status\":{\"containerStatuses\":["
            "{\"name\":\"a\",\"resources\":{\"requests\":{\"cpu\":\"3\"}}},"
            "{\"name\":\"b\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}}\n");
        wait_for_pods(&fixture, "n2", 1);
        table = snapshot_table(fixture.snapshot);
        row = table_find(table, STR("n2"));
        pod = table_chunk(table, row)->pods[table_slot(row)]->items[0];
        assert_int_equal(resources_get(&pod->requests, STR("cpu")), cases[i].cpu);
        fixture_close(&fixture);
    }
}

/* Also for pods that never had a node. */
static void test_reports_deleted_pods(void **state) {
    WatcherFixture fixture;

    fixture_open(&fixture);
    fixture_sync(&fixture);
    send_pod(&fixture, "ADDED", "waits", "");
    send_pod(&fixture, "DELETED", "waits", "");
    send_pod(&fixture, "ADDED", "later", "n2");
    wait_for_pods(&fixture, "n2", 1);
    pthread_mutex_lock(&fixture.mutex);
    assert_int_equal(fixture.n_pods_deleted, 1);
    assert_string_equal(fixture.last_deleted, "waits");
    pthread_mutex_unlock(&fixture.mutex);
    fixture_close(&fixture);
}

static bool is_lost(const WatcherStatus *status) {
    return status->kinds[WATCHER_PODS].n_failures > 0;
}

static bool is_back(const WatcherStatus *status) {
    return status->kinds[WATCHER_PODS].is_connected && status->kinds[WATCHER_PODS].n_restarts > 0;
}

static void test_keeps_snapshot_while_the_server_is_down(void **state) {
    WatcherFixture fixture;
    WatcherStatus status;
    size_t before;

    fixture_open(&fixture);
    fixture_sync(&fixture);
    before = fixture.pods;
    fake_done(fixture.client, fixture.pods, CALL_BROKEN);
    status = wait_for_status(&fixture, is_lost);
    assert_string_equal(status.kinds[WATCHER_PODS].last_error, "as the test wants it");
    assert_false(status.kinds[WATCHER_PODS].is_connected);
    assert_true(status.kinds[WATCHER_PODS].is_synced && watcher_is_synced(fixture.watcher));
    assert_int_equal(status.n_pods, 1);
    fixture.pods = fake_wait_for(fixture.client, "GET", "/api/v1/pods?", before + 1);
    assert_true(fixture.pods != SIZE_MAX);
    assert_non_null(strstr(fake_call(fixture.client, fixture.pods).path, "&resourceVersion=100"));
    fake_head(fixture.client, fixture.pods, 200, "application/json", -1);
    send_pod(&fixture, "ADDED", "later", "n1");
    wait_for_pods(&fixture, "n1", 2);
    status = wait_for_status(&fixture, is_back);
    assert_string_equal(status.kinds[WATCHER_PODS].last_error, "");
    assert_int_equal(status.kinds[WATCHER_PODS].n_lists, 1);
    fixture_close(&fixture);
}

static bool has_two_unfit(const WatcherStatus *status) {
    return status->kinds[WATCHER_NODES].n_unfit == 2;
}

static void test_unreadable_objects_are_skipped(void **state) {
    WatcherFixture fixture;
    WatcherStatus status;

    fixture_open(&fixture);
    fake_head(fixture.client, fixture.nodes, 200, "application/json", -1);
    send_text(&fixture, fixture.nodes,
        "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"n0\",\"resourceVersion\":\"1\","
        "\"labels\":7}}}\n");
    send_node(&fixture, "ADDED", "n1", 2);
    send_node(&fixture, "ADDED", "n2", 3);
    send_text(&fixture, fixture.nodes, LIST_END);
    fake_head(fixture.client, fixture.pods, 200, "application/json", -1);
    send_text(&fixture, fixture.pods, LIST_END);
    wait_for_pods(&fixture, "n1", 0);
    send_text(&fixture, fixture.nodes,
        "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"n1\",\"resourceVersion\":"
        "\"101\",\"labels\":7}}}\n");
    wait_for_pods(&fixture, "n1", SIZE_MAX);
    status = wait_for_status(&fixture, has_two_unfit);
    assert_true(status.kinds[WATCHER_NODES].is_connected);
    assert_int_equal(status.n_nodes, 1);
    fixture_close(&fixture);
}

static bool is_malformed(const WatcherStatus *status) {
    return status->kinds[WATCHER_NODES].n_malformed == 1;
}

/* Changes may be lost if an event is not JSON. */
static void test_lists_again_after_invalid_json(void **state) {
    WatcherFixture fixture;

    fixture_open(&fixture);
    fixture_sync(&fixture);
    send_text(&fixture, fixture.nodes,
        "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"n1\",\"resourceVersion\":"
        "\"101\"},\"status\":{\"allocatable\":{\"cpu\" \"8\"}}}}\n");
    (void)wait_for_status(&fixture, is_malformed);
    fixture.nodes = fake_wait_for(fixture.client, "GET", "/api/v1/nodes?", fixture.nodes + 1);
    assert_true(fixture.nodes != SIZE_MAX);
    assert_non_null(strstr(fake_call(fixture.client, fixture.nodes).path, "sendInitialEvents"));
    fixture_close(&fixture);
}

/* The CPU capacity of n1 in the last snapshot; -1: its details are not kept. */
static int64_t capacity_of_n1(WatcherFixture *fixture) {
    const NodeTable *table;
    const Node *node;
    int64_t cpus;

    pthread_mutex_lock(&fixture->mutex);
    table = snapshot_table(fixture->snapshot);
    node = table_node(table, table_find(table, STR("n1")));
    cpus = node->details ? resources_get(&node->details->capacity, STR("cpu")) : -1;
    pthread_mutex_unlock(&fixture->mutex);
    return cpus;
}

#define NODE_WITH_CAPACITY                                                                         \
    "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"n1\",\"uid\":\"n1\","                \
    "\"resourceVersion\":\"1\"},\"status\":{\"capacity\":{\"cpu\":\"9\"}}}}\n"

/* Details that no rule reads are not kept. When they are wanted, nodes are listed again, and the
 * old snapshot stays until that list is complete. */
static void test_lists_again_for_node_details(void **state) {
    static const ClusterNeeds nothing, details = {.node_details = true};
    WatcherFixture fixture;

    fixture_open_with(&fixture, &(WatcherOptions){.needs = &nothing});
    fake_head(fixture.client, fixture.nodes, 200, "application/json", -1);
    send_text(&fixture, fixture.nodes, NODE_WITH_CAPACITY);
    send_text(&fixture, fixture.nodes, LIST_END);
    fake_head(fixture.client, fixture.pods, 200, "application/json", -1);
    send_text(&fixture, fixture.pods, LIST_END);
    wait_for_pods(&fixture, "n1", 0);
    assert_int_equal(capacity_of_n1(&fixture), -1);
    assert_false(watcher_want(fixture.watcher, &details));
    fixture.nodes = fake_wait_for(fixture.client, "GET", "/api/v1/nodes?", fixture.nodes + 1);
    assert_true(fixture.nodes != SIZE_MAX);
    fake_head(fixture.client, fixture.nodes, 200, "application/json", -1);
    send_text(&fixture, fixture.nodes, NODE_WITH_CAPACITY);
    (void)fixture_turn(&fixture);
    assert_false(watcher_want(fixture.watcher, &details));
    assert_int_equal(capacity_of_n1(&fixture), -1);
    send_text(&fixture, fixture.nodes, LIST_END);
    wait_for_offers(&fixture, 2);
    (void)fixture_turn(&fixture);
    assert_true(watcher_want(fixture.watcher, &details)); /* no further list is needed */
    assert_int_equal(capacity_of_n1(&fixture), 9000);
    assert_int_equal(fixture_turn(&fixture).kinds[WATCHER_NODES].n_lists, 2);
    fixture_close(&fixture);
}

/* The number of volumes of the pod on n1 in the last snapshot; -1: no details are kept. */
static int64_t volumes_on_n1(WatcherFixture *fixture) {
    const NodeTable *table;
    const Pod *pod;
    uint32_t row;
    int64_t n;

    pthread_mutex_lock(&fixture->mutex);
    table = snapshot_table(fixture->snapshot);
    row = table_find(table, STR("n1"));
    pod = table->chunks[row / CHUNK_ROWS]->pods[row % CHUNK_ROWS]->items[0];
    n = pod->details ? (int64_t)pod->details->n_volumes : -1;
    assert_true(!pod->details || pod->details->n_containers == 0); /* no policy reads containers */
    pthread_mutex_unlock(&fixture->mutex);
    return n;
}

#define POD_WITH_VOLUME                                                                            \
    "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"p\",\"namespace\":\"a\","            \
    "\"uid\":\"p\",\"resourceVersion\":\"1\"},\"spec\":{\"nodeName\":\"n1\",\"volumes\":[{"        \
    "\"name\":\"v\",\"emptyDir\":{}}],\"containers\":[{\"name\":\"c\"}]}}}\n"

/* Like the test above, for fields of running pods: only pods are listed again. */
static void test_lists_again_for_pod_fields(void **state) {
    static const ClusterNeeds nothing, volumes = {.pods.fields = POD_BIT(POD_VOLUMES)};
    WatcherFixture fixture;
    WatcherStatus status;

    fixture_open_with(&fixture, &(WatcherOptions){.needs = &nothing});
    fake_head(fixture.client, fixture.nodes, 200, "application/json", -1);
    send_text(&fixture, fixture.nodes, NODE_WITH_CAPACITY);
    send_text(&fixture, fixture.nodes, LIST_END);
    fake_head(fixture.client, fixture.pods, 200, "application/json", -1);
    send_text(&fixture, fixture.pods, POD_WITH_VOLUME);
    send_text(&fixture, fixture.pods, LIST_END);
    wait_for_pods(&fixture, "n1", 1);
    assert_int_equal(volumes_on_n1(&fixture), -1);

    assert_false(watcher_want(fixture.watcher, &volumes));
    fixture.pods = fake_wait_for(fixture.client, "GET", "/api/v1/pods?", fixture.pods + 1);
    assert_true(fixture.pods != SIZE_MAX);
    fake_head(fixture.client, fixture.pods, 200, "application/json", -1);
    send_text(&fixture, fixture.pods, POD_WITH_VOLUME);
    (void)fixture_turn(&fixture);
    assert_false(watcher_want(fixture.watcher, &volumes));
    assert_int_equal(volumes_on_n1(&fixture), -1);
    send_text(&fixture, fixture.pods, LIST_END);
    wait_for_offers(&fixture, 2);
    status = fixture_turn(&fixture);
    assert_true(watcher_want(fixture.watcher, &volumes));
    assert_int_equal(volumes_on_n1(&fixture), 1);
    assert_int_equal(status.kinds[WATCHER_PODS].n_lists, 2);
    assert_int_equal(status.kinds[WATCHER_NODES].n_lists, 1);
    fixture_close(&fixture);
}

#define NAMESPACE_ADDED                                                                            \
    "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"team-a\",\"uid\":\"u\","             \
    "\"resourceVersion\":\"1\"}}}\n"

/* The number of namespaces in the last snapshot; -1: not known. */
static int count_namespaces(WatcherFixture *fixture) {
    const RelatedSet *set;
    int n;

    pthread_mutex_lock(&fixture->mutex);
    set = snapshot_related(fixture->snapshot)->kinds[RELATED_NAMESPACES];
    n = set ? (int)related_set_size(set) : -1;
    pthread_mutex_unlock(&fixture->mutex);
    return n;
}

static void sync_nodes_and_pods(WatcherFixture *fixture) {
    fake_head(fixture->client, fixture->nodes, 200, "application/json", -1);
    send_text(fixture, fixture->nodes, LIST_END);
    fake_head(fixture->client, fixture->pods, 200, "application/json", -1);
    send_text(fixture, fixture->pods, LIST_END);
}

static void test_first_snapshot_has_wanted_namespaces(void **state) {
    const unsigned namespaces = RELATED_BIT(RELATED_NAMESPACES);
    WatcherFixture fixture;
    size_t call;

    fixture_open_with(&fixture, &(WatcherOptions){.related = namespaces});
    call = fake_wait_for(fixture.client, "GET", "/api/v1/namespaces?", 0);
    assert_true(call != SIZE_MAX);
    sync_nodes_and_pods(&fixture);
    assert_int_equal(fixture_turn(&fixture).n_published, 0);
    fake_head(fixture.client, call, 200, "application/json", -1);
    send_text(&fixture, call, NAMESPACE_ADDED);
    send_text(&fixture, call, LIST_END);
    wait_for_offers(&fixture, 1);
    assert_int_equal(count_namespaces(&fixture), 1);
    (void)fixture_turn(&fixture);
    assert_true(watcher_has_related(fixture.watcher, namespaces));

    watcher_want_related(fixture.watcher, 0); /* no policy reads them now */
    wait_for_offers(&fixture, 2);
    assert_int_equal(count_namespaces(&fixture), -1);
    (void)fixture_turn(&fixture);
    assert_false(watcher_has_related(fixture.watcher, namespaces));
    assert_true(watcher_has_related(fixture.watcher, 0));
    fixture_close(&fixture);
}

/* Without this, a missing right would prevent all placements. */
static void test_refused_namespaces_do_not_delay_the_first_snapshot(void **state) {
    WatcherFixture fixture;
    size_t call;

    fixture_open_with(&fixture, &(WatcherOptions){.related = RELATED_BIT(RELATED_NAMESPACES)});
    call = fake_wait_for(fixture.client, "GET", "/api/v1/namespaces?", 0);
    assert_true(call != SIZE_MAX);
    sync_nodes_and_pods(&fixture);
    fake_answer(fixture.client, call, 403, "{}");
    wait_for_offers(&fixture, 1);
    assert_int_equal(count_namespaces(&fixture), -1);
    assert_true(fixture_turn(&fixture).kinds[_WATCHER_KINDS + RELATED_NAMESPACES].is_refused);
    fixture_close(&fixture);
}

static bool has_marked(const WatcherStatus *status) {
    return status->writes[WATCHER_MARKS].n_written == 1 &&
           status->writes[WATCHER_MARKS].n_failed == 1;
}

static void test_marks_are_written_and_counted(void **state) {
    WatcherFixture fixture;
    WriteQueue *marks;
    size_t first, second;

    fixture_open(&fixture);
    marks = watcher_writes(fixture.watcher, WATCHER_MARKS);
    assert_true(mark_queue_add(marks, STR("n1")));
    assert_false(mark_queue_add(marks, STR("../pods")));
    assert_true(mark_queue_add(marks, STR("n2")));
    first = fake_wait_for(fixture.client, "PATCH", "/api/v1/nodes/n1", 0);
    second = fake_wait_for(fixture.client, "PATCH", "/api/v1/nodes/n2", 0);
    assert_true(first != SIZE_MAX && second != SIZE_MAX);
    assert_non_null(strstr(fake_call(fixture.client, first).body, MARK_ANNOTATION));
    fake_answer(fixture.client, first, 200, "{}");
    fake_answer(fixture.client, second, 403, "");
    (void)wait_for_status(&fixture, has_marked);
    fixture_close(&fixture);
}

static bool has_posted(const WatcherStatus *status) {
    return status->writes[WATCHER_EVENTS].n_written == 1 &&
           status->writes[WATCHER_EVENTS].n_failed == 1;
}

/* A missing right is reported once. */
static void test_events_are_written_if_allowed(void **state) {
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
    WatcherFixture fixture;
    size_t post, last;

    fixture_open(&fixture);
    assert_null(watcher_writes(fixture.watcher, WATCHER_EVENTS)); /* posts_events is false */
    fixture_close(&fixture);

    fixture_open_with(&fixture, &(WatcherOptions){.identity = "me", .posts_events = true});
    assert_true(event_queue_add(watcher_writes(fixture.watcher, WATCHER_EVENTS), &event, "me"));
    post =
        fake_wait_for(fixture.client, "POST", "/apis/events.k8s.io/v1/namespaces/shop/events", 0);
    assert_true(post != SIZE_MAX);
    assert_non_null(strstr(fake_call(fixture.client, post).body, "\"reportingInstance\":\"me\""));
    fake_answer(fixture.client, post, 201, "{}");
    assert_true(event_queue_add(watcher_writes(fixture.watcher, WATCHER_EVENTS), &event, "me"));
    post = fake_wait_for(fixture.client, "POST", "/events", post + 1);
    assert_true(post != SIZE_MAX);
    fake_answer(fixture.client, post, 403, refusal);
    (void)wait_for_status(&fixture, has_posted);
    (void)fixture_turn(&fixture);
    fixture_close(&fixture);
    assert_int_equal(count_notices(&fixture, WATCHER_EVENTS_FORBIDDEN, WATCHER_NODES, &last), 1);
}

/* A snapshot that publish() rejects is published again after a delay. */
static void test_rejected_snapshot_is_published_again(void **state) {
    WatcherFixture fixture;

    fixture_open(&fixture);
    freeze_time();
    fixture.n_to_reject = 2;
    fake_head(fixture.client, fixture.nodes, 200, "application/json", -1);
    send_node(&fixture, "ADDED", "n1", 1);
    send_text(&fixture, fixture.nodes, LIST_END);
    fake_head(fixture.client, fixture.pods, 200, "application/json", -1);
    send_text(&fixture, fixture.pods, LIST_END);
    wait_for_offers(&fixture, 1);
    assert_int_equal(fixture_turn(&fixture).n_published, 0);
    assert_false(watcher_is_synced(fixture.watcher));

    skip_msec(999);
    send_pod(&fixture, "ADDED", "p", "n1");
    (void)fixture_turn(&fixture);
    wait_for_offers(&fixture, 1);
    skip_msec(1);
    (void)fixture_turn(&fixture);
    wait_for_offers(&fixture, 2);
    assert_false(watcher_is_synced(fixture.watcher));
    skip_sec(1);
    assert_int_equal(fixture_turn(&fixture).n_published, 1);
    wait_for_pods(&fixture, "n1", 1);
    assert_true(watcher_is_synced(fixture.watcher));
    fixture_close(&fixture);
}

/* --- notices ---------------------------------------------------------------------------------- */

/* A server that connects and disconnects repeatedly causes few notices, and the last one shows the
 * current state. */
static void test_limits_notices_of_a_flapping_server(void **state) {
    WatcherFixture fixture;
    size_t n_lost, n_connected, last_lost, last_connected;

    fixture_open(&fixture);
    fixture_sync(&fixture);
    freeze_time();
    for (int i = 0; i < 40; i++) {
        size_t before = fixture.pods;

        send_text(&fixture, fixture.pods, BOOKMARK);
        fake_done(fixture.client, fixture.pods, CALL_BROKEN);
        (void)fixture_turn(&fixture);
        skip_sec(2);
        fixture.pods = fake_wait_for(fixture.client, "GET", "/api/v1/pods?", before + 1);
        assert_true(fixture.pods != SIZE_MAX);
        fake_head(fixture.client, fixture.pods, 200, "application/json", -1);
        (void)fixture_turn(&fixture);
    }
    skip_sec(11);
    (void)fixture_turn(&fixture);
    fixture_close(&fixture);
    n_lost = count_notices(&fixture, WATCHER_LOST, WATCHER_PODS, &last_lost);
    n_connected = count_notices(&fixture, WATCHER_CONNECTED, WATCHER_PODS, &last_connected);
    assert_in_range(n_lost, 5, 9); /* 80 s, one in 10 s */
    assert_in_range(n_connected, 5, 10);
    assert_true(last_connected > last_lost);
}

static void test_reports_failing_wait_once(void **state) {
    WatcherFixture fixture;
    size_t last;

    fixture_open(&fixture);
    fake_fail_waits(fixture.client, 5);
    while (fake_failing_waits(fixture.client) > 0)
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    fixture_sync(&fixture); /* the watcher continues */
    fixture_close(&fixture);
    assert_int_equal(count_notices(&fixture, WATCHER_WAIT_FAILED, WATCHER_NODES, &last), 1);
}

static void test_kinds_have_names(void **state) {
    assert_string_equal(watcher_kind_name(WATCHER_NODES), "nodes");
    assert_string_equal(watcher_kind_name(WATCHER_PODS), "pods");
    assert_string_equal(
        watcher_kind_name((WatcherKind)(_WATCHER_KINDS + RELATED_NAMESPACES)), "namespaces");
    assert_null(watcher_free(NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_publishes_nothing_before_all_lists),
        cmocka_unit_test(test_an_empty_cluster_is_published),
        cmocka_unit_test(test_publishes_events_together),
        cmocka_unit_test(test_reports_bound_pods_once),
        cmocka_unit_test(test_counts_resized_pods_by_version),
        cmocka_unit_test(test_reports_deleted_pods),
        cmocka_unit_test(test_keeps_snapshot_while_the_server_is_down),
        cmocka_unit_test(test_unreadable_objects_are_skipped),
        cmocka_unit_test(test_lists_again_after_invalid_json),
        cmocka_unit_test(test_lists_again_for_node_details),
        cmocka_unit_test(test_lists_again_for_pod_fields),
        cmocka_unit_test(test_first_snapshot_has_wanted_namespaces),
        cmocka_unit_test(test_refused_namespaces_do_not_delay_the_first_snapshot),
        cmocka_unit_test(test_marks_are_written_and_counted),
        cmocka_unit_test(test_events_are_written_if_allowed),
        cmocka_unit_test(test_rejected_snapshot_is_published_again),
        cmocka_unit_test(test_limits_notices_of_a_flapping_server),
        cmocka_unit_test(test_reports_failing_wait_once),
        cmocka_unit_test(test_kinds_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
