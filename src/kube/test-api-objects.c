#include "kube/api-objects.h"

#include "base/test-assert.h"
#include "base/url.h"

static Arena *arena;

static void test_reads_watch_events(void **state) {
    static const struct {
        const char *text;
        bool ok;
        WatchEventType type;
        const char *object;
    } cases[] = {
        {"{\"type\":\"ADDED\",\"object\":{\"a\":[1,{}]}}", true, EVENT_ADDED, "{\"a\":[1,{}]}"},
        {"{\"type\":\"MODIFIED\",\"object\":{}}", true, EVENT_MODIFIED, "{}"},
        {"{\"type\":\"DELETED\",\"object\":{}}", true, EVENT_DELETED, "{}"},
        {"{\"type\":\"BOOKMARK\",\"object\":{}}", true, EVENT_BOOKMARK, "{}"},
        {"{\"type\":\"ERROR\",\"object\":{}}", true, EVENT_ERROR, "{}"},
        {"{\"type\":\"LATER\",\"object\":{}}", true, EVENT_UNKNOWN, "{}"},
        {"{\"type\":\"added\",\"object\":{}}", true, EVENT_UNKNOWN, "{}"},
        {" { \"object\" : { \"x\" : \"}\" } , \"type\" : \"ADDED\" , \"more\" : [1] } ", true,
            EVENT_ADDED, "{ \"x\" : \"}\" }"},
        {"", false, 0, NULL},
        {"null", false, 0, NULL},
        {"[]", false, 0, NULL},
        {"{}", false, 0, NULL},
        {"{\"type\":\"ADDED\"}", false, 0, NULL},
        {"{\"object\":{}}", false, 0, NULL},
        {"{\"type\":\"\",\"object\":{}}", false, 0, NULL},
        {"{\"type\":1,\"object\":{}}", false, 0, NULL},
        {"{\"type\":null,\"object\":{}}", false, 0, NULL},
        {"{\"type\":\"ADDED\",\"object\":null}", false, 0, NULL},
        {"{\"type\":\"ADDED\",\"object\":[]}", false, 0, NULL},
        {"{\"type\":\"ADDED\",\"object\":\"{}\"}", false, 0, NULL},
        {"{\"type\":\"ADDED\",\"object\":{}", false, 0, NULL},
        {"{\"type\":\"ADDED\",\"object\":{}}}", false, 0, NULL},
        {"{\"type\":\"ADDED\",\"object\":{}}{}", false, 0, NULL},
        {"<html>", false, 0, NULL},
        {"\x1f\x8b\x08", false, 0, NULL},
    };

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        WatchEvent event;

        assert_case(cases[i].text, event_read(str_from_c(cases[i].text), &event) == cases[i].ok);
        if (!cases[i].ok)
            continue;
        assert_case(cases[i].text, event.type == cases[i].type);
        assert_text(cases[i].text, event.object, cases[i].object);
    }
}

static void test_reads_statuses(void **state) {
    static const struct {
        const char *name, *text;
        bool ok, is_expired, is_too_large;
        int64_t code;
        const char *reason, *message;
        int retry;
    } cases[] = {
        {"expired",
            "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
            "\"message\":\"too old resource version: 1 (2)\",\"reason\":\"Expired\",\"code\":410}",
            true, true, false, 410, "Expired", "too old resource version: 1 (2)", -1},
        {"gone", "{\"kind\":\"Status\",\"reason\":\"Gone\"}", true, true, false, 0, "Gone", "", -1},
        {"410 alone", "{\"kind\":\"Status\",\"code\":410}", true, true, false, 410, "", "", -1},
        {"too large",
            "{\"kind\":\"Status\",\"message\":\"Too large resource version: 9, current: 3\","
            "\"reason\":\"Timeout\",\"details\":{\"causes\":[{\"reason\":\"Other\"},{\"reason\":"
            "\"ResourceVersionTooLarge\",\"message\":\"Too large resource version\"}],"
            "\"retryAfterSeconds\":1},\"code\":504}",
            true, false, true, 504, "Timeout", "Too large resource version: 9, current: 3", 1},
        {"too many", "{\"kind\":\"Status\",\"code\":429,\"details\":{\"retryAfterSeconds\":17}}",
            true, false, false, 429, "", "", 17},
        {"a very long time",
            "{\"kind\":\"Status\",\"details\":{\"retryAfterSeconds\":99999999999}}", true, false,
            false, 0, "", "", INT32_MAX},
        {"a time below zero", "{\"kind\":\"Status\",\"details\":{\"retryAfterSeconds\":-5}}", true,
            false, false, 0, "", "", -1},
        {"escapes", "{\"kind\":\"Status\",\"message\":\"a \\\"b\\\"\"}", true, false, false, 0, "",
            "a \"b\"", -1},
        {"nulls", "{\"kind\":\"Status\",\"message\":null,\"details\":null,\"code\":null}", true,
            false, false, 0, "", "", -1},
        {"another kind", "{\"kind\":\"Pod\",\"code\":410}", false, false, false, 0, "", "", -1},
        {"no kind", "{\"code\":410}", false, false, false, 0, "", "", -1},
        {"plain text", "404 page not found", false, false, false, 0, "", "", -1},
        {"nothing", "", false, false, false, 0, "", "", -1},
        {"wrong types", "{\"kind\":\"Status\",\"code\":\"410\"}", false, false, false, 0, "", "",
            -1},
        {"cut off", "{\"kind\":\"Status\",\"code\":410", false, false, false, 0, "", "", -1},
    };

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        ApiStatus status;

        arena_reset(arena);
        assert_case(cases[i].name,
            api_status_read(str_from_c(cases[i].text), arena, &status) == cases[i].ok);
        assert_case(cases[i].name, api_status_is_expired(&status) == cases[i].is_expired);
        assert_case(cases[i].name, status.is_version_too_large == cases[i].is_too_large);
        assert_case(cases[i].name, status.code == cases[i].code);
        assert_case(cases[i].name, status.retry_after_sec == cases[i].retry);
        assert_text(cases[i].name, status.reason, cases[i].reason);
        assert_text(cases[i].name, status.message, cases[i].message);
    }
}

static void test_reads_metadata(void **state) {
    static const struct {
        const char *text;
        bool with_annotations, ok, ends;
        const char *namespace, *name, *uid, *version;
    } cases[] = {
        {"{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"u\","
         "\"resourceVersion\":\"7\",\"labels\":{\"a\":\"b\"}},\"spec\":{\"x\":[{}]}}",
            false, true, false, "n", "a", "u", "7"},
        {"{\"spec\":{},\"metadata\":{\"resourceVersion\":\"8\"}}", false, true, false, "", "", "",
            "8"},
        {"{\"metadata\":{\"resourceVersion\":\"8\",\"annotations\":{\"a\":\"b\","
         "\"k8s.io/initial-events-end\":\"true\"}}}",
            true, true, true, "", "", "", "8"},
        {"{\"metadata\":{\"resourceVersion\":\"8\",\"annotations\":{\"a\":\"b\","
         "\"k8s.io/initial-events-end\":\"true\"}}}",
            false, true, false, "", "", "", "8"},
        {"{\"metadata\":{\"resourceVersion\":\"8\",\"annotations\":{"
         "\"k8s.io/initial-events-end\":\"false\"}}}",
            true, true, false, "", "", "", "8"},
        {"{\"metadata\":{\"resourceVersion\":\"8\",\"annotations\":null}}", true, true, false, "",
            "", "", "8"},
        {"{\"metadata\":{\"name\":\"a\"}}", false, false, false, "", "a", "", ""},
        {"{\"metadata\":{\"resourceVersion\":8}}", false, false, false, "", "", "", ""},
        {"{\"metadata\":{\"resourceVersion\":null}}", false, false, false, "", "", "", ""},
        {"{\"metadata\":null}", false, false, false, "", "", "", ""},
        {"{}", false, false, false, "", "", "", ""},
        {"", false, false, false, "", "", "", ""},
    };

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        ObjectMeta meta;

        arena_reset(arena);
        assert_case(cases[i].text, object_meta_read(str_from_c(cases[i].text), arena,
                                       cases[i].with_annotations, &meta) == cases[i].ok);
        assert_case(cases[i].text, meta.ends_initial_events == cases[i].ends);
        assert_text(cases[i].text, meta.namespace, cases[i].namespace);
        assert_text(cases[i].text, meta.name, cases[i].name);
        assert_text(cases[i].text, meta.uid, cases[i].uid);
        assert_text(cases[i].text, meta.version, cases[i].version);
    }
}

static void test_reads_list_pages(void **state) {
    static const struct {
        const char *text;
        bool ok;
        const char *version, *token, *items;
    } cases[] = {
        {"{\"kind\":\"NodeList\",\"metadata\":{\"resourceVersion\":\"5\",\"continue\":\"abc\","
         "\"remainingItemCount\":3},\"items\":[{\"a\":1},{}]}",
            true, "5", "abc", "[{\"a\":1},{}]"},
        {"{\"items\":[],\"metadata\":{\"resourceVersion\":\"5\"}}", true, "5", "", "[]"},
        {"{\"items\":null,\"metadata\":{\"resourceVersion\":\"5\",\"continue\":\"\"}}", true, "5",
            "", "null"},
        {"{\"metadata\":{\"resourceVersion\":\"5\"}}", false, "5", "", ""},
        {"{\"items\":{},\"metadata\":{\"resourceVersion\":\"5\"}}", false, "5", "", "{}"},
        {"{\"items\":[]}", false, "", "", "[]"},
        {"{\"items\":[],\"metadata\":{\"resourceVersion\":\"\"}}", false, "", "", "[]"},
        {"{}", false, "", "", ""},
        {"<html></html>", false, "", "", ""},
        {"{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[{}", false, "5", "", ""},
    };

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        ListPage page;

        arena_reset(arena);
        assert_case(
            cases[i].text, list_page_read(str_from_c(cases[i].text), arena, &page) == cases[i].ok);
        assert_text(cases[i].text, page.version, cases[i].version);
        assert_text(cases[i].text, page.continue_token, cases[i].token);
        if (cases[i].ok)
            assert_text(cases[i].text, page.items, cases[i].items);
    }
}

static int set_up(void **state) {
    arena = arena_new((size_t)64 * 1024);
    return arena ? 0 : -1;
}

static int tear_down(void **state) {
    arena = arena_free(arena);
    return 0;
}

static void test_path_of_a_pod_is_escaped(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(256);

    pod_path(&out, STR("default"), STR("web-1"));
    assert_string_equal(url_text(&out), "/api/v1/namespaces/default/pods/web-1");
    buf_reset(&out);
    pod_path(&out, STR("../x"), STR("a?b"));
    assert_string_equal(url_text(&out), "/api/v1/namespaces/..%2Fx/pods/a%3Fb");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_path_of_a_pod_is_escaped),
        cmocka_unit_test(test_reads_watch_events),
        cmocka_unit_test(test_reads_statuses),
        cmocka_unit_test(test_reads_metadata),
        cmocka_unit_test(test_reads_list_pages),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
