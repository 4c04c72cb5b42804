#include "model/labels.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/test-assert.h"

static void test_decode(void **state) {
    static const struct {
        const char *json;
        JsonError error;
        const char *want; /* key=value, in the order kept */
    } cases[] = {
        {"null", JSON_OK, ""},
        {"{}", JSON_OK, ""},
        {"{\"a\":\"1\"}", JSON_OK, "a=1 "},
        {"{\"a\":\"1\",\"b\":\"2\",\"c\":\"\"}", JSON_OK, "a=1 b=2 c= "},
        {"{\"c\":\"3\",\"a\":\"1\",\"b\":\"2\"}", JSON_OK, "a=1 b=2 c=3 "},
        {"{\"a\":\"1\",\"a\":\"2\"}", JSON_OK, "a=2 "},
        {"{\"b\":\"1\",\"a\":\"x\",\"b\":\"2\",\"a\":\"y\",\"b\":\"3\"}", JSON_OK, "a=y b=3 "},
        {"{\"a\":null}", JSON_OK, "a= "},
        {"{\"\\u0061\":\"\\u0031\"}", JSON_OK, "a=1 "},
        {"{\"\\u0062\":\"1\",\"a\":\"2\",\"b\":\"3\"}", JSON_OK, "a=2 b=3 "},
        {"{\"\":\"1\"}", JSON_OK, "=1 "},
        {"{\"a\":1}", JSON_E_TYPE, ""},
        {"{\"a\":{}}", JSON_E_TYPE, ""},
        {"[]", JSON_E_TYPE, ""},
        {"{\"a\":\"1\"", JSON_E_END, ""},
        {"{\"a\":\"\xff\"}", JSON_E_UTF8, ""},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(65536);
        _cleanup_(buf_done) Buf got = BUF_INIT(4096);
        JsonReader reader;
        Labels labels = {0};

        json_reader_init(&reader, str_from_c(cases[i].json));
        labels_decode(&reader, arena, &labels);
        json_end(&reader);
        assert_case(cases[i].json, json_error(&reader) == cases[i].error);
        for (size_t k = 0; k < labels.n && !json_error(&reader); k++)
            buf_printf(
                &got, "%.*s=%.*s ", STR_FMT(labels.items[k].key), STR_FMT(labels.items[k].value));
        assert_text(cases[i].json, buf_str(&got), cases[i].want);
    }
}

/* The worst order, many labels, each twice. */
static void test_last_of_repeated_keys_wins(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)8 << 20);
    _cleanup_(buf_done) Buf text = BUF_INIT((size_t)1 << 20);
    JsonReader reader;
    Labels labels = {0};

    (void)state;
    buf_append_char(&text, '{');
    for (int i = 9999; i >= 0; i--)
        buf_printf(&text, "\"k%04d\":\"old\",\"k%04d\":\"%d\"%s", i, i, i, i > 0 ? "," : "}");
    json_reader_init(&reader, buf_str(&text));
    labels_decode(&reader, arena, &labels);
    assert_int_equal(json_error(&reader), JSON_OK);
    assert_int_equal(labels.n, 10000);
    for (int i = 0; i < 10000; i++) {
        char key[16], value[16];
        const Str *found;

        (void)snprintf(key, sizeof(key), "k%04d", i);
        (void)snprintf(value, sizeof(value), "%d", i);
        found = labels_find(&labels, str_from_c(key));
        assert_non_null(found);
        assert_text(key, *found, value);
    }
}

static void test_find(void **state) {
    static const Label items[] = {
        {STR("a"), STR("1")}, {STR("ab"), STR("2")}, {STR("b"), STR("3")}};
    const Labels labels = {items, ELEMENTS_OF(items)};

    (void)state;
    assert_text("ab", *labels_find(&labels, STR("ab")), "2");
    assert_null(labels_find(&labels, STR("")));
    assert_null(labels_find(&labels, STR("aa")));
    assert_null(labels_find(&labels, STR("c")));
    assert_null(labels_find(&(Labels){0}, STR("a")));
}

/* With any budget: an error, never some of the labels. */
static void test_every_budget(void **state) {
    static const struct {
        const char *name;
        int n, step;
        const char *prefix;
    } cases[] = {
        {"sorted", 3, 1, "k"},
        {"unsorted", 3, -1, "k"},
        {"escaped", 3, 1, "\\u006b"},
        {"more than fit on the stack", 70, 1, "k"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(buf_done) Buf text = BUF_INIT(4096);
        size_t budget = 0;
        JsonError error;

        for (int k = 0; k < cases[i].n; k++)
            buf_printf(&text, "%s\"%s%d\":\"\"", k == 0 ? "{" : ",", cases[i].prefix,
                500 + k * cases[i].step);
        buf_append_char(&text, '}');
        do {
            _cleanup_(arena_freep) Arena *arena = arena_new(budget++);
            JsonReader reader;
            Labels labels = {0};

            json_reader_init(&reader, buf_str(&text));
            labels_decode(&reader, arena, &labels);
            error = json_error(&reader);
            assert_case(cases[i].name, error == JSON_OK || error == JSON_E_MEMORY);
            assert_case(cases[i].name, labels.n == (error ? 0 : (size_t)cases[i].n));
        } while (error != JSON_OK);
        assert_in_range(budget, 2, 20000);
    }
}

static void test_keeps_only_wanted_keys(void **state) {
    static const Str wanted[] = {STR("zone"), STR("pool"), STR("zone"), STR("gone")};
    static const struct {
        const char *text, *want; /* key=value of the kept labels, in order */
    } cases[] = {
        {"{\"a\":\"1\",\"pool\":\"x\",\"zone\":\"y\"}", "pool=x zone=y "},
        {"{\"zone\":\"y\",\"pool\":\"x\"}", "pool=x zone=y "},
        {"{\"pool\":\"x\",\"pool\":\"last\"}", "pool=last "},
        {"{\"p\\u006fol\":\"\\u0078\"}", "pool=x "},
        {"{\"a\":\"1\"}", ""},
        {"{}", ""},
        {"null", ""},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(4096);
        _cleanup_(buf_done) Buf kept = BUF_INIT(256);
        JsonReader reader;
        Labels labels = {0};

        json_reader_init(&reader, str_from_c(cases[i].text));
        labels_decode_some(&reader, arena, wanted, ELEMENTS_OF(wanted), &labels);
        json_end(&reader);
        assert_case(cases[i].text, json_error(&reader) == JSON_OK);
        for (size_t j = 0; j < labels.n; j++)
            buf_printf(
                &kept, "%.*s=%.*s ", STR_FMT(labels.items[j].key), STR_FMT(labels.items[j].value));
        assert_case(cases[i].text, str_is(buf_str(&kept), cases[i].want));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decode),
        cmocka_unit_test(test_last_of_repeated_keys_wins),
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_keeps_only_wanted_keys),
        cmocka_unit_test(test_every_budget),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
