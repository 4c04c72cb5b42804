/* Kept pods: the second request for a pod uses the decoded pod of the first if and only if the text
 * is the same. Addresses of the pod's parts show whether it does. */

#include <stdio.h>

#include "base/test-assert.h"
#include "extender/kept-pod.h"

#define POD(more) "{\"metadata\":{\"name\":\"web\",\"uid\":\"u1\"" more "},\"spec\":{}}"

static KeptPods pods;
static Arena *arena;

static int setup(void **state) {
    (void)state;
    arena = arena_new((size_t)16 << 20);
    return arena ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    kept_pods_done(&pods);
    arena = arena_free(arena);
    return 0;
}

/* Decodes a request with @pod, which must be valid; returns the pod. */
static Pod decode(KeptPod *kept, Str pod) {
    Str names =
        STR("\"a\",\"a name after which the copy of a short pod ends, since it has 256 bytes "
            "more than the last one, and this is much longer than that ..................."
            "..........................................................................\"");
    Str body = arena_printf(
            arena, "{\"Pod\":%.*s,\"NodeNames\":[%.*s]}", STR_FMT(pod), STR_FMT(names)),
        key;
    JsonReader reader;
    Pod ret = {0};

    json_reader_init(&reader, body);
    json_object(&reader);
    assert_true(json_key(&reader, &key));
    kept_pod_decode(kept, &reader, arena, &ret);
    assert_true(json_key(&reader, &key));
    assert_true(str_is(key, "NodeNames"));
    json_skip(&reader, NULL);
    assert_false(json_key(&reader, &key));
    json_end(&reader);
    assert_int_equal(json_error(&reader), JSON_OK);
    return ret;
}

/* Decodes a request with the kept pod of the last one. */
static Pod decode_next(const char *pod) {
    KeptPod *kept = kept_pods_take(&pods);
    Pod ret = decode(kept, str_from_c(pod));

    assert_non_null(kept);
    kept_pods_give(&pods, kept);
    return ret;
}

static void test_same_text_is_decoded_once(void **state) {
    Pod first = decode_next(POD("")), second = decode_next(POD(""));

    (void)state;
    assert_ptr_equal(first.details, second.details);
    assert_true(str_is(second.name, "web"));
}

static void test_other_text_with_the_same_uid_is_decoded(void **state) {
    static const char *const others[] = {
        POD(",\"labels\":{\"a\":\"2\"}"), POD(",\"labels\":{\"a\":\"3\"}"), POD(" "), POD("")};

    (void)state;
    (void)decode_next(POD(",\"labels\":{\"a\":\"1\"}"));
    for (size_t i = 0; i < ELEMENTS_OF(others); i++) {
        Pod alone = decode(/* kept= */ NULL, str_from_c(others[i])), pod = decode_next(others[i]);

        assert_int_equal(pod.labels.n, alone.labels.n);
        for (size_t k = 0; k < pod.labels.n; k++)
            assert_true(str_eq(pod.labels.items[k].value, alone.labels.items[k].value));
    }
}

/* The copy may end in the pod, or in any text behind it. */
static void test_pods_of_any_length_follow_each_other(void **state) {
    static const size_t lengths[] = {1, 200, 3, 3000, 2999, 10, 255, 256, 257};

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(lengths); i++) {
        char *name = arena_alloc(arena, lengths[i] + 1);
        Pod pod;

        memset(name, 'n', lengths[i]);
        name[lengths[i]] = '\0';
        pod = decode_next(
            arena_printf(arena, "{\"metadata\":{\"name\":\"%s\"},\"spec\":{}}", name).ptr);
        assert_true(str_is(pod.name, name));
    }
}

static void test_pod_outlives_its_request(void **state) {
    KeptPod *kept = kept_pods_take(&pods);
    Pod pod = decode(kept, STR(POD(",\"labels\":{\"a\":\"1\"}")));

    (void)state;
    arena_reset(arena);
    memset(arena_alloc(arena, 4096), 'x', 4096);
    assert_true(str_is(pod.labels.items[0].value, "1"));
    kept_pods_give(&pods, kept);
}

/* Two concurrent requests do not change each other's pods. */
static void test_each_request_has_its_own(void **state) {
    KeptPod *a = kept_pods_take(&pods), *b = kept_pods_take(&pods);
    Pod of_a = decode(a, STR(POD(",\"namespace\":\"a\"")));
    Pod of_b = decode(b, STR(POD(",\"namespace\":\"b\"")));

    (void)state;
    assert_ptr_not_equal(a, b);
    assert_true(str_is(of_a.namespace, "a"));
    kept_pods_give(&pods, a);
    assert_true(str_is(of_b.namespace, "b"));
    kept_pods_give(&pods, b);
    assert_ptr_equal(decode_next(POD(",\"namespace\":\"b\"")).details, of_b.details);
}

static void test_large_pod_is_not_kept(void **state) {
    char *text = arena_alloc(arena, KEPT_POD_TEXT_MAX + 1024);
    int n;
    Pod pod;

    (void)state;
    memset(text, 'x', KEPT_POD_TEXT_MAX + 1024);
    n = snprintf(text, 64, "{\"metadata\":{\"name\":\"large\",\"note\":\"");
    text[n] = 'x';
    memcpy(text + KEPT_POD_TEXT_MAX, "\"}}", 4);
    pod = decode_next(text);
    assert_true(str_is(pod.name, "large"));
    assert_ptr_not_equal(decode_next(text).details, pod.details);
}

/* Adds a "labels" object; of several in a pod, the last counts. */
static void add_labels(Buf *text, size_t n, const char *label) {
    buf_append(text, STR("\"labels\":{"));
    for (size_t i = 0; i < n; i++)
        buf_printf(text, "%s%s", i > 0 ? "," : "", label);
    buf_append(text, STR("},"));
}

static size_t memory_of(Str pod) {
    _cleanup_(arena_freep) Arena *large = arena_new(4 * KEPT_POD_BUDGET);
    JsonReader reader;
    Pod ret;

    json_reader_init(&reader, pod);
    pod_decode(&reader, large, &ret);
    assert_false(arena_has_failed(large));
    return arena_used(large) + pod.len;
}

/* The pod is complete wherever memory runs out, also at a key with escapes. */
static void test_pod_that_needs_much_memory_is_complete(void **state) {
    static const size_t sizes[] = {1025, 65}; /* just over powers of two, which wastes memory */
    _cleanup_(buf_done) Buf front = BUF_INIT(KEPT_POD_TEXT_MAX);
    size_t memory = 0;

    (void)state;
    buf_append(&front, STR("{\"spec\":{},\"metadata\":{"));
    for (size_t i = 0; i < ELEMENTS_OF(sizes); i++)
        for (;;) {
            size_t len = front.len;

            add_labels(&front, sizes[i], "\"\":\"\"");
            if (memory_of(arena_printf(arena, "%.*s\"name\":\"\"}}", STR_FMT(buf_str(&front)))) >
                KEPT_POD_BUDGET) {
                front.len = len;
                break;
            }
        }
    for (size_t n = 1; memory <= KEPT_POD_BUDGET + 1024; n++) {
        _cleanup_(buf_done) Buf text = BUF_INIT(KEPT_POD_TEXT_MAX);

        buf_append(&text, buf_str(&front));
        add_labels(&text, n, "\"\":\"\\u0061\"");
        buf_append(&text, STR("\"n\\u0061me\":\"web\"}}"));
        assert_int_equal(buf_error(&text), 0);
        arena_reset(arena);
        assert_true(str_is(decode_next(arena_copy(arena, buf_str(&text)).ptr).name, "web"));
        memory = memory_of(buf_str(&text));
    }
}

static void test_forgotten_pod_is_wiped(void **state) {
    Pod pod = decode_next(POD(",\"labels\":{\"a\":\"secret\"}"));
    Str label = pod.labels.items[0].value;

    (void)state;
    assert_true(str_is(label, "secret"));
    kept_pods_forget(&pods);
#ifndef __SANITIZE_ADDRESS__ /* the arena's memory is poisoned */
    assert_memory_equal(label.ptr, "\0\0\0\0\0\0", 6);
#endif
    kept_pods_forget(&pods);
    assert_true(str_is(decode_next(POD("")).name, "web"));
}

static void test_errors_are_those_without_a_kept_pod(void **state) {
    static const char *const texts[] = {"{\"metadata\":{\"name\":1}}",
        "{\"metadata\":{\"name\":\"a\"", "{\"metadata\":[}", "7", "\"a\"", "[]",
        "{\"spec\":{\"x\":\"\xff\"}}", "{\"spec\":{}]"};

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(texts); i++) {
        KeptPod *kept = kept_pods_take(&pods);
        JsonReader alone, with;
        Pod pod;

        json_reader_init(&alone, arena_printf(arena, "  %s", texts[i]));
        json_reader_init(&with, arena_printf(arena, "  %s", texts[i]));
        pod_decode(&alone, arena, &pod);
        kept_pod_decode(kept, &with, arena, &pod);
        assert_int_not_equal(json_error(&alone), JSON_OK);
        assert_int_equal(json_error(&with), json_error(&alone));
        assert_int_equal(with.error_at, alone.error_at);
        kept_pods_give(&pods, kept);
    }
}

/* The copy of a pod starts at the depth that the pod has in the request. */
static void test_depth_counts_the_request(void **state) {
    char text[256] = "{\"Pod\":{\"x\":";
    size_t at = strlen(text), n = JSON_DEPTH_MAX - 1;
    KeptPod *kept = kept_pods_take(&pods);
    JsonReader reader;
    Pod pod;
    Str key;

    (void)state;
    memset(text + at, '[', n);
    memset(text + at + n, ']', n);
    memcpy(text + at + 2 * n, "}}", 3);
    json_reader_init(&reader, str_from_c(text));
    json_object(&reader);
    assert_true(json_key(&reader, &key));
    kept_pod_decode(kept, &reader, arena, &pod);
    assert_int_equal(json_error(&reader), JSON_E_DEPTH);
    kept_pods_give(&pods, kept);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_same_text_is_decoded_once, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_other_text_with_the_same_uid_is_decoded, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pods_of_any_length_follow_each_other, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pod_outlives_its_request, setup, teardown),
        cmocka_unit_test_setup_teardown(test_each_request_has_its_own, setup, teardown),
        cmocka_unit_test_setup_teardown(test_large_pod_is_not_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_pod_that_needs_much_memory_is_complete, setup, teardown),
        cmocka_unit_test_setup_teardown(test_forgotten_pod_is_wiped, setup, teardown),
        cmocka_unit_test_setup_teardown(test_errors_are_those_without_a_kept_pod, setup, teardown),
        cmocka_unit_test_setup_teardown(test_depth_counts_the_request, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
