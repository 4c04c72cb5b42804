/* The guessed node, by each score that the guess computes. */

#include "scheduler/guess.h"

#include <stdio.h>

#include "base/test-assert.h"
#include "cluster/store.h"
#include "policy/test-scene.h"

#define GUESS_NODES 2u

typedef struct Case {
    const char *name;
    const char *nodes; /* a and b, as in a scene */
    const char *pods;
    const char *pod;             /* fields of the pod's JSON */
    uint8_t scores[GUESS_NODES]; /* the extender's; both 0: none */
    size_t want;
} Case;

#define EQUAL "{a: {allocatable: {cpu: 4, memory: 8Gi}}, b: {allocatable: {cpu: 4, memory: 8Gi}}}"
#define SPEC(requests)                                                                             \
    "\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{" requests "}}}]"
#define REQUESTS SPEC("\"cpu\":\"500m\",\"memory\":\"1Gi\"")
#define OWNED                                                                                      \
    "\"metadata\":{\"name\":\"p\",\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":"      \
    "\"ReplicaSet\",\"name\":\"r\",\"uid\":\"r-1\",\"controller\":true}]},"

static const Case cases[] = {
    {"the first of equals", EQUAL, "[]", REQUESTS "}", {0}, 0},
    {"least allocated", EQUAL, "[{on: a, requests: {cpu: 1, memory: 2Gi}}]", REQUESTS "}", {0}, 1},
    {"larger node",
        "{a: {allocatable: {cpu: 4, memory: 8Gi}}, b: {allocatable: {cpu: 8, memory: 16Gi}}}", "[]",
        REQUESTS "}", {0}, 1},
    {"pods without requests count", EQUAL, "[{on: a}]", SPEC("") "}", {0}, 1},
    {"balanced", EQUAL, "[{on: a, requests: {cpu: 1}}, {on: b, requests: {memory: 2Gi}}]",
        SPEC("\"cpu\":\"1\"") "}", {0}, 1},
    {"preferred affinity",
        "{a: {allocatable: {cpu: 4, memory: 8Gi}}, b: {labels: {disk: ssd}, allocatable: {cpu: 4, "
        "memory: 8Gi}}}",
        "[{on: b, requests: {cpu: 1, memory: 2Gi}}]",
        REQUESTS
        ",\"affinity\":{\"nodeAffinity\":{"
        "\"preferredDuringSchedulingIgnoredDuringExecution\":[{\"weight\":1,\"preference\":{"
        "\"matchExpressions\":[{\"key\":\"disk\",\"operator\":\"In\",\"values\":[\"ssd\"]}]}}]"
        "}}}",
        {0}, 1},
    {"taint PreferNoSchedule",
        "{a: {taints: [{key: old, effect: PreferNoSchedule}], allocatable: {cpu: 4, memory: 8Gi}}, "
        "b: {allocatable: {cpu: 4, memory: 8Gi}}}",
        "[{on: b, requests: {cpu: 1, memory: 2Gi}}]", REQUESTS "}", {0}, 1},
    {"pods of the owner", EQUAL,
        "[{on: a, owner: r-1, requests: {cpu: 1m, memory: 1Mi}}, "
        "{on: b, requests: {cpu: 200m, memory: 400Mi}}]",
        OWNED REQUESTS "}", {0}, 1},
    {"scores of the extender", EQUAL, "[{on: b, requests: {cpu: 1, memory: 2Gi}}]", REQUESTS "}",
        {0, 10}, 1},
};

static void test_guesses_the_best_node(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new((size_t)16 << 20);
        const Case *each = &cases[i];
        const uint32_t *rows;
        uint32_t both[GUESS_NODES];
        GuessInput input;
        PodRequest request;
        JsonReader reader;
        TestScene scene;

        scene_init_text(&scene, arena_printf(arena, "policy: {filters: []}\nnodes: %s\npods: %s\n",
                                    each->nodes, each->pods)
                                    .ptr);
        json_reader_init(&reader, arena_printf(arena, "{%s}", each->pod));
        pod_request_decode(&reader, arena, &request);
        assert_case(each->name, json_error(&reader) == JSON_OK);
        both[0] = table_find(&scene.table, STR("a"));
        both[1] = table_find(&scene.table, STR("b"));
        rows = both;
        input = (GuessInput){.table = &scene.table, .rows = rows, .n = 2, .request = &request};
        if (each->scores[0] || each->scores[1])
            input.scores = each->scores;
        assert_case(each->name, guess_choose(&input, arena) == each->want);
        scene_done(&scene);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_guesses_the_best_node)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
