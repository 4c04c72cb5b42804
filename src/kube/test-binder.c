/* Bind jobs from arrival to end, with a real store. */

#include "kube/binder.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/test-assert.h"
#include "kube/binding.h"
#include "test-fake-client.h"

static int64_t now;

int64_t clock_monotonic_nsec(void) {
    return now;
}

int64_t clock_wall_nsec(void) {
    return now + INT64_C(1767323045) * NSEC_PER_SEC;
}

/* --- fixture --------------------------------------------------------------------------------- */

typedef struct BinderFixture {
    Client *client;
    Store *store;
    Binder *binder;
    Snapshot *snapshot;
    bool is_unknown;    /* before the cluster is listed */
    bool is_not_leader; /* another replica holds the lease */
    size_t n_ended, n_bound, n_refused;
} BinderFixture;

static Snapshot *fixture_snapshot(void *context) {
    BinderFixture *fixture = context;

    if (fixture->is_unknown)
        return NULL;
    snapshot_unref(fixture->snapshot);
    assert_int_equal(store_publish(fixture->store, &fixture->snapshot), 0);
    return fixture->snapshot;
}

static bool fixture_may_send(void *context, char *error) {
    const BinderFixture *fixture = context;

    if (fixture->is_not_leader && error)
        (void)snprintf(error, WATCHER_ERROR_MAX, "another replica binds");
    return !fixture->is_not_leader;
}

static void fixture_ended(void *context, BindEnd end) {
    BinderFixture *fixture = context;

    fixture->n_ended++;
    fixture->n_bound += end == BIND_BOUND;
    fixture->n_refused += end == BIND_REFUSED;
}

static void add_node(BinderFixture *fixture, const char *name) {
    Node node = {.name = str_from_c(name), .is_ready = true};

    assert_int_equal(store_apply_node(fixture->store, &node), 0);
}

static void show_pod(BinderFixture *fixture, const char *name, const char *uid, const char *node) {
    Pod pod = {
        .namespace = STR("shop"),
        .name = str_from_c(name),
        .uid = str_from_c(uid),
        .node_name = str_from_c(node),
    };

    assert_true(store_apply_pod(fixture->store, &pod) >= 0);
}

static void fixture_open(BinderFixture *fixture) {
    *fixture = (BinderFixture){.client = client_new(NULL), .store = store_new()};
    now = 1000 * NSEC_PER_SEC;
    assert_non_null(fixture->store);
    fixture->binder = binder_new(&(BinderOptions){
        .client = fixture->client,
        .store = fixture->store,
        .context = fixture,
        .snapshot = fixture_snapshot,
        .may_send = fixture_may_send,
        .ended = fixture_ended,
    });
    assert_non_null(fixture->binder);
    add_node(fixture, "n1");
    add_node(fixture, "n2");
}

static void fixture_close(BinderFixture *fixture) {
    binder_free(fixture->binder);
    client_free(fixture->client);
    snapshot_unref(fixture->snapshot);
    store_free(fixture->store);
}

/* The number of pods on @node in a new snapshot. */
static size_t pods_on(BinderFixture *fixture, const char *node) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    const NodeTable *table;
    uint32_t row;

    assert_int_equal(store_publish(fixture->store, &snapshot), 0);
    table = snapshot_table(snapshot);
    row = table_find(table, str_from_c(node));
    return table_chunk(table, row)->n_pods[table_slot(row)];
}

/* When the last pod was placed on @node, in a new snapshot. */
static int64_t placed_on(BinderFixture *fixture, const char *node) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    const NodeTable *table;
    uint32_t row;

    assert_int_equal(store_publish(fixture->store, &snapshot), 0);
    table = snapshot_table(snapshot);
    row = table_find(table, str_from_c(node));
    return table_chunk(table, row)->placed_at[table_slot(row)];
}

static size_t n_assumed(const BinderFixture *fixture) {
    StoreFigures figures;

    store_figures(fixture->store, &figures);
    return figures.n_assumed;
}

/* --- jobs ------------------------------------------------------------------------------------ */

typedef struct Job {
    BindJob job; /* must be first: judge() and done() cast */
    Pod pod;
    size_t max_pods;    /* maximum number of pods on the node, including this one; 0: any */
    bool has_no_reason; /* judge() gives no reason */
    int n_judged, n_done;
    bool is_bound;
    char error[WATCHER_ERROR_MAX];
} Job;

static bool judge(BindJob *bind, Snapshot *snapshot, char *error) {
    Job *job = (Job *)bind;
    const NodeTable *table = snapshot_table(snapshot);
    uint32_t row = table_find(table, bind->node);

    job->n_judged++;
    if (job->max_pods == 0 || table_chunk(table, row)->n_pods[table_slot(row)] < job->max_pods)
        return true;
    (void)snprintf(error, WATCHER_ERROR_MAX, "%s", job->has_no_reason ? "" : "the node is full");
    return false;
}

static void done(BindJob *bind, const char *error) {
    Job *job = (Job *)bind;

    job->n_done++;
    job->is_bound = error == NULL;
    (void)snprintf(job->error, sizeof(job->error), "%s", error ? error : "");
}

static void job_init(Job *job, const char *name, const char *uid, const char *node) {
    *job = (Job){
        .pod = {.namespace = STR("shop"), .name = str_from_c(name), .uid = str_from_c(uid)},
    };
    job->job = (BindJob){
        .namespace = STR("shop"),
        .name = str_from_c(name),
        .uid = str_from_c(uid),
        .node = str_from_c(node),
        .pod = &job->pod,
        .judge = judge,
        .done = done,
    };
}

static void reply(BinderFixture *fixture, size_t call, unsigned status, const char *body) {
    fake_answer(fixture->client, call, status, body);
    (void)client_wait(fixture->client, 0);
}

#define POD_READ(uid, node)                                                                        \
    "{\"metadata\":{\"uid\":\"" uid "\"},\"spec\":{\"nodeName\":\"" node "\"}}"

/* --- tests ----------------------------------------------------------------------------------- */

static void test_bound_pod_counts_before_the_reply(void **state) {
    BinderFixture fixture;
    Job job;

    fixture_open(&fixture);
    job_init(&job, "web", "u1", "n1");
    show_pod(&fixture, "web", "u1", "");
    binder_add(fixture.binder, &job.job);
    assert_int_equal(job.n_judged, 1);
    assert_int_equal(job.n_done, 0);
    assert_int_equal(pods_on(&fixture, "n1"), 1);
    reply(&fixture, 0, 201, "{}");
    assert_true(job.n_done == 1 && job.is_bound);
    assert_int_equal(fixture.n_bound, 1);
    assert_int_equal(n_assumed(&fixture), 1);
    show_pod(&fixture, "web", "u1", "n1");
    assert_int_equal(n_assumed(&fixture), 0);
    assert_int_equal(pods_on(&fixture, "n1"), 1);
    fixture_close(&fixture);
}

/* The placement time of an assumed pod is when it was first sent to its node. */
static void test_assumed_pod_has_time_of_first_bind(void **state) {
    int64_t first_at;
    Job first, again, other;
    BinderFixture fixture;

    fixture_open(&fixture);
    job_init(&first, "web", "u1", "n1");
    binder_add(fixture.binder, &first.job);
    first_at = clock_wall_nsec() / NSEC_PER_SEC;
    assert_int_equal(placed_on(&fixture, "n1"), first_at);
    assert_int_equal(placed_on(&fixture, "n2"), 0);
    reply(&fixture, 0, 201, "{}");
    now += 3 * NSEC_PER_SEC;
    job_init(&again, "web", "u1", "n1");
    binder_add(fixture.binder, &again.job);
    assert_int_equal(placed_on(&fixture, "n1"), first_at);
    reply(&fixture, 1, 403, "{}");
    assert_int_equal(placed_on(&fixture, "n1"), first_at);
    now += WATCHER_BIND_SEC * NSEC_PER_SEC;
    job_init(&other, "web", "u1", "n2");
    binder_add(fixture.binder, &other.job);
    reply(&fixture, 2, 200, POD_READ("u1", ""));
    assert_int_equal(placed_on(&fixture, "n2"), first_at + 3 + WATCHER_BIND_SEC);
    assert_int_equal(placed_on(&fixture, "n1"), 0);
    fixture_close(&fixture);
}

/* Two pods, one slot: the second is judged with the first one assumed. */
static void test_last_slot_is_given_once(void **state) {
    BinderFixture fixture;
    Job a, b;

    fixture_open(&fixture);
    job_init(&a, "a", "ua", "n1");
    job_init(&b, "b", "ub", "n1");
    a.max_pods = b.max_pods = 1;
    binder_add(fixture.binder, &a.job);
    binder_add(fixture.binder, &b.job);
    assert_true(a.n_done == 0 && b.n_done == 1 && !b.is_bound);
    assert_string_equal(b.error, "the node is full");
    assert_int_equal(fake_n_calls(fixture.client), 1);
    reply(&fixture, 0, 201, "{}");
    assert_true(a.is_bound);
    assert_int_equal(fixture.n_ended, 2);
    assert_int_equal(fixture.n_refused, 1);
    fixture_close(&fixture);
}

static void test_rejection_has_a_reason(void **state) {
    BinderFixture fixture;
    Job job;

    fixture_open(&fixture);
    show_pod(&fixture, "other", "uo", "n1");
    job_init(&job, "web", "u1", "n1");
    job.max_pods = 1;
    job.has_no_reason = true;
    binder_add(fixture.binder, &job.job);
    assert_int_equal(job.n_done, 1);
    assert_string_equal(job.error, "the node was rejected");
    fixture_close(&fixture);
}

static void test_failed_bind_frees_the_slot(void **state) {
    static const struct {
        const char *name;
        unsigned status; /* of the POST */
        const char *pod; /* the pod read afterwards; NULL: not read */
        size_t n_pods;   /* on the node */
    } cases[] = {
        {"refused", 403, NULL, 0},
        {"gone", 404, NULL, 0},
        {"elsewhere", 409, "{\"metadata\":{\"uid\":\"u1\"},\"spec\":{\"nodeName\":\"n2\"}}", 0},
        {"not bound", 409, "{\"metadata\":{\"uid\":\"u1\"},\"spec\":{}}", 0},
        {"not bound yet", 500, "{\"metadata\":{\"uid\":\"u1\"},\"spec\":{}}", 1},
        {"unknown: it may count", 500, "<html>", 1},
    };

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        BinderFixture fixture;
        Job job;

        fixture_open(&fixture);
        job_init(&job, "web", "u1", "n1");
        binder_add(fixture.binder, &job.job);
        reply(&fixture, 0, cases[i].status, "");
        if (cases[i].pod)
            reply(&fixture, 1, 200, cases[i].pod);
        assert_case(cases[i].name, job.n_done == 1 && !job.is_bound && job.error[0] != '\0');
        assert_case(cases[i].name, pods_on(&fixture, "n1") == cases[i].n_pods);
        fixture_close(&fixture);
    }
}

static void test_repeated_job_is_sent_once(void **state) {
    BinderFixture fixture;
    Job jobs[3], other;

    fixture_open(&fixture);
    for (size_t i = 0; i < ELEMENTS_OF(jobs); i++) {
        job_init(&jobs[i], "web", "u1", "n1");
        binder_add(fixture.binder, &jobs[i].job);
    }
    job_init(&other, "web", "u1", "n2");
    binder_add(fixture.binder, &other.job);
    assert_int_equal(fake_n_calls(fixture.client), 1);
    assert_true(other.n_done == 1 && !other.is_bound);
    assert_string_equal(other.error, "the pod is being bound to node n1");
    reply(&fixture, 0, 201, "{}");
    for (size_t i = 0; i < ELEMENTS_OF(jobs); i++)
        assert_true(jobs[i].n_done == 1 && jobs[i].is_bound);
    assert_int_equal(fixture.n_ended, 4);
    assert_int_equal(fixture.n_bound, 3);
    assert_int_equal(fake_n_calls(fixture.client), 1);
    fixture_close(&fixture);
}

static void test_pod_that_is_bound_is_not_sent(void **state) {
    static const struct {
        const char *uid, *node; /* of the known pod */
        int n_done;
        const char *error; /* NULL: bound */
    } cases[] = {
        {"u1", "n1", 1, NULL}, {"u1", "n2", 1, "the pod is on node n2 already"},
        {"u1", "", 0, NULL},
        {"u0", "n2", 0, NULL}, /* an older pod of that name: left to the API server */
    };

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        BinderFixture fixture;
        Job job;

        fixture_open(&fixture);
        show_pod(&fixture, "web", cases[i].uid, cases[i].node);
        job_init(&job, "web", "u1", "n1");
        binder_add(fixture.binder, &job.job);
        assert_int_equal(job.n_done, cases[i].n_done);
        assert_int_equal(fake_n_calls(fixture.client), cases[i].n_done ? 0 : 1);
        if (cases[i].n_done) {
            assert_int_equal(job.is_bound, cases[i].error == NULL);
            assert_string_equal(job.error, cases[i].error ? cases[i].error : "");
        }
        fixture_close(&fixture);
    }
}

/* A second job fails for a bound pod that the watch has not shown yet. The first bind still
 * counts. */
static void test_a_failure_does_not_undo_an_earlier_bind(void **state) {
    static const struct {
        const char *node;     /* of the second job */
        unsigned status;      /* of its POST */
        const char *pod_read; /* the pod read afterwards; NULL: not read */
    } cases[] = {
        {"n1", 429, NULL},
        {"n1", 403, NULL},
        {"n1", 409, POD_READ("u1", "")},
    };

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Job first, second;
        BinderFixture fixture;

        fixture_open(&fixture);
        job_init(&first, "web", "u1", "n1");
        binder_add(fixture.binder, &first.job);
        reply(&fixture, 0, 201, "{}");
        assert_true(first.is_bound);
        job_init(&second, "web", "u1", cases[i].node);
        binder_add(fixture.binder, &second.job);
        reply(&fixture, 1, cases[i].status, "{}");
        if (cases[i].pod_read)
            reply(&fixture, 2, 200, cases[i].pod_read);
        assert_true(second.n_done == 1 && !second.is_bound);
        assert_int_equal(pods_on(&fixture, "n1"), 1);
        assert_int_equal(pods_on(&fixture, "n2"), 0);
        assert_int_equal(n_assumed(&fixture), 1);
        fixture_close(&fixture);
    }
}

/* The answer to a Binding is lost, and kube-scheduler tries another node: the pod is read first,
 * and counts on the first node until that is decided. */
static void test_unanswered_bind_is_read_before_another_node_is_tried(void **state) {
    static const struct {
        int after_sec;        /* time between the jobs */
        const char *pod_read; /* answer to the second job */
        const char *error;    /* NULL: its Binding is sent */
        size_t on_n1, on_n2;  /* pods at the end */
    } cases[] = {
        {1, POD_READ("u1", "n1"), "the pod is on node n1 already", 1, 0},
        {1, POD_READ("u1", "n2"), "", 0, 1},
        {1, POD_READ("u0", "n2"), "the pod was recreated: it has another UID", 1, 0},
        {WATCHER_BIND_SEC, POD_READ("u1", ""), NULL, 0, 1},
        {WATCHER_BIND_SEC, POD_READ("u1", "n1"), "the pod is on node n1 already", 1, 0},
    };

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Job first, second;
        BinderFixture fixture;

        fixture_open(&fixture);
        job_init(&first, "web", "u1", "n1");
        binder_add(fixture.binder, &first.job);
        fake_done(fixture.client, 0, CALL_TIMEOUT);
        (void)client_wait(fixture.client, 0);
        reply(&fixture, 1, 200, POD_READ("u1", ""));
        assert_true(first.n_done == 1 && !first.is_bound);
        now += cases[i].after_sec * NSEC_PER_SEC;
        job_init(&second, "web", "u1", "n2");
        binder_add(fixture.binder, &second.job);
        assert_int_equal(pods_on(&fixture, "n1"), 1);
        assert_int_equal(pods_on(&fixture, "n2"), 0);
        assert_string_equal(fake_call(fixture.client, 2).method, "GET");
        reply(&fixture, 2, 200, cases[i].pod_read);
        assert_int_equal(pods_on(&fixture, "n1"), cases[i].on_n1);
        assert_int_equal(pods_on(&fixture, "n2"), cases[i].on_n2);
        assert_int_equal(second.n_judged, cases[i].error ? 0 : 1);
        assert_int_equal(second.n_done, cases[i].error ? 1 : 0);
        assert_int_equal(fake_n_calls(fixture.client), cases[i].error ? 3 : 4);
        if (cases[i].error)
            assert_string_equal(second.error, cases[i].error);
        else
            assert_string_equal(fake_call(fixture.client, 3).method, "POST");
        fixture_close(&fixture);
    }
}

/* The pod is read again when the first Binding can no longer be committed. */
static void test_unanswered_bind_may_still_arrive(void **state) {
    int64_t sent_at;
    Job first, second;
    BinderFixture fixture;

    fixture_open(&fixture);
    job_init(&first, "web", "u1", "n1");
    binder_add(fixture.binder, &first.job);
    sent_at = now;
    reply(&fixture, 0, 500, "{}");
    reply(&fixture, 1, 200, POD_READ("u1", ""));
    now++;
    job_init(&second, "web", "u1", "n2");
    binder_add(fixture.binder, &second.job);
    reply(&fixture, 2, 200, POD_READ("u1", ""));
    assert_int_equal(binder_tick(fixture.binder, now), sent_at + WATCHER_BIND_SEC * NSEC_PER_SEC);
    assert_int_equal(fake_n_calls(fixture.client), 3);
    assert_int_equal(pods_on(&fixture, "n1"), 1);
    now = sent_at + WATCHER_BIND_SEC * NSEC_PER_SEC;
    (void)binder_tick(fixture.binder, now);
    assert_int_equal(pods_on(&fixture, "n1"), 1);
    now += NSEC_PER_SEC; /* time remains for one more read */
    (void)binder_tick(fixture.binder, now);
    reply(&fixture, 3, 200, POD_READ("u1", ""));
    assert_int_equal(second.n_judged, 1);
    assert_int_equal(pods_on(&fixture, "n1"), 0);
    assert_int_equal(pods_on(&fixture, "n2"), 1);
    now += NSEC_PER_SEC; /* time remains for its Binding */
    (void)binder_tick(fixture.binder, now);
    reply(&fixture, 4, 201, "{}");
    assert_true(second.n_done == 1 && second.is_bound);
    fixture_close(&fixture);
}

/* berth was halted before it sent the request: the wait counts from when the result became
 * unknown. */
static void test_late_bind_may_still_arrive(void **state) {
    Job first, second;
    BinderFixture fixture;

    fixture_open(&fixture);
    job_init(&first, "web", "u1", "n1");
    binder_add(fixture.binder, &first.job);
    now += (WATCHER_BIND_SEC - 1) * NSEC_PER_SEC;
    fake_done(fixture.client, 0, CALL_TIMEOUT);
    (void)client_wait(fixture.client, 0);
    reply(&fixture, 1, 200, POD_READ("u1", ""));
    assert_true(first.n_done == 1 && !first.is_bound);
    now += (BINDING_POST_SEC - 1) * NSEC_PER_SEC;
    job_init(&second, "web", "u1", "n2");
    binder_add(fixture.binder, &second.job);
    reply(&fixture, 2, 200, POD_READ("u1", ""));
    assert_int_equal(pods_on(&fixture, "n1"), 1);
    assert_int_equal(pods_on(&fixture, "n2"), 0);
    now += NSEC_PER_SEC;
    (void)binder_tick(fixture.binder, now);
    reply(&fixture, 3, 200, POD_READ("u1", ""));
    assert_int_equal(pods_on(&fixture, "n1"), 0);
    assert_int_equal(pods_on(&fixture, "n2"), 1);
    fixture_close(&fixture);
}

/* The lease was lost while the pod was read: its Binding waits. */
static void test_pod_that_was_read_waits_for_the_lease(void **state) {
    Job first, second;
    BinderFixture fixture;

    fixture_open(&fixture);
    job_init(&first, "web", "u1", "n1");
    binder_add(fixture.binder, &first.job);
    reply(&fixture, 0, 201, "{}");
    now += WATCHER_BIND_SEC * NSEC_PER_SEC;
    job_init(&second, "web", "u1", "n2");
    binder_add(fixture.binder, &second.job);
    fixture.is_not_leader = true;
    reply(&fixture, 1, 200, POD_READ("u1", ""));
    assert_true(second.n_done == 0 && second.n_judged == 0);
    fixture.is_not_leader = false;
    (void)binder_tick(fixture.binder, now);
    assert_int_equal(second.n_judged, 1);
    assert_int_equal(pods_on(&fixture, "n2"), 1);
    fixture_close(&fixture);
}

/* Another client has bound the pod: it counts there before the watch shows it. */
static void test_pod_found_on_another_node_counts_there(void **state) {
    BinderFixture fixture;
    Job job;

    fixture_open(&fixture);
    job_init(&job, "web", "u1", "n1");
    binder_add(fixture.binder, &job.job);
    reply(&fixture, 0, 409, "{}");
    reply(&fixture, 1, 200, POD_READ("u1", "n2"));
    assert_string_equal(job.error, "the pod is on node n2 already");
    assert_int_equal(pods_on(&fixture, "n1"), 0);
    assert_int_equal(pods_on(&fixture, "n2"), 1);
    show_pod(&fixture, "web", "u1", "n2");
    assert_int_equal(pods_on(&fixture, "n2"), 1);
    assert_int_equal(n_assumed(&fixture), 0);
    fixture_close(&fixture);
}

static void test_invalid_jobs_fail_at_once(void **state) {
    BinderFixture fixture;
    Job job;

    fixture_open(&fixture);
    for (int i = 0; i < 7; i++) {
        Pod other = {.uid = STR("another")};

        job_init(&job, "web", "u1", "n1");
        if (i == 0)
            job.job.namespace = STR("../kube-system");
        else if (i == 1)
            job.job.name = STR("");
        else if (i == 2)
            job.job.node = STR("n1/status");
        else if (i == 3)
            job.job.uid = STR("");
        else if (i == 4)
            job.job.pod = &other;
        else if (i == 5)
            fixture.is_unknown = true;
        else
            fake_refuse_next(fixture.client);
        if (i == 6)
            fixture.is_unknown = false;
        binder_add(fixture.binder, &job.job);
        assert_true(job.n_done == 1 && !job.is_bound && job.error[0] != '\0');
        assert_int_equal(n_assumed(&fixture), 0);
    }
    assert_int_equal(fake_n_calls(fixture.client), 0);
    assert_int_equal(fixture.n_ended, 7);
    fixture_close(&fixture);
}

/* Jobs over BINDER_CALLS_MAX wait, and are judged when they are sent. */
static void test_jobs_over_the_limit_wait(void **state) {
    enum { N = 3 * BINDER_CALLS_MAX };
    static Job jobs[N];
    static char names[N][16];
    BinderFixture fixture;

    fixture_open(&fixture);
    for (size_t i = 0; i < N; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "pod-%zu", i);
        job_init(&jobs[i], names[i], names[i], "n1");
        binder_add(fixture.binder, &jobs[i].job);
    }
    assert_int_equal(fake_n_calls(fixture.client), BINDER_CALLS_MAX);
    assert_int_equal(jobs[BINDER_CALLS_MAX].n_judged, 0);
    for (size_t i = 0; i < 2 * BINDER_CALLS_MAX; i++)
        reply(&fixture, i, 201, "{}");
    assert_int_equal(fixture.n_bound, 2 * BINDER_CALLS_MAX);
    assert_int_equal(fake_n_calls(fixture.client), N);
    for (size_t i = 0; i < N; i++)
        assert_int_equal(jobs[i].n_judged, 1);
    fixture_close(&fixture);
    for (size_t i = 0; i < N; i++)
        assert_int_equal(jobs[i].n_done, 1);
    assert_string_equal(jobs[N - 1].error, "berth is shutting down");
}

static void test_jobs_end_within_the_deadline(void **state) {
    enum { N = BINDER_CALLS_MAX + 10 };
    static Job jobs[N];
    static char names[N][16];
    BinderFixture fixture;
    int64_t began;

    fixture_open(&fixture);
    began = now;
    for (size_t i = 0; i < N; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "pod-%zu", i);
        job_init(&jobs[i], names[i], names[i], "n1");
        binder_add(fixture.binder, &jobs[i].job);
    }
    while (fixture.n_ended < N) {
        int64_t at = binder_tick(fixture.binder, now);

        assert_true(at > now);
        now = at == INT64_MAX ? now : at;
    }
    assert_int_equal(fixture.n_ended, N);
    assert_true(now - began <= WATCHER_BIND_SEC * NSEC_PER_SEC);
    assert_non_null(strstr(jobs[0].error, "not known whether"));
    assert_non_null(strstr(jobs[N - 1].error, "timed out before it was sent"));
    assert_int_equal(jobs[N - 1].n_judged, 0);
    assert_int_equal(
        n_assumed(&fixture), BINDER_CALLS_MAX); /* sent ones, whose result is unknown */

    /* The API server may still commit them: the Lease must not be released yet. */
    assert_true(binder_is_idle(fixture.binder));
    assert_false(binder_is_decided(fixture.binder));
    now += BINDING_POST_SEC * NSEC_PER_SEC;
    assert_true(binder_is_decided(fixture.binder));
    fixture_close(&fixture);
}

static void test_jobs_wait_for_the_lease(void **state) {
    Job waits, late, known;
    BinderFixture fixture;

    fixture_open(&fixture);
    fixture.is_not_leader = true;
    assert_true(binder_is_idle(fixture.binder));
    job_init(&waits, "web", "u1", "n1");
    job_init(&late, "db", "u2", "n1");
    job_init(&known, "old", "u3", "n2");
    show_pod(&fixture, "old", "u3", "n2");
    binder_add(fixture.binder, &waits.job);
    binder_add(fixture.binder, &known.job); /* already bound */
    assert_true(known.n_done == 1 && known.is_bound);
    assert_false(binder_is_idle(fixture.binder));
    now += 5 * NSEC_PER_SEC;
    binder_add(fixture.binder, &late.job);
    (void)binder_tick(fixture.binder, now);
    assert_int_equal(fake_n_calls(fixture.client), 0);
    assert_int_equal(waits.n_judged + late.n_judged + n_assumed(&fixture), 0);

    now += 5 * NSEC_PER_SEC; /* the deadline of the first job */
    assert_int_equal(binder_tick(fixture.binder, now), now + 5 * NSEC_PER_SEC);
    assert_int_equal(waits.n_done, 1);
    assert_string_equal(waits.error, "another replica binds");

    fixture.is_not_leader = false; /* judged with the current cluster */
    show_pod(&fixture, "theirs", "u4", "n1");
    late.max_pods = 1;
    (void)binder_tick(fixture.binder, now);
    assert_int_equal(late.n_judged, 1);
    assert_string_equal(late.error, "the node is full");
    assert_true(binder_is_idle(fixture.binder));
    fixture_close(&fixture);
}

/* The process was suspended between judging and sending. */
static void test_judged_job_is_not_sent_without_the_lease(void **state) {
    Job job;
    BinderFixture fixture;

    fixture_open(&fixture);
    job_init(&job, "web", "u1", "n1");
    binder_add(fixture.binder, &job.job);
    assert_int_equal(job.n_judged, 1);
    fixture.is_not_leader = true;
    assert_false(fake_send(fixture.client, 0));
    assert_int_equal(job.n_done, 1);
    assert_non_null(strstr(job.error, "the pod was not bound"));
    assert_int_equal(n_assumed(&fixture), 0);
    fixture_close(&fixture);
}

/* The job times out, but another replica has bound the pod meanwhile. */
static void test_pod_bound_by_another_replica(void **state) {
    Job job, other;
    BinderFixture fixture;

    fixture_open(&fixture);
    fixture.is_not_leader = true;
    job_init(&job, "web", "u1", "n1");
    job_init(&other, "db", "u2", "n1");
    binder_add(fixture.binder, &job.job);
    binder_add(fixture.binder, &other.job);
    show_pod(&fixture, "web", "u1", "n1");
    show_pod(&fixture, "db", "u2", "n2");
    now += WATCHER_BIND_SEC * NSEC_PER_SEC;
    (void)binder_tick(fixture.binder, now);
    assert_true(job.is_bound);
    assert_string_equal(other.error, "the pod is on node n2 already");
    fixture_close(&fixture);
}

/* --- pods that kube-scheduler binds ---------------------------------------------------------- */

static void test_expected_pod_counts_until_it_is_published(void **state) {
    BinderFixture fixture;
    Job job;

    fixture_open(&fixture);
    job_init(&job, "web", "u1", "n1");
    job.job.is_expected = true;
    show_pod(&fixture, "web", "u1", "");
    binder_add(fixture.binder, &job.job);
    assert_int_equal(job.n_judged, 1);
    assert_int_equal(pods_on(&fixture, "n1"), 1);
    assert_int_equal(fake_n_calls(fixture.client), 0); /* nothing is sent */
    assert_int_equal(job.n_done, 0);
    assert_true(binder_is_idle(fixture.binder));

    binder_settle_expected(fixture.binder);
    assert_int_equal(job.n_done, 1);
    assert_true(job.is_bound);
    assert_int_equal(fixture.n_ended, 1);
    assert_int_equal(fixture.n_bound, 0);

    show_pod(&fixture, "web", "u1", "n2"); /* kube-scheduler chose another node */
    assert_int_equal(pods_on(&fixture, "n1"), 0);
    assert_int_equal(pods_on(&fixture, "n2"), 1);
    fixture_close(&fixture);
    (void)state;
}

static void test_expected_pod_expires_soon(void **state) {
    BinderFixture fixture;
    int64_t next;
    Job job;

    fixture_open(&fixture);
    job_init(&job, "web", "u1", "n1");
    job.job.is_expected = true;
    binder_add(fixture.binder, &job.job);
    now += WATCHER_EXPECT_SEC * NSEC_PER_SEC - 1;
    assert_int_equal(store_expire(fixture.store, now, &next), 0);
    assert_int_equal(next, now + 1);
    assert_int_equal(store_expire(fixture.store, now + 1, &next), 1);
    fixture_close(&fixture); /* ends the job */
    assert_int_equal(job.n_done, 1);
    (void)state;
}

static void test_expected_pod_is_refused_or_moves(void **state) {
    BinderFixture fixture;
    Job first, second, moved, gone;

    fixture_open(&fixture);
    job_init(&first, "a", "u1", "n1");
    job_init(&second, "b", "u2", "n1");
    job_init(&moved, "a", "u1", "n2");
    job_init(&gone, "a", "u1", "");
    first.job.is_expected = second.job.is_expected = moved.job.is_expected = gone.job.is_expected =
        true;
    second.max_pods = 1;
    binder_add(fixture.binder, &first.job);
    binder_add(fixture.binder, &second.job);
    assert_int_equal(second.n_done, 1);
    assert_string_equal(second.error, "the node is full");
    assert_int_equal(fixture.n_refused, 1);

    binder_add(fixture.binder, &moved.job);
    assert_int_equal(pods_on(&fixture, "n1"), 0);
    assert_int_equal(pods_on(&fixture, "n2"), 1);
    binder_add(fixture.binder, &gone.job);
    assert_int_equal(gone.n_done, 1);
    assert_int_equal(pods_on(&fixture, "n2"), 0);
    assert_int_equal(n_assumed(&fixture), 0);
    fixture_close(&fixture);
    (void)state;
}

/* A guessed pod counts and is marked as a guess. The next filter for it replaces the guess. */
static void test_guessed_pod_is_marked(void **state) {
    BinderFixture fixture;
    Job job, again;
    int64_t until;

    fixture_open(&fixture);
    job_init(&job, "web", "u1", "n1");
    job_init(&again, "web", "u1", "n2");
    job.job.is_expected = again.job.is_expected = job.job.is_guessed = true;
    binder_add(fixture.binder, &job.job);
    assert_int_equal(pods_on(&fixture, "n1"), 1);
    assert_true(store_find_assumed(fixture.store, STR("u1"), &until)->is_guessed);
    assert_int_equal(until, now + WATCHER_EXPECT_SEC * NSEC_PER_SEC);
    binder_add(fixture.binder, &again.job);
    assert_int_equal(pods_on(&fixture, "n1"), 0);
    assert_int_equal(pods_on(&fixture, "n2"), 1);
    assert_false(store_find_assumed(fixture.store, STR("u1"), &until)->is_guessed);
    fixture_close(&fixture);
    (void)state;
}

/* The watch showed the deletion before kube-scheduler's filter arrived. */
static void test_deleted_pod_is_not_expected(void **state) {
    BinderFixture fixture;
    Job job;

    fixture_open(&fixture);
    job_init(&job, "web", "u1", "n1");
    job.job.is_expected = true;
    show_pod(&fixture, "web", "u1", "");
    store_remove_pod(fixture.store, job.job.namespace, job.job.name, job.job.uid);
    binder_add(fixture.binder, &job.job);
    assert_int_equal(job.n_done, 1);
    assert_int_equal(n_assumed(&fixture), 0);
    fixture_close(&fixture);
    (void)state;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bound_pod_counts_before_the_reply),
        cmocka_unit_test(test_assumed_pod_has_time_of_first_bind),
        cmocka_unit_test(test_last_slot_is_given_once),
        cmocka_unit_test(test_rejection_has_a_reason),
        cmocka_unit_test(test_failed_bind_frees_the_slot),
        cmocka_unit_test(test_repeated_job_is_sent_once),
        cmocka_unit_test(test_pod_that_is_bound_is_not_sent),
        cmocka_unit_test(test_a_failure_does_not_undo_an_earlier_bind),
        cmocka_unit_test(test_unanswered_bind_is_read_before_another_node_is_tried),
        cmocka_unit_test(test_unanswered_bind_may_still_arrive),
        cmocka_unit_test(test_late_bind_may_still_arrive),
        cmocka_unit_test(test_pod_that_was_read_waits_for_the_lease),
        cmocka_unit_test(test_pod_found_on_another_node_counts_there),
        cmocka_unit_test(test_invalid_jobs_fail_at_once),
        cmocka_unit_test(test_jobs_over_the_limit_wait),
        cmocka_unit_test(test_jobs_end_within_the_deadline),
        cmocka_unit_test(test_jobs_wait_for_the_lease),
        cmocka_unit_test(test_judged_job_is_not_sent_without_the_lease),
        cmocka_unit_test(test_pod_bound_by_another_replica),
        cmocka_unit_test(test_expected_pod_counts_until_it_is_published),
        cmocka_unit_test(test_expected_pod_expires_soon),
        cmocka_unit_test(test_expected_pod_is_refused_or_moves),
        cmocka_unit_test(test_guessed_pod_is_marked),
        cmocka_unit_test(test_deleted_pod_is_not_expected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
