/* Tests paths of places. */
#include "base/test-assert.h"
#include "yaml/document.h"

static const char text[] = "a: 1\n"
                           "spec:\n"
                           "  filters:\n"
                           "  - name: x\n"
                           "    match: [u, v]\n"
                           "  - name: \"a long text\"\n"
                           "  flow: {k: {l: 2}}\n";

static void check(const YamlNode *document, size_t line, size_t column, const char *expected) {
    _cleanup_(buf_done) Buf out = BUF_INIT(256);

    yaml_path_at(document, (Place){.line = line, .column = column}, &out);
    assert_text(expected, buf_str(&out), expected);
}

static void test_innermost_value_or_key(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 20);
    DiagList diags = DIAG_LIST_IN(arena);
    YamlStream stream;
    const YamlNode *document;

    (void)state;
    assert_int_equal(yaml_parse(STR("f"), STR(text), arena, &diags, &stream), 0);
    document = stream.documents[0];
    check(document, 0, 0, "");
    check(document, 1, 1, "a");
    check(document, 1, 4, "a");
    check(document, 2, 1, "spec");
    check(document, 4, 5, "spec.filters[0].name");
    check(document, 4, 11, "spec.filters[0].name");
    check(document, 5, 13, "spec.filters[0].match[0]");
    check(document, 5, 16, "spec.filters[0].match[1]");
    check(document, 6, 18, "spec.filters[1].name");
    check(document, 7, 10, "spec.flow.k");
    check(document, 7, 14, "spec.flow.k.l");
    check(document, 9, 1, "spec.flow.k.l");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_innermost_value_or_key)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
