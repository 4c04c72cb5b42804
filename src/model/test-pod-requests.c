#include "model/pod-requests.h"

#include "base/buf.h"
#include "model/test-decode.h"
#include "model/test-file.h"

/* "cpu=250 memory=1024", sorted by name. */
static void print_requests(const Resources *requests, Buf *out) {
    Str last = STR_NULL;

    for (size_t n = 0; n < requests->n; n++) {
        const Resource *next = NULL;

        for (size_t i = 0; i < requests->n; i++) {
            const Resource *item = &requests->items[i];

            if ((n == 0 || str_cmp(item->name, last) > 0) &&
                (!next || str_cmp(item->name, next->name) < 0))
                next = item;
        }
        assert_non_null(next); /* each name once */
        buf_printf(out, "%s%.*s=", n > 0 ? " " : "", STR_FMT(next->name));
        buf_append_int(out, next->amount);
        last = next->name;
    }
}

typedef struct Case {
    Str name, spec, status, expect, before; /* before: by RESIZE_BY_CONTAINER; ptr NULL: the same */
} Case;

static void check_rule(const Case *c, Str text, ResizeRule rule, Str expect) {
    _cleanup_(arena_freep) Arena *arena = arena_new(65536);
    _cleanup_(buf_done) Buf got = BUF_INIT(4096);
    JsonReader reader;
    Pod pod;

    json_reader_init(&reader, text);
    pod_decode_resized(&reader, arena, rule, &pod);
    json_end(&reader);
    assert_int_equal(json_error(&reader), JSON_OK);
    print_requests(&pod.requests, &got);
    if (!str_eq(buf_str(&got), expect))
        fail_msg("%.*s: %.*s: rule %d: got \"%.*s\", want \"%.*s\"", STR_FMT(c->name),
            STR_FMT(text), (int)rule, STR_FMT(buf_str(&got)), STR_FMT(expect));
}

static void check_case(const Case *c, bool is_status_first) {
    _cleanup_(buf_done) Buf text = BUF_INIT(65536);

    if (is_status_first)
        buf_printf(&text, "{\"status\":%.*s,\"spec\":%.*s}", STR_FMT(c->status), STR_FMT(c->spec));
    else
        buf_printf(&text, "{\"spec\":%.*s,\"status\":%.*s}", STR_FMT(c->spec), STR_FMT(c->status));
    check_rule(c, buf_str(&text), RESIZE_BY_POD, c->expect);
    check_rule(c, buf_str(&text), RESIZE_BY_CONTAINER, c->before.ptr ? c->before : c->expect);
}

/* Each case with its spec first, and with its status first. The file documents the sources of its
 * amounts. */
static size_t check_cases(const char *path) {
    Case c = {0};
    Str rest, line;
    char *data = test_file_read(path, &rest);
    size_t n = 0;

    while (str_split(&rest, '\n', &line)) {
        if (str_has_prefix(line, STR("name    "))) {
            c = (Case){.name = str_skip(line, 8), .status = STR("null")};
        } else if (str_has_prefix(line, STR("spec    "))) {
            c.spec = str_skip(line, 8);
        } else if (str_has_prefix(line, STR("status  "))) {
            c.status = str_skip(line, 8);
        } else if (str_has_prefix(line, STR("before  "))) {
            c.before = str_skip(line, 8);
        } else if (str_has_prefix(line, STR("expect  "))) {
            c.expect = str_skip(line, 8);
            check_case(&c, false);
            check_case(&c, true);
            n++;
        }
    }
    free(data);
    return n;
}

static void test_requests(void **state) {
    (void)state;
    assert_true(check_cases("model/pod-requests.test") > 20);
}

static void test_resize(void **state) {
    (void)state;
    assert_true(check_cases("model/pod-resize.test") > 50);
}

/* The pod @place with @n resources in place of "%s", with a node or without. */
static JsonError decode_place(
    const char *place, size_t n, bool is_zero, bool has_node, Arena *arena, Pod *ret) {
    _cleanup_(buf_done) Buf text = BUF_INIT(16384);
    Str before = str_take(str_from_c(place), str_find(str_from_c(place), '%'));
    Str after = str_skip(str_from_c(place), before.len + 2);

    buf_append(&text, before);
    for (size_t i = 0; i < n; i++)
        buf_printf(&text, "%s\"example.com/%zu\":\"%d\"", i > 0 ? "," : "", i, !is_zero);
    /* Every place has a spec, and ends with it. */
    buf_append(&text, str_take(after, after.len - 2));
    buf_append(&text, has_node ? STR(",\"nodeName\":\"n\"}}") : STR("}}"));
    return decode_pod(arena_copy(arena, buf_str(&text)), arena, ret);
}

/* The limit holds for the sum as well: a pod to be placed is an error, a pod on a node is counted
 * up to the limit. */
static void test_too_many_resources(void **state) {
    static const char *const places[] = {
        "{\"spec\":{\"containers\":[{\"resources\":{\"requests\":{%s}}},"
        "{\"resources\":{\"requests\":{\"one-more\":\"1\"}}}]}}",
        "{\"spec\":{\"containers\":[{\"resources\":{\"requests\":{%s,\"one-more\":\"1\"}}}]}}",
        "{\"spec\":{\"containers\":[{\"resources\":{\"limits\":{%s,\"one-more\":\"1\"}}}]}}",
        "{\"spec\":{\"containers\":[{\"resources\":{\"requests\":{%s}}}],"
        "\"initContainers\":[{\"resources\":{\"requests\":{\"one-more\":\"1\"}}}]}}",
        "{\"spec\":{\"initContainers\":[{\"restartPolicy\":\"Always\",\"resources\":{"
        "\"requests\":{%s}}},{\"resources\":{\"requests\":{\"one-more\":\"1\"}}}]}}",
        "{\"spec\":{\"containers\":[{\"resources\":{\"requests\":{%s},"
        "\"limits\":{\"one-more\":\"1\"}}}]}}",
        "{\"spec\":{\"containers\":[{\"resources\":{\"requests\":{%s}}}],"
        "\"overhead\":{\"one-more\":\"1\"}}}",
        "{\"spec\":{\"containers\":[{\"resources\":{\"requests\":{%s}}}],"
        "\"resources\":{\"requests\":{\"hugepages-1Gi\":\"1\"}}}}",
        "{\"status\":{\"allocatedResources\":{%s},"
        "\"resources\":{\"requests\":{\"one-more\":\"1\"}}},\"spec\":{\"x\":1}}",
        "{\"status\":{\"containerStatuses\":["
        "{\"name\":\"a\",\"allocatedResources\":{%s},"
        "\"resources\":{\"requests\":{\"one-more\":\"1\"}}}]},"
        "\"spec\":{\"containers\":[{\"name\":\"a\"}]}}",
        "{\"status\":{\"resources\":{\"requests\":{%s}}},"
        "\"spec\":{\"resources\":{\"requests\":{\"cpu\":\"1\"}}}}",
        "{\"status\":{\"containerStatuses\":["
        "{\"name\":\"a\",\"allocatedResources\":{%s}}]},"
        "\"spec\":{\"containers\":[{\"name\":\"a\",\"resources\":{\"requests\":{"
        "\"one-more\":\"1\"}}}]}}",
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(places); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
        const char *place = places[i];
        bool is_pod_level = memmem(place, strlen(place), "\"cpu\"", 5);
        Pod pod;

        assert_case(
            place, decode_place(place, RESOURCES_MAX, false, false, arena, &pod) == JSON_E_RANGE);
        assert_case(place, decode_place(place, RESOURCES_MAX, false, true, arena, &pod) == JSON_OK);
        assert_case(place, pod.requests.n == (is_pod_level ? 1 : RESOURCES_MAX));
        /* Resources with amount 0 do not count, however many. */
        assert_case(place, decode_place(place, 200, true, false, arena, &pod) == JSON_OK);
        assert_case(place, resources_get(&pod.requests, STR("one-more")) +
                                   resources_get(&pod.requests, STR("hugepages-1Gi")) +
                                   resources_get(&pod.requests, STR("cpu")) / 1000 ==
                               1);
    }
}

/* Amounts of 0 do not count either if other resources have reached the limit. */
static void test_amounts_of_zero_do_not_count(void **state) {
    static const char place[] = "{\"spec\":{\"containers\":[{\"resources\":{\"requests\":{%s,"
                                "\"nothing\":\"0\"}}}],\"overhead\":{\"none\":0}}}";
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
    Pod pod;

    (void)state;
    assert_int_equal(decode_place(place, RESOURCES_MAX, false, false, arena, &pod), JSON_OK);
    assert_int_equal(pod.requests.n, RESOURCES_MAX);
    assert_int_equal(resources_get(&pod.requests, STR("example.com/63")), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_resize),
        cmocka_unit_test(test_too_many_resources),
        cmocka_unit_test(test_amounts_of_zero_do_not_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
