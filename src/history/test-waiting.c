#include "history/waiting.h"

#include <stdio.h>

#include "history/test-stage.h"

static void open_stage(Stage *stage) {
    stage_init(stage, "nodes:\n  n1: {}\n");
    stage->decisions = decisions_new(20000, STAGE_ROOM);
}

static void note(Stage *stage, Verb verb, const char *uid, size_t n_out, const char *error) {
    const Decision decision = {
        .pod_namespace = STR("default"),
        .pod_name = STR("p"),
        .pod_uid = str_from_c(uid),
        .summary = {.n_in = 1, .n_out = n_out},
        .error = str_from_c(error),
    };

    decisions_note(stage->decisions, stage->view, verb, &decision, (PastTimes){.at_nsec = 1});
}

/* Each step, and how many wait after it. */
static const struct {
    const char *name;
    Verb verb;
    const char *uid;
    size_t n_out;
    const char *error;
    size_t n_waiting;
} steps[] = {
    {"it passes", VERB_FILTER, "a", 1, "", 0},
    {"no node is left", VERB_FILTER, "b", 0, "", 1},
    {"what preempt says does not matter", VERB_PREEMPT, "b", 1, "", 1},
    {"the same again", VERB_FILTER, "b", 0, "", 1},
    {"another", VERB_FILTER, "c", 0, "", 2},
    {"one that could not be read", VERB_FILTER, "d", 0, "no pod", 2},
    {"a bind that failed", VERB_BIND, "c", 0, "gone", 2},
    {"one that is placed", VERB_BIND, "c", 0, "", 1},
    {"the next try finds a node", VERB_FILTER, "b", 1, "", 0},
    {"without a UID", VERB_FILTER, "", 0, "", 1},
};

static void test_steps(void **state) {
    Stage stage;

    (void)state;
    open_stage(&stage);
    assert_int_equal(waiting_count(NULL), 0);
    assert_int_equal(waiting_count(stage.decisions), 0);
    for (size_t i = 0; i < ELEMENTS_OF(steps); i++) {
        note(&stage, steps[i].verb, steps[i].uid, steps[i].n_out, steps[i].error);
        assert_case(steps[i].name, waiting_count(stage.decisions) == steps[i].n_waiting);
    }
    stage_done(&stage);
}

static void test_many(void **state) {
    Stage stage;
    char uid[16];

    (void)state;
    open_stage(&stage);
    for (unsigned i = 0; i < 12000; i++) {
        (void)snprintf(uid, sizeof(uid), "u%u", i);
        note(&stage, VERB_FILTER, uid, i % 2, "");
    }
    /* of the newest 10,000, rounded up to what is read at once */
    assert_in_range(waiting_count(stage.decisions), 5000, 5032);
    stage_done(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
