/* The mirror's thread against a client that answers as the test wants. */

#include "kube/mirror.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/test-assert.h"
#include "test-fake-client.h"

#define PATIENCE_SEC 20

/* --- time, in place of base/clock.c --------------------------------------------------------- */

static _Atomic int64_t skipped_nsec; /* so far: time that nobody had to wait for */
static _Atomic int64_t frozen_nsec;  /* what time it is, but for that; 0: it passes */

static int64_t read_clock(clockid_t id) {
    struct timespec now;

    (void)clock_gettime(id, &now);
    return (int64_t)now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

int64_t clock_monotonic_nsec(void) {
    int64_t frozen = atomic_load(&frozen_nsec);

    return (frozen ? frozen : read_clock(CLOCK_MONOTONIC)) + atomic_load(&skipped_nsec);
}

int64_t clock_wall_nsec(void) {
    return read_clock(CLOCK_REALTIME);
}

static void freeze_time(void) {
    atomic_store(&frozen_nsec, read_clock(CLOCK_MONOTONIC));
}

static void skip_msec(int64_t msec) {
    atomic_fetch_add(&skipped_nsec, msec * NSEC_PER_MSEC);
}

static void skip_sec(int64_t seconds) {
    skip_msec(seconds * 1000);
}

/* --- what was published -------------------------------------------------------------------- */

typedef struct Lab {
    Mirror *mirror;
    Client *client;
    size_t nodes, pods; /* the calls */

    pthread_mutex_t mutex;
    pthread_cond_t changed;
    Snapshot *snapshot;
    size_t n_published;
    size_t n_offered; /* ... or refused */
    size_t n_refuse;  /* those that are still to be refused */
    bool is_busy;     /* publish() does not return */
    size_t n_pods_bound;
    char last_bound[64];
    size_t n_done;
    unsigned n_turns; /* lab_turn() */

    MirrorNotice told[256]; /* what it has said, without the texts; the mirror's thread writes */
    size_t n_told;
} Lab;

static bool on_publish(void *context, Snapshot *snapshot) {
    Lab *lab = context;
    bool is_taken;

    pthread_mutex_lock(&lab->mutex);
    lab->n_offered++;
    is_taken = lab->n_refuse == 0;
    if (is_taken) {
        snapshot_unref(lab->snapshot);
        lab->snapshot = snapshot_ref(snapshot);
        lab->n_published++;
    } else {
        lab->n_refuse--;
    }
    pthread_cond_broadcast(&lab->changed);
    while (lab->is_busy)
        pthread_cond_wait(&lab->changed, &lab->mutex);
    pthread_mutex_unlock(&lab->mutex);
    return is_taken;
}

static void on_pod_bound(void *context, const Pod *pod) {
    Lab *lab = context;

    pthread_mutex_lock(&lab->mutex);
    lab->n_pods_bound++;
    (void)snprintf(lab->last_bound, sizeof(lab->last_bound), "%.*s", STR_FMT(pod->name));
    pthread_cond_broadcast(&lab->changed);
    pthread_mutex_unlock(&lab->mutex);
}

static void on_notice(void *context, const MirrorNotice *notice) {
    Lab *lab = context;

    if (lab->n_told < ELEMENTS_OF(lab->told))
        lab->told[lab->n_told++] = (MirrorNotice){.event = notice->event, .kind = notice->kind};
}

static void lab_open_with(Lab *lab, const MirrorOptions *options) {
    const MirrorCallbacks callbacks = {
        .context = lab, .publish = on_publish, .pod_bound = on_pod_bound, .notice = on_notice};

    *lab = (Lab){0};
    pthread_mutex_init(&lab->mutex, NULL);
    pthread_cond_init(&lab->changed, NULL);
    assert_int_equal(mirror_new(fake_access_new(true), options, &callbacks, &lab->mirror), 0);
    lab->client = fake_client();
    lab->nodes = fake_wait_for(lab->client, "GET", "/api/v1/nodes?", 0);
    lab->pods = fake_wait_for(lab->client, "GET", "/api/v1/pods?", 0);
    assert_true(lab->nodes != SIZE_MAX && lab->pods != SIZE_MAX);
}

static void lab_open(Lab *lab) {
    lab_open_with(lab, &(MirrorOptions){0});
}

static void lab_close(Lab *lab) {
    mirror_free(lab->mirror);
    atomic_store(&frozen_nsec, 0);
    snapshot_unref(lab->snapshot);
    pthread_cond_destroy(&lab->changed);
    pthread_mutex_destroy(&lab->mutex);
}

/* Pods on @node in the snapshot that was published last; SIZE_MAX: no such node, or no
 * snapshot. The lock is held. */
static size_t pods_on(const Lab *lab, const char *node) {
    const NodeTable *table = lab->snapshot ? snapshot_table(lab->snapshot) : NULL;
    uint32_t row = table ? table_find(table, str_from_c(node)) : 0;

    if (!table || row == table->n_rows)
        return SIZE_MAX;
    return table_chunk(table, row)->n_pods[table_slot(row)];
}

static struct timespec patience(void) {
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_SEC;
    return until;
}

static void wait_for_pods(Lab *lab, const char *node, size_t want) {
    struct timespec until = patience();
    int r = 0;

    pthread_mutex_lock(&lab->mutex);
    while (pods_on(lab, node) != want && r == 0)
        r = pthread_cond_timedwait(&lab->changed, &lab->mutex, &until);
    if (r != 0)
        print_error("%s has %zd pods\n", node, (ssize_t)pods_on(lab, node));
    pthread_mutex_unlock(&lab->mutex);
    assert_int_equal(r, 0);
}

static void wait_for_done(Lab *lab, size_t want) {
    struct timespec until = patience();
    int r = 0;

    pthread_mutex_lock(&lab->mutex);
    while (lab->n_done < want && r == 0)
        r = pthread_cond_timedwait(&lab->changed, &lab->mutex, &until);
    pthread_mutex_unlock(&lab->mutex);
    assert_int_equal(r, 0);
}

static void wait_for_offers(Lab *lab, size_t want) {
    struct timespec until = patience();
    int r = 0;

    pthread_mutex_lock(&lab->mutex);
    while (lab->n_offered < want && r == 0)
        r = pthread_cond_timedwait(&lab->changed, &lab->mutex, &until);
    assert_int_equal(lab->n_offered, want);
    pthread_mutex_unlock(&lab->mutex);
}

/* What was sent is taken, and what is due is done: the first call may be from a turn that was
 * under way, the third is behind one that saw it all. */
static MirrorStatus lab_turn(Lab *lab) {
    MirrorStatus status;

    for (int i = 0; i < 3; i++) {
        char name[32], path[64];
        size_t call;

        (void)snprintf(name, sizeof(name), "turn-%u", lab->n_turns++);
        (void)snprintf(path, sizeof(path), "/api/v1/nodes/%s", name);
        mirror_touch_node(lab->mirror, str_from_c(name));
        call = fake_wait_for(lab->client, "PATCH", path, 0);
        assert_true(call != SIZE_MAX);
        fake_answer(lab->client, call, 200, "{}");
    }
    mirror_status(lab->mirror, &status);
    return status;
}

/* The status is written at the end of a turn: until @is_so says that it is. */
static MirrorStatus wait_for_status(Lab *lab, bool (*is_so)(const MirrorStatus *status)) {
    MirrorStatus status;

    for (int i = 0; i < PATIENCE_SEC * 1000; i++) {
        mirror_status(lab->mirror, &status);
        if (is_so(&status))
            return status;
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    fail();
    return status;
}

/* --- what is sent ----------------------------------------------------------------------------- */

#define LIST_END                                                                                   \
    "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"100\","                \
    "\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}\n"

#define BOOKMARK "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"200\"}}}\n"

static void send_text(Lab *lab, size_t call, const char *text) {
    fake_data(lab->client, call, str_from_c(text));
}

static void send_node(Lab *lab, const char *type, const char *name, unsigned version) {
    char text[512];

    (void)snprintf(text,
        sizeof(text),
        "{\"type\":\"%s\",\"object\":{\"metadata\":{\"name\":\"%s\",\"uid\":\"%s\","
        "\"resourceVersion\":\"%u\"},\"status\":{\"allocatable\":{\"cpu\":\"8\"},"
        "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}}\n",
        type,
        name,
        name,
        version);
    send_text(lab, lab->nodes, text);
}

static void send_pod(Lab *lab, const char *type, const char *name, const char *node) {
    static atomic_uint version = 1000;
    char text[512];

    (void)snprintf(text,
        sizeof(text),
        "{\"type\":\"%s\",\"object\":{\"metadata\":{\"name\":\"%s\",\"namespace\":\"shop\","
        "\"uid\":\"u-%s\",\"resourceVersion\":\"%u\"},\"spec\":{\"nodeName\":\"%s\","
        "\"containers\":[]},\"status\":{\"phase\":\"Running\"}}}\n",
        type,
        name,
        name,
        atomic_fetch_add(&version, 1),
        node);
    send_text(lab, lab->pods, text);
}

/* Two nodes, n1 with one pod and n2 with none. */
static void lab_sync(Lab *lab) {
    fake_head(lab->client, lab->nodes, 200, "application/json", -1);
    send_node(lab, "ADDED", "n1", 1);
    send_node(lab, "ADDED", "n2", 2);
    send_text(lab, lab->nodes, LIST_END);
    fake_head(lab->client, lab->pods, 200, "application/json", -1);
    send_pod(lab, "ADDED", "first", "n1");
    send_text(lab, lab->pods, LIST_END);
    wait_for_pods(lab, "n1", 1);
}

/* --- jobs ---------------------------------------------------------------------------------------
 */

typedef struct Job {
    BindJob job; /* first */
    Lab *lab;
    Pod pod;
    char name[32], uid[32];
    size_t pods_seen; /* by the judge, on the node */
    int n_done;
    bool is_bound;
    char error[MIRROR_ERROR_MAX];
} Job;

static bool judge(BindJob *bind, Snapshot *snapshot, char *error) {
    Job *job = (Job *)bind;
    const NodeTable *table = snapshot_table(snapshot);
    uint32_t row = table_find(table, bind->node);

    job->pods_seen = table_chunk(table, row)->n_pods[table_slot(row)];
    return true;
}

static void done(BindJob *bind, const char *error) {
    Job *job = (Job *)bind;

    pthread_mutex_lock(&job->lab->mutex);
    job->n_done++;
    job->is_bound = error == NULL;
    (void)snprintf(job->error, sizeof(job->error), "%s", error ? error : "");
    job->lab->n_done++;
    pthread_cond_broadcast(&job->lab->changed);
    pthread_mutex_unlock(&job->lab->mutex);
}

static void job_init(Job *job, Lab *lab, const char *name, const char *node) {
    *job = (Job){.lab = lab};
    (void)snprintf(job->name, sizeof(job->name), "%s", name);
    (void)snprintf(job->uid, sizeof(job->uid), "u-%s", name);
    job->pod =
        (Pod){.namespace = STR("shop"), .name = str_from_c(job->name), .uid = str_from_c(job->uid)};
    job->job = (BindJob){
        .namespace = STR("shop"),
        .name = job->pod.name,
        .uid = job->pod.uid,
        .node = str_from_c(node),
        .pod = &job->pod,
        .judge = judge,
        .done = done,
    };
}

/* --- tests ------------------------------------------------------------------------------------ */

static bool has_listed_nodes(const MirrorStatus *status) {
    return status->kinds[MIRROR_NODES].is_synced;
}

static bool has_both(const MirrorStatus *status) {
    return status->kinds[MIRROR_NODES].is_synced && status->kinds[MIRROR_PODS].is_synced &&
           status->n_published > 0;
}

static void test_nothing_is_published_before_all_is_known(void **state) {
    Lab lab;
    MirrorStatus status;

    lab_open(&lab);
    assert_false(mirror_is_synced(lab.mirror));
    fake_head(lab.client, lab.nodes, 200, "application/json", -1);
    send_node(&lab, "ADDED", "n1", 1);
    send_text(&lab, lab.nodes, LIST_END);
    status = wait_for_status(&lab, has_listed_nodes);
    assert_int_equal(status.n_published, 0);
    assert_false(status.kinds[MIRROR_PODS].is_synced);
    assert_false(mirror_is_synced(lab.mirror));

    fake_head(lab.client, lab.pods, 200, "application/json", -1);
    send_text(&lab, lab.pods, LIST_END);
    wait_for_pods(&lab, "n1", 0);
    status = wait_for_status(&lab, has_both);
    assert_true(mirror_is_synced(lab.mirror));
    assert_int_equal(status.n_nodes, 1);
    assert_true(status.kinds[MIRROR_NODES].is_connected);
    assert_int_equal(status.kinds[MIRROR_NODES].n_lists, 1);
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
    assert_true(mirror_is_synced(lab.mirror));
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

static bool has_bound_one(const MirrorStatus *status) {
    return status->n_bound == 1;
}

static void test_binding(void **state) {
    Lab lab;
    Job job;
    MirrorStatus status;
    size_t post;

    lab_open(&lab);
    lab_sync(&lab);
    send_pod(&lab, "ADDED", "web", "");
    job_init(&job, &lab, "web", "n1");
    assert_int_equal(mirror_bind(lab.mirror, &job.job), 0);
    wait_for_pods(&lab, "n1", 2); /* assumed, and published, before any answer */
    post = fake_wait_for(lab.client, "POST", "/api/v1/namespaces/shop/pods/web/binding", 0);
    assert_true(post != SIZE_MAX);
    fake_answer(lab.client, post, 201, "{}");
    wait_for_done(&lab, 1);
    assert_true(job.is_bound);
    assert_int_equal(job.pods_seen, 1);
    status = wait_for_status(&lab, has_bound_one);
    assert_int_equal(status.n_assumed, 1);
    send_pod(&lab, "MODIFIED", "web", "n1");
    send_pod(&lab, "ADDED", "other", "n1");
    wait_for_pods(&lab, "n1", 3);
    lab_close(&lab);
}

/* Binds it, and the API server says that it has done so. */
static void bind_pod(Lab *lab, Job *job, const char *name) {
    size_t before = lab->n_done; /* nobody else binds */
    char path[64];
    size_t post;

    job_init(job, lab, name, "n1");
    assert_int_equal(mirror_bind(lab->mirror, &job->job), 0);
    (void)snprintf(path, sizeof(path), "/pods/%s/binding", name);
    post = fake_wait_for(lab->client, "POST", path, 0);
    assert_true(post != SIZE_MAX);
    fake_answer(lab->client, post, 201, "{}");
    wait_for_done(lab, before + 1);
    assert_true(job->is_bound);
}

static bool has_lost_pods(const MirrorStatus *status) {
    return status->kinds[MIRROR_PODS].n_failures == 1;
}

/* A bound pod counts until the watch has had the chance to show it, and has not. */
static void test_a_silent_watch_proves_nothing(void **state) {
    Lab lab;
    Job first, second;
    size_t before;

    lab_open(&lab);
    lab_sync(&lab);
    bind_pod(&lab, &first, "web");
    wait_for_pods(&lab, "n1", 2);
    freeze_time();
    skip_sec(MIRROR_ASSUME_SEC + 1);
    assert_int_equal(lab_turn(&lab).n_assumed, 1);

    /* Given up, and begun again: that alone has not shown anything either. */
    before = lab.pods;
    skip_sec(MIRROR_SILENCE_SEC);
    (void)lab_turn(&lab);
    (void)wait_for_status(&lab, has_lost_pods);
    skip_sec(1);
    lab.pods = fake_wait_for(lab.client, "GET", "/api/v1/pods?", before + 1);
    assert_true(lab.pods != SIZE_MAX);
    fake_head(lab.client, lab.pods, 200, "application/json", -1);
    (void)lab_turn(&lab);
    skip_sec(2);
    assert_int_equal(lab_turn(&lab).n_expired, 0);
    wait_for_pods(&lab, "n1", 2);

    skip_sec(10);
    send_text(&lab, lab.pods, BOOKMARK);
    (void)lab_turn(&lab);
    skip_sec(2);
    assert_int_equal(lab_turn(&lab).n_expired, 1);
    wait_for_pods(&lab, "n1", 1);

    /* The next one has its own time. */
    bind_pod(&lab, &second, "late");
    skip_sec(MIRROR_ASSUME_SEC - 1);
    send_text(&lab, lab.pods, BOOKMARK);
    assert_int_equal(lab_turn(&lab).n_expired, 1);
    wait_for_pods(&lab, "n1", 2);
    skip_sec(2);
    send_text(&lab, lab.pods, BOOKMARK);
    (void)lab_turn(&lab);
    skip_sec(2);
    assert_int_equal(lab_turn(&lab).n_expired, 2);
    assert_int_equal(lab_turn(&lab).n_assumed, 0);
    wait_for_pods(&lab, "n1", 1);
    lab_close(&lab);
}

static bool has_failed_one(const MirrorStatus *status) {
    return status->n_bind_failed == 1;
}

static void test_a_failed_bind_is_taken_back(void **state) {
    Lab lab;
    Job job;
    size_t post;

    lab_open(&lab);
    lab_sync(&lab);
    job_init(&job, &lab, "web", "n1");
    assert_int_equal(mirror_bind(lab.mirror, &job.job), 0);
    post = fake_wait_for(lab.client, "POST", "/binding", 0);
    wait_for_pods(&lab, "n1", 2);
    fake_answer(lab.client, post, 403, "");
    wait_for_done(&lab, 1);
    assert_false(job.is_bound);
    assert_non_null(strstr(job.error, "create on pods/binding"));
    wait_for_pods(&lab, "n1", 1);
    (void)wait_for_status(&lab, has_failed_one);
    lab_close(&lab);
}

static void test_binding_before_the_cluster_is_known(void **state) {
    Lab lab;
    Job job;

    lab_open(&lab);
    job_init(&job, &lab, "web", "n1");
    assert_int_equal(mirror_bind(lab.mirror, &job.job), 0);
    wait_for_done(&lab, 1);
    assert_string_equal(job.error, "the cluster is not known yet");
    lab_close(&lab);
}

/* However many wait, each is told, once; and there is a limit to how many may. */
static void test_the_end_with_jobs_under_way(void **state) {
    static Job jobs[MIRROR_BINDS_MAX];
    Lab lab;
    Job more;
    char name[16];

    lab_open(&lab);
    lab_sync(&lab);
    for (size_t i = 0; i < MIRROR_BINDS_MAX; i++) {
        (void)snprintf(name, sizeof(name), "w%zu", i);
        job_init(&jobs[i], &lab, name, "n2");
        assert_int_equal(mirror_bind(lab.mirror, &jobs[i].job), 0);
    }
    job_init(&more, &lab, "more", "n2");
    assert_int_equal(mirror_bind(lab.mirror, &more.job), -EBUSY);
    lab_close(&lab);
    assert_int_equal(more.n_done, 0);
    for (size_t i = 0; i < MIRROR_BINDS_MAX; i++) {
        assert_int_equal(jobs[i].n_done, 1);
        assert_string_equal(jobs[i].error, "berth is shutting down");
    }
}

static bool is_lost(const MirrorStatus *status) {
    return status->kinds[MIRROR_PODS].n_failures > 0;
}

static bool is_back(const MirrorStatus *status) {
    return status->kinds[MIRROR_PODS].is_connected && status->kinds[MIRROR_PODS].n_restarts > 0;
}

static void test_what_is_known_stays_while_the_server_is_gone(void **state) {
    Lab lab;
    MirrorStatus status;
    size_t before;

    lab_open(&lab);
    lab_sync(&lab);
    before = lab.pods;
    fake_done(lab.client, lab.pods, CALL_BROKEN);
    status = wait_for_status(&lab, is_lost);
    assert_string_equal(status.kinds[MIRROR_PODS].last_error, "as the test wants it");
    assert_false(status.kinds[MIRROR_PODS].is_connected);
    assert_true(status.kinds[MIRROR_PODS].is_synced && mirror_is_synced(lab.mirror));
    assert_int_equal(status.n_pods, 1);
    lab.pods = fake_wait_for(lab.client, "GET", "/api/v1/pods?", before + 1);
    assert_true(lab.pods != SIZE_MAX);
    assert_non_null(strstr(fake_call(lab.client, lab.pods).path, "&resourceVersion=100"));
    fake_head(lab.client, lab.pods, 200, "application/json", -1);
    send_pod(&lab, "ADDED", "later", "n1");
    wait_for_pods(&lab, "n1", 2);
    status = wait_for_status(&lab, is_back);
    assert_string_equal(status.kinds[MIRROR_PODS].last_error, "");
    assert_int_equal(status.kinds[MIRROR_PODS].n_lists, 1);
    lab_close(&lab);
}

static bool has_two_unfit(const MirrorStatus *status) {
    return status->kinds[MIRROR_NODES].n_unfit == 2;
}

/* A node that we cannot read is a node that is not there; the others are not its victims. */
static void test_objects_that_cannot_be_read(void **state) {
    Lab lab;
    MirrorStatus status;

    lab_open(&lab);
    fake_head(lab.client, lab.nodes, 200, "application/json", -1);
    send_text(&lab,
        lab.nodes,
        "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"n0\",\"resourceVersion\":\"1\","
        "\"labels\":7}}}\n");
    send_node(&lab, "ADDED", "n1", 2);
    send_node(&lab, "ADDED", "n2", 3);
    send_text(&lab, lab.nodes, LIST_END);
    fake_head(lab.client, lab.pods, 200, "application/json", -1);
    send_text(&lab, lab.pods, LIST_END);
    wait_for_pods(&lab, "n1", 0);
    send_text(&lab,
        lab.nodes,
        "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"n1\",\"resourceVersion\":"
        "\"101\",\"labels\":7}}}\n");
    wait_for_pods(&lab, "n1", SIZE_MAX);
    status = wait_for_status(&lab, has_two_unfit);
    assert_true(status.kinds[MIRROR_NODES].is_connected);
    assert_int_equal(status.n_nodes, 1);
    lab_close(&lab);
}

static bool has_touched(const MirrorStatus *status) {
    return status->n_touched == 1 && status->n_touch_failed == 1;
}

static void test_touching(void **state) {
    Lab lab;
    size_t first, second;

    lab_open(&lab);
    mirror_touch_node(lab.mirror, STR("n1"));
    mirror_touch_node(lab.mirror, STR("../pods"));
    mirror_touch_node(lab.mirror, STR("n2"));
    first = fake_wait_for(lab.client, "PATCH", "/api/v1/nodes/n1", 0);
    second = fake_wait_for(lab.client, "PATCH", "/api/v1/nodes/n2", 0);
    assert_true(first != SIZE_MAX && second != SIZE_MAX);
    assert_non_null(strstr(fake_call(lab.client, first).body, MIRROR_RETRY_ANNOTATION));
    fake_answer(lab.client, first, 200, "{}");
    fake_answer(lab.client, second, 403, "");
    (void)wait_for_status(&lab, has_touched);
    lab_close(&lab);
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
    assert_false(mirror_is_synced(lab.mirror));

    skip_msec(999);
    send_pod(&lab, "ADDED", "p", "n1");
    (void)lab_turn(&lab);
    wait_for_offers(&lab, 1);
    skip_msec(1);
    (void)lab_turn(&lab);
    wait_for_offers(&lab, 2);
    assert_false(mirror_is_synced(lab.mirror));
    skip_sec(1);
    assert_int_equal(lab_turn(&lab).n_published, 1);
    wait_for_pods(&lab, "n1", 1);
    assert_true(mirror_is_synced(lab.mirror));
    lab_close(&lab);
}

/* --- what is told ----------------------------------------------------------------------------- */

/* How often @event was told of @kind, and which word the last of them was. The mirror has
 * ended: nobody writes any more. */
static size_t count_told(const Lab *lab, MirrorEvent event, MirrorKind kind, size_t *ret_last) {
    size_t n = 0;

    *ret_last = 0;
    for (size_t i = 0; i < lab->n_told; i++) {
        if (lab->told[i].event != event || lab->told[i].kind != kind)
            continue;
        n++;
        *ret_last = i;
    }
    return n;
}

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
    n_lost = count_told(&lab, MIRROR_LOST, MIRROR_PODS, &last_lost);
    n_connected = count_told(&lab, MIRROR_CONNECTED, MIRROR_PODS, &last_connected);
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
    assert_int_equal(count_told(&lab, MIRROR_STUCK, MIRROR_NODES, &last), 1);
}

/* --- the lease -------------------------------------------------------------------------------- */

#define LEASE_ONE "/apis/coordination.k8s.io/v1/namespaces/ns/leases/l"

static const MirrorOptions by_lease = {
    .lease_namespace = "ns", .lease_name = "l", .identity = "me"};

static void answer_lease(Lab *lab, size_t call, unsigned version, const char *holder) {
    char text[256];

    assert_true(call != SIZE_MAX);
    (void)snprintf(text,
        sizeof(text),
        "{\"metadata\":{\"name\":\"l\",\"resourceVersion\":\"%u\"},\"spec\":{"
        "\"holderIdentity\":\"%s\",\"leaseDurationSeconds\":15}}",
        version,
        holder);
    fake_answer(lab->client, call, 200, text);
}

static bool is_wanted(const MirrorStatus *status) {
    return status->lease.is_wanted;
}

static bool is_held(const MirrorStatus *status) {
    return status->lease.is_held;
}

/* Takes it; a new list of pods has been asked for then. */
static void take_lease(Lab *lab, size_t from) {
    size_t call = fake_wait_for(lab->client, "GET", LEASE_ONE, from);

    answer_lease(lab, call, 7, "");
    answer_lease(lab, fake_wait_for(lab->client, "PUT", LEASE_ONE, from), 8, "me");
    (void)wait_for_status(lab, is_held);
    lab->pods = fake_wait_for(lab->client, "GET", "/api/v1/pods?", lab->pods + 1);
    assert_true(lab->pods != SIZE_MAX);
}

static void test_binding_by_lease(void **state) {
    Lab lab;
    Job job;
    size_t call;

    lab_open_with(&lab, &by_lease);
    lab_sync(&lab);
    job_init(&job, &lab, "web", "n1");
    assert_int_equal(mirror_bind(lab.mirror, &job.job), 0);
    take_lease(&lab, 0);

    /* What somebody else has bound is not known before the new list is whole. */
    (void)lab_turn(&lab);
    fake_head(lab.client, lab.pods, 200, "application/json", -1);
    send_pod(&lab, "ADDED", "first", "n1");
    send_pod(&lab, "ADDED", "theirs", "n1");
    (void)lab_turn(&lab);
    assert_int_equal(job.pods_seen, 0);
    send_text(&lab, lab.pods, LIST_END);
    call = fake_wait_for(lab.client, "POST", "/binding", 0);
    assert_true(call != SIZE_MAX);
    assert_int_equal(job.pods_seen, 2);
    fake_answer(lab.client, call, 201, "{}");
    wait_for_done(&lab, 1);
    assert_true(job.is_bound);

    /* The next one needs nothing of that. */
    job_init(&job, &lab, "db", "n2");
    assert_int_equal(mirror_bind(lab.mirror, &job.job), 0);
    call = fake_wait_for(lab.client, "POST", "/binding", call + 1);
    assert_true(call != SIZE_MAX);
    fake_answer(lab.client, call, 201, "{}");
    wait_for_done(&lab, 2);
    lab_close(&lab);
}

static void test_somebody_else_holds_the_lease(void **state) {
    Lab lab;
    Job job;
    size_t last;

    lab_open_with(&lab, &by_lease);
    lab_sync(&lab);
    (void)lab_turn(&lab);
    mirror_note_asked(lab.mirror); /* a filter is enough */
    answer_lease(&lab, fake_wait_for(lab.client, "GET", LEASE_ONE, 0), 7, "other");
    (void)wait_for_status(&lab, is_wanted);
    job_init(&job, &lab, "web", "n1");
    assert_int_equal(mirror_bind(lab.mirror, &job.job), 0);
    (void)lab_turn(&lab);
    assert_int_equal(job.n_done, 0);
    skip_sec(MIRROR_BIND_SEC);
    wait_for_done(&lab, 1);
    assert_string_equal(job.error, "other holds the lease ns/l and binds; this is me");
    lab_close(&lab);
    assert_int_equal(count_told(&lab, MIRROR_ELSEWHERE, MIRROR_NODES, &last), 1);
}

static void *stop_it(void *context) {
    Lab *lab = context;

    return mirror_stop(lab->mirror, PATIENCE_SEC * NSEC_PER_SEC) ? lab : NULL;
}

/* First what is under way, then the lease. */
static void test_the_end_of_who_holds_the_lease(void **state) {
    pthread_t thread;
    void *ended;
    Lab lab;
    Job job;
    size_t call, put;

    lab_open_with(&lab, &by_lease);
    lab_sync(&lab);
    job_init(&job, &lab, "web", "n1");
    assert_int_equal(mirror_bind(lab.mirror, &job.job), 0);
    take_lease(&lab, 0);
    fake_head(lab.client, lab.pods, 200, "application/json", -1);
    send_text(&lab, lab.pods, LIST_END);
    call = fake_wait_for(lab.client, "POST", "/binding", 0);
    assert_true(call != SIZE_MAX);
    assert_int_equal(pthread_create(&thread, NULL, stop_it, &lab), 0);
    (void)nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    assert_int_equal(job.n_done, 0);
    put = fake_n_calls(lab.client);
    fake_answer(lab.client, call, 201, "{}");
    wait_for_done(&lab, 1);
    assert_true(job.is_bound);
    put = fake_wait_for(lab.client, "PUT", LEASE_ONE, put);
    assert_true(put != SIZE_MAX);
    assert_non_null(strstr(fake_call(lab.client, put).body, "\"holderIdentity\":\"\""));
    answer_lease(&lab, put, 9, "");
    assert_int_equal(pthread_join(thread, &ended), 0);
    assert_non_null(ended);
    lab_close(&lab);
}

/* --- the end ---------------------------------------------------------------------------------- */

static void test_stopping(void **state) {
    Lab lab;
    Job job;

    lab_open(&lab);
    lab_sync(&lab);
    assert_true(mirror_stop(lab.mirror, PATIENCE_SEC * NSEC_PER_SEC));
    assert_true(mirror_stop(lab.mirror, 0));
    job_init(&job, &lab, "web", "n1");
    assert_int_equal(mirror_bind(lab.mirror, &job.job), -ESHUTDOWN);
    lab_close(&lab);
}

/* Something holds the thread up: whoever stops it need not wait for ever. */
static void stop_a_busy_one(bool waits_again) {
    Lab lab;
    Job job;

    lab_open(&lab);
    lab_sync(&lab);
    pthread_mutex_lock(&lab.mutex);
    lab.is_busy = true;
    pthread_mutex_unlock(&lab.mutex);
    send_pod(&lab, "ADDED", "more", "n1");
    wait_for_pods(&lab, "n1", 2);
    job_init(&job, &lab, "web", "n1");
    assert_int_equal(mirror_bind(lab.mirror, &job.job), 0);
    assert_false(mirror_stop(lab.mirror, 0));
    assert_false(mirror_stop(lab.mirror, 10 * NSEC_PER_MSEC));
    assert_int_equal(job.n_done, 0);
    pthread_mutex_lock(&lab.mutex);
    lab.is_busy = false;
    pthread_cond_broadcast(&lab.changed);
    pthread_mutex_unlock(&lab.mutex);
    if (waits_again) {
        assert_true(mirror_stop(lab.mirror, PATIENCE_SEC * NSEC_PER_SEC));
        assert_string_equal(job.error, "berth is shutting down");
    }
    lab_close(&lab);
    assert_int_equal(job.n_done, 1);
}

static void test_stopping_takes_too_long(void **state) {
    stop_a_busy_one(/* waits_again= */ true);
    stop_a_busy_one(/* waits_again= */ false);
}

/* --- threads ---------------------------------------------------------------------------------- */

#define CROWD 4
#define CROWD_JOBS 100

typedef struct Member {
    Lab *lab;
    size_t number;
    Job jobs[CROWD_JOBS];
} Member;

static void *crowd(void *context) {
    Member *member = context;
    MirrorStatus status;
    char name[32];

    for (size_t i = 0; i < CROWD_JOBS; i++) {
        (void)snprintf(name, sizeof(name), "c%zu-%zu", member->number, i);
        job_init(&member->jobs[i], member->lab, name, i % 2 ? "n1" : "n2");
        if (mirror_bind(member->lab->mirror, &member->jobs[i].job) < 0)
            return NULL;
        mirror_touch_node(member->lab->mirror, STR("n1"));
        mirror_status(member->lab->mirror, &status);
        (void)mirror_is_synced(member->lab->mirror);
    }
    return NULL;
}

/* Many threads at the functions that any thread may call, while events come in. */
static void test_many_threads(void **state) {
    static Member members[CROWD];
    pthread_t threads[CROWD];
    Lab lab;
    char name[16];
    size_t from = 0;

    lab_open(&lab);
    lab_sync(&lab);
    for (size_t i = 0; i < CROWD; i++) {
        members[i] = (Member){.lab = &lab, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, crowd, &members[i]), 0);
    }
    for (size_t i = 0; i < CROWD * CROWD_JOBS; i++) {
        from = fake_wait_for(lab.client, "POST", "/binding", from);
        assert_true(from != SIZE_MAX);
        fake_answer(lab.client, from++, 201, "{}");
        (void)snprintf(name, sizeof(name), "e%zu", i);
        send_pod(&lab, "ADDED", name, "n1");
    }
    wait_for_done(&lab, CROWD * CROWD_JOBS);
    for (size_t i = 0; i < CROWD; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    wait_for_pods(&lab, "n2", CROWD * CROWD_JOBS / 2);
    wait_for_pods(&lab, "n1", 1 + CROWD * CROWD_JOBS / 2 + CROWD * CROWD_JOBS);
    for (size_t i = 0; i < CROWD; i++)
        for (size_t j = 0; j < CROWD_JOBS; j++)
            assert_true(members[i].jobs[j].n_done == 1 && members[i].jobs[j].is_bound);
    lab_close(&lab);
}

static void test_names(void **state) {
    assert_string_equal(mirror_kind_name(MIRROR_NODES), "nodes");
    assert_string_equal(mirror_kind_name(MIRROR_PODS), "pods");
    assert_null(mirror_free(NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_published_before_all_is_known),
        cmocka_unit_test(test_an_empty_cluster_is_published),
        cmocka_unit_test(test_events_are_published_in_turns),
        cmocka_unit_test(test_bound_pods_are_told),
        cmocka_unit_test(test_binding),
        cmocka_unit_test(test_a_failed_bind_is_taken_back),
        cmocka_unit_test(test_binding_before_the_cluster_is_known),
        cmocka_unit_test(test_the_end_with_jobs_under_way),
        cmocka_unit_test(test_what_is_known_stays_while_the_server_is_gone),
        cmocka_unit_test(test_objects_that_cannot_be_read),
        cmocka_unit_test(test_touching),
        cmocka_unit_test(test_a_snapshot_that_is_not_taken),
        cmocka_unit_test(test_a_silent_watch_proves_nothing),
        cmocka_unit_test(test_flapping_is_not_told_each_time),
        cmocka_unit_test(test_waiting_that_fails_is_told_once),
        cmocka_unit_test(test_binding_by_lease),
        cmocka_unit_test(test_somebody_else_holds_the_lease),
        cmocka_unit_test(test_the_end_of_who_holds_the_lease),
        cmocka_unit_test(test_stopping),
        cmocka_unit_test(test_stopping_takes_too_long),
        cmocka_unit_test(test_many_threads),
        cmocka_unit_test(test_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
