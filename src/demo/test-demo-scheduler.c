#include "demo/demo-scheduler.h"

#include <stdio.h>

#include "base/test-assert.h"
#include "http/server.h"

static void test_prints_reasons_within_a_width(void **state) {
    static const Placement placement = {
        .n_reasons = 3,
        .reasons = {{STR("too far"), 87}, {STR("too small"), 12}, {STR("too new"), 1}},
    };
    static const struct {
        const char *name;
        size_t width;
        const char *text;
    } cases[] = {
        {"all of them", 100, "87 too far, 12 too small, 1 too new"},
        {"exactly", 35, "87 too far, 12 too small, 1 too new"},
        {"two", 34, "87 too far, 12 too small, +1 more"},
        {"one", 30, "87 too far, +2 more"},
        {"one at least", 0, "87 too far, +2 more"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Buf out = BUF_INIT(1024);

        placement_print_reasons(&placement, cases[i].width, &out);
        assert_text(cases[i].name, buf_str(&out), cases[i].text);
        buf_done(&out);
    }
}

typedef struct FakeExtender {
    Str replies[_VERB_MAX];
} FakeExtender;

static bool admit(void *context, const HttpRequest *request, HttpReply *reply) {
    return true;
}

static void handle(void *context, const HttpRequest *request, HttpReply *reply) {
    FakeExtender *fake = context;

    for (Verb verb = 0; verb < _VERB_MAX; verb++)
        if (str_is(str_skip(request->path, 1), verb_name(verb)))
            *reply = (HttpReply){.status = 200, .slices = &fake->replies[verb], .n_slices = 1};
}

static void place(const char *filter, const char *prioritize, const char *bind, Placement *ret,
    char node[static 64], char error[static 64]) {
    FakeExtender fake = {
        .replies = {[VERB_FILTER] = str_from_c(filter),
            [VERB_PRIORITIZE] = str_from_c(prioritize),
            [VERB_BIND] = str_from_c(bind)},
    };
    const ServerCallbacks callbacks = {.context = &fake, .admit = admit, .handle = handle};
    ServerOptions options = server_default_options();
    char url[SERVER_URL_MAX];
    Server *server;
    _cleanup_(demo_scheduler_freep) DemoScheduler *scheduler = NULL;
    _cleanup_(demo_cluster_freep) DemoCluster *cluster = NULL;
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    const DemoPod *pod;

    options.port = 0;
    assert_int_equal(server_new(&options, &callbacks, &server), 0);
    assert_int_equal(demo_scheduler_new(server_url(server, url), 1, &scheduler), 0);
    assert_int_equal(demo_cluster_new(20, 1, /* now_sec= */ 0, &cluster), 0);
    assert_int_equal(demo_cluster_create_pod(cluster, NULL, 0, /* now_sec= */ 0, &pod), 0);
    assert_int_equal(demo_cluster_snapshot(cluster, &snapshot), 0);
    assert_int_equal(demo_scheduler_place(scheduler, pod, snapshot_table(snapshot), ret), 0);
    (void)snprintf(node, 64, "%.*s", STR_FMT(ret->node));
    (void)snprintf(error, 64, "%.*s", STR_FMT(ret->error));
    server_free(server);
}

static void test_follows_the_replies_of_the_extender(void **state) {
    static const char passed[] = "{\"NodeNames\":[\"general-b-000\",\"general-a-002\"],"
                                 "\"FailedNodes\":{\"general-b-014\":\"too far\"}}";
    static const char scores[] = "[{\"Host\":\"general-a-002\",\"Score\":10},"
                                 "{\"Host\":\"general-b-000\",\"Score\":1}]";
    Placement placement;
    char node[64], error[64];

    (void)state;
    place(passed, scores, "{}", &placement, node, error);
    assert_string_equal(node, "general-a-002");
    assert_int_equal(placement.n_passed, 2);
    assert_int_equal(placement.score, 10);
    assert_int_equal(placement.n_reasons, 1);
    place(passed, scores, "{\"Error\":\"full\"}", &placement, node, error);
    assert_string_equal(node, "");
    assert_string_equal(error, "full");
    place("{\"NodeNames\":[\"stranger\"]}", scores, "{}", &placement, node, error);
    assert_string_equal(node, "");
    place("{\"NodeNames\":[]}", scores, "{}", &placement, node, error);
    assert_string_equal(node, "");
    assert_true(placement.nsec[VERB_PRIORITIZE] == 0);
}

/* Without a server the error is reported, and differs from a rejection. */
static void test_reports_a_call_without_reply(void **state) {
    DemoScheduler *scheduler = NULL;
    DemoCluster *cluster = NULL;
    Snapshot *snapshot = NULL;
    const DemoPod *pod;
    Placement placement;

    (void)state;
    assert_int_equal(demo_scheduler_new("http://127.0.0.1:1", 1, &scheduler), 0);
    assert_int_equal(demo_cluster_new(20, 1, /* now_sec= */ 0, &cluster), 0);
    assert_int_equal(demo_cluster_create_pod(cluster, NULL, 0, /* now_sec= */ 0, &pod), 0);
    assert_int_equal(demo_cluster_snapshot(cluster, &snapshot), 0);
    assert_int_equal(demo_scheduler_place(scheduler, pod, snapshot_table(snapshot), &placement), 0);
    assert_true(placement.is_cut_off);
    assert_true(placement.n_candidates > 0);
    assert_true(str_is_empty(placement.node));
    assert_false(str_is_empty(placement.error));
    snapshot_unref(snapshot);
    demo_cluster_free(cluster);
    demo_scheduler_free(scheduler);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prints_reasons_within_a_width),
        cmocka_unit_test(test_follows_the_replies_of_the_extender),
        cmocka_unit_test(test_reports_a_call_without_reply),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
