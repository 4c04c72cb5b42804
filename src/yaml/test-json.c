#include "base/cleanup.h"
#include "yaml/test-yaml.h"

typedef struct JsonCase {
    Str source;
    const char *json; /* NULL: equal to the source */
} JsonCase;

static const JsonCase cases[] = {
    /* JSON stays unchanged */
    {STR("{\"a\":[1,-2.50,1e3,0,true,false,null,\"x\"],\"b\":{},\"c\":[]}"), NULL},
    {STR("\"\\\"\\\\\\n\\t\\u0001é😀\""), NULL},
    {STR("12345678901234567890123.5"), NULL},
    {STR("[1e+3,1E-2,-0.5e10]"), NULL},
    {STR("\"12345678901234567890\""), NULL},
    {STR("[[[[[]]]]]"), NULL},

    {STR("a: 007\nb: +1\nc: 0x1F\nd: 0o17\ne: -0\n"),
        "{\"a\":7,\"b\":1,\"c\":31,\"d\":15,\"e\":-0}"},
    {STR("[1., .5, +1.5, -.25, 1.e3, .inf, .nan]"), "[1,0.5,1.5,-0.25,1000,null,null]"},
    {STR("[9223372036854775808, -9223372036854775808]"),
        "[\"9223372036854775808\",-9223372036854775808]"},
    {STR("1: a\ntrue: b\n~: c\n1.5: d\n"),
        "{\"1\":\"a\",\"true\":\"b\",\"~\":\"c\",\"1.5\":\"d\"}"},
    {STR("a: |\n  x\n  y\nb: yes\nc: '1'\nd:\n"),
        "{\"a\":\"x\\ny\\n\",\"b\":\"yes\",\"c\":\"1\",\"d\":null}"},
    {STR("apiVersion: v1\nmetadata:\n  labels: {a/b: \"true\"}\nspec:\n- cpu: 500m\n"),
        "{\"apiVersion\":\"v1\",\"metadata\":{\"labels\":{\"a/b\":\"true\"}},"
        "\"spec\":[{\"cpu\":\"500m\"}]}"},
};

static void test_json(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(ARENA_SIZE);
        _cleanup_(buf_done) Buf out = BUF_INIT(1 << 20);
        YamlStream stream = {0};
        DiagList diags;

        assert_int_equal(parse(cases[i].source, arena, &diags, &stream), 0);
        yaml_to_json(stream.documents[0], &out);
        assert_text(cases[i].source.ptr, buf_str(&out),
            cases[i].json ? cases[i].json : cases[i].source.ptr);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
