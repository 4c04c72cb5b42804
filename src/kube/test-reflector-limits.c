/* What a reflector holds, how often it asks, and what it says of the time it has heard something.
 */

#include "kube/backoff.h"
#include "kube/document-splitter.h"
#include "kube/reflector.h"
#include "kube/test-reflector.h"

static void test_calls_have_limits(void **state) {
    Lab lab;
    FakeCall call;
    int64_t least = INT64_MAX, most = 0;

    for (uint64_t seed = 0; seed < 300; seed++) {
        const char *at;
        int64_t seconds = 0;

        lab_open(&lab, seed);
        lab_next_call(&lab, "first");
        call = fake_call(lab.client, 0);
        at = strstr(call.path, "timeoutSeconds=");
        assert_non_null(at);
        assert_true(str_to_int64(str_of(at + 15, 3), &seconds));
        least = seconds < least ? seconds : least;
        most = seconds > most ? seconds : most;
        assert_int_equal(call.first_byte_sec, REFLECTOR_FIRST_BYTE_SEC);
        fake_answer(lab.client, 0, 422, "");
        lab_settle(&lab);
        lab_next_call(&lab, "page");
        call = fake_call(lab.client, 1);
        assert_int_equal(call.total_sec, REFLECTOR_PAGE_SEC);
        assert_int_equal(call.bytes_max, REFLECTOR_PAGE_MAX);
        lab_close(&lab);
    }
    assert_in_range(least, REFLECTOR_WATCH_LEAST_SEC, REFLECTOR_WATCH_LEAST_SEC + 20);
    assert_in_range(most, REFLECTOR_WATCH_MOST_SEC - 20, REFLECTOR_WATCH_MOST_SEC);
}

/* --- when it was last heard, and known to be complete ----------------------------------------- */

static int64_t seconds_since(int64_t at) {
    return (now - at) / NSEC_PER_SEC;
}

/* A server that refuses, or that is something else, is not heard: what we know gets old. */
static void test_refusals_are_not_heard(void **state) {
    static const struct {
        const char *name, *type;
        unsigned status;
    } refusals[] = {
        {"forbidden", "application/json", 403},
        {"overloaded", "application/json", 503},
        {"no API server", "text/html", 200},
    };

    for (size_t i = 0; i < ELEMENTS_OF(refusals); i++) {
        Lab lab;
        int64_t heard_at;

        lab_open(&lab, i);
        lab_next_call(&lab, refusals[i].name);
        fake_head(lab.client, 0, 200, "application/json", -1);
        now += NSEC_PER_SEC;
        fake_data(lab.client, 0, STR(LIST_END("10")));
        lab_settle(&lab);
        assert_case(refusals[i].name, seconds_since(figures(&lab)->heard_at_nsec) == 0);
        heard_at = now;
        fake_done(lab.client, 0, CALL_BROKEN);
        lab_settle(&lab);
        for (int n = 0; n < 50; n++) {
            lab_next_call(&lab, refusals[i].name);
            fake_head(lab.client, lab.call, refusals[i].status, refusals[i].type, -1);
            fake_data(lab.client, lab.call, STR(STATUS("0", "x", "{}")));
            fake_done(lab.client, lab.call, CALL_DONE);
            lab_settle(&lab);
        }
        assert_case(refusals[i].name, figures(&lab)->heard_at_nsec == heard_at);
        lab_next_call(&lab, refusals[i].name);
        fake_head(lab.client, lab.call, 200, "application/json", -1);
        lab_settle(&lab);
        assert_case(refusals[i].name, figures(&lab)->heard_at_nsec == now);
        lab_close(&lab);
    }
}

/* A list shows what was there when it began, however long it takes; a watch, all up to now. */
static void test_when_it_was_complete(void **state) {
    Lab lab;
    int64_t began;

    lab_open(&lab, 0);
    lab_next_call(&lab, "stream");
    began = now;
    fake_head(lab.client, 0, 200, "application/json", -1);
    now += 100 * NSEC_PER_SEC;
    fake_data(lab.client, 0, STR(ADDED("a", "1")));
    lab_settle(&lab);
    assert_int_equal(figures(&lab)->synced_at_nsec, 0);
    fake_data(lab.client, 0, STR(LIST_END("10")));
    lab_settle(&lab);
    assert_int_equal(figures(&lab)->synced_at_nsec, began);
    now += NSEC_PER_SEC;
    fake_data(lab.client, 0, STR(BOOKMARK("11")));
    lab_settle(&lab);
    assert_int_equal(figures(&lab)->synced_at_nsec, now);
    began = now;
    now += NSEC_PER_SEC;
    fake_done(lab.client, 0, CALL_BROKEN);
    lab_settle(&lab);
    lab_next_call(&lab, "again"); /* a watch that is open has not shown anything yet */
    fake_head(lab.client, lab.call, 200, "application/json", -1);
    lab_settle(&lab);
    assert_int_equal(figures(&lab)->synced_at_nsec, began);
    fake_data(lab.client, lab.call, STR(ADDED("b", "12"))); /* nor all that it missed */
    lab_settle(&lab);
    assert_int_equal(figures(&lab)->synced_at_nsec, began);
    now += REFLECTOR_CATCH_UP_SEC * NSEC_PER_SEC;
    fake_data(lab.client, lab.call, STR(ADDED("c", "13")));
    lab_settle(&lab);
    assert_int_equal(figures(&lab)->synced_at_nsec, now);
    lab_close(&lab);
}

static void send_many(Lab *lab, size_t total) {
    static char piece[1024 * 1024];

    memset(piece, 'x', sizeof(piece));
    for (size_t sent = 0; sent < total; sent += sizeof(piece)) {
        fake_data(lab->client, lab->call, str_of(piece, sizeof(piece)));
        lab_settle(lab);
        assert_true(reflector_held(lab->reflector) <=
                    REFLECTOR_PAGE_MAX + REFLECTOR_DOCUMENT_MAX + SPLITTER_KEEP_MAX);
    }
}

static void test_an_endless_event_is_cut_off(void **state) {
    Lab lab;

    lab_open(&lab, 0);
    lab_next_call(&lab, "first");
    fake_head(lab.client, 0, 200, "application/json", -1);
    send_many(&lab, 2 * REFLECTOR_DOCUMENT_MAX);
    assert_true(fake_call(lab.client, 0).is_over);
    assert_true(reflector_held(lab.reflector) <= SPLITTER_KEEP_MAX);
    lab_close(&lab);
}

/* What happens behind a deletion inside a streamed list waits for its end, and not without bound.
 */
static void test_too_much_happens_during_a_list(void **state) {
    _cleanup_(buf_done) Buf event = BUF_INIT((size_t)2 * 1024 * 1024);
    Lab lab;

    buf_append(&event, STR("{\"type\":\"MODIFIED\",\"object\":{\"x\":\""));
    buf_append_repeat(&event, 'x', (size_t)1024 * 1024);
    buf_append(&event, STR("\",\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"2\"}}}\n"));
    lab_open(&lab, 0);
    lab_next_call(&lab, "first");
    fake_head(lab.client, 0, 200, "application/json", -1);
    fake_data(lab.client, 0, STR(DELETED("a", "1")));
    for (size_t sent = 0; sent <= REFLECTOR_DEFERRED_MAX; sent += event.len) {
        assert_false(fake_call(lab.client, 0).is_over);
        fake_data(lab.client, 0, buf_str(&event));
        lab_settle(&lab);
        assert_true(reflector_held(lab.reflector) <=
                    REFLECTOR_DEFERRED_MAX + REFLECTOR_DOCUMENT_MAX + SPLITTER_KEEP_MAX);
    }
    assert_true(fake_call(lab.client, 0).is_over);
    assert_string_equal(lab.sink.why, "too much happened during a streamed list");
    assert_int_equal(reflector_held(lab.reflector), 0);
    lab_close(&lab);
}

static void test_an_endless_refusal_is_not_kept(void **state) {
    Lab lab;

    lab_open(&lab, 0);
    lab_next_call(&lab, "first");
    fake_head(lab.client, 0, 500, "text/plain", 33);
    send_many(&lab, (size_t)4 * 1024 * 1024);
    assert_true(reflector_held(lab.reflector) <= 2 * REFLECTOR_REFUSAL_MAX);
    fake_done(lab.client, 0, CALL_DONE);
    lab_settle(&lab);
    assert_true(lab.sink.retry_nsec >= 33 * NSEC_PER_SEC);
    assert_int_equal(reflector_held(lab.reflector), 0);
    lab_close(&lab);
}

/* Whatever a list took is given back when it is over. */
static void test_lists_leave_no_memory_behind(void **state) {
    static const char page[] = PAGE("10", "", OBJ("a", "1"));
    Lab lab;
    Str rest = str_from_c(page);

    lab_open(&lab, 0);
    lab_next_call(&lab, "first");
    fake_answer(lab.client, 0, 422, "");
    lab_settle(&lab);
    lab_next_call(&lab, "page");
    fake_head(lab.client, 1, 200, "application/json", -1);
    while (rest.len > 0) {
        char blanks[4096];

        memset(blanks, ' ', sizeof(blanks));
        fake_data(lab.client, 1, str_take(rest, 1));
        if (rest.ptr[0] == ',')
            for (int i = 0; i < 100; i++)
                fake_data(lab.client, 1, str_of(blanks, sizeof(blanks)));
        rest = str_skip(rest, 1);
    }
    lab_settle(&lab);
    assert_true(reflector_held(lab.reflector) > (size_t)400 * 1024);
    fake_done(lab.client, 1, CALL_DONE);
    lab_settle(&lab);
    assert_string_equal(state_text(&lab.sink.live), "a:1");
    assert_int_equal(reflector_held(lab.reflector), 0);
    lab_close(&lab);
}

/* A list in pages is fine, and the version it gave is too old by the time a watch asks. Takes
 * both calls. */
static void answer_in_vain(Lab *lab) {
    const char *path = fake_call(lab->client, lab->call).path;

    if (strstr(path, "sendInitialEvents")) {
        fake_answer(lab->client, lab->call, 422, "");
        lab_settle(lab);
        lab_next_call(lab, "page");
    }
    fake_answer(lab->client, lab->call, 200, PAGE("10", "", OBJ("a", "1")));
    lab_settle(lab);
    lab_next_call(lab, "watch");
    assert_non_null(strstr(fake_call(lab->client, lab->call).path, "&resourceVersion=10"));
    fake_answer(lab->client, lab->call, 410, STATUS("410", "Expired", "{}"));
    lab_settle(lab);
}

/* However a server fails, and whatever it lets succeed in between, it is asked at
 * most once a second on average. */
static void test_tries_are_rationed(void **state) {
    for (int kind = 0; kind < 5; kind++) {
        Lab lab;
        int64_t began;
        size_t n;

        lab_open(&lab, (uint64_t)kind);
        began = now;
        for (n = 0; n < 200; n++) {
            lab_next_call(&lab, "ration");
            if (kind == 4) {
                answer_in_vain(&lab);
                continue;
            }
            fake_head(lab.client, lab.call, kind == 3 ? 500 : 200, "application/json", -1);
            if (kind == 0)
                fake_data(lab.client, lab.call, STR(LIST_END("1")));
            else if (kind == 1)
                fake_data(lab.client, lab.call, STR(LIST_END("1") ERROR("410", "Expired", "{}")));
            else if (kind == 2)
                fake_data(lab.client, lab.call, STR(ADDED("a", "1")));
            fake_done(lab.client, lab.call, CALL_DONE);
            lab_settle(&lab);
        }
        if (kind == 0)
            assert_true(now - began >= (int64_t)(n - 1 - BACKOFF_BURST) * NSEC_PER_SEC);
        else /* where nothing is won, less and less often */
            assert_true(now - began >= (int64_t)n * 3 * NSEC_PER_SEC);
        lab_close(&lab);
    }
}

/* A thousand normal ends, no list. */
static void test_normal_ends_never_list(void **state) {
    Lab lab;
    char text[256], part[64];

    lab_open(&lab, 0);
    lab_next_call(&lab, "first");
    fake_head(lab.client, 0, 200, "application/json", -1);
    fake_data(lab.client, 0, STR(LIST_END("1")));
    fake_done(lab.client, 0, CALL_DONE);
    lab_settle(&lab);
    for (int i = 1; i <= 1000; i++) {
        lab_next_call(&lab, "next");
        (void)snprintf(part, sizeof(part), "&resourceVersion=%d", i);
        assert_non_null(strstr(fake_call(lab.client, lab.call).path, part));
        (void)snprintf(text, sizeof(text),
            "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"%d\"}}}\n",
            i + 1);
        fake_head(lab.client, lab.call, 200, "application/json", -1);
        fake_data(lab.client, lab.call, str_from_c(text));
        fake_done(lab.client, lab.call, CALL_DONE);
        lab_settle(&lab);
    }
    assert_int_equal(figures(&lab)->n_lists, 1);
    assert_int_equal(figures(&lab)->n_failures, 0);
    lab_close(&lab);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls_have_limits),
        cmocka_unit_test(test_refusals_are_not_heard),
        cmocka_unit_test(test_when_it_was_complete),
        cmocka_unit_test(test_an_endless_event_is_cut_off),
        cmocka_unit_test(test_too_much_happens_during_a_list),
        cmocka_unit_test(test_an_endless_refusal_is_not_kept),
        cmocka_unit_test(test_lists_leave_no_memory_behind),
        cmocka_unit_test(test_tries_are_rationed),
        cmocka_unit_test(test_normal_ends_never_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
