#include "kube/api-writes.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/test-assert.h"
#include "base/utf8.h"
#include "test-fake-client.h"

static int64_t now;

int64_t clock_monotonic_nsec(void) {
    return now;
}

int64_t clock_wall_nsec(void) {
    return INT64_C(1794700800) * NSEC_PER_SEC; /* 2026-11-15T00:00:00Z */
}

static Client *client;
static WriteQueue *queue;

static int set_up(void **state) {
    now = 1000 * NSEC_PER_SEC;
    client = client_new(NULL);
    queue = event_queue_new(client);
    return client && queue ? 0 : -1;
}

static int tear_down(void **state) {
    queue = write_queue_free(queue);
    client = client_free(client);
    return 0;
}

static PodEvent about(const char *pod, Str note) {
    return (PodEvent){
        .is_warning = true,
        .reason = "NoNodePassed",
        .action = "Filter",
        .note = note,
        .namespace = STR("shop"),
        .pod = str_from_c(pod),
        .uid = STR("u1"),
    };
}

static bool add(const char *pod, Str note) {
    PodEvent what = about(pod, note);

    return event_queue_add(queue, &what, "berth-0_1");
}

static void answer_with(size_t call, unsigned status, const char *body) {
    fake_answer(client, call, status, body);
    (void)client_wait(client, 0);
}

static void answer(size_t call, unsigned status) {
    answer_with(call, status, "{}");
}

static void test_request_of_an_event(void **state) {
    assert_true(add("web", STR("a \"note\"")));
    assert_int_equal(fake_n_calls(client), 0); /* sent by the client's thread */
    write_queue_tick(queue, now);
    assert_int_equal(fake_n_calls(client), 1);
    assert_string_equal(fake_call(client, 0).method, "POST");
    assert_string_equal(fake_call(client, 0).path, "/apis/events.k8s.io/v1/namespaces/shop/events");
    assert_string_equal(fake_call(client, 0).body,
        "{\"apiVersion\":\"events.k8s.io/v1\",\"kind\":\"Event\",\"metadata\":{\"name\":"
        "\"web.18e80ede6e1c0000\",\"namespace\":\"shop\"},"
        "\"eventTime\":\"2026-11-15T00:00:00.000000Z\",\"type\":\"Warning\","
        "\"reason\":\"NoNodePassed\",\"action\":\"Filter\",\"note\":\"a \\\"note\\\"\","
        "\"regarding\":{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"namespace\":\"shop\",\"name\":"
        "\"web\",\"uid\":\"u1\"},\"reportingController\":\"berth.dev/berth\","
        "\"reportingInstance\":\"berth-0_1\"}");
    answer(0, 201);
    assert_int_equal(write_queue_figures(queue).n_written, 1);
}

/* Copies the string after @key in the body of call @n to @ret. */
static void read_member(size_t n, const char *key, char *ret, size_t size) {
    FakeCall call = fake_call(client, n);
    const char *at = strstr(call.body, key);

    assert_non_null(at);
    at += strlen(key);
    (void)snprintf(ret, size, "%.*s", (int)strcspn(at, "\""), at);
}

static void test_long_texts_are_cut(void **state) {
    char note[3000], text[4096], pod[254];

    for (size_t i = 0; i + 3 < sizeof(note); i += 3)
        memcpy(
            note + i, "\xe2\x82\xac", 4); /* three bytes each, so byte 1024 is inside a character */
    memset(pod, 'a', sizeof(pod) - 1);
    pod[253] = '\0';
    pod[EVENT_NAME_MAX - 1] = '.'; /* a name must not end in a dot */
    pod[EVENT_NAME_MAX - 2] = 'c';
    assert_true(add(pod, str_from_c(note)));
    write_queue_tick(queue, now);
    read_member(0, "\"note\":\"", text, sizeof(text));
    assert_int_equal(strlen(text), 1023);
    assert_int_equal(utf8_valid_length(str_from_c(text)), 1023);
    read_member(0, "\"metadata\":{\"name\":\"", text, sizeof(text));
    assert_int_equal(strlen(text), EVENT_NAME_MAX - 1 + 17);
    assert_int_equal(text[EVENT_NAME_MAX - 2], 'c');
    answer(0, 201);

    memset(note, 0xff, 1500); /* not UTF-8 */
    assert_true(add("web", str_of(note, 1500)));
    write_queue_tick(queue, now);
    read_member(1, "\"note\":\"", text, sizeof(text));
    assert_in_range(strlen(text), 1000, EVENT_NOTE_MAX);
}

static void test_notes_are_cut_between_characters(void **state) {
    static const char *const characters[] = {"\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x9a\xa2"};
    char note[1300], text[2048];
    size_t n = 0;

    for (size_t i = 0; i < ELEMENTS_OF(characters); i++)
        for (size_t shift = 0; shift < strlen(characters[i]); shift++, n++) {
            size_t width = strlen(characters[i]), at = shift;

            memset(note, 'x', shift);
            for (; at + width < sizeof(note); at += width)
                memcpy(note + at, characters[i], width);
            assert_true(add("web", str_of(note, at)));
            write_queue_tick(queue, now);
            read_member(n, "\"note\":\"", text, sizeof(text));
            note[shift + (EVENT_NOTE_MAX - shift) / width * width] = '\0';
            assert_string_equal(text, note);
            answer(n, 201);
        }
}

static void test_events_of_the_same_time_have_different_names(void **state) {
    char first[64], second[64];

    assert_true(add("web", STR("x")) && add("web", STR("x")));
    write_queue_tick(queue, now);
    answer(0, 201);
    assert_int_equal(fake_n_calls(client), 2);
    read_member(0, "\"metadata\":{\"name\":\"", first, sizeof(first));
    read_member(1, "\"metadata\":{\"name\":\"", second, sizeof(second));
    assert_string_not_equal(first, second);
}

static void test_invalid_names_are_dropped(void **state) {
    PodEvent what = about("web", STR("x"));

    assert_false(add("../web", STR("x")));
    assert_false(add("", STR("x")));
    what.namespace = STR("a/b");
    assert_false(event_queue_add(queue, &what, "berth-0_1"));
    what = about("web", STR("x"));
    what.uid = STR_NULL;
    assert_false(event_queue_add(queue, &what, "berth-0_1"));
    assert_int_equal(write_queue_figures(queue).n_dropped, 4);
}

static void test_sends_one_at_a_time_from_a_bounded_queue(void **state) {
    size_t n = 0;

    for (size_t i = 0; i < EVENT_WAITING_MAX; i++)
        assert_true(add("web", STR("x")));
    assert_false(add("web", STR("x")));
    write_queue_tick(queue, now);
    write_queue_tick(queue, now);
    assert_int_equal(fake_n_calls(client), 1);
    for (; n < fake_n_calls(client); n++)
        answer(n, 201);
    assert_int_equal(n, EVENT_WAITING_MAX);
    assert_int_equal(write_queue_figures(queue).n_written, EVENT_WAITING_MAX);
    assert_int_equal(write_queue_figures(queue).n_dropped, 1);
}

static void test_stops_after_forbidden(void **state) {
    for (size_t i = 0; i < 10; i++)
        assert_true(add("web", STR("x")));
    write_queue_tick(queue, now);
    answer(0, 403);
    assert_int_equal(fake_n_calls(client), 1); /* no more requests */
    assert_true(write_queue_figures(queue).is_forbidden);
    assert_int_equal(write_queue_figures(queue).n_failed, 1);
    assert_int_equal(write_queue_figures(queue).n_dropped, 9);
    now += (EVENT_FORBIDDEN_SEC - 1) * NSEC_PER_SEC;
    assert_true(add("web", STR("x")));
    write_queue_tick(queue, now);
    assert_int_equal(fake_n_calls(client), 1);
    now += NSEC_PER_SEC;
    assert_true(add("web", STR("x")));
    write_queue_tick(queue, now);
    answer(1, 201);
    assert_false(write_queue_figures(queue).is_forbidden);
}

static void test_goes_on_after_the_pause_of_a_429(void **state) {
    int64_t next_at;

    assert_true(add("web", STR("x")) && add("web", STR("y")));
    assert_true(write_queue_tick(queue, now) == INT64_MAX);
    answer(0, 429);
    next_at = write_queue_tick(queue, now);
    assert_int_equal(fake_n_calls(client), 1);
    assert_true(next_at != INT64_MAX);
    write_queue_tick(queue, next_at);
    assert_int_equal(fake_n_calls(client), 2);
}

/* A 403 because of a quota or a deleted namespace does not stop Events of others. */
static void test_403_of_one_namespace_does_not_stop_others(void **state) {
    static const char *const messages[] = {
        "events.events.k8s.io \\\"web.1\\\" is forbidden: unable to create new content in "
        "namespace "
        "shop because it is being terminated",
        "events.events.k8s.io \\\"web.1\\\" is forbidden: exceeded quota: none, requested: "
        "count/events=1, used: count/events=0, limited: count/events=0",
        "events.events.k8s.io is forbidden: User \\\"x\\\" cannot create resource \\\"events\\\" "
        "in API "
        "group \\\"events.k8s.io\\\" in the namespace \\\"shop\\\"",
    };
    char body[512];

    for (size_t i = 0; i < ELEMENTS_OF(messages); i++)
        assert_true(add("web", STR("x")));
    write_queue_tick(queue, now);
    for (size_t i = 0; i < ELEMENTS_OF(messages); i++) {
        (void)snprintf(body, sizeof(body),
            "{\"kind\":\"Status\",\"code\":403,\"reason\":\"Forbidden\",\"message\":\"%s\"}",
            messages[i]);
        assert_int_equal(fake_n_calls(client), i + 1);
        answer_with(i, 403, body);
        assert_int_equal(write_queue_figures(queue).is_forbidden, i + 1 == ELEMENTS_OF(messages));
        assert_int_equal(write_queue_figures(queue).n_failed, i + 1);
    }
}

static void test_failures_are_counted(void **state) {
    assert_true(add("web", STR("x")) && add("web", STR("y")) && add("web", STR("z")));
    write_queue_tick(queue, now);
    answer(0, 500);
    fake_done(client, 1, CALL_TIMEOUT);
    fake_refuse_next(client); /* no memory for the third */
    (void)client_wait(client, 0);
    assert_int_equal(write_queue_figures(queue).n_failed, 3);
    assert_true(add("web", STR("x")));
    write_queue_tick(queue, now);
    answer(2, 201);
    assert_int_equal(write_queue_figures(queue).n_written, 1);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_request_of_an_event),
        TEST(test_long_texts_are_cut),
        TEST(test_notes_are_cut_between_characters),
        TEST(test_events_of_the_same_time_have_different_names),
        TEST(test_invalid_names_are_dropped),
        TEST(test_sends_one_at_a_time_from_a_bounded_queue),
        TEST(test_stops_after_forbidden),
        TEST(test_goes_on_after_the_pause_of_a_429),
        TEST(test_403_of_one_namespace_does_not_stop_others),
        TEST(test_failures_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
