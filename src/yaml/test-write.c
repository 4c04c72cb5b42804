#include "yaml/write.h"

#include <errno.h>

#include "base/cleanup.h"
#include "yaml/test-yaml.h"

typedef struct WriteCase {
    Str json;
    const char *yaml;
} WriteCase;

static const WriteCase cases[] = {
    {STR("{}"), "{}\n"},
    {STR("[]"), "[]\n"},
    {STR("\"a b\""), "a b\n"},
    {STR("null"), "null\n"},
    {STR("{\"a\":1,\"b\":[],\"c\":{},\"d\":null,\"e\":true,\"f\":-1.50e3}"),
        "a: 1\nb: []\nc: {}\nd: null\ne: true\nf: -1.50e3\n"},
    {STR("{\"pod\":{\"name\":\"web-1\",\"labels\":{\"a/b\":\"x\"}},\"nodes\":[\"n1\",\"n2\"]}"),
        "pod:\n  name: web-1\n  labels:\n    a/b: x\nnodes:\n- n1\n- n2\n"},
    {STR("[{\"a\":1,\"b\":[{\"c\":2}]},[[1],[]],{}]"),
        "- a: 1\n  b:\n  - c: 2\n- - - 1\n  - []\n- {}\n"},

    /* Quoted: everything that some YAML parser could take for something else. */
    {STR("[\"yes\",\"No\",\"on\",\"y\",\"NULL\",\"true\",\"~\",\"\",\" a\",\"a \"]"),
        "- \"yes\"\n- \"No\"\n- \"on\"\n- \"y\"\n- \"NULL\"\n- \"true\"\n- \"~\"\n- \"\"\n"
        "- \" a\"\n- \"a \"\n"},
    {STR("[\"1\",\"0x1f\",\"1e3\",\".inf\",\"-\",\"12:30:00\",\"2026-01-31\",\"+1\",\"=\"]"),
        "- \"1\"\n- \"0x1f\"\n- \"1e3\"\n- \".inf\"\n- \"-\"\n- \"12:30:00\"\n- \"2026-01-31\"\n"
        "- \"+1\"\n- \"=\"\n"},
    {STR("[\"a: b\",\"a:\",\"a "
         "#b\",\"a:b\",\"a\\nb\",\"a\\\"b\",\"é\",\"[a]\",\"{a}\",\"*a\",\"a*\"]"),
        "- \"a: b\"\n- \"a:\"\n- \"a #b\"\n- a:b\n- \"a\\nb\"\n- \"a\\\"b\"\n- \"é\"\n- \"[a]\"\n"
        "- \"{a}\"\n- \"*a\"\n- \"a*\"\n"},
    {STR("{\"1\":0,\"y\":0,\"a: b\":0,\"nvidia.com/gpu\":0}"),
        "\"1\": 0\n\"y\": 0\n\"a: b\": 0\nnvidia.com/gpu: 0\n"},
};

/* The YAML reads back as the same JSON. */
static void test_write(void **state) {
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(ARENA_SIZE);
        _cleanup_(buf_done) Buf yaml = BUF_INIT(1 << 20), json = BUF_INIT(1 << 20);
        YamlStream stream = {0};
        DiagList diags;

        assert_int_equal(yaml_from_json(cases[i].json, &yaml), 0);
        assert_text(cases[i].json.ptr, buf_str(&yaml), cases[i].yaml);
        assert_int_equal(parse(buf_str(&yaml), arena, &diags, &stream), 0);
        if (stream.n_documents == 0) /* "null" is an empty document */
            continue;
        yaml_to_json(stream.documents[0], &json);
        assert_text(cases[i].yaml, buf_str(&json), cases[i].json.ptr);
    }
}

static void test_refuses_what_is_no_json(void **state) {
    _cleanup_(buf_done) Buf yaml = BUF_INIT(1 << 20), small = BUF_INIT(4);

    assert_int_equal(yaml_from_json(STR("{\"a\":"), &yaml), -EINVAL);
    assert_int_equal(yaml_from_json(STR("1 2"), &yaml), -EINVAL);
    assert_int_equal(yaml_from_json(STR("\"long text\""), &small), -EFBIG);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_write),
        cmocka_unit_test(test_refuses_what_is_no_json),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
