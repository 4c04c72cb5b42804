#include "history/passes.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/test-assert.h"
#include "cluster/record.h"

#define WINDOW 1000
#define ROOM ((size_t)1024 * 1024)

static NodeNames *names_of(const char *const *texts, size_t n, const NodeNames *before) {
    Str names[16];
    NodeNames *made = NULL;

    assert_true(n <= ELEMENTS_OF(names));
    for (size_t i = 0; i < n; i++)
        names[i] = str_from_c(texts[i]);
    assert_int_equal(names_new(names, n, before, &made), 0);
    return made;
}

#define NAMES(before, ...)                                                                         \
    names_of((const char *const[]){__VA_ARGS__},                                                   \
        sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *),                               \
        (before))

/* A pod @uid whose name is @name. */
static Pod pod_of(const char *uid, const char *name) {
    return (Pod){.uid = str_from_c(uid), .name = str_from_c(name), .namespace = STR("default")};
}

static void keep(
    Passes *passes, const Pod *pod, const NodeNames *names, uint32_t row, int64_t now) {
    Pass *pass = pass_new(pod, names);

    assert_non_null(pass);
    pass_add(pass, row);
    passes_keep(passes, pass, now);
}

/* The outcome alone. */
static int look(
    Passes *passes, const char *uid, const char *node, const NodeNames *names, int64_t now) {
    _cleanup_(pod_record_unrefp) const Pod *pod = NULL;
    int r = passes_find(passes, str_from_c(uid), str_from_c(node), names, now, &pod);

    assert_int_equal(pod != NULL, r == 0);
    if (pod)
        assert_text("uid", pod->uid, uid);
    return r;
}

static PassesFigures figures_of(Passes *passes) {
    PassesFigures figures;

    passes_figures(passes, &figures);
    return figures;
}

static void test_outcomes(void **state) {
    static const struct {
        const char *name, *uid, *node;
        int64_t now;
        int want;
    } cases[] = {
        {"first row", "a", "n0", 100, 0},
        {"last row", "a", "n3", 100, 0},
        {"refused", "a", "n1", 100, PASSES_E_NODE},
        {"unknown node", "a", "nobody", 100, PASSES_E_NODE},
        {"no node", "a", "", 100, PASSES_E_NODE},
        {"another pod", "b", "n0", 100, PASSES_E_UNKNOWN},
        {"no pod", "", "n0", 100, PASSES_E_UNKNOWN},
        {"at the end of the window", "a", "n0", 100 + WINDOW, 0},
        {"late", "a", "n0", 101 + WINDOW, PASSES_E_LATE},
        {"late, and refused", "a", "n1", 101 + WINDOW, PASSES_E_NODE},
        {"nobody passed", "c", "n0", 100, PASSES_E_NODE},
    };
    _cleanup_(names_unrefp) NodeNames *names = NAMES(NULL, "n0", "n1", "", "n3");
    _cleanup_(passes_freep) Passes *passes = passes_new(8, ROOM, WINDOW);
    const Pod a = pod_of("a", "a"), c = pod_of("c", "c");
    Pass *pass = pass_new(&a, names);

    pass_add(pass, 0);
    pass_add(pass, 3);
    pass_add(pass, 4); /* the unknown node's */
    pass_add(pass, UINT32_MAX);
    passes_keep(passes, pass, 100);
    passes_keep(passes, pass_new(&c, names), 100);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        assert_case(cases[i].name,
            look(passes, cases[i].uid, cases[i].node, names, cases[i].now) == cases[i].want);
    assert_int_equal(figures_of(passes).n, 2);
    assert_int_equal(figures_of(passes).n_kept, 2);
}

/* A row that has changed hands says nothing about the node that has it now. */
static void test_rows_change_hands(void **state) {
    _cleanup_(names_unrefp) NodeNames *first = NAMES(NULL, "n0", "n1", "", "n3");
    _cleanup_(names_unrefp) NodeNames *second = NAMES(first, "n9", "n1", "", "n3", "n4");
    _cleanup_(names_unrefp) NodeNames *third = NAMES(second, "n0", "n1", "n9", "n3");
    _cleanup_(names_unrefp) NodeNames *fewer = NAMES(third, "n0");
    const struct {
        const char *name, *uid, *node;
        const NodeNames *names;
        int want;
    } cases[] = {
        {"same names", "early", "n0", first, 0},
        {"node stayed", "early", "n3", second, 0},
        {"row taken by another", "early", "n9", second, PASSES_E_NODE},
        {"node gone", "early", "n0", second, PASSES_E_NODE},
        {"row that was not there", "early", "n4", second, PASSES_E_NODE},
        {"node made anew", "early", "n0", third, PASSES_E_NODE},
        {"stayed twice", "early", "n3", third, 0},
        {"rows gone", "early", "n3", fewer, PASSES_E_NODE},
        {"names of then", "later", "n4", second, 0},
        {"older names cannot tell", "later", "n0", first, PASSES_E_NODE},
        {"older names, same node", "later", "n3", first, PASSES_E_NODE},
        {"node moved to another row", "later", "n9", third, PASSES_E_NODE},
    };
    _cleanup_(passes_freep) Passes *passes = passes_new(8, ROOM, WINDOW);
    const Pod early = pod_of("early", "early"), later = pod_of("later", "later");
    Pass *pass = pass_new(&early, first);

    for (uint32_t row = 0; row < 4; row++)
        pass_add(pass, row);
    passes_keep(passes, pass, 0);
    pass = pass_new(&later, second);
    for (uint32_t row = 0; row < 5; row++)
        pass_add(pass, row);
    passes_keep(passes, pass, 0);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        assert_case(cases[i].name,
            look(passes, cases[i].uid, cases[i].node, cases[i].names, 0) == cases[i].want);
}

/* The later answer is the one that counts; who holds the pod of the one before, keeps it. */
static void test_replaces(void **state) {
    _cleanup_(names_unrefp) NodeNames *names = NAMES(NULL, "n0", "n1");
    _cleanup_(passes_freep) Passes *passes = passes_new(8, ROOM, WINDOW);
    _cleanup_(pod_record_unrefp) const Pod *before = NULL, *after = NULL;
    const Pod old = pod_of("a", "before"), new = pod_of("a", "after");

    keep(passes, &old, names, 0, 0);
    assert_int_equal(passes_find(passes, STR("a"), STR("n0"), names, 0, &before), 0);
    keep(passes, &new, names, 1, WINDOW);
    assert_int_equal(look(passes, "a", "n0", names, WINDOW), PASSES_E_NODE);
    assert_int_equal(passes_find(passes, STR("a"), STR("n1"), names, 2 * WINDOW, &after), 0);
    assert_text("before", before->name, "before");
    assert_text("after", after->name, "after");
    assert_int_equal(figures_of(passes).n, 1);
    assert_int_equal(figures_of(passes).n_kept, 2);
    assert_int_equal(figures_of(passes).n_dropped, 0);
}

/* The pod is kept as it was, with what placing it needs. */
static void test_keeps_the_pod(void **state) {
    _cleanup_(names_unrefp) NodeNames *names = NAMES(NULL, "n0");
    _cleanup_(passes_freep) Passes *passes = passes_new(8, ROOM, WINDOW);
    _cleanup_(pod_record_unrefp) const Pod *found = NULL;
    char uid[] = "u", key[] = "app";
    Label label = {.key = str_from_c(key), .value = STR("web")};
    Toleration toleration = {.key = STR("gpu"), .exists = true};
    Resource request = {.name = STR("cpu"), .amount = 250};
    Pod pod = pod_of(uid, "web-1");

    pod.labels = (Labels){.items = &label, .n = 1};
    pod.tolerations = (Tolerations){.items = &toleration, .n = 1};
    pod.requests = (Resources){.items = &request, .n = 1};
    keep(passes, &pod, names, 0, 0);
    uid[0] = key[0] = '?';
    assert_int_equal(passes_find(passes, STR("u"), STR("n0"), names, 0, &found), 0);
    assert_text("label", found->labels.items[0].key, "app");
    assert_int_equal(found->tolerations.n, 1);
    assert_int_equal(resources_get(&found->requests, STR("cpu")), 250);
}

static Str numbered(char text[32], unsigned i) {
    (void)snprintf(text, 32, "pod-%u", i);
    return str_from_c(text);
}

static void test_drops_the_oldest(void **state) {
    _cleanup_(names_unrefp) NodeNames *names = NAMES(NULL, "n0");
    _cleanup_(passes_freep) Passes *passes = passes_new(3, ROOM, WINDOW);
    char uid[32];

    for (unsigned i = 0; i < 5; i++) {
        const Pod pod = {.uid = numbered(uid, i)};

        keep(passes, &pod, names, 0, i);
        if (i == 3) { /* 2 is asked about again: newer than 3 now */
            const Pod again = {.uid = numbered(uid, 2)};

            keep(passes, &again, names, 0, i);
        }
    }
    assert_int_equal(look(passes, "pod-0", "n0", names, 5), PASSES_E_UNKNOWN);
    assert_int_equal(look(passes, "pod-1", "n0", names, 5), PASSES_E_UNKNOWN);
    assert_int_equal(look(passes, "pod-2", "n0", names, 5), 0);
    assert_int_equal(look(passes, "pod-3", "n0", names, 5), 0);
    assert_int_equal(look(passes, "pod-4", "n0", names, 5), 0);
    assert_int_equal(figures_of(passes).n, 3);
    assert_int_equal(figures_of(passes).n_dropped, 2);
    keep(passes, &(Pod){.uid = STR("x")}, names, 0, 6); /* 3 is the oldest */
    assert_int_equal(look(passes, "pod-2", "n0", names, 6), 0);
    assert_int_equal(look(passes, "pod-3", "n0", names, 6), PASSES_E_UNKNOWN);
}

static void test_bytes_are_bounded(void **state) {
    _cleanup_(names_unrefp) NodeNames *names = NAMES(NULL, "n0");
    _cleanup_(passes_freep) Passes *passes = passes_new(100, ROOM, WINDOW), *small = NULL;
    char uid[32], *large = calloc(1, PASS_BYTES_MAX);
    Pod pod = pod_of("a", "a");
    size_t one;

    assert_non_null(large);
    keep(passes, &pod, names, 0, 0);
    one = figures_of(passes).bytes;
    assert_true(one > sizeof(Pod));
    small = passes_new(100, 10 * one, WINDOW);
    for (unsigned i = 0; i < 50; i++) {
        pod.uid = numbered(uid, i);
        keep(small, &pod, names, 0, i);
        assert_true(figures_of(small).bytes <= 10 * one);
    }
    assert_in_range(figures_of(small).n, 5, 10);
    assert_int_equal(figures_of(small).n + figures_of(small).n_dropped, 50);

    pod.uid = STR("larger than all"); /* all go, and it does not come */
    pod.name = str_of(large, 10 * one);
    keep(small, &pod, names, 0, 60);
    assert_int_equal(look(small, "larger than all", "n0", names, 60), PASSES_E_UNKNOWN);
    assert_true(figures_of(small).bytes <= 10 * one);

    pod.name = str_of(large, PASS_BYTES_MAX);
    assert_null(pass_new(&pod, names));
    pod.name = STR("a");
    pod.uid = STR_NULL;
    assert_null(pass_new(&pod, names));
    pass_add(NULL, 0);
    passes_keep(passes, NULL, 0);
    assert_int_equal(figures_of(passes).n, 1);
    free(large);
}

/* What is over goes when the next one comes, and is not counted as dropped. */
static void test_expires(void **state) {
    _cleanup_(names_unrefp) NodeNames *names = NAMES(NULL, "n0");
    _cleanup_(passes_freep) Passes *passes = passes_new(8, ROOM, WINDOW);
    char uid[32];

    for (unsigned i = 0; i < 3; i++)
        keep(passes, &(Pod){.uid = numbered(uid, i)}, names, 0, i);
    keep(passes, &(Pod){.uid = STR("a")}, names, 0, WINDOW + 1);
    assert_int_equal(figures_of(passes).n, 3);
    assert_int_equal(look(passes, "pod-0", "n0", names, WINDOW + 1), PASSES_E_UNKNOWN);
    keep(passes, &(Pod){.uid = STR("b")}, names, 0, 2 * WINDOW + 1);
    assert_int_equal(figures_of(passes).n, 2);
    assert_int_equal(figures_of(passes).n_dropped, 0);
}

/* --- threads ------------------------------------------------------------------------- */

#define PODS 64u
#define TURNS 4000u

typedef struct Scene {
    Passes *passes;
    const NodeNames *names;
    atomic_uint n_found, n_wrong;
} Scene;

static void *write_some(void *context) {
    Scene *scene = context;
    unsigned rng = (unsigned)(uintptr_t)&rng;
    char uid[32];

    for (unsigned i = 0; i < TURNS; i++) {
        const Pod pod = {.uid = numbered(uid, (unsigned)rand_r(&rng) % PODS), .name = STR("x")};
        Pass *pass = pass_new(&pod, scene->names);

        pass_add(pass, 0);
        passes_keep(scene->passes, pass, i);
    }
    return NULL;
}

static void *read_some(void *context) {
    Scene *scene = context;
    unsigned rng = (unsigned)(uintptr_t)&rng;
    char uid[32];

    for (unsigned i = 0; i < TURNS; i++) {
        _cleanup_(pod_record_unrefp) const Pod *pod = NULL;
        Str wanted = numbered(uid, (unsigned)rand_r(&rng) % PODS);

        if (passes_find(scene->passes, wanted, STR("n0"), scene->names, 0, &pod) != 0)
            continue;
        atomic_fetch_add(&scene->n_found, 1);
        if (!str_eq(pod->uid, wanted) || !str_is(pod->name, "x"))
            atomic_fetch_add(&scene->n_wrong, 1);
    }
    return NULL;
}

static void test_threads(void **state) {
    _cleanup_(names_unrefp) NodeNames *names = NAMES(NULL, "n0", "n1");
    _cleanup_(passes_freep) Passes *passes = passes_new(PODS / 2, ROOM, TURNS / 2);
    Scene scene = {.passes = passes, .names = names};
    pthread_t threads[4];

    keep(passes, &(Pod){.uid = STR("pod-0"), .name = STR("x")}, names, 0, 0);
    for (size_t i = 0; i < ELEMENTS_OF(threads); i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, i % 2 ? read_some : write_some, &scene), 0);
    for (size_t i = 0; i < ELEMENTS_OF(threads); i++)
        (void)pthread_join(threads[i], NULL);
    read_some(&scene); /* whoever was faster before */
    assert_true(atomic_load(&scene.n_found) > 0);
    assert_int_equal(atomic_load(&scene.n_wrong), 0);
    assert_true(figures_of(passes).n <= PODS / 2);
    assert_int_equal(figures_of(passes).n_kept, 2 * TURNS + 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outcomes),
        cmocka_unit_test(test_rows_change_hands),
        cmocka_unit_test(test_replaces),
        cmocka_unit_test(test_keeps_the_pod),
        cmocka_unit_test(test_drops_the_oldest),
        cmocka_unit_test(test_bytes_are_bounded),
        cmocka_unit_test(test_expires),
        cmocka_unit_test(test_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
