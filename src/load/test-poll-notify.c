#include "load/poll-queue.h"

#include "base/clock.h"
#include "load/test-prometheus.h"

/* A queue with one reading, whose state a test sets. */
typedef struct Stage {
    Listener listener;
    SharedReadings shared;
    PollQueue queue;
    Reading *reading;
} Stage;

static void stage_init(Stage *stage) {
    const Gauge gauge = gauge_of("x", HOUR);
    PollerCallbacks callbacks;

    *stage = (Stage){.shared.lock = PTHREAD_MUTEX_INITIALIZER};
    listener_init(&stage->listener);
    callbacks = callbacks_of(&stage->listener);
    assert_int_equal(readings_new(&gauge, 1, 5, NULL, &stage->shared.readings), 0);
    assert_int_equal(poll_queue_init(&stage->queue, &stage->shared, NULL, &callbacks, 1), 0);
    stage->queue.readings = readings_ref(stage->shared.readings);
    stage->reading = stage->shared.readings->items[0];
}

static void stage_done(Stage *stage) {
    poll_queue_done(&stage->queue);
    readings_unref(stage->shared.readings);
    listener_done(&stage->listener);
}

/* The time in which nothing is told is over. */
static void let_time_pass(Stage *stage) {
    stage->reading->reported_nsec -= READING_NOTICE_SEC * NSEC_PER_SEC;
}

static void test_notices(void **state) {
    Stage stage;
    PollState *is;

    (void)state;
    stage_init(&stage);
    is = &stage.reading->status.state;
    assert_true(poll_queue_notify(&stage.queue) == INT64_MAX); /* waiting is nothing to tell */

    *is = POLL_OK;
    (void)poll_queue_notify(&stage.queue);
    assert_int_equal(stage.listener.n_told, 1);
    assert_int_equal(stage.listener.told[0].was, POLL_WAITING);
    assert_int_equal(stage.listener.told[0].is, POLL_OK);
    assert_string_equal(stage.listener.told[0].gauge, "x");
    assert_string_equal(stage.listener.told[0].source, "default");

    for (int i = 0; i < 10; i++) { /* it flaps */
        *is = i % 2 ? POLL_OK : POLL_FAILING;
        assert_true((poll_queue_notify(&stage.queue) < INT64_MAX) == (*is == POLL_FAILING));
    }
    let_time_pass(&stage);
    assert_true(poll_queue_notify(&stage.queue) == INT64_MAX); /* as it was told before */
    assert_int_equal(stage.listener.n_told, 1);

    *is = POLL_FAILING;
    (void)poll_queue_notify(&stage.queue);
    assert_int_equal(stage.listener.n_told, 2);
    *is = POLL_UNJOINED;
    (void)poll_queue_notify(&stage.queue);
    *is = POLL_OK;
    stage.reading->outage_nsec = 42;
    (void)poll_queue_notify(&stage.queue);
    assert_int_equal(stage.listener.n_told, 2);
    let_time_pass(&stage);
    (void)poll_queue_notify(&stage.queue);
    assert_int_equal(stage.listener.n_told, 3);
    assert_int_equal(stage.listener.told[2].was, POLL_FAILING);
    assert_int_equal(stage.listener.told[2].is, POLL_OK);
    assert_true(stage.listener.told[2].down_nsec == 42);
    stage_done(&stage);
}

/* Answers that come together are published together, and whoever needs long for it gets a
 * rest. */
static void test_publish(void **state) {
    Stage stage;
    int64_t now = clock_monotonic_nsec();

    (void)state;
    stage_init(&stage);
    assert_true(poll_queue_publish(&stage.queue) == INT64_MAX);
    stage.queue.is_news = true;
    stage.queue.news_nsec = now + 3600 * NSEC_PER_SEC;
    assert_true(poll_queue_publish(&stage.queue) ==
                stage.queue.news_nsec + POLLER_TURN_MSEC * NSEC_PER_MSEC);
    assert_int_equal(stage.listener.n_published, 0);

    stage.listener.publish_msec = 20;
    stage.queue.news_nsec = now - NSEC_PER_SEC;
    assert_true(poll_queue_publish(&stage.queue) == INT64_MAX);
    assert_int_equal(stage.listener.n_published, 1);
    assert_true(stage.listener.last->owner == 5);
    assert_true(stage.queue.publish_from_nsec >= now + 200 * NSEC_PER_MSEC);
    assert_false(stage.queue.is_news);

    stage.queue.is_news = true;
    stage.queue.publish_from_nsec = now + 3600 * NSEC_PER_SEC;
    assert_true(poll_queue_publish(&stage.queue) == stage.queue.publish_from_nsec);
    assert_int_equal(stage.listener.n_published, 1);
    stage_done(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_notices),
        cmocka_unit_test(test_publish),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
