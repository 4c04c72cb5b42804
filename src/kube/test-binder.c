/* Bind jobs from their arrival to their end, over a real store. */

#include "kube/binder.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/nsec.h"
#include "base/test-assert.h"
#include "kube/binding.h"
#include "test-fake-client.h"

static int64_t now;

static int64_t fake_clock(void) {
    return now;
}

static int64_t fake_wall_clock(void) {
    return now + INT64_C(1767323045) * NSEC_PER_SEC;
}

/* --- a binder in a laboratory ---------------------------------------------------------------- */

typedef struct Lab {
    Client *client;
    Store *store;
    Binder *binder;
    Snapshot *snapshot;
    bool is_unknown;  /* the cluster */
    bool is_hindered; /* it is not our turn to bind */
    size_t n_ended, n_bound, n_refused;
} Lab;

static Snapshot *lab_snapshot(void *context) {
    Lab *lab = context;

    if (lab->is_unknown)
        return NULL;
    snapshot_unref(lab->snapshot);
    assert_int_equal(store_publish(lab->store, &lab->snapshot), 0);
    return lab->snapshot;
}

static bool lab_may_send(void *context, char *error) {
    const Lab *lab = context;

    if (lab->is_hindered && error)
        (void)snprintf(error, WATCHER_ERROR_MAX, "somebody else binds");
    return !lab->is_hindered;
}

static void lab_ended(void *context, BindEnd end) {
    Lab *lab = context;

    lab->n_ended++;
    lab->n_bound += end == BIND_BOUND;
    lab->n_refused += end == BIND_REFUSED;
}

static void add_node(Lab *lab, const char *name) {
    Node node = {.name = str_from_c(name), .is_ready = true};

    assert_int_equal(store_apply_node(lab->store, &node), 0);
}

static void show_pod(Lab *lab, const char *name, const char *uid, const char *node) {
    Pod pod = {
        .namespace = STR("shop"),
        .name = str_from_c(name),
        .uid = str_from_c(uid),
        .node_name = str_from_c(node),
    };

    assert_true(store_apply_pod(lab->store, &pod) >= 0);
}

static void lab_open(Lab *lab) {
    *lab = (Lab){.client = client_new(NULL), .store = store_new()};
    now = 1000 * NSEC_PER_SEC;
    assert_non_null(lab->store);
    lab->binder = binder_new(&(BinderOptions){
        .client = lab->client,
        .store = lab->store,
        .clock = fake_clock,
        .wall_clock = fake_wall_clock,
        .context = lab,
        .snapshot = lab_snapshot,
        .may_send = lab_may_send,
        .ended = lab_ended,
    });
    assert_non_null(lab->binder);
    add_node(lab, "n1");
    add_node(lab, "n2");
}

static void lab_close(Lab *lab) {
    binder_free(lab->binder);
    client_free(lab->client);
    snapshot_unref(lab->snapshot);
    store_free(lab->store);
}

/* How many pods the newest snapshot counts on @node. */
static size_t pods_on(Lab *lab, const char *node) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    const NodeTable *table;
    uint32_t row;

    assert_int_equal(store_publish(lab->store, &snapshot), 0);
    table = snapshot_table(snapshot);
    row = table_find(table, str_from_c(node));
    return table_chunk(table, row)->n_pods[table_slot(row)];
}

/* When the last pod of @node was placed, by the newest snapshot. */
static int64_t placed_on(Lab *lab, const char *node) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    const NodeTable *table;
    uint32_t row;

    assert_int_equal(store_publish(lab->store, &snapshot), 0);
    table = snapshot_table(snapshot);
    row = table_find(table, str_from_c(node));
    return table_chunk(table, row)->placed_at[table_slot(row)];
}

static size_t n_assumed(const Lab *lab) {
    StoreFigures figures;

    store_figures(lab->store, &figures);
    return figures.n_assumed;
}

/* --- jobs ------------------------------------------------------------------------------------ */

typedef struct Job {
    BindJob job; /* first */
    Pod pod;
    size_t room;   /* pods a node may have, this one included; 0: any number */
    bool is_terse; /* its judge does not say why */
    int n_judged, n_done;
    bool is_bound;
    char error[WATCHER_ERROR_MAX];
} Job;

static bool judge(BindJob *bind, Snapshot *snapshot, char *error) {
    Job *job = (Job *)bind;
    const NodeTable *table = snapshot_table(snapshot);
    uint32_t row = table_find(table, bind->node);

    job->n_judged++;
    if (job->room == 0 || table_chunk(table, row)->n_pods[table_slot(row)] < job->room)
        return true;
    (void)snprintf(error, WATCHER_ERROR_MAX, "%s", job->is_terse ? "" : "the node is full");
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

static void reply(Lab *lab, size_t call, unsigned status, const char *body) {
    fake_answer(lab->client, call, status, body);
    (void)client_wait(lab->client, 0);
}

/* --- tests ----------------------------------------------------------------------------------- */

static void test_a_bound_pod_counts_from_the_start(void **state) {
    Lab lab;
    Job job;

    lab_open(&lab);
    job_init(&job, "web", "u1", "n1");
    show_pod(&lab, "web", "u1", "");
    binder_add(lab.binder, &job.job);
    assert_int_equal(job.n_judged, 1);
    assert_int_equal(job.n_done, 0);
    assert_int_equal(pods_on(&lab, "n1"), 1);
    reply(&lab, 0, 201, "{}");
    assert_true(job.n_done == 1 && job.is_bound);
    assert_int_equal(lab.n_bound, 1);
    assert_int_equal(n_assumed(&lab), 1);
    show_pod(&lab, "web", "u1", "n1");
    assert_int_equal(n_assumed(&lab), 0);
    assert_int_equal(pods_on(&lab, "n1"), 1);
    lab_close(&lab);
}

/* An assumed pod was placed when it was first sent to its node. */
static void test_an_assumed_pod_was_placed_now(void **state) {
    int64_t first_at;
    Job first, again, other;
    Lab lab;

    lab_open(&lab);
    job_init(&first, "web", "u1", "n1");
    binder_add(lab.binder, &first.job);
    first_at = fake_wall_clock() / NSEC_PER_SEC;
    assert_int_equal(placed_on(&lab, "n1"), first_at);
    assert_int_equal(placed_on(&lab, "n2"), 0);
    reply(&lab, 0, 201, "{}");
    now += 3 * NSEC_PER_SEC;
    job_init(&again, "web", "u1", "n1");
    binder_add(lab.binder, &again.job);
    assert_int_equal(placed_on(&lab, "n1"), first_at);
    reply(&lab, 1, 403, "{}");
    job_init(&other, "web", "u1", "n2");
    binder_add(lab.binder, &other.job);
    assert_int_equal(placed_on(&lab, "n2"), first_at + 3);
    reply(&lab, 2, 403, "{}");
    assert_int_equal(placed_on(&lab, "n1"), first_at);
    lab_close(&lab);
}

/* Two pods, one place: the second is judged with the first one assumed. */
static void test_the_last_place_is_given_once(void **state) {
    Lab lab;
    Job a, b;

    lab_open(&lab);
    job_init(&a, "a", "ua", "n1");
    job_init(&b, "b", "ub", "n1");
    a.room = b.room = 1;
    binder_add(lab.binder, &a.job);
    binder_add(lab.binder, &b.job);
    assert_true(a.n_done == 0 && b.n_done == 1 && !b.is_bound);
    assert_string_equal(b.error, "the node is full");
    assert_int_equal(fake_n_calls(lab.client), 1);
    reply(&lab, 0, 201, "{}");
    assert_true(a.is_bound);
    assert_int_equal(lab.n_ended, 2);
    assert_int_equal(lab.n_refused, 1);
    lab_close(&lab);
}

static void test_a_refusal_has_a_reason(void **state) {
    Lab lab;
    Job job;

    lab_open(&lab);
    show_pod(&lab, "other", "uo", "n1");
    job_init(&job, "web", "u1", "n1");
    job.room = 1;
    job.is_terse = true;
    binder_add(lab.binder, &job.job);
    assert_int_equal(job.n_done, 1);
    assert_string_equal(job.error, "the node is refused");
    lab_close(&lab);
}

static void test_failures_give_the_place_back(void **state) {
    static const struct {
        const char *name;
        unsigned status; /* of the POST */
        const char *pod; /* what reading it shows; NULL: not read */
        size_t n_assumed;
    } cases[] = {
        {"refused", 403, NULL, 0},
        {"gone", 404, NULL, 0},
        {"elsewhere", 409, "{\"metadata\":{\"uid\":\"u1\"},\"spec\":{\"nodeName\":\"n2\"}}", 0},
        {"not bound", 409, "{\"metadata\":{\"uid\":\"u1\"},\"spec\":{}}", 0},
        {"not bound yet", 500, "{\"metadata\":{\"uid\":\"u1\"},\"spec\":{}}", 1},
        {"unknown: it may count", 500, "<html>", 1},
    };

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Lab lab;
        Job job;

        lab_open(&lab);
        job_init(&job, "web", "u1", "n1");
        binder_add(lab.binder, &job.job);
        reply(&lab, 0, cases[i].status, "");
        if (cases[i].pod)
            reply(&lab, 1, 200, cases[i].pod);
        assert_case(cases[i].name, job.n_done == 1 && !job.is_bound && job.error[0] != '\0');
        assert_case(cases[i].name, n_assumed(&lab) == cases[i].n_assumed);
        assert_case(cases[i].name, pods_on(&lab, "n1") == cases[i].n_assumed);
        lab_close(&lab);
    }
}

static void test_the_same_job_twice_is_sent_once(void **state) {
    Lab lab;
    Job jobs[3], other;

    lab_open(&lab);
    for (size_t i = 0; i < ELEMENTS_OF(jobs); i++) {
        job_init(&jobs[i], "web", "u1", "n1");
        binder_add(lab.binder, &jobs[i].job);
    }
    job_init(&other, "web", "u1", "n2");
    binder_add(lab.binder, &other.job);
    assert_int_equal(fake_n_calls(lab.client), 1);
    assert_true(other.n_done == 1 && !other.is_bound);
    assert_string_equal(other.error, "the pod is being bound to node n1");
    reply(&lab, 0, 201, "{}");
    for (size_t i = 0; i < ELEMENTS_OF(jobs); i++)
        assert_true(jobs[i].n_done == 1 && jobs[i].is_bound);
    assert_int_equal(lab.n_ended, 4);
    assert_int_equal(lab.n_bound, 3);
    assert_int_equal(fake_n_calls(lab.client), 1);
    lab_close(&lab);
}

static void test_what_the_watch_has_shown_is_not_sent(void **state) {
    static const struct {
        const char *uid, *node; /* of the pod that is known */
        int n_done;
        const char *error; /* NULL: bound */
    } cases[] = {
        {"u1", "n1", 1, NULL}, {"u1", "n2", 1, "the pod is on node n2 already"},
        {"u1", "", 0, NULL},
        {"u0", "n2", 0, NULL}, /* an older pod of that name: the API server knows */
    };

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Lab lab;
        Job job;

        lab_open(&lab);
        show_pod(&lab, "web", cases[i].uid, cases[i].node);
        job_init(&job, "web", "u1", "n1");
        binder_add(lab.binder, &job.job);
        assert_int_equal(job.n_done, cases[i].n_done);
        assert_int_equal(fake_n_calls(lab.client), cases[i].n_done ? 0 : 1);
        if (cases[i].n_done) {
            assert_int_equal(job.is_bound, cases[i].error == NULL);
            assert_string_equal(job.error, cases[i].error ? cases[i].error : "");
        }
        lab_close(&lab);
    }
}

/* Bound, but the watch has not shown it; a second job for the pod does not get far. What the
 * first one did still counts. */
static void test_a_failure_does_not_undo_an_earlier_bind(void **state) {
    static const struct {
        const char *node;        /* of the second job */
        unsigned status;         /* what its POST gets */
        const char *whereabouts; /* what reading the pod then says; NULL: it is not read */
    } cases[] = {
        {"n1", 429, NULL},
        {"n1", 403, NULL},
        {"n2", 403, NULL},
        {"n2", 409, "{\"metadata\":{\"uid\":\"u1\"},\"spec\":{\"nodeName\":\"n1\"}}"},
    };

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Job first, second;
        Lab lab;

        lab_open(&lab);
        job_init(&first, "web", "u1", "n1");
        binder_add(lab.binder, &first.job);
        reply(&lab, 0, 201, "{}");
        assert_true(first.is_bound);
        job_init(&second, "web", "u1", cases[i].node);
        binder_add(lab.binder, &second.job);
        reply(&lab, 1, cases[i].status, "{}");
        if (cases[i].whereabouts)
            reply(&lab, 2, 200, cases[i].whereabouts);
        assert_true(second.n_done == 1 && !second.is_bound);
        assert_int_equal(pods_on(&lab, "n1"), 1);
        assert_int_equal(pods_on(&lab, "n2"), 0);
        assert_int_equal(n_assumed(&lab), 1);
        lab_close(&lab);
    }
}

static void test_jobs_that_make_no_sense(void **state) {
    Lab lab;
    Job job;

    lab_open(&lab);
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
            lab.is_unknown = true;
        else
            fake_refuse_next(lab.client);
        if (i == 6)
            lab.is_unknown = false;
        binder_add(lab.binder, &job.job);
        assert_true(job.n_done == 1 && !job.is_bound && job.error[0] != '\0');
        assert_int_equal(n_assumed(&lab), 0);
    }
    assert_int_equal(fake_n_calls(lab.client), 0);
    assert_int_equal(lab.n_ended, 7);
    lab_close(&lab);
}

/* Over BINDER_CALLS_MAX they wait, and are judged when it is their turn. */
static void test_many_jobs_wait_for_their_turn(void **state) {
    enum { N = 3 * BINDER_CALLS_MAX };
    static Job jobs[N];
    static char names[N][16];
    Lab lab;

    lab_open(&lab);
    for (size_t i = 0; i < N; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "pod-%zu", i);
        job_init(&jobs[i], names[i], names[i], "n1");
        binder_add(lab.binder, &jobs[i].job);
    }
    assert_int_equal(fake_n_calls(lab.client), BINDER_CALLS_MAX);
    assert_int_equal(jobs[BINDER_CALLS_MAX].n_judged, 0);
    for (size_t i = 0; i < 2 * BINDER_CALLS_MAX; i++)
        reply(&lab, i, 201, "{}");
    assert_int_equal(lab.n_bound, 2 * BINDER_CALLS_MAX);
    assert_int_equal(fake_n_calls(lab.client), N);
    for (size_t i = 0; i < N; i++)
        assert_int_equal(jobs[i].n_judged, 1);
    lab_close(&lab);
    for (size_t i = 0; i < N; i++)
        assert_int_equal(jobs[i].n_done, 1);
    assert_string_equal(jobs[N - 1].error, "berth is shutting down");
}

static void test_nothing_takes_longer_than_it_may(void **state) {
    enum { N = BINDER_CALLS_MAX + 10 };
    static Job jobs[N];
    static char names[N][16];
    Lab lab;
    int64_t began;

    lab_open(&lab);
    began = now;
    for (size_t i = 0; i < N; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "pod-%zu", i);
        job_init(&jobs[i], names[i], names[i], "n1");
        binder_add(lab.binder, &jobs[i].job);
    }
    while (lab.n_ended < N) {
        int64_t at = binder_tick(lab.binder, now);

        assert_true(at > now);
        now = at == INT64_MAX ? now : at;
    }
    assert_int_equal(lab.n_ended, N);
    assert_true(now - began <= WATCHER_BIND_SEC * NSEC_PER_SEC);
    assert_non_null(strstr(jobs[0].error, "not known whether"));
    assert_non_null(strstr(jobs[N - 1].error, "turn did not come"));
    assert_int_equal(jobs[N - 1].n_judged, 0);
    assert_int_equal(n_assumed(&lab), BINDER_CALLS_MAX); /* nobody knows about those */
    lab_close(&lab);
}

static void test_jobs_wait_until_it_is_our_turn(void **state) {
    Job waits, late, known;
    Lab lab;

    lab_open(&lab);
    lab.is_hindered = true;
    assert_true(binder_is_idle(lab.binder));
    job_init(&waits, "web", "u1", "n1");
    job_init(&late, "db", "u2", "n1");
    job_init(&known, "old", "u3", "n2");
    show_pod(&lab, "old", "u3", "n2");
    binder_add(lab.binder, &waits.job);
    binder_add(lab.binder, &known.job); /* that needs no turn */
    assert_true(known.n_done == 1 && known.is_bound);
    assert_false(binder_is_idle(lab.binder));
    now += 5 * NSEC_PER_SEC;
    binder_add(lab.binder, &late.job);
    (void)binder_tick(lab.binder, now);
    assert_int_equal(fake_n_calls(lab.client), 0);
    assert_int_equal(waits.n_judged + late.n_judged + n_assumed(&lab), 0);

    now += 5 * NSEC_PER_SEC; /* too long for the first */
    assert_int_equal(binder_tick(lab.binder, now), now + 5 * NSEC_PER_SEC);
    assert_int_equal(waits.n_done, 1);
    assert_string_equal(waits.error, "somebody else binds");

    lab.is_hindered = false; /* judged by what is known now, not by what was */
    show_pod(&lab, "theirs", "u4", "n1");
    late.room = 1;
    (void)binder_tick(lab.binder, now);
    assert_int_equal(late.n_judged, 1);
    assert_string_equal(late.error, "the node is full");
    assert_true(binder_is_idle(lab.binder));
    lab_close(&lab);
}

/* The process stood still between judging and sending. */
static void test_too_late_to_be_sent(void **state) {
    Job job;
    Lab lab;

    lab_open(&lab);
    job_init(&job, "web", "u1", "n1");
    binder_add(lab.binder, &job.job);
    assert_int_equal(job.n_judged, 1);
    lab.is_hindered = true;
    assert_false(fake_send(lab.client, 0));
    assert_int_equal(job.n_done, 1);
    assert_non_null(strstr(job.error, "the pod was not bound"));
    assert_int_equal(n_assumed(&lab), 0);
    lab_close(&lab);
}

/* It gave up, but somebody else has bound the pod meanwhile. */
static void test_somebody_else_has_done_it(void **state) {
    Job job, other;
    Lab lab;

    lab_open(&lab);
    lab.is_hindered = true;
    job_init(&job, "web", "u1", "n1");
    job_init(&other, "db", "u2", "n1");
    binder_add(lab.binder, &job.job);
    binder_add(lab.binder, &other.job);
    show_pod(&lab, "web", "u1", "n1");
    show_pod(&lab, "db", "u2", "n2");
    now += WATCHER_BIND_SEC * NSEC_PER_SEC;
    (void)binder_tick(lab.binder, now);
    assert_true(job.is_bound);
    assert_string_equal(other.error, "the pod is on node n2 already");
    lab_close(&lab);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_bound_pod_counts_from_the_start),
        cmocka_unit_test(test_an_assumed_pod_was_placed_now),
        cmocka_unit_test(test_the_last_place_is_given_once),
        cmocka_unit_test(test_a_refusal_has_a_reason),
        cmocka_unit_test(test_failures_give_the_place_back),
        cmocka_unit_test(test_the_same_job_twice_is_sent_once),
        cmocka_unit_test(test_what_the_watch_has_shown_is_not_sent),
        cmocka_unit_test(test_a_failure_does_not_undo_an_earlier_bind),
        cmocka_unit_test(test_jobs_that_make_no_sense),
        cmocka_unit_test(test_many_jobs_wait_for_their_turn),
        cmocka_unit_test(test_nothing_takes_longer_than_it_may),
        cmocka_unit_test(test_jobs_wait_until_it_is_our_turn),
        cmocka_unit_test(test_too_late_to_be_sent),
        cmocka_unit_test(test_somebody_else_has_done_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
