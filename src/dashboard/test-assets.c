#include "dashboard/asset.h"

#include <stdio.h>
#include <string.h>

#include "base/test-assert.h"
#include "dashboard/dashboard.h"

#define BUDGET ((size_t)4 * 1024 * 1024)
#define ALL_MAX ((size_t)200 * 1024) /* what a browser has to load, compressed */

static HttpReply show(const Asset *asset, Arena *arena, bool accepts_gzip, Str if_none_match) {
    const HttpRequest request = {.method = STR("GET"),
        .accepts_gzip = accepts_gzip,
        .if_none_match = if_none_match,
        .arena = arena};
    static const HttpHeader before[] = {{"X-First", "1"}};
    HttpReply reply = {0};

    asset_show(asset, &request, before, 1, &reply);
    return reply;
}

static const char *header(const HttpReply *reply, const char *name) {
    for (size_t i = 0; i < reply->n_headers; i++)
        if (strcmp(reply->headers[i].name, name) == 0)
            return reply->headers[i].value;
    return NULL;
}

static void test_assets_are_small(void **state) {
    size_t sum = 0;

    (void)state;
    for (size_t i = 0; i < asset_table_n; i++)
        sum += asset_table[i].n_gzip;
    assert_true(sum > 0 && sum <= ALL_MAX);
}

static void test_serves_gzip_and_plain(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);

    (void)state;
    for (size_t i = 0; i < asset_table_n; i++) {
        const Asset *asset = &asset_table[i];
        HttpReply packed = show(asset, arena, true, STR_NULL);
        HttpReply plain = show(asset, arena, false, STR_NULL);

        assert_case(asset->name, packed.status == 200 && plain.status == 200);
        assert_case(asset->name, packed.slices[0].len == asset->n_gzip);
        assert_case(asset->name, plain.slices[0].len == asset->n_text);
        assert_case(asset->name, strcmp(header(&packed, "Content-Encoding"), "gzip") == 0);
        assert_case(asset->name, header(&plain, "Content-Encoding") == NULL);
        assert_case(asset->name, strcmp(header(&plain, "ETag"), header(&packed, "ETag")) != 0);
        assert_case(asset->name, strcmp(header(&plain, "X-First"), "1") == 0);
        assert_case(asset->name, strcmp(plain.cache_control, "no-cache") == 0);
    }
}

static void test_not_modified(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    const Asset *asset = asset_find(STR("dashboard.css"));
    HttpReply reply;

    (void)state;
    assert_non_null(asset);
    reply = show(asset, arena, true, str_from_c(asset->etag_gzip));
    assert_int_equal(reply.status, 304);
    assert_int_equal(reply.n_slices, 0);
    assert_string_equal(header(&reply, "ETag"), asset->etag_gzip);
    /* The ETag of the other encoding does not match. */
    assert_int_equal(show(asset, arena, true, str_from_c(asset->etag)).status, 200);
    assert_int_equal(show(asset, arena, false, str_from_c(asset->etag)).status, 304);
}

static const struct {
    const char *header;
    bool is_known;
} matches[] = {
    {"\"abc\"", true},
    {"W/\"abc\"", true},
    {"\"x\", \"abc\"", true},
    {"\"x\",W/\"abc\" ", true},
    {"*", true},
    {"", false},
    {"abc", false},
    {"\"abcd\"", false},
    {",,", false},
    {"\"ab\", c\"", false},
};

static void test_if_none_match(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(matches); i++)
        assert_case(matches[i].header,
            asset_is_known(str_from_c(matches[i].header), "\"abc\"") == matches[i].is_known);
}

static void test_finds_assets_by_name(void **state) {
    (void)state;
    assert_non_null(asset_find(STR("dashboard.js")));
    assert_null(asset_find(STR("")));
    assert_null(asset_find(STR("../dashboard.css")));
    assert_null(asset_find(STR("dashboard.css\0")));
    assert_true(dashboard_hook.has(STR("/assets/dashboard.css")));
    assert_true(dashboard_hook.has(STR("/")));
    assert_false(dashboard_hook.has(STR("/asset")));
    assert_false(dashboard_hook.has(STR("/filter")));
    assert_false(dashboard_hook.has(STR("/api/v1/status")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_assets_are_small),
        cmocka_unit_test(test_serves_gzip_and_plain),
        cmocka_unit_test(test_not_modified),
        cmocka_unit_test(test_if_none_match),
        cmocka_unit_test(test_finds_assets_by_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
