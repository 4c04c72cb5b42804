/* Limits of a reflector (memory, time, number of requests), and the times in its figures. */

#include "base/test-assert.h"
#include "kube/backoff.h"
#include "kube/document-splitter.h"
#include "kube/reflector.h"
#include "kube/test-reflector.h"

static void test_calls_have_limits(void **state) {
    ReflectorFixture fixture;
    FakeCall call;
    int64_t least = INT64_MAX, most = 0;

    for (uint64_t seed = 0; seed < 300; seed++) {
        const char *at;
        int64_t seconds = 0;

        fixture_open(&fixture, seed);
        fixture_next_call(&fixture, "first");
        call = fake_call(fixture.client, 0);
        at = strstr(call.path, "timeoutSeconds=");
        assert_non_null(at);
        assert_true(str_to_int64(str_of(at + 15, 3), &seconds));
        least = seconds < least ? seconds : least;
        most = seconds > most ? seconds : most;
        assert_int_equal(call.first_byte_sec, REFLECTOR_FIRST_BYTE_SEC);
        fake_answer(fixture.client, 0, 422, "");
        fixture_settle(&fixture);
        fixture_next_call(&fixture, "page");
        call = fake_call(fixture.client, 1);
        assert_int_equal(call.total_sec, REFLECTOR_PAGE_SEC);
        assert_int_equal(call.bytes_max, REFLECTOR_PAGE_MAX);
        fixture_close(&fixture);
    }
    assert_in_range(least, REFLECTOR_WATCH_LEAST_SEC, REFLECTOR_WATCH_LEAST_SEC + 20);
    assert_in_range(most, REFLECTOR_WATCH_MOST_SEC - 20, REFLECTOR_WATCH_MOST_SEC);
}

/* --- last update and completeness ------------------------------------------------------------- */

static int64_t seconds_since(int64_t at) {
    return (now - at) / NSEC_PER_SEC;
}

static void test_error_answers_are_no_update(void **state) {
    static const struct {
        const char *name, *type;
        unsigned status;
    } refusals[] = {
        {"forbidden", "application/json", 403},
        {"overloaded", "application/json", 503},
        {"no API server", "text/html", 200},
    };

    for (size_t i = 0; i < ELEMENTS_OF(refusals); i++) {
        ReflectorFixture fixture;
        int64_t received_at;

        fixture_open(&fixture, i);
        fixture_next_call(&fixture, refusals[i].name);
        fake_head(fixture.client, 0, 200, "application/json", -1);
        now += NSEC_PER_SEC;
        fake_data(fixture.client, 0, STR(LIST_END("10")));
        fixture_settle(&fixture);
        assert_case(refusals[i].name, seconds_since(figures(&fixture)->updated_at_nsec) == 0);
        received_at = now;
        fake_done(fixture.client, 0, CALL_BROKEN);
        fixture_settle(&fixture);
        for (int n = 0; n < 50; n++) {
            fixture_next_call(&fixture, refusals[i].name);
            fake_head(fixture.client, fixture.call, refusals[i].status, refusals[i].type, -1);
            fake_data(fixture.client, fixture.call, STR(STATUS("0", "x", "{}")));
            fake_done(fixture.client, fixture.call, CALL_DONE);
            fixture_settle(&fixture);
        }
        assert_case(refusals[i].name, figures(&fixture)->updated_at_nsec == received_at);
        fixture_next_call(&fixture, refusals[i].name);
        fake_head(fixture.client, fixture.call, 200, "application/json", -1);
        fixture_settle(&fixture);
        assert_case(refusals[i].name, figures(&fixture)->updated_at_nsec == now);
        fixture_close(&fixture);
    }
}

/* A list shows the state at its start; a watch shows all changes until its last event. */
static void test_synced_time_of_lists_and_watches(void **state) {
    ReflectorFixture fixture;
    int64_t began;

    fixture_open(&fixture, 0);
    fixture_next_call(&fixture, "stream");
    began = now;
    fake_head(fixture.client, 0, 200, "application/json", -1);
    now += 100 * NSEC_PER_SEC;
    fake_data(fixture.client, 0, STR(ADDED("a", "1")));
    fixture_settle(&fixture);
    assert_int_equal(figures(&fixture)->synced_at_nsec, 0);
    fake_data(fixture.client, 0, STR(LIST_END("10")));
    fixture_settle(&fixture);
    assert_int_equal(figures(&fixture)->synced_at_nsec, began);
    now += NSEC_PER_SEC;
    fake_data(fixture.client, 0, STR(BOOKMARK("11")));
    fixture_settle(&fixture);
    assert_int_equal(figures(&fixture)->synced_at_nsec, now);
    began = now;
    now += NSEC_PER_SEC;
    fake_done(fixture.client, 0, CALL_BROKEN);
    fixture_settle(&fixture);
    fixture_next_call(&fixture, "again"); /* a new watch has not shown anything yet */
    fake_head(fixture.client, fixture.call, 200, "application/json", -1);
    fixture_settle(&fixture);
    assert_int_equal(figures(&fixture)->synced_at_nsec, began);
    fake_data(fixture.client, fixture.call, STR(ADDED("b", "12"))); /* nor all missed events */
    fixture_settle(&fixture);
    assert_int_equal(figures(&fixture)->synced_at_nsec, began);
    now += REFLECTOR_CATCH_UP_SEC * NSEC_PER_SEC;
    fake_data(fixture.client, fixture.call, STR(ADDED("c", "13")));
    fixture_settle(&fixture);
    assert_int_equal(figures(&fixture)->synced_at_nsec, now);
    fixture_close(&fixture);
}

static void send_many(ReflectorFixture *fixture, size_t total) {
    static char piece[1024 * 1024];

    memset(piece, 'x', sizeof(piece));
    for (size_t sent = 0; sent < total; sent += sizeof(piece)) {
        fake_data(fixture->client, fixture->call, str_of(piece, sizeof(piece)));
        fixture_settle(fixture);
        assert_true(reflector_held(fixture->reflector) <=
                    REFLECTOR_PAGE_MAX + REFLECTOR_DOCUMENT_MAX + SPLITTER_KEEP_MAX);
    }
}

static void test_an_endless_event_is_cut_off(void **state) {
    ReflectorFixture fixture;

    fixture_open(&fixture, 0);
    fixture_next_call(&fixture, "first");
    fake_head(fixture.client, 0, 200, "application/json", -1);
    send_many(&fixture, 2 * REFLECTOR_DOCUMENT_MAX);
    assert_true(fake_call(fixture.client, 0).is_over);
    assert_true(reflector_held(fixture.reflector) <= SPLITTER_KEEP_MAX);
    fixture_close(&fixture);
}

/* Events after a deletion in a streamed list wait for its end. */
static void test_deferred_events_are_limited(void **state) {
    _cleanup_(buf_done) Buf event = BUF_INIT((size_t)2 * 1024 * 1024);
    ReflectorFixture fixture;

    buf_append(&event, STR("{\"type\":\"MODIFIED\",\"object\":{\"x\":\""));
    buf_append_repeat(&event, 'x', (size_t)1024 * 1024);
    buf_append(&event, STR("\",\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"2\"}}}\n"));
    fixture_open(&fixture, 0);
    fixture_next_call(&fixture, "first");
    fake_head(fixture.client, 0, 200, "application/json", -1);
    fake_data(fixture.client, 0, STR(DELETED("a", "1")));
    for (size_t sent = 0; sent <= REFLECTOR_DEFERRED_MAX; sent += event.len) {
        assert_false(fake_call(fixture.client, 0).is_over);
        fake_data(fixture.client, 0, buf_str(&event));
        fixture_settle(&fixture);
        assert_true(reflector_held(fixture.reflector) <=
                    REFLECTOR_DEFERRED_MAX + REFLECTOR_DOCUMENT_MAX + SPLITTER_KEEP_MAX);
    }
    assert_true(fake_call(fixture.client, 0).is_over);
    assert_string_equal(fixture.sink.why, "too much happened during a streamed list");
    assert_int_equal(reflector_held(fixture.reflector), 0);
    fixture_close(&fixture);
}

static void test_endless_error_body_is_not_kept(void **state) {
    ReflectorFixture fixture;

    fixture_open(&fixture, 0);
    fixture_next_call(&fixture, "first");
    fake_head(fixture.client, 0, 500, "text/plain", 33);
    send_many(&fixture, (size_t)4 * 1024 * 1024);
    assert_true(reflector_held(fixture.reflector) <= 2 * REFLECTOR_REFUSAL_MAX);
    fake_done(fixture.client, 0, CALL_DONE);
    fixture_settle(&fixture);
    assert_true(fixture.sink.retry_nsec >= 33 * NSEC_PER_SEC);
    assert_int_equal(reflector_held(fixture.reflector), 0);
    fixture_close(&fixture);
}

static void test_memory_of_a_list_is_freed(void **state) {
    static const char page[] = PAGE("10", "", OBJ("a", "1"));
    ReflectorFixture fixture;
    Str rest = str_from_c(page);

    fixture_open(&fixture, 0);
    fixture_next_call(&fixture, "first");
    fake_answer(fixture.client, 0, 422, "");
    fixture_settle(&fixture);
    fixture_next_call(&fixture, "page");
    fake_head(fixture.client, 1, 200, "application/json", -1);
    while (rest.len > 0) {
        char blanks[4096];

        memset(blanks, ' ', sizeof(blanks));
        fake_data(fixture.client, 1, str_take(rest, 1));
        if (rest.ptr[0] == ',')
            for (int i = 0; i < 100; i++)
                fake_data(fixture.client, 1, str_of(blanks, sizeof(blanks)));
        rest = str_skip(rest, 1);
    }
    fixture_settle(&fixture);
    assert_true(reflector_held(fixture.reflector) > (size_t)400 * 1024);
    fake_done(fixture.client, 1, CALL_DONE);
    fixture_settle(&fixture);
    assert_string_equal(state_text(&fixture.sink.live), "a:1");
    assert_int_equal(reflector_held(fixture.reflector), 0);
    fixture_close(&fixture);
}

/* Answers a list in pages, then the watch with 410. */
static void answer_list_then_expire(ReflectorFixture *fixture) {
    const char *path = fake_call(fixture->client, fixture->call).path;

    if (strstr(path, "sendInitialEvents")) {
        fake_answer(fixture->client, fixture->call, 422, "");
        fixture_settle(fixture);
        fixture_next_call(fixture, "page");
    }
    fake_answer(fixture->client, fixture->call, 200, PAGE("10", "", OBJ("a", "1")));
    fixture_settle(fixture);
    fixture_next_call(fixture, "watch");
    assert_non_null(strstr(fake_call(fixture->client, fixture->call).path, "&resourceVersion=10"));
    fake_answer(fixture->client, fixture->call, 410, STATUS("410", "Expired", "{}"));
    fixture_settle(fixture);
}

/* However a server fails, and even if calls succeed in between, it gets at most one request per
 * second on average. */
static void test_requests_are_limited_on_average(void **state) {
    for (int kind = 0; kind < 5; kind++) {
        ReflectorFixture fixture;
        int64_t began;
        size_t n;

        fixture_open(&fixture, (uint64_t)kind);
        began = now;
        for (n = 0; n < 200; n++) {
            fixture_next_call(&fixture, "ration");
            if (kind == 4) {
                answer_list_then_expire(&fixture);
                continue;
            }
            fake_head(fixture.client, fixture.call, kind == 3 ? 500 : 200, "application/json", -1);
            if (kind == 0)
                fake_data(fixture.client, fixture.call, STR(LIST_END("1")));
            else if (kind == 1)
                fake_data(
                    fixture.client, fixture.call, STR(LIST_END("1") ERROR("410", "Expired", "{}")));
            else if (kind == 2)
                fake_data(fixture.client, fixture.call, STR(ADDED("a", "1")));
            fake_done(fixture.client, fixture.call, CALL_DONE);
            fixture_settle(&fixture);
        }
        if (kind == 0)
            assert_true(now - began >= (int64_t)(n - 1 - BACKOFF_BURST) * NSEC_PER_SEC);
        else /* without progress, pauses grow */
            assert_true(now - began >= (int64_t)n * 3 * NSEC_PER_SEC);
        fixture_close(&fixture);
    }
}

/* Answers pages that never end, with new tokens or the same one, until the reflector waits. Returns
 * the number of pages. */
static unsigned answer_pages(ReflectorFixture *fixture, bool is_same) {
    static unsigned token;
    unsigned n = 0;

    do {
        char page[256];

        (void)snprintf(page, sizeof(page), PAGE("10", "t%u", ""), is_same ? 1 : token++);
        fake_answer(fixture->client, fixture->call, 200, page);
        fixture_settle(fixture);
        n++;
        fixture->call++;
    } while (fixture->call < fake_n_calls(fixture->client));
    fixture->call--;
    return n;
}

/* Pages are empty; tokens are all different or all the same. */
static void test_endless_list_is_given_up(void **state) {
    for (int is_same = 0; is_same < 2; is_same++) {
        unsigned pages_max = is_same ? 2 : REFLECTOR_LIST_MAX / REFLECTOR_PAGE_ITEMS;
        ReflectorFixture fixture;
        int64_t began;

        fixture_open(&fixture, 0);
        fixture_next_call(&fixture, "first");
        fake_answer(fixture.client, 0, 422, "");
        fixture_settle(&fixture);
        fixture_next_call(&fixture, "page");
        began = now;
        for (unsigned i = 1; i <= 10; i++) {
            assert_int_equal(answer_pages(&fixture, is_same), pages_max);
            assert_int_equal(fixture.sink.n_lost, i);
            assert_non_null(strstr(fixture.sink.why, "the list does not end"));
            fixture_next_call(&fixture, "list");
            assert_null(strstr(fake_call(fixture.client, fixture.call).path, "&continue="));
        }
        assert_true(now - began >= (10 - BACKOFF_BURST) * NSEC_PER_SEC);
        assert_int_equal(fixture.sink.n_synced, 0);
        fixture_close(&fixture);
    }
}

static void test_normal_ends_never_list(void **state) {
    ReflectorFixture fixture;
    char text[256], part[64];

    fixture_open(&fixture, 0);
    fixture_next_call(&fixture, "first");
    fake_head(fixture.client, 0, 200, "application/json", -1);
    fake_data(fixture.client, 0, STR(LIST_END("1")));
    fake_done(fixture.client, 0, CALL_DONE);
    fixture_settle(&fixture);
    for (int i = 1; i <= 1000; i++) {
        fixture_next_call(&fixture, "next");
        (void)snprintf(part, sizeof(part), "&resourceVersion=%d", i);
        assert_non_null(strstr(fake_call(fixture.client, fixture.call).path, part));
        (void)snprintf(text, sizeof(text),
            "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"%d\"}}}\n",
            i + 1);
        fake_head(fixture.client, fixture.call, 200, "application/json", -1);
        fake_data(fixture.client, fixture.call, str_from_c(text));
        fake_done(fixture.client, fixture.call, CALL_DONE);
        fixture_settle(&fixture);
    }
    assert_int_equal(figures(&fixture)->n_lists, 1);
    assert_int_equal(figures(&fixture)->n_failures, 0);
    fixture_close(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls_have_limits),
        cmocka_unit_test(test_error_answers_are_no_update),
        cmocka_unit_test(test_synced_time_of_lists_and_watches),
        cmocka_unit_test(test_an_endless_event_is_cut_off),
        cmocka_unit_test(test_deferred_events_are_limited),
        cmocka_unit_test(test_endless_error_body_is_not_kept),
        cmocka_unit_test(test_memory_of_a_list_is_freed),
        cmocka_unit_test(test_requests_are_limited_on_average),
        cmocka_unit_test(test_endless_list_is_given_up),
        cmocka_unit_test(test_normal_ends_never_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
