#include "scheduler/queues.h"

#include "base/test-assert.h"

#define SEC NSEC_PER_SEC

/* Lets the attempt of the due pod fail, and returns its number; UINT32_MAX: no pod is due. */
static uint32_t try_next(PendingQueue *queue, int64_t now_nsec) {
    PendingPod *pod = pending_queue_due(queue, now_nsec);

    if (!pod)
        return UINT32_MAX;
    pending_pod_park(pod, now_nsec);
    return pod->number;
}

static void test_tries_pods_by_priority_then_age(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 20);
    PendingQueue queue = {0};

    (void)state;
    assert_int_equal(pending_queue_add(&queue, arena, 5, 0), 0);
    assert_int_equal(pending_queue_add(&queue, arena, 3, 0), 0);
    assert_int_equal(pending_queue_add(&queue, arena, 9, 100), 0);
    assert_int_equal(pending_queue_add(&queue, arena, 4, -1), 0);
    pending_queue_remove(&queue, 7); /* not there */
    assert_int_equal(try_next(&queue, 0), 9);
    assert_int_equal(try_next(&queue, 0), 3);
    pending_queue_remove(&queue, 5);
    assert_int_equal(try_next(&queue, 0), 4);
    assert_int_equal(try_next(&queue, 0), UINT32_MAX);
    assert_int_equal(queue.n, 3);
}

/* Woken at once after each attempt, a pod waits for its backoff: 1, 2, 4, 8, 10, 10 s. */
static void test_backoff_doubles_to_ten_seconds(void **state) {
    static const int64_t backoffs[] = {1, 2, 4, 8, 10, 10, 10};
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 20);
    PendingQueue queue = {0};
    int64_t now = 7 * SEC;

    (void)state;
    assert_int_equal(pending_queue_add(&queue, arena, 1, 0), 0);
    for (size_t i = 0; i < ELEMENTS_OF(backoffs); i++) {
        assert_int_equal(try_next(&queue, now), 1);
        pending_queue_wake(&queue);
        now += backoffs[i] * SEC;
        assert_int_equal(try_next(&queue, now - 1), UINT32_MAX);
    }
}

static void test_parked_pods_wait_for_an_event_or_five_minutes(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 20);
    PendingQueue queue = {0};

    (void)state;
    assert_int_equal(pending_queue_add(&queue, arena, 1, 0), 0);
    assert_int_equal(try_next(&queue, 0), 1);
    assert_int_equal(try_next(&queue, 299 * SEC), UINT32_MAX);
    assert_int_equal(try_next(&queue, 300 * SEC), 1);
    assert_int_equal(try_next(&queue, 599 * SEC), UINT32_MAX);
    pending_queue_wake(&queue);
    assert_int_equal(try_next(&queue, 599 * SEC), 1);
    assert_int_equal(try_next(&queue, 610 * SEC), UINT32_MAX); /* parked again */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tries_pods_by_priority_then_age),
        cmocka_unit_test(test_backoff_doubles_to_ten_seconds),
        cmocka_unit_test(test_parked_pods_wait_for_an_event_or_five_minutes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
