#include "history/recent-pods.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/test-assert.h"
#include "json/read.h"

#define WINDOW 1000
#define BYTES_MAX ((size_t)1024 * 1024)
#define ROWS_MAX 16u
#define AT(sec) ((int64_t)(sec)*NSEC_PER_SEC)

/* From this second on, pods parked before the start have expired. */
#define SETTLED (2 * RECENT_PODS_PARKED_SEC)

static RecentPods *pods_new(size_t max, size_t bytes_max) {
    RecentPods *pods = recent_pods_new(&(RecentPodsOptions){
        .max = max, .bytes_max = bytes_max, .window_nsec = WINDOW, .pending_within = 100});

    assert_non_null(pods);
    return pods;
}

static NodeNames *names_of(const char *const *texts, size_t n, const NodeNames *before) {
    Str names[ROWS_MAX];
    NodeNames *made = NULL;

    assert_true(n <= ELEMENTS_OF(names));
    for (size_t i = 0; i < n; i++)
        names[i] = str_from_c(texts[i]);
    assert_int_equal(names_new(names, n, before, &made), 0);
    return made;
}

#define NAMES(before, ...)                                                                         \
    names_of((const char *const[]){__VA_ARGS__},                                                   \
        sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), (before))

/* A pod @uid whose name is @name. */
static Pod pod_of(const char *uid, const char *name) {
    return (Pod){.uid = str_from_c(uid), .name = str_from_c(name), .namespace = STR("default")};
}

/* Notes a filter of @pod over the rows of @names. 'x' in @passed: the row passed. */
static void filter_rows(
    RecentPods *pods, const Pod *pod, const NodeNames *names, const char *passed, int64_t now) {
    const NodeTable table = {.names = (NodeNames *)(uintptr_t)names};
    Program program = {0};
    const View view = {.table = &table, .program = &program};
    uint32_t rows[ROWS_MAX];
    uint16_t verdicts[ROWS_MAX];
    FilterArgs args = {.pod = *pod, .has_names = true, .n = strlen(passed), .rows = rows};
    Decision decision = {
        .pod_namespace = pod->namespace,
        .pod_name = pod->name,
        .pod_uid = pod->uid,
        .summary.n_in = args.n,
        .args = &args,
        .verdicts = verdicts,
    };

    for (uint32_t i = 0; i < args.n; i++) {
        rows[i] = i;
        verdicts[i] = passed[i] == 'x' ? VERDICT_PASS : 0;
        decision.summary.n_out += passed[i] == 'x';
    }
    recent_pods_note(pods, &view, VERB_FILTER, &decision, now, now);
}

/* The same without node names. */
static void filter(RecentPods *pods, const char *uid, const char *passed, int64_t now) {
    const Pod pod = pod_of(uid, uid);
    static const NodeNames none;

    filter_rows(pods, &pod, &none, passed, now);
}

static void filter_by(RecentPods *pods, const char *uid, Str scheduler, int64_t now) {
    static const NodeNames none;
    Pod pod = pod_of(uid, uid);

    pod.scheduler_name = scheduler;
    filter_rows(pods, &pod, &none, "x", now);
}

static void bound(RecentPods *pods, const char *uid) {
    const Pod pod = pod_of(uid, uid);

    recent_pods_note_end(pods, pod.uid, pod.namespace, pod.name, /* is_deleted= */ false);
}

static Str numbered(char text[32], const char *word, unsigned i) {
    (void)snprintf(text, 32, "%s-%u", word, i);
    return str_from_c(text);
}

static PassedFigures figures_of(RecentPods *pods) {
    PassedFigures figures;

    recent_pods_figures(pods, &figures);
    return figures;
}

/* --- passed nodes ----------------------------------------------------------------------------- */

static Pod decoded(const PodText *text, Arena *arena) {
    Pod pod;

    assert_true(pod_text_decode(text, arena, &pod));
    return pod;
}

/* Returns only whether the pod passed on the node. */
static int find_passed(
    RecentPods *pods, const char *uid, const char *node, const NodeNames *names, int64_t now) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
    _cleanup_(pod_text_unrefp) PodText *text = NULL;
    int r = recent_pods_find_passed(pods, str_from_c(uid), str_from_c(node), names, now, &text);

    assert_int_equal(text != NULL, r == 0);
    if (text)
        assert_text("uid", decoded(text, arena).uid, uid);
    return r;
}

static void test_finds_passed_nodes(void **state) {
    static const struct {
        const char *name, *uid, *node;
        int64_t now;
        int want;
    } cases[] = {
        {"first row", "a", "n0", 100, 0},
        {"last row", "a", "n3", 100, 0},
        {"rejected", "a", "n1", 100, PASSED_E_NODE},
        {"unknown node", "a", "unknown", 100, PASSED_E_NODE},
        {"no node", "a", "", 100, PASSED_E_NODE},
        {"another pod", "b", "n0", 100, PASSED_E_UNKNOWN},
        {"no pod", "", "n0", 100, PASSED_E_UNKNOWN},
        {"at the end of the window", "a", "n0", 100 + WINDOW, 0},
        {"late", "a", "n0", 101 + WINDOW, PASSED_E_LATE},
        {"late, and rejected", "a", "n1", 101 + WINDOW, PASSED_E_NODE},
        {"no node passed", "c", "n0", 100, PASSED_E_NODE},
    };
    _cleanup_(names_unrefp) NodeNames *names = NAMES(NULL, "n0", "n1", "", "n3");
    _cleanup_(recent_pods_freep) RecentPods *pods = pods_new(8, BYTES_MAX);
    const Pod a = pod_of("a", "a"), c = pod_of("c", "c"), none = pod_of("", "none");

    (void)state;
    filter_rows(pods, &a, names, "x..xx", 100); /* the last row is the unknown node */
    filter_rows(pods, &c, names, "....", 100);
    filter_rows(pods, &none, names, "xxxx", 100); /* a bind needs a UID */
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        assert_case(cases[i].name,
            find_passed(pods, cases[i].uid, cases[i].node, names, cases[i].now) == cases[i].want);
    assert_int_equal(figures_of(pods).n, 2);
    assert_int_equal(figures_of(pods).n_kept, 2);
}

/* If a row has another node now, the verdict does not count for that node. */
static void test_rows_change_nodes(void **state) {
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
        {"row taken by another", "early", "n9", second, PASSED_E_NODE},
        {"node gone", "early", "n0", second, PASSED_E_NODE},
        {"row that was not there", "early", "n4", second, PASSED_E_NODE},
        {"node created again", "early", "n0", third, PASSED_E_NODE},
        {"stayed twice", "early", "n3", third, 0},
        {"rows gone", "early", "n3", fewer, PASSED_E_NODE},
        {"names of then", "later", "n4", second, 0},
        {"older names cannot tell", "later", "n0", first, PASSED_E_NODE},
        {"older names, same node", "later", "n3", first, PASSED_E_NODE},
        {"node moved to another row", "later", "n9", third, PASSED_E_NODE},
    };
    _cleanup_(recent_pods_freep) RecentPods *pods = pods_new(8, BYTES_MAX);
    const Pod early = pod_of("early", "early"), later = pod_of("later", "later");

    (void)state;
    filter_rows(pods, &early, first, "xxxx", 0);
    filter_rows(pods, &later, second, "xxxxx", 0);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        assert_case(cases[i].name,
            find_passed(pods, cases[i].uid, cases[i].node, cases[i].names, 0) == cases[i].want);
}

/* The later filter counts; a reference to the earlier text stays valid. */
static void test_later_filter_replaces(void **state) {
    _cleanup_(names_unrefp) NodeNames *names = NAMES(NULL, "n0", "n1");
    _cleanup_(recent_pods_freep) RecentPods *pods = pods_new(8, BYTES_MAX);
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
    _cleanup_(pod_text_unrefp) PodText *first = NULL, *second = NULL;
    const Pod old = pod_of("a", "before"), new = pod_of("a", "after");

    (void)state;
    filter_rows(pods, &old, names, "x.", 0);
    assert_int_equal(recent_pods_find_passed(pods, STR("a"), STR("n0"), names, 0, &first), 0);
    filter_rows(pods, &new, names, ".x", WINDOW);
    assert_int_equal(find_passed(pods, "a", "n0", names, WINDOW), PASSED_E_NODE);
    assert_int_equal(
        recent_pods_find_passed(pods, STR("a"), STR("n1"), names, 2 * WINDOW, &second), 0);
    assert_text("before", decoded(first, arena).name, "before");
    assert_text("after", decoded(second, arena).name, "after");
    assert_int_equal(figures_of(pods).n, 1);
    assert_int_equal(figures_of(pods).n_kept, 2);
    assert_int_equal(figures_of(pods).n_dropped, 0);
}

/* The copy has all fields that rules read, because a bind evaluates them again. */
static void test_copies_pod(void **state) {
    static const char json[] =
        "{\"metadata\":{\"uid\":\"u\",\"name\":\"web-1\",\"labels\":{\"app\":\"web\"},"
        "\"annotations\":{\"zone\":\"a\"}},\"spec\":{\"runtimeClassName\":\"gvisor\","
        "\"containers\":"
        "[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"250m\"}}}],\"tolerations\":"
        "[{\"key\":\"gpu\",\"operator\":\"Exists\"}]}}";
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
    _cleanup_(names_unrefp) NodeNames *names = NAMES(NULL, "n0");
    _cleanup_(recent_pods_freep) RecentPods *pods = pods_new(8, BYTES_MAX);
    _cleanup_(pod_text_unrefp) PodText *text = NULL;
    char sent[sizeof(json)];
    JsonReader reader;
    Pod pod;

    (void)state;
    memcpy(sent, json, sizeof(json));
    json_reader_init(&reader, str_from_c(sent));
    pod_decode(&reader, arena, &pod);
    filter_rows(pods, &pod, names, "x", 0);
    memset(sent, '?', sizeof(sent));
    assert_int_equal(recent_pods_find_passed(pods, STR("u"), STR("n0"), names, 0, &text), 0);
    pod = decoded(text, arena);
    assert_text("label", pod.labels.items[0].key, "app");
    assert_int_equal(pod.tolerations.n, 1);
    assert_int_equal(resources_get(&pod.requests, STR("cpu")), 250);
    assert_text("annotation", *labels_find(&pod.details->annotations, STR("zone")), "a");
    assert_text("runtime class", pod.details->runtime_class_name, "gvisor");
}

static void test_passed_bytes_are_bounded(void **state) {
    _cleanup_(names_unrefp) NodeNames *names = NAMES(NULL, "n0");
    _cleanup_(recent_pods_freep) RecentPods *pods = pods_new(100, BYTES_MAX), *small = NULL;
    char uid[32], *large = calloc(1, PASSED_NODES_BYTES_MAX);
    Pod pod = pod_of("a", "a");
    size_t one;

    (void)state;
    assert_non_null(large);
    filter_rows(pods, &pod, names, "x", 0);
    one = figures_of(pods).bytes;
    assert_true(one > sizeof(PodText));
    small = pods_new(100, 10 * one);
    for (unsigned i = 0; i < 50; i++) {
        pod.uid = numbered(uid, "pod", i);
        filter_rows(small, &pod, names, "x", i);
        assert_true(figures_of(small).bytes <= 10 * one);
    }
    assert_in_range(figures_of(small).n, 5, 10);
    assert_int_equal(figures_of(small).n + figures_of(small).n_dropped, 50);

    pod.uid = STR("larger than all"); /* drops all others, and is not kept */
    pod.name = str_of(large, 10 * one);
    filter_rows(small, &pod, names, "x", 60);
    assert_int_equal(find_passed(small, "larger than all", "n0", names, 60), PASSED_E_UNKNOWN);
    assert_true(figures_of(small).bytes <= 10 * one);

    pod.name = str_of(large, PASSED_NODES_BYTES_MAX);
    filter_rows(pods, &pod, names, "x", 0);
    assert_int_equal(figures_of(pods).n_kept, 1);
    free(large);
}

static void test_passed_nodes_expire(void **state) {
    _cleanup_(names_unrefp) NodeNames *names = NAMES(NULL, "n0");
    _cleanup_(recent_pods_freep) RecentPods *pods = pods_new(8, BYTES_MAX);
    char uid[32];

    (void)state;
    for (unsigned i = 0; i < 3; i++)
        filter_rows(pods, &(Pod){.uid = numbered(uid, "pod", i)}, names, "x", i);
    filter_rows(pods, &(Pod){.uid = STR("a")}, names, "x", WINDOW + 1);
    assert_int_equal(figures_of(pods).n, 3);
    assert_int_equal(find_passed(pods, "pod-0", "n0", names, WINDOW + 1), PASSED_E_UNKNOWN);
    filter_rows(pods, &(Pod){.uid = STR("b")}, names, "x", 2 * WINDOW + 1);
    assert_int_equal(figures_of(pods).n, 2);
    assert_int_equal(figures_of(pods).n_dropped, 0);
}

/* --- known pods ------------------------------------------------------------------------------- */

static bool knows(RecentPods *pods, const char *uid) {
    Pod pod = pod_of(uid, uid);

    pod.scheduler_name = STR("s");
    return !recent_pods_is_bypass(pods, &pod, /* since_nsec= */ 0);
}

/* The last @max pods are known, older ones are not. */
static void check_latest(size_t max, unsigned n) {
    _cleanup_(recent_pods_freep) RecentPods *pods = pods_new(max, 0);
    char uid[32];

    for (unsigned i = 0; i < n; i++)
        filter_by(pods, numbered(uid, "pod", i).ptr, STR("s"), 1);
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(knows(pods, numbered(uid, "pod", i).ptr), i + max >= n);
}

static void test_forgets_oldest(void **state) {
    static const size_t sizes[] = {1, 2, 3, 64, 100, 999, 1000, 1001};

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(sizes); i++)
        check_latest(sizes[i], 1000);
}

/* A filter of a known pod makes it the newest. */
static void test_new_filter_makes_pod_the_newest(void **state) {
    (void)state;
    for (unsigned again = 0; again < 4; again++) {
        _cleanup_(recent_pods_freep) RecentPods *pods = pods_new(4, 0);
        char uid[32];

        for (unsigned i = 0; i < 4; i++)
            filter_by(pods, numbered(uid, "pod", i).ptr, STR("s"), 1);
        filter_by(pods, numbered(uid, "pod", again).ptr, STR("s"), 1);
        for (unsigned i = 4; i < 7; i++)
            filter_by(pods, numbered(uid, "pod", i).ptr, STR("s"), 1);
        for (unsigned i = 0; i < 7; i++)
            assert_int_equal(knows(pods, numbered(uid, "pod", i).ptr), i >= 4 || i == again);
    }
}

static void test_bypass_needs_scheduler(void **state) {
    _cleanup_(recent_pods_freep) RecentPods *pods = pods_new(8, 0);
    const struct {
        const char *scheduler;
        int64_t since;
        bool is_bypass;
    } cases[] = {{"s", 0, true}, {"s", 5, true}, {"s", 6, false}, {"t", 0, false}, {"", 0, false}};

    (void)state;
    filter_by(pods, "a", STR("s"), 5);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Pod pod = pod_of("b", "b");

        pod.scheduler_name = str_from_c(cases[i].scheduler);
        assert_case(cases[i].scheduler,
            recent_pods_is_bypass(pods, &pod, cases[i].since) == cases[i].is_bypass);
    }
}

/* --- schedulers ------------------------------------------------------------------------------- */

static void test_counts_schedulers(void **state) {
    _cleanup_(recent_pods_freep) RecentPods *pods = pods_new(8, 0);
    RecentScheduler list[RECENT_SCHEDULERS_MAX + 1];

    (void)state;
    assert_int_equal(recent_pods_schedulers(pods, list), 0);
    filter_by(pods, "a", STR("berth"), 10);
    filter_by(pods, "a", STR("default-scheduler"), 20);
    filter_by(pods, "b", STR("berth"), 30);
    filter_by(pods, "c", STR_NULL, 40);
    assert_int_equal(recent_pods_schedulers(pods, list), 2);
    assert_text("first", list[0].name, "berth");
    assert_int_equal(list[0].n_filters, 2);
    assert_int_equal(list[0].last_wall_nsec, 30);
    assert_text("second", list[1].name, "default-scheduler");
    assert_int_equal(list[1].n_filters, 1);
}

/* Names beyond the limit, or too long, are counted together without a name. */
static void test_schedulers_are_bounded(void **state) {
    _cleanup_(recent_pods_freep) RecentPods *pods = pods_new(8, 0);
    char name[RECENT_SCHEDULER_NAME_MAX + 1];
    RecentScheduler list[RECENT_SCHEDULERS_MAX + 1];

    (void)state;
    memset(name, 'x', sizeof(name));
    filter_by(pods, "a", str_of(name, sizeof(name)), 1);
    for (unsigned i = 0; i < 2 * RECENT_SCHEDULERS_MAX; i++) {
        (void)snprintf(name, sizeof(name), "scheduler-%u", i);
        filter_by(pods, "a", str_from_c(name), i);
    }
    assert_int_equal(recent_pods_schedulers(pods, list), RECENT_SCHEDULERS_MAX + 1);
    assert_text("last", list[RECENT_SCHEDULERS_MAX - 1].name, "scheduler-63");
    assert_true(str_is_empty(list[RECENT_SCHEDULERS_MAX].name));
    assert_int_equal(list[RECENT_SCHEDULERS_MAX].n_filters, RECENT_SCHEDULERS_MAX + 1);
}

/* --- parked ----------------------------------------------------------------------------------- */

static bool has_parked(RecentPods *pods, int64_t sec) {
    return recent_pods_has_parked(pods, AT(sec));
}

static void test_parked_in_doubt_after_start(void **state) {
    _cleanup_(recent_pods_freep) RecentPods *pods =
        recent_pods_new(&(RecentPodsOptions){.max = 8, .now_nsec = AT(100)});

    (void)state;
    assert_true(has_parked(pods, 100));
    assert_true(has_parked(pods, 100 + RECENT_PODS_PARKED_SEC - 1));
    assert_false(has_parked(pods, 100 + RECENT_PODS_PARKED_SEC));
}

static void test_parked_until_bound(void **state) {
    _cleanup_(recent_pods_freep) RecentPods *pods = pods_new(8, 0);

    (void)state;
    filter(pods, "a", "x.", AT(SETTLED));
    filter(pods, "b", "..", AT(SETTLED));
    filter(pods, "a", "x.", AT(SETTLED + 1));
    assert_true(has_parked(pods, SETTLED + 1));
    bound(pods, "c");
    bound(pods, "a");
    assert_true(has_parked(pods, SETTLED + 1));
    bound(pods, "b");
    assert_false(has_parked(pods, SETTLED + 1));
}

static void test_parked_until_filter_rejects_nothing(void **state) {
    _cleanup_(recent_pods_freep) RecentPods *pods = pods_new(8, 0);

    (void)state;
    filter(pods, "a", ".", AT(SETTLED));
    filter(pods, "b", "x", AT(SETTLED));
    assert_true(has_parked(pods, SETTLED));
    filter(pods, "a", "x", AT(SETTLED));
    assert_false(has_parked(pods, SETTLED));
}

static void test_parked_expires(void **state) {
    _cleanup_(recent_pods_freep) RecentPods *pods = pods_new(8, 0);

    (void)state;
    filter(pods, "a", ".", AT(SETTLED));
    filter(pods, "b", ".", AT(SETTLED + 100));
    assert_true(has_parked(pods, SETTLED + 99 + RECENT_PODS_PARKED_SEC));
    assert_false(has_parked(pods, SETTLED + 100 + RECENT_PODS_PARKED_SEC));
    filter(pods, "a", ".", AT(SETTLED + 500));
    filter(pods, "a", ".", AT(SETTLED + 800)); /* filtered again: parked for longer */
    assert_true(has_parked(pods, SETTLED + 799 + RECENT_PODS_PARKED_SEC));
    assert_false(has_parked(pods, SETTLED + 800 + RECENT_PODS_PARKED_SEC));
}

/* Pods without a UID are distinguished by name. */
static void test_parked_without_uid(void **state) {
    _cleanup_(recent_pods_freep) RecentPods *pods = pods_new(8, 0);
    const Pod first = pod_of("", "first"), second = pod_of("", "second");
    static const NodeNames none;

    (void)state;
    filter_rows(pods, &first, &none, ".", AT(SETTLED));
    filter_rows(pods, &second, &none, "x", AT(SETTLED));
    recent_pods_note_end(pods, second.uid, second.namespace, second.name, /* is_deleted= */ false);
    assert_true(has_parked(pods, SETTLED));
    recent_pods_note_end(pods, first.uid, first.namespace, first.name, /* is_deleted= */ false);
    assert_false(has_parked(pods, SETTLED));
}

static void test_parked_while_filter_is_answered(void **state) {
    _cleanup_(recent_pods_freep) RecentPods *pods = pods_new(8, 0);
    const Decision error = {.error = STR("no pod")};

    (void)state;
    recent_pods_begin_filter(pods);
    recent_pods_begin_filter(pods);
    assert_true(has_parked(pods, SETTLED));
    filter(pods, "a", "x", AT(SETTLED));
    assert_true(has_parked(pods, SETTLED));
    recent_pods_note(pods, NULL, VERB_FILTER, &error, AT(SETTLED), 0);
    assert_false(has_parked(pods, SETTLED));
}

/* If a parked pod was dropped, a pod may be parked until that one would have expired. */
static void test_parked_in_doubt_after_forgetting(void **state) {
    _cleanup_(recent_pods_freep) RecentPods *pods = pods_new(64, 0);
    char uid[32];

    (void)state;
    for (unsigned i = 0; i < 67; i++)
        filter(pods, numbered(uid, "pod", i).ptr, ".", AT(SETTLED + i));
    for (unsigned i = 3; i < 67; i++)
        bound(pods, numbered(uid, "pod", i).ptr);
    assert_true(has_parked(pods, SETTLED + 2 + RECENT_PODS_PARKED_SEC - 1)); /* pod-2 */
    assert_false(has_parked(pods, SETTLED + 2 + RECENT_PODS_PARKED_SEC));
}

/* --- pending ---------------------------------------------------------------------------------- */

static size_t count_pending(RecentPods *pods) {
    PendingFigures figures;

    recent_pods_pending(pods, &figures);
    return figures.n;
}

static void note_error(RecentPods *pods, Verb verb, const char *uid, const char *error) {
    const Decision decision = {
        .pod_namespace = STR("default"),
        .pod_name = str_from_c(uid),
        .pod_uid = str_from_c(uid),
        .summary.n_in = 1,
        .error = str_from_c(error),
    };

    recent_pods_note(pods, NULL, verb, &decision, 0, 0);
}

static void test_counts_pending(void **state) {
    _cleanup_(recent_pods_freep) RecentPods *pods = pods_new(8, 0);

    (void)state;
    assert_int_equal(count_pending(pods), 0);
    filter(pods, "a", "x.", 0);
    assert_int_equal(count_pending(pods), 0);
    filter(pods, "b", "..", 0);
    note_error(pods, VERB_PREEMPT, "b", ""); /* no effect */
    filter(pods, "b", "..", 0);
    assert_int_equal(count_pending(pods), 1);
    filter(pods, "c", ".", 0);
    filter(pods, "d", "", 0);                     /* a probe */
    note_error(pods, VERB_FILTER, "e", "no pod"); /* could not be read */
    note_error(pods, VERB_BIND, "c", "gone");     /* a bind that failed */
    assert_int_equal(count_pending(pods), 2);
    note_error(pods, VERB_BIND, "c", "");
    assert_int_equal(count_pending(pods), 1);
    filter(pods, "b", "x", 0);
    assert_int_equal(count_pending(pods), 0);
    filter(pods, "", ".", 0);
    assert_int_equal(count_pending(pods), 1);
}

static void test_pending_figures(void **state) {
    _cleanup_(recent_pods_freep) RecentPods *pods = pods_new(8, 0);
    PendingFigures figures;

    (void)state;
    filter(pods, "a", "..", 100);
    filter(pods, "b", "..", 200);
    filter(pods, "a", "..", 300); /* still pending since 100 */
    recent_pods_pending(pods, &figures);
    assert_int_equal(figures.n, 2);
    assert_int_equal(figures.n_by_policies, 0); /* no policy rejected a node */
    assert_int_equal(figures.oldest_nsec, 100);
    recent_pods_note_policy(pods, STR("a"), STR_NULL, STR_NULL, STR("gpu"));
    recent_pods_note_policy(pods, STR("b"), STR_NULL, STR_NULL, STR("gpu"));
    recent_pods_note_policy(pods, STR("b"), STR_NULL, STR_NULL, STR("zone"));
    recent_pods_note_policy(pods, STR("not-pending"), STR_NULL, STR_NULL, STR("zone"));
    recent_pods_pending(pods, &figures);
    assert_int_equal(figures.n_by_policies, 2);
    assert_int_equal(figures.n_policies, 3);
    assert_text("first", figures.policies[1].policy, "gpu");
    assert_int_equal(figures.policies[1].n, 1);
    assert_text("second", figures.policies[2].policy, "zone");
    assert_int_equal(figures.policies[2].n, 1);
    recent_pods_note_end(pods, STR("a"), STR_NULL, STR_NULL, /* is_deleted= */ true);
    assert_true(recent_pods_is_deleted(pods, STR("a"), STR_NULL, STR_NULL));
    assert_false(recent_pods_is_deleted(pods, STR("b"), STR_NULL, STR_NULL));
    recent_pods_pending(pods, &figures);
    assert_int_equal(figures.n, 1);
    assert_int_equal(figures.oldest_nsec, 200);
    filter(pods, "a", "..", 400); /* the UID is back */
    assert_false(recent_pods_is_deleted(pods, STR("a"), STR_NULL, STR_NULL));
    recent_pods_pending(pods, &figures);
    assert_int_equal(figures.n, 2);
    assert_int_equal(figures.policies[1].n, 0);
}

static void test_pending_within_history(void **state) {
    _cleanup_(recent_pods_freep) RecentPods *pods = pods_new(1000, 0);
    char uid[32];

    (void)state;
    for (unsigned i = 0; i < 500; i++)
        filter(pods, numbered(uid, "pod", i).ptr, i % 2 ? "x" : ".", 0);
    assert_int_equal(count_pending(pods), 50); /* of the last 100 decisions */
}

/* --- threads ---------------------------------------------------------------------------------- */

#define PODS 64u
#define TURNS 4000u

typedef struct Shared {
    RecentPods *pods;
    const NodeNames *names;
    atomic_uint n_found, n_wrong;
} Shared;

static void *write_some(void *context) {
    Shared *shared = context;
    unsigned dice = (unsigned)(uintptr_t)&dice;
    char uid[32], scheduler[32];

    for (unsigned i = 0; i < TURNS; i++) {
        const Pod pod = {.uid = numbered(uid, "pod", (unsigned)rand_r(&dice) % PODS),
            .name = STR("x"),
            .scheduler_name = numbered(scheduler, "s", i % 8)};

        recent_pods_begin_filter(shared->pods);
        filter_rows(shared->pods, &pod, shared->names, "x.", AT(SETTLED) + i);
        (void)recent_pods_has_parked(shared->pods, AT(SETTLED) + i);
        (void)count_pending(shared->pods);
        recent_pods_note_end(
            shared->pods, pod.uid, pod.namespace, pod.name, /* is_deleted= */ false);
    }
    return NULL;
}

static void *read_some(void *context) {
    Shared *shared = context;
    unsigned dice = (unsigned)(uintptr_t)&dice;
    char uid[32];

    for (unsigned i = 0; i < TURNS; i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
        _cleanup_(pod_text_unrefp) PodText *text = NULL;
        Str wanted = numbered(uid, "pod", (unsigned)rand_r(&dice) % PODS);
        Pod pod;

        if (recent_pods_find_passed(shared->pods, wanted, STR("n0"), shared->names, 0, &text) != 0)
            continue;
        atomic_fetch_add(&shared->n_found, 1);
        if (!pod_text_decode(text, arena, &pod) || !str_eq(pod.uid, wanted) ||
            !str_is(pod.name, "x"))
            atomic_fetch_add(&shared->n_wrong, 1);
    }
    return NULL;
}

static void test_writes_and_reads_from_several_threads(void **state) {
    _cleanup_(names_unrefp) NodeNames *names = NAMES(NULL, "n0", "n1");
    _cleanup_(recent_pods_freep) RecentPods *pods = pods_new(PODS / 2, BYTES_MAX);
    Shared shared = {.pods = pods, .names = names};
    RecentScheduler list[RECENT_SCHEDULERS_MAX + 1];
    pthread_t threads[4];
    uint64_t n_filters = 0;

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(threads); i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, i % 2 ? read_some : write_some, &shared), 0);
    for (size_t i = 0; i < ELEMENTS_OF(threads); i++)
        (void)pthread_join(threads[i], NULL);
    filter_rows(pods, &(Pod){.uid = STR("pod-0"), .name = STR("x")}, names, "x.", 0);
    read_some(&shared);
    assert_true(atomic_load(&shared.n_found) > 0);
    assert_int_equal(atomic_load(&shared.n_wrong), 0);
    assert_true(figures_of(pods).n <= PODS / 2);
    assert_int_equal(figures_of(pods).n_kept, 2 * TURNS + 1);
    for (size_t i = recent_pods_schedulers(pods, list); i-- > 0;)
        n_filters += list[i].n_filters;
    assert_int_equal(n_filters, 2 * TURNS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds_passed_nodes),
        cmocka_unit_test(test_rows_change_nodes),
        cmocka_unit_test(test_later_filter_replaces),
        cmocka_unit_test(test_copies_pod),
        cmocka_unit_test(test_passed_bytes_are_bounded),
        cmocka_unit_test(test_passed_nodes_expire),
        cmocka_unit_test(test_forgets_oldest),
        cmocka_unit_test(test_new_filter_makes_pod_the_newest),
        cmocka_unit_test(test_bypass_needs_scheduler),
        cmocka_unit_test(test_counts_schedulers),
        cmocka_unit_test(test_schedulers_are_bounded),
        cmocka_unit_test(test_parked_in_doubt_after_start),
        cmocka_unit_test(test_parked_until_bound),
        cmocka_unit_test(test_parked_until_filter_rejects_nothing),
        cmocka_unit_test(test_parked_expires),
        cmocka_unit_test(test_parked_without_uid),
        cmocka_unit_test(test_parked_while_filter_is_answered),
        cmocka_unit_test(test_parked_in_doubt_after_forgetting),
        cmocka_unit_test(test_counts_pending),
        cmocka_unit_test(test_pending_figures),
        cmocka_unit_test(test_pending_within_history),
        cmocka_unit_test(test_writes_and_reads_from_several_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
