#include "load/poll-queue.h"

#include "base/clock.h"
#include "load/test-prometheus.h"

/* A queue with one reading, whose state a test sets. */
typedef struct Fixture {
    Listener listener;
    SharedReadings shared;
    PollQueue queue;
    Reading *reading;
} Fixture;

static void fixture_init(Fixture *fixture) {
    const Gauge gauge = gauge_of("x", HOUR);
    PollerCallbacks callbacks;

    *fixture = (Fixture){.shared.lock = PTHREAD_MUTEX_INITIALIZER};
    listener_init(&fixture->listener);
    callbacks = callbacks_of(&fixture->listener);
    assert_int_equal(readings_new(&gauge, 1, 5, NULL, &fixture->shared.readings), 0);
    assert_int_equal(poll_queue_init(&fixture->queue, &fixture->shared, NULL, &callbacks, 1), 0);
    fixture->queue.readings = readings_ref(fixture->shared.readings);
    fixture->reading = fixture->shared.readings->items[0];
}

static void fixture_done(Fixture *fixture) {
    poll_queue_done(&fixture->queue);
    readings_unref(fixture->shared.readings);
    listener_done(&fixture->listener);
}

/* Ends the interval without notices. */
static void end_notice_interval(Fixture *fixture) {
    fixture->reading->reported_nsec -= READING_NOTICE_SEC * NSEC_PER_SEC;
}

static void test_limits_notices_of_a_flapping_source(void **state) {
    Fixture fixture;
    PollState *is;

    (void)state;
    fixture_init(&fixture);
    is = &fixture.reading->status.state;
    assert_true(poll_queue_notify(&fixture.queue) == INT64_MAX); /* no notice about waiting */

    *is = POLL_OK;
    (void)poll_queue_notify(&fixture.queue);
    assert_int_equal(fixture.listener.n_notices, 1);
    assert_int_equal(fixture.listener.notices[0].is, POLL_OK);
    assert_string_equal(fixture.listener.notices[0].gauge, "x");
    assert_string_equal(fixture.listener.notices[0].source, "default");

    for (int i = 0; i < 10; i++) { /* flapping */
        *is = i % 2 ? POLL_OK : POLL_FAILING;
        assert_true((poll_queue_notify(&fixture.queue) < INT64_MAX) == (*is == POLL_FAILING));
    }
    end_notice_interval(&fixture);
    assert_true(
        poll_queue_notify(&fixture.queue) == INT64_MAX); /* the state of the last notice again */
    assert_int_equal(fixture.listener.n_notices, 1);

    *is = POLL_FAILING;
    (void)poll_queue_notify(&fixture.queue);
    assert_int_equal(fixture.listener.n_notices, 2);
    *is = POLL_UNJOINED;
    (void)poll_queue_notify(&fixture.queue);
    *is = POLL_OK;
    fixture.reading->outage_nsec = 42;
    (void)poll_queue_notify(&fixture.queue);
    assert_int_equal(fixture.listener.n_notices, 2);
    end_notice_interval(&fixture);
    (void)poll_queue_notify(&fixture.queue);
    assert_int_equal(fixture.listener.n_notices, 3);
    assert_int_equal(fixture.listener.notices[2].is, POLL_OK);
    assert_true(fixture.listener.notices[2].down_nsec == 42);
    fixture_done(&fixture);
}

/* Answers that arrive together are published together; after a slow publish the next one waits. */
static void test_publishes_answers_together(void **state) {
    Fixture fixture;
    int64_t now = clock_monotonic_nsec();

    (void)state;
    fixture_init(&fixture);
    assert_true(poll_queue_publish(&fixture.queue) == INT64_MAX);
    fixture.queue.is_news = true;
    fixture.queue.news_nsec = now + 3600 * NSEC_PER_SEC;
    assert_true(poll_queue_publish(&fixture.queue) ==
                fixture.queue.news_nsec + POLLER_TURN_MSEC * NSEC_PER_MSEC);
    assert_int_equal(fixture.listener.n_published, 0);

    fixture.listener.publish_msec = 20;
    fixture.queue.news_nsec = now - NSEC_PER_SEC;
    assert_true(poll_queue_publish(&fixture.queue) == INT64_MAX);
    assert_int_equal(fixture.listener.n_published, 1);
    assert_true(fixture.listener.last->owner == 5);
    assert_true(fixture.queue.publish_from_nsec >= now + 200 * NSEC_PER_MSEC);
    assert_false(fixture.queue.is_news);

    fixture.queue.is_news = true;
    fixture.queue.publish_from_nsec = now + 3600 * NSEC_PER_SEC;
    assert_true(poll_queue_publish(&fixture.queue) == fixture.queue.publish_from_nsec);
    assert_int_equal(fixture.listener.n_published, 1);
    fixture_done(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits_notices_of_a_flapping_source),
        cmocka_unit_test(test_publishes_answers_together),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
