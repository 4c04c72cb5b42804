#pragma once

/*
 * World: a cluster that changes, policies and pods at random, for tests of what is remembered and
 * made again. Everything takes the way of real input; the same seed gives the same world.
 */

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/diag.h"
#include "base/rng.h"
#include "base/test-assert.h"
#include "cluster/store.h"
#include "extender/verbs.h"
#include "extender/view.h"

#define WORLD_BUDGET ((size_t)64 << 20)
#define WORLD_SEC INT64_C(1000000000)
#define WORLD_NOW_SEC INT64_C(1767323045) /* 2026-01-02T03:04:05Z */

typedef struct World {
    Rng rng;
    unsigned n_nodes;
    unsigned n_pods; /* so far */
    bool is_calm;    /* no pods were placed a moment ago, and time goes by slowly */
    Store *store;
    Program *program;
    Measurements *measurements;
    View *view;
    int64_t elapsed_nsec;
} World;

static inline unsigned world_roll(World *world, unsigned sides) {
    return (unsigned)rng_pick(&world->rng, sides);
}

static inline int64_t world_now(const World *world) {
    return WORLD_NOW_SEC * WORLD_SEC + world->elapsed_nsec;
}

static inline int64_t world_uptime(const World *world) {
    return 1000 * WORLD_SEC + world->elapsed_nsec;
}

/* --- policies --------------------------------------------------------------------------------- */

/* What a policy is made of: chosen by the rng, or said by the test. */
typedef struct WorldPolicy {
    unsigned load_max; /* percent */
    unsigned free_milli;
    unsigned max_pods;
    unsigned narrow_to; /* 0: none */
    bool is_normalised;
    bool has_other_metric; /* one that nobody measured */
} WorldPolicy;

static inline WorldPolicy world_policy(World *world) {
    return (WorldPolicy){
        .load_max = 30 + world_roll(world, 60),
        .free_milli = world_roll(world, 3000),
        .max_pods = 2 + world_roll(world, 6),
        .narrow_to = world_roll(world, 3) == 0 ? 1 + world_roll(world, 40) : 0,
        .is_normalised = world_roll(world, 2),
    };
}

static inline Program *world_compile(const WorldPolicy *policy) {
    _cleanup_(arena_freep) Arena *arena = arena_new(WORLD_BUDGET);
    _cleanup_(buf_done) Buf text = BUF_INIT((size_t)1 << 16), messages = BUF_INIT(1 << 16);
    PolicySource source = {.file = STR("random.yaml")};
    DiagList diags = DIAG_LIST_IN(arena);
    Program *program = NULL;

    buf_printf(&text,
        "apiVersion: berth.dev/v1alpha1\nkind: PlacementPolicy\nmetadata: {name: cool}\nspec:\n"
        "  metrics:\n"
        "    - {name: load, prometheus: {query: load}, maxAge: 30s, placements: {resource: cpu, "
        "unit: fraction, settle: 60s, by: podCpu}}\n"
        "    - {name: podCpu, resourceMetrics: cpu, pods: {}, maxAge: 90s}\n"
        "    - {name: noted, annotation: {key: load}, maxAge: 40s}\n%s"
        "  filters:\n"
        "    - {name: hot, expression: 'metrics.load < %u.0 / 100.0', onMissing: allow}\n"
        "    - {name: noted, expression: 'metrics.noted < 0.9', onMissing: allow}\n"
        "    - {name: full, maxPods: %u, reason: too many pods}\n",
        policy->has_other_metric ? "    - {name: other, prometheus: {query: other}}\n" : "",
        policy->load_max, policy->max_pods);
    buf_printf(&text,
        "  scores:\n"
        "    - {name: idle, expression: 'node.free.cpu * 10.0', normalize: %s}\n"
        "    - {name: cold, expression: '100.0 - metrics.load * 100.0', onMissing: 20, weight: 3}\n"
        "    - {name: age, expression: 'double((now - "
        "node.metadata.creationTimestamp).getSeconds())"
        "'}\n%s",
        policy->is_normalised ? "minMax" : "none",
        policy->has_other_metric
            ? "    - {name: other, expression: 'metrics.other', onMissing: 50}\n"
            : "");
    if (policy->narrow_to > 0)
        buf_printf(&text, "  narrow: {to: %u}\n", policy->narrow_to);
    buf_printf(&text,
        "---\napiVersion: berth.dev/v1alpha1\nkind: PlacementPolicy\nmetadata: {name: room}\n"
        "spec:\n"
        "  filters:\n"
        "    - {name: ready, nodeReady: true, unresolvable: true}\n"
        "    - {name: free, expression: 'node.free.milliCPU >= %u', reason: no room}\n"
        "    - {name: zone, expression: 'node.metadata.labels[?\"zone\"] == "
        "pod.metadata.labels[?\"zone\"]'}\n",
        policy->free_milli);
    source.text = buf_str(&text);
    if (program_compile(&source, 1, &diags, &program) != 0) {
        diag_list_print(&diags, /* colour= */ false, &messages);
        fail_msg("%.*s", STR_FMT(buf_str(&messages)));
    }
    return program;
}

/* --- the cluster ------------------------------------------------------------------------------ */

static inline void world_apply_node(World *world, unsigned i) {
    char name[16], annotation[64];
    unsigned load = world_roll(world, 120);
    Label label = {STR("zone"), world_roll(world, 2) ? STR("a") : STR("b")};
    Label note = {STR("load"), STR_NULL};
    Resource resources[] = {{STR("cpu"), 4000}, {STR("memory"), INT64_C(8) << 30}};
    Node node = {
        .is_ready = world_roll(world, 10) > 0,
        .created_at = WORLD_NOW_SEC - (int64_t)world_roll(world, 90),
        .labels = {.items = &label, .n = 1},
        .annotations = {.items = &note, .n = world_roll(world, 2)},
        .allocatable = {.items = resources, .n = ELEMENTS_OF(resources)},
    };

    (void)snprintf(name, sizeof(name), "n%u", i);
    (void)snprintf(annotation, sizeof(annotation), "%u.%02u,2026-01-02T03:0%u:%02uZ", load / 100,
        load % 100, 3 + world_roll(world, 3), world_roll(world, 60));
    node.name = str_from_c(name);
    note.value = str_from_c(annotation);
    assert_int_equal(store_apply_node(world->store, &node), 0);
}

/* A pod that runs on a node, was promised one, or was bound a moment ago. */
static inline void world_apply_pod(World *world) {
    char name[16], node[16];
    Resource request = {STR("cpu"), 100 + world_roll(world, 900)};
    Pod pod = {
        .namespace = STR("default"),
        .owner_kind = STR("ReplicaSet"),
        .owner_name = STR("web"),
        .created_at = world_now(world) / WORLD_SEC - 5,
        .scheduled_at = world_now(world) / WORLD_SEC - (int64_t)world_roll(world, 100),
        .priority = world_roll(world, 2),
        .requests = {.items = &request, .n = 1},
    };

    (void)snprintf(name, sizeof(name), "p%u", world->n_pods++);
    (void)snprintf(node, sizeof(node), "n%u", world_roll(world, world->n_nodes));
    pod.name = pod.uid = str_from_c(name);
    if (world->is_calm)
        pod.scheduled_at = WORLD_NOW_SEC - 1000;
    switch (world->is_calm ? 2 : world_roll(world, 6)) {
    case 0:
        pod.nominated_node_name = str_from_c(node);
        break;
    case 1:
        assert_true(store_assume(world->store, &pod, str_from_c(node), INT64_MAX) >= 0);
        return;
    default:
        pod.node_name = str_from_c(node);
        break;
    }
    assert_true(store_apply_pod(world->store, &pod) >= 0);
}

/* Of some nodes, some of it a while ago; in the order of the program's gauges. */
static inline void world_measure(World *world, Snapshot *snapshot) {
    NodeNames *names = (NodeNames *)(uintptr_t)snapshot_table(snapshot)->names;
    Measurements *made = measurements_new(1, world->program->n_gauges);

    assert_non_null(made);
    for (size_t i = 0; i < made->n; i++) {
        const Gauge *gauge = &world->program->gauges[i];

        if (gauge->source == GAUGE_ANNOTATION || str_is(gauge->query, "other"))
            continue;
        made->items[i] = measurement_new(names, world_now(world), world_uptime(world));
        assert_non_null(made->items[i]);
        for (uint32_t row = 0; row < names->n_rows; row++)
            if (world_roll(world, 4) > 0)
                assert_int_equal(
                    measurement_set(made->items[i], row, world_roll(world, 100) / 100.0,
                        world_roll(world, 35) * WORLD_SEC),
                    0);
        if (gauge->is_of_pods) {
            assert_int_equal(measurement_reserve_workloads(made->items[i], 1), 0);
            assert_int_equal(
                measurement_set_workload(made->items[i], STR("default/ReplicaSet/web"), 0.25), 0);
        }
    }
    measurements_unref(world->measurements);
    world->measurements = made;
}

/* --- as time goes by -------------------------------------------------------------------------- */

/* A new view of what there is now, as the daemon makes it. */
static inline void world_publish(World *world, bool is_measured) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    View *before = world->view;

    assert_int_equal(store_publish(world->store, &snapshot), 0);
    if (is_measured)
        world_measure(world, snapshot);
    assert_int_equal(view_new(&(ViewParts){.snapshot = snapshot,
                                  .program = world->program,
                                  .measurements = world->measurements,
                                  .now_nsec = world_now(world),
                                  .uptime_nsec = world_uptime(world)},
                         before, &world->view),
        0);
    world->view->generation = before ? before->generation + 1 : 1;
    view_unref(before);
}

static inline void world_open(World *world, uint64_t seed, unsigned n_nodes) {
    WorldPolicy policy;

    *world = (World){
        .rng = {.state = seed},
        .n_nodes = n_nodes,
        .is_calm = seed % 2,
        .store = store_new(),
    };
    assert_non_null(world->store);
    policy = world_policy(world);
    world->program = world_compile(&policy);
    for (unsigned i = 0; i < n_nodes; i++)
        world_apply_node(world, i);
    for (unsigned i = 0; i < 2 * n_nodes; i++)
        world_apply_pod(world);
    world_publish(world, /* is_measured= */ true);
}

static inline void world_close(World *world) {
    view_unref(world->view);
    measurements_unref(world->measurements);
    program_unref(world->program);
    store_free(world->store);
}

/* Something happens, or only time goes by. */
static inline void world_step(World *world) {
    char name[16];

    world->elapsed_nsec += world_roll(world, 12) * (world->is_calm ? WORLD_SEC / 20 : WORLD_SEC);
    (void)snprintf(name, sizeof(name), "n%u", world_roll(world, world->n_nodes));
    switch (world_roll(world, 6)) {
    case 0:
        world_apply_node(world, world_roll(world, world->n_nodes));
        break;
    case 1:
        store_remove_node(world->store, str_from_c(name));
        break;
    case 2:
        (void)snprintf(name, sizeof(name), "p%u", world_roll(world, world->n_pods));
        store_remove_pod(world->store, STR("default"), str_from_c(name), STR_NULL);
        break;
    case 3:
        break;
    default:
        world_apply_pod(world);
        break;
    }
    world_publish(world, world_roll(world, 3) == 0);
}

/* A request about some of the nodes, in some order, unknown ones among them; in @arena. */
static inline Str world_request(World *world, unsigned pod, Arena *arena) {
    _cleanup_(buf_done) Buf body = BUF_INIT((size_t)1 << 24);
    unsigned first = world_roll(world, world->n_nodes), share = 1 + world_roll(world, 4);
    bool needs_comma = false;

    buf_printf(&body,
        "{\"Pod\":{\"metadata\":{\"namespace\":\"default\",\"name\":\"new%u\",\"uid\":\"new%u\","
        "\"labels\":{\"zone\":\"%s\"}},\"spec\":{\"priority\":%u,\"containers\":[{\"name\":\"c\","
        "\"resources\":{\"requests\":{\"cpu\":\"%um\"}}}]}},\"NodeNames\":[",
        pod, pod, pod % 3 ? "a" : "b", pod % 2, 100 + pod % 7 * 100);
    for (unsigned i = 0; i < world->n_nodes; i++) {
        if (world_roll(world, 4) >= share)
            continue;
        buf_printf(&body, "%s\"n%u\"", needs_comma ? "," : "", (first + i) % world->n_nodes);
        needs_comma = true;
    }
    if (world_roll(world, 4) == 0)
        buf_printf(&body, "%s\"gh\\u006fst\"", needs_comma ? "," : "");
    buf_append(&body, STR("]}"));
    return arena_copy(arena, buf_str(&body));
}

static inline void world_ask(
    const View *view, Verb verb, int64_t now_nsec, Str body, Arena *arena, Answer *ret) {
    const RequestTime time = {.now_nsec = now_nsec};

    if (verb == VERB_FILTER)
        extender_filter(view, &time, body, arena, ret);
    else
        extender_prioritize(view, &time, body, arena, ret);
    assert_int_equal(ret->status, 200);
    assert_non_null(ret->decision.args);
}
