/* Hours of the demo in its own time: kube-scheduler's model and berth's verdicts, without HTTP. */

#include <stdlib.h>

#include "base/diag.h"
#include "base/test-assert.h"
#include "demo/demo-cluster.h"
#include "demo/demo-scheduler.h"
#include "extender/view.h"
#include "input/policies.h"
#include "scheduler/queues.h"

#define NOW INT64_C(1767323045) /* 2026-01-02T03:04:05Z */
#define HOUR (3600 * NSEC_PER_SEC / DEMO_TICK_NSEC)
#define HOURS 2

typedef struct Hours {
    DemoCluster *cluster;
    Program *program;
    View *view;
    ClusterState *state;
    Scheduler *scheduler;
    bool is_current;        /* of view and state */
    size_t n_late;          /* pods that were placed after they were pending */
    size_t n_most;          /* pending pods at a time */
    size_t sum[HOURS];      /* of pending pods, over the ticks of an hour */
    size_t n_without;       /* ticks at which no pod was pending that others can make room for */
    int64_t tried[1 << 18]; /* by pod: tick of the last attempt */
} Hours;

static int filter(void *context, const Pod *pod, int64_t now_nsec, const uint32_t *rows, size_t n,
    Arena *arena, const uint16_t **ret_verdicts) {
    const Hours *hours = context;
    RequestTime time = {.now_nsec = now_nsec, .scratch = arena};
    NodeSet nodes = {.table = hours->view->table, .facts = &hours->view->facts};
    uint16_t *verdicts = ARENA_ARRAY(arena, uint16_t, n + 1);
    JudgeInput input;
    Judge *judge = NULL;

    assert_non_null(verdicts);
    input = view_judge_input(hours->view, &time, &nodes, pod, rows, n, arena);
    assert_int_equal(judge_open(&input, &judge), 0);
    assert_int_equal(judge_filters(judge, verdicts), 0);
    *ret_verdicts = verdicts;
    return 0;
}

/* Updates view and state, which are what kube-scheduler sees. */
static void update_view(Hours *hours) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    SchedulerOptions options = demo_scheduler_options(1);
    SchedulerExtender extender = {
        .context = hours, .n_reasons = hours->program->n_filters, .filter = filter};
    ViewParts parts = {.program = hours->program, .now_nsec = NOW * NSEC_PER_SEC};
    ClusterState *state = NULL;
    View *view = NULL;

    assert_int_equal(demo_cluster_snapshot(hours->cluster, &snapshot), 0);
    parts.snapshot = snapshot;
    assert_int_equal(view_new(&parts, hours->view, &view), 0);
    assert_int_equal(cluster_state_new(view->table, NULL, &state), 0);
    cluster_state_add_table_pods(state);
    if (hours->scheduler)
        assert_int_equal(scheduler_set_cluster(hours->scheduler, state), 0);
    else
        assert_int_equal(scheduler_new(&options, state, extender, &hours->scheduler), 0);
    cluster_state_free(hours->state);
    view_unref(hours->view);
    hours->state = state;
    hours->view = view;
    hours->is_current = true;
}

static void try_pod(Hours *hours, const DemoPod *pod, int64_t tick) {
    PodRequest request = *pod->template;
    Choice choice;
    char error[256];

    assert_true(pod->number < ELEMENTS_OF(hours->tried));
    if (pod->n_attempts > 1) /* else a page says that kube-scheduler should have tried it */
        assert_true((tick - hours->tried[pod->number]) * DEMO_TICK_NSEC <= PENDING_FLUSH_NSEC);
    hours->tried[pod->number] = tick;
    if (!hours->is_current)
        update_view(hours);
    request.pod = pod->model;
    assert_int_equal(
        scheduler_choose(hours->scheduler, &request, NOW * NSEC_PER_SEC, NO_ROW, &choice), 0);
    if (choice.row == NO_ROW)
        return;
    hours->n_late += pod->n_attempts > 1;
    demo_cluster_bind(hours->cluster,
        &(BindArgs){pod->model.name, pod->model.namespace, pod->model.uid,
            hours->view->table->names->names[choice.row]},
        error, sizeof(error));
    assert_string_equal(error, "");
    hours->is_current = false;
}

/* Counts pending pods that get a node when others end: all but those without the toleration. */
static size_t count_hopeful(const DemoCluster *cluster, const DemoClusterCounts *figures) {
    return figures->n_pending -
           figures->pending[demo_workloads_find(demo_cluster_workloads(cluster), STR("render"))
                                ->number];
}

static void run(Hours *hours) {
    for (int64_t tick = 0; tick < HOURS * HOUR; tick++) {
        DemoClusterCounts figures;
        const DemoPod *pod;

        assert_int_equal(demo_cluster_create_pod(hours->cluster, NULL, 0, NOW, &pod), 0);
        hours->is_current = false;
        while ((pod = demo_cluster_due_pod(hours->cluster)))
            try_pod(hours, pod, tick);
        demo_cluster_count(hours->cluster, &figures);
        hours->sum[tick / HOUR] += figures.n_pending;
        hours->n_without += count_hopeful(hours->cluster, &figures) == 0;
        if (figures.n_pending > hours->n_most)
            hours->n_most = figures.n_pending;
    }
}

static void load_policy(Hours *hours) {
    static const char *const path = TEST_DATA "/../../policies/demo.yaml";
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)16 * 1024 * 1024);
    DiagList diags = DIAG_LIST_IN(arena);

    assert_int_equal(policies_load(&path, 1, &diags, &hours->program), 0);
}

/* One of 20 pods never finds a node and is deleted after 40 s: there are always eight of these. The
 * number of other pending pods does not grow over hours. */
static void test_pending_pods_come_and_go_for_hours(void **state) {
    static const struct {
        size_t n_nodes;
        uint64_t seed;
    } cases[] = {{200, 1}, {20, 3}};

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Hours *hours = calloc(1, sizeof(*hours));

        assert_non_null(hours);
        load_policy(hours);
        assert_int_equal(
            demo_cluster_new(cases[i].n_nodes, cases[i].seed, NOW, &hours->cluster), 0);
        assert_int_equal(demo_cluster_use_gpus(hours->cluster), 0);
        run(hours);
        print_message("%zu nodes: %.1f pods pending on average, at most %zu; %zu placed late\n",
            cases[i].n_nodes, (double)hours->sum[HOURS - 1] / (double)HOUR, hours->n_most,
            hours->n_late);
        assert_in_range(hours->n_most, 10, 30);
        assert_true(hours->n_late >= 100);
        assert_true(hours->n_without > HOUR / 4);
        assert_true(hours->sum[HOURS - 1] < hours->sum[0] + HOUR); /* one pod more on average */
        scheduler_free(hours->scheduler);
        cluster_state_free(hours->state);
        view_unref(hours->view);
        program_unref(hours->program);
        demo_cluster_free(hours->cluster);
        free(hours);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pending_pods_come_and_go_for_hours),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
