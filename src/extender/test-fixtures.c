/*
 * Requests that a real kube-scheduler v1.36.4 sent (test/data/wire/fixtures), in both node modes.
 * Without a policy, berth's replies equal the recorder's; with one, they follow from the policy.
 *
 * berth's cluster has the Node objects of the whole-node requests.
 */

#include <stdio.h>
#include <stdlib.h>

#include "base/test-assert.h"
#include "cluster/store.h"
#include "extender/test-reply.h"
#include "extender/verbs.h"
#include "model/node.h"
#include "policy/test-scene.h"
#include "json/read.h"

#define FOLDER TEST_DATA "/wire/fixtures/"
#define N0 "node-00000.pool-0.example.internal"
#define N1 "node-00001.pool-1.example.internal"
#define N2 "node-00002.pool-2.example.internal"
#define N3 "node-00003.pool-3.example.internal"
#define N4 "node-00004.pool-4.example.internal"

/* Rejects zone c, and nodes without enough GPUs. */
static const char policy_text[] =
    "policy:\n"
    "  filters:\n"
    "    - name: gpu\n"
    "      headroom: {nvidia.com/gpu: 0}\n"
    "      reason: not so many gpus\n"
    "    - name: zone\n"
    "      nodeLabels: {topology.kubernetes.io/zone: {notIn: [eu-west-1c]}}\n"
    "      reason: zone is closed\n"
    "      unresolvable: true\n"
    "    - {name: up, nodeReady: true}\n"
    "    - {name: taints, tolerations: true}\n"
    "  scores:\n"
    "    - name: pool\n"
    "      nodeLabelPreference:\n"
    "        {key: example.com/node-pool, values: {pool-0: 100, pool-4: 42}, otherwise: 3}\n";

typedef struct Fixture {
    Arena *arena;
    TestScene scene;
    Snapshot *snapshot;
    View *open, *closed; /* without a policy, and with the one above */
} Fixture;

static Str fixture_body(const Fixture *fixture, const char *name) {
    char path[512];

    (void)snprintf(path, sizeof(path), FOLDER "%s.json", name);
    return scene_read(path, fixture->arena);
}

/* --- the cluster -------------------------------------------------------------------- */

static void add_nodes(Fixture *fixture, const char *name, Store *store) {
    JsonReader reader;
    Str key;

    json_reader_init(&reader, fixture_body(fixture, name));
    json_object(&reader);
    while (json_key(&reader, &key)) {
        if (!str_is(key, "Nodes")) {
            json_skip(&reader, NULL);
            continue;
        }
        json_object(&reader);
        while (json_key(&reader, &key)) {
            if (!str_is(key, "items")) {
                json_skip(&reader, NULL);
                continue;
            }
            json_array(&reader);
            while (json_element(&reader)) {
                Node node;

                node_decode(&reader, fixture->arena, &node);
                assert_true(store_apply_node(store, &node) == 0);
            }
        }
    }
    assert_int_equal(json_error(&reader), JSON_OK);
}

static int setup(void **state) {
    _cleanup_(store_freep) Store *store = store_new();
    Fixture *fixture = calloc(1, sizeof(*fixture));
    DiagList diags = {0};
    Program *nothing;

    fixture->arena = arena_new((size_t)64 << 20);
    diags.arena = fixture->arena;
    scene_init_text(&fixture->scene, policy_text);
    add_nodes(fixture, "filter-nodecache-false", store);
    add_nodes(fixture, "filter-nodecache-false-gpu", store);
    assert_int_equal(store_publish(store, &fixture->snapshot), 0);
    assert_int_equal(snapshot_table(fixture->snapshot)->n_rows, 5);
    assert_int_equal(program_compile(NULL, 0, &diags, &nothing), 0);
    assert_int_equal(view_new(&(ViewParts){.snapshot = fixture->snapshot, .program = nothing},
                         /* before= */ NULL, &fixture->open),
        0);
    assert_int_equal(
        view_new(&(ViewParts){.snapshot = fixture->snapshot, .program = fixture->scene.program},
            /* before= */ NULL, &fixture->closed),
        0);
    program_unref(nothing);
    *state = fixture;
    return 0;
}

static int teardown(void **state) {
    Fixture *fixture = *state;

    view_unref(fixture->open);
    view_unref(fixture->closed);
    snapshot_unref(fixture->snapshot);
    scene_done(&fixture->scene);
    arena_free(fixture->arena);
    free(fixture);
    return 0;
}

static Str answer_text(const Fixture *fixture, const Answer *answer) {
    assert_int_equal(answer->status, 200);
    return reply_text(&answer->body, fixture->arena);
}

/* --- filter ------------------------------------------------------------------------- */

/* Passing nodes are returned byte for byte as in the request. */
static void check_bytes(Str body, const FilterReply *reply) {
    for (size_t i = 0; i < reply->passed.n; i++)
        assert_non_null(memmem(
            body.ptr, body.len, reply->passed.items[i].raw.ptr, reply->passed.items[i].raw.len));
}

static void check_names(const char *name, const ReplyNodes *nodes, const char *const *wanted) {
    for (size_t i = 0; i < nodes->n; i++)
        assert_text(name, nodes->items[i].name, wanted[i] ? wanted[i] : "(none)");
    assert_case(name, wanted[nodes->n] == NULL);
}

static void filter(const Fixture *fixture, const View *view, const char *name, FilterReply *ret) {
    Str body = fixture_body(fixture, name);
    Answer answer;

    extender_filter(view, /* time= */ NULL, body, fixture->arena, &answer);
    assert_case(name, reply_filter(answer_text(fixture, &answer), fixture->arena, ret));
    assert_case(name, str_is_empty(ret->error));
    assert_case(name, ret->has_names == (memmem(name, strlen(name), "-true", 5) != NULL));
    check_bytes(body, ret);
}

static void test_filter_of_recorded_requests(void **state) {
    static const struct {
        const char *name;
        const char *candidates[6], *passed[6], *closed[6], *short_of_gpus[6];
    } cases[] = {
        {"filter-nodecache-true", {N0, N2, N4}, {N0, N4}, {N2}, {NULL}},
        {"filter-nodecache-false", {N4, N0, N2}, {N4, N0}, {N2}, {NULL}},
        {"filter-nodecache-true-affinity", {N0, N1, N4, N3}, {N0, N1, N4, N3}, {NULL}, {NULL}},
        {"filter-nodecache-false-affinity", {N4, N0, N1, N3}, {N4, N0, N1, N3}, {NULL}, {NULL}},
        {"filter-nodecache-true-gpu", {N1, N3}, {N1, N3}, {NULL}, {NULL}},
        {"filter-nodecache-false-gpu", {N1, N3}, {N1, N3}, {NULL}, {NULL}},
        {"filter-nodecache-true-nominated", {N3}, {N3}, {NULL}, {NULL}},
        {"filter-nodecache-false-nominated", {N3}, {N3}, {NULL}, {NULL}},
        {"filter-nodecache-true-https", {N2, N4, N0}, {N4, N0}, {N2}, {NULL}},
        {"filter-nodecache-true-managed-resource", {N0, N1, N2, N3, N4}, {NULL}, {N2},
            {N0, N1, N3, N4}},
    };
    const Fixture *fixture = *state;

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        const char *name = cases[i].name;
        ReplyNodes short_of_gpus = {0};
        FilterReply reply;

        filter(fixture, fixture->open, name, &reply);
        check_names(name, &reply.passed, cases[i].candidates);
        assert_case(name, reply.failed.n + reply.unresolvable.n == 0);

        filter(fixture, fixture->closed, name, &reply);
        check_names(name, &reply.passed, cases[i].passed);
        check_names(name, &reply.unresolvable, cases[i].closed);
        for (size_t k = 0; k < reply.failed.n; k++) {
            const ReplyNode *node = &reply.failed.items[k];

            if (str_is(node->reason, "not so many gpus"))
                *VEC_PUSH(&short_of_gpus, fixture->arena) = *node;
            else
                assert_text(name, node->reason, "zone is closed");
        }
        check_names(name, &short_of_gpus, cases[i].short_of_gpus);
        assert_case(name, reply.failed.n == short_of_gpus.n + reply.unresolvable.n);
    }
}

/* The recorder passed every node, like berth without rules. */
static void test_filter_without_policy_replies_like_the_recorder(void **state) {
    static const char *const names[] = {
        "filter-nodecache-true",
        "filter-nodecache-true-affinity",
        "filter-nodecache-true-gpu",
        "filter-nodecache-true-nominated",
        "filter-nodecache-true-managed-resource",
    };
    const Fixture *fixture = *state;

    for (size_t i = 0; i < ELEMENTS_OF(names); i++) {
        char recorded[128];
        FilterReply reply;
        Str text;

        filter(fixture, fixture->open, names[i], &reply);
        (void)snprintf(recorded, sizeof(recorded), "%s.reply", names[i]);
        text = fixture_body(fixture, recorded);
        for (size_t k = 0; k < reply.passed.n; k++)
            assert_case(names[i], memmem(text.ptr, text.len, reply.passed.items[k].raw.ptr,
                                      reply.passed.items[k].raw.len));
        assert_case(names[i], reply.passed.n > 0);
    }
}

/* --- prioritize ----------------------------------------------------------------------- */

static void test_prioritize_of_recorded_requests(void **state) {
    static const struct {
        const char *name, *closed;
    } cases[] = {
        {"prioritize-nodecache-true",
            "[{\"Host\":\"" N0 "\",\"Score\":10},{\"Host\":\"" N4 "\",\"Score\":4}]"},
        {"prioritize-nodecache-false",
            "[{\"Host\":\"" N4 "\",\"Score\":4},{\"Host\":\"" N0 "\",\"Score\":10}]"},
        {"prioritize-nodecache-true-https",
            "[{\"Host\":\"" N4 "\",\"Score\":4},{\"Host\":\"" N0 "\",\"Score\":10}]"},
        /* These bodies were recorded from filter; prioritize has the same arguments. */
        {"filter-nodecache-true-affinity",
            "[{\"Host\":\"" N0 "\",\"Score\":10},{\"Host\":\"" N4 "\",\"Score\":4}]"},
        {"filter-nodecache-false-affinity",
            "[{\"Host\":\"" N4 "\",\"Score\":4},{\"Host\":\"" N0 "\",\"Score\":10}]"},
        {"filter-nodecache-true-gpu", "[]"},
        {"filter-nodecache-false-gpu", "[]"},
    };
    const Fixture *fixture = *state;

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Str body = fixture_body(fixture, cases[i].name);
        Answer answer;

        extender_prioritize(fixture->open, /* time= */ NULL, body, fixture->arena, &answer);
        assert_text(cases[i].name, answer_text(fixture, &answer), "[]");
        extender_prioritize(fixture->closed, /* time= */ NULL, body, fixture->arena, &answer);
        assert_text(cases[i].name, answer_text(fixture, &answer), cases[i].closed);
    }
}

/* --- preempt and bind -------------------------------------------------------------------- */

static void test_preempt_of_recorded_requests(void **state) {
    static const struct {
        const char *name, *recorded;
    } cases[] = {
        {"preempt-nodecache-true", "preempt-nodecache-true.reply"},
        {"preempt-nodecache-false", "preempt-nodecache-false.reply"},
        {"preempt-nodecache-true-https", NULL},
    };
    const Fixture *fixture = *state;

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Str body = fixture_body(fixture, cases[i].name);
        Answer answer;
        ReplyCandidates candidates;
        Str text;

        extender_preempt(fixture->open, /* time= */ NULL, body, fixture->arena, &answer);
        text = answer_text(fixture, &answer);
        if (cases[i].recorded)
            assert_text(cases[i].name, text, fixture_body(fixture, cases[i].recorded).ptr);
        assert_true(reply_candidates(text, fixture->arena, &candidates));
        assert_int_equal(candidates.n, 2);

        extender_preempt(
            fixture->closed, /* time= */ NULL, body, fixture->arena, &answer); /* zones a and b */
        assert_true(reply_candidates(answer_text(fixture, &answer), fixture->arena, &candidates));
        assert_int_equal(candidates.n, 2);
        for (size_t k = 0; k < candidates.n; k++)
            assert_int_equal(candidates.items[k].uids.n, 2);
    }
}

static void test_bind_of_recorded_requests(void **state) {
    static const char *const names[] = {
        "bind-nodecache-true", "bind-nodecache-false", "bind-nodecache-true-https"};
    const Fixture *fixture = *state;

    for (size_t i = 0; i < ELEMENTS_OF(names); i++) {
        BindArgs args;
        Answer answer;

        assert_true(
            extender_bind_request(fixture_body(fixture, names[i]), fixture->arena, &args, &answer));
        assert_text(names[i], args.pod_name, "plain-pod");
        assert_text(names[i], args.pod_namespace, "team-a");
        assert_case(names[i], args.pod_uid.len == 36);
        assert_case(names[i], str_has_suffix(args.node, STR(".example.internal")));
        extender_bind_reply(&args, STR_NULL, fixture->arena, &answer);
        assert_text(names[i], answer_text(fixture, &answer),
            fixture_body(fixture, "bind-nodecache-true.reply").ptr);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filter_of_recorded_requests),
        cmocka_unit_test(test_filter_without_policy_replies_like_the_recorder),
        cmocka_unit_test(test_prioritize_of_recorded_requests),
        cmocka_unit_test(test_preempt_of_recorded_requests),
        cmocka_unit_test(test_bind_of_recorded_requests),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
