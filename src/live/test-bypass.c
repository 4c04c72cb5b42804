#include "live/bypass.h"

#include "base/nsec.h"
#include "base/test-assert.h"

#define AT(sec) ((int64_t)(sec)*NSEC_PER_SEC)

static Pod pod_of(const char *uid, const char *scheduler) {
    return (Pod){.uid = str_from_c(uid), .scheduler_name = str_from_c(scheduler)};
}

static RecentPods *recent_new(void) {
    return recent_pods_new(&(RecentPodsOptions){.max = 16});
}

static void note_filter(RecentPods *recent, const Pod *pod, int64_t now_nsec) {
    FilterArgs args = {.pod = *pod, .n = 1};
    const Decision decision = {
        .pod_uid = pod->uid, .summary = {.n_in = 1, .n_out = 1}, .args = &args};

    recent_pods_note(recent, /* view= */ NULL, VERB_FILTER, &decision, now_nsec, now_nsec);
}

static void test_counts_pods_without_filter(void **state) {
    static const struct {
        const char *uid, *scheduler;
        int64_t sec; /* after the first list */
        bool is_past;
    } cases[] = {
        {"new", "default-scheduler", BYPASS_GRACE_SEC - 1,
            false}, /* it may have been bound before berth started */
        {"new", "default-scheduler", BYPASS_GRACE_SEC, true},
        {"filtered", "default-scheduler", BYPASS_GRACE_SEC, false},
        {"new", "another", BYPASS_GRACE_SEC, false}, /* this scheduler never calls berth */
        {"new", "", BYPASS_GRACE_SEC, false},
        {"new", "default-scheduler", BYPASS_ASKED_SEC - 1, true},
        {"new", "default-scheduler", BYPASS_ASKED_SEC,
            false}, /* it may call another replica by now */
    };
    uint64_t n = 0;

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(recent_pods_freep) RecentPods *recent = recent_new();
        Bypass bypass = {.recent = recent};
        Pod filtered = pod_of("filtered", "default-scheduler");
        Pod bound = pod_of(cases[i].uid, cases[i].scheduler);

        note_filter(recent, &filtered, AT(999));
        assert_false(bypass_note_bound(&bypass, &bound, AT(1000))); /* before the first list */
        bypass_note_synced(&bypass, AT(1000));
        bypass_note_synced(&bypass, AT(2000)); /* only the first counts */
        assert_int_equal(
            bypass_note_bound(&bypass, &bound, AT(1000 + cases[i].sec)), cases[i].is_past);
        assert_int_equal(atomic_load(&bypass.n), cases[i].is_past);
        n += atomic_load(&bypass.n);
    }
    assert_int_equal(n, 2);
}

static void test_ignores_pods_without_managed_resource(void **state) {
    static const Str managed[] = {STR("example.com/slot"), STR("example.com/gpu")};
    Resource gpu = {.name = STR("example.com/gpu"),
        .amount = 0}; /* kube-scheduler calls berth even for an amount of 0 */
    _cleanup_(recent_pods_freep) RecentPods *recent = recent_new();
    Bypass bypass = {.recent = recent, .managed = managed, .n_managed = 2};
    Pod first = pod_of("a", "s"), plain = pod_of("b", "s"), with_gpu = pod_of("c", "s");

    (void)state;
    with_gpu.requests = (Resources){.items = &gpu, .n = 1};
    note_filter(recent, &first, AT(999));
    bypass_note_synced(&bypass, AT(1));
    assert_false(bypass_note_bound(&bypass, &plain, AT(1000)));
    assert_true(bypass_note_bound(&bypass, &with_gpu, AT(1000)));
}

/* berth ignores exempt pods, so a missing filter is not a bypass. */
static void test_ignores_exempt_pods(void **state) {
    Exemption items[2];
    const Exemptions exempt = {.items = items, .n = 2};
    _cleanup_(recent_pods_freep) RecentPods *recent = recent_new();
    Bypass bypass = {.recent = recent, .exempt = &exempt};
    const Label berth_labels[] = {{STR("app.kubernetes.io/name"), STR("berth")}};
    Pod filtered = pod_of("a", "s"), system = pod_of("b", "s"), berth = pod_of("c", "s");
    Pod plain = pod_of("d", "s");

    (void)state;
    assert_true(exemption_parse(STR("kube-system"), &items[0]));
    assert_true(exemption_parse(STR("berth-system/" EXEMPTION_OWN), &items[1]));
    system.namespace = STR("kube-system");
    berth.namespace = plain.namespace = STR("berth-system");
    berth.labels = (Labels){.items = berth_labels, .n = 1};
    note_filter(recent, &filtered, AT(999));
    bypass_note_synced(&bypass, AT(1));
    assert_false(bypass_note_bound(&bypass, &system, AT(1000)));
    assert_false(bypass_note_bound(&bypass, &berth, AT(1000)));
    assert_true(bypass_note_bound(&bypass, &plain, AT(1000)));
    assert_int_equal(atomic_load(&bypass.n), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts_pods_without_filter),
        cmocka_unit_test(test_ignores_pods_without_managed_resource),
        cmocka_unit_test(test_ignores_exempt_pods),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
