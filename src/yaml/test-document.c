/* Tests the trees and errors that texts result in. */

#include <errno.h>

#include "base/cleanup.h"
#include "yaml/test-yaml.h"

/* A tree in one line, each node with its place:
 *
 *     {string:a@1:1+1 = int:1@1:4+1} */
static void describe(const YamlNode *node, Buf *out) {
    static const char *const names[] = {
        [YAML_NULL] = "null",
        [YAML_BOOL] = "bool",
        [YAML_INT] = "int",
        [YAML_FLOAT] = "float",
        [YAML_STRING] = "str",
    };

    if (node->kind == YAML_SEQUENCE || node->kind == YAML_MAPPING) {
        bool is_mapping = node->kind == YAML_MAPPING;

        buf_append_char(out, is_mapping ? '{' : '[');
        for (size_t i = 0; i < node->n; i++) {
            if (i > 0)
                buf_append_char(out, ' ');
            if (is_mapping) {
                describe(node->pairs[i].key, out);
                buf_append(out, STR("="));
            }
            describe(is_mapping ? node->pairs[i].value : node->items[i], out);
        }
        buf_append_char(out, is_mapping ? '}' : ']');
    } else {
        buf_printf(out, "%s:", names[node->kind]);
        for (size_t i = 0; i < node->text.len; i++)
            if (node->text.ptr[i] == '\n')
                buf_append(out, STR("\\n"));
            else
                buf_append_char(out, node->text.ptr[i]);
    }
    buf_printf(out, "@%zu:%zu+%zu", node->place.line, node->place.column, node->place.width);
}

typedef struct TreeCase {
    Str source;
    const char *tree; /* trees of the documents, separated by " --- " */
} TreeCase;

static const TreeCase tree_cases[] = {
    {STR(""), ""},
    {STR("\n\n  \n"), ""},
    {STR("# only a comment\n"), ""},
    {STR("---\n"), ""},
    {STR("---\n---\n# nothing\n---\n...\n"), ""},
    {STR("\xef\xbb\xbf"), ""},
    {STR("a"), "str:a@1:1+1"},
    {STR("~"), "null:~@1:1+1"},
    {STR("a: 1\n"), "{str:a@1:1+1=int:1@1:4+1}@1:1+1"},
    {STR("a: 1"), "{str:a@1:1+1=int:1@1:4+1}@1:1+1"},

    /* all line endings; a byte order mark takes no column */
    {STR("a: 1\r\nbb: 2\r\n"), "{str:a@1:1+1=int:1@1:4+1 str:bb@2:1+2=int:2@2:5+1}@1:1+1"},
    {STR("\xef\xbb\xbf"
         "a: 1\n"),
        "{str:a@1:1+1=int:1@1:4+1}@1:1+1"},

    /* sequences, with and without indentation, and missing values */
    {STR("a:\n  - x\n  -\n  - \n"),
        "{str:a@1:1+1=[str:x@2:5+1 null:@3:3+1 null:@4:3+1]@2:3+1}@1:1+1"},
    {STR("a:\n  - x: 1\n    y: 2\n  - - z\n"),
        "{str:a@1:1+1=[{str:x@2:5+1=int:1@2:8+1 str:y@3:5+1=int:2@3:8+1}@2:5+1 "
        "[str:z@4:7+1]@4:5+1]@2:3+1}@1:1+1"},
    {STR("a: # c\nb:\n"), "{str:a@1:1+1=null:@1:1+1 str:b@2:1+1=null:@2:1+1}@1:1+1"},
    {STR("? a\n: b\n"), "{str:a@1:3+1=str:b@2:3+1}@1:3+1"},

    /* flow style */
    {STR("[]"), "[]@1:1+2"},
    {STR("a: {}"), "{str:a@1:1+1={}@1:4+2}@1:1+1"},
    {STR("a: [1, {b: c},]"),
        "{str:a@1:1+1=[int:1@1:5+1 {str:b@1:9+1=str:c@1:12+1}@1:8+6]@1:4+12}@1:1+1"},
    {STR("{a, b: , c: 1}"),
        "{str:a@1:2+1=null:@1:2+1 str:b@1:5+1=null:@1:5+1 str:c@1:10+1=int:1@1:13+1}@1:1+14"},
    {STR("[a: b]"), "[{str:a@1:2+1=str:b@1:5+1}@1:2+1]@1:1+6"},
    {STR("[a,\n b]"), "[str:a@1:2+1 str:b@2:2+1]@1:1+3"},
    {STR("{\"a\":\t1}"), "{str:a@1:2+3=int:1@1:7+1}@1:1+8"},

    /* quotes belong to the place, escapes are resolved */
    {STR("\"k k\": 'it''s'"), "{str:k k@1:1+5=str:it's@1:8+7}@1:1+5"},
    {STR("a: 'x '''' y'''"), "{str:a@1:1+1=str:x '' y'@1:4+12}@1:1+1"},
    {STR("a: ''''''"), "{str:a@1:1+1=str:''@1:4+6}@1:1+1"},
    {STR("a: \"\"\nb: ''"), "{str:a@1:1+1=str:@1:4+2 str:b@2:1+1=str:@2:4+2}@1:1+1"},
    {STR("\"\\u00e9\\ud83d\\ude00\\x41\\n\""), "str:é😀A\\n@1:1+26"},
    {STR("a: \"x\n  y\""), "{str:a@1:1+1=str:x y@1:4+2}@1:1+1"},
    {STR("a: foo\n  bar"), "{str:a@1:1+1=str:foo bar@1:4+3}@1:1+1"},

    /* block scalars have the place of their indicator */
    {STR("a: |\n  x\n  y\nb: >-\n  x\n  y\n"),
        "{str:a@1:1+1=str:x\\ny\\n@1:4+1 str:b@4:1+1=str:x y@4:4+1}@1:1+1"},
    {STR("a: # not |\n  |2-\n   x\n"), "{str:a@1:1+1=str: x@2:3+1}@1:1+1"},
    {STR("- |\n  x\n- - >\n    y\n"), "[str:x\\n@1:3+1 [str:y\\n@3:5+1]@3:3+1]@1:1+1"},
    {STR("a: |\n  # no comment\n"), "{str:a@1:1+1=str:# no comment\\n@1:4+1}@1:1+1"},
    {STR("a: &x |\n  y\n"), "{str:a@1:1+1=str:y\\n@1:7+1}@1:1+1"},
    {STR("|\n x\n"), "str:x\\n@1:1+1"},
    {STR("# c\n\n|\n x\n"), "str:x\\n@3:1+1"},
    {STR("a\n...\n|\n x\n...\n# c\n>-\n y\n"), "str:a@1:1+1 --- str:x\\n@3:1+1 --- str:y@7:1+1"},

    {STR("a: |\n "), "{str:a@1:1+1=str:@1:4+1}@1:1+1"},
    {STR("a: |"), "{str:a@1:1+1=str:@1:4+1}@1:1+1"},

    /* columns are bytes */
    {STR("é: ü # ö\nß: x"), "{str:é@1:1+2=str:ü@1:5+2 str:ß@2:1+2=str:x@2:5+1}@1:1+2"},

    /* tabs and question marks, not combined */
    {STR("a:\t|\n  x\nb:\t1\n"), "{str:a@1:1+1=str:x\\n@1:4+1 str:b@3:1+1=int:1@3:4+1}@1:1+1"},
    {STR("a: 'b ? c : d'\n? e\n"),
        "{str:a@1:1+1=str:b ? c : d@1:4+11 str:e@2:3+1=null:@2:3+1}@1:1+1"},

    /* comments are ignored */
    {STR("# c\na: 1 # c\n# c\nb#b: c#c\n"),
        "{str:a@2:1+1=int:1@2:4+1 str:b#b@4:1+3=str:c#c@4:6+3}@2:1+1"},

    /* several documents; empty ones are left out */
    {STR("a\n---\nb\n--- c\n---\n...\n---\n~\n"),
        "str:a@1:1+1 --- str:b@3:1+1 --- str:c@4:5+1 --- null:~@8:1+1"},
    {STR("%YAML 1.2\n---\na: yes\n"), "{str:a@3:1+1=str:yes@3:4+3}@3:1+1"},

    /* an unused anchor is ignored */
    {STR("a: &x\n  k: v\n"), "{str:a@1:1+1={str:k@2:3+1=str:v@2:6+1}@2:3+1}@1:1+1"},
    {STR("\"<<\": a"), "{str:<<@1:1+4=str:a@1:7+1}@1:1+4"},
    {STR("a: <<"), "{str:a@1:1+1=str:<<@1:4+2}@1:1+1"},
    {STR(": a"), "{null:@1:1+1=str:a@1:3+1}@1:1+1"},
    {STR("a: 1\n\t\nb: 2"), "{str:a@1:1+1=int:1@1:4+1 str:b@3:1+1=int:2@3:4+1}@1:1+1"},
};

static void test_texts_give_trees(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(tree_cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(ARENA_SIZE);
        _cleanup_(buf_done) Buf out = BUF_INIT(1 << 20);
        YamlStream stream = {0};
        DiagList diags;
        int r = parse(tree_cases[i].source, arena, &diags, &stream);

        diag_list_print(&diags, false, &out);
        for (size_t k = 0; k < stream.n_documents; k++) {
            buf_append(&out, k > 0 ? STR(" --- ") : STR_NULL);
            describe(stream.documents[k], &out);
        }
        assert_text(tree_cases[i].source.ptr, buf_str(&out), tree_cases[i].tree);
        assert_int_equal(r, 0);
    }
}

typedef struct ErrorCase {
    Str source;
    const char *text;
} ErrorCase;

/* Valid YAML that we do not accept. */
static const ErrorCase refused_cases[] = {
    {STR("a: &x 1\nb: *x\n"), "f.yaml:2:4: error: alias \"*x\" is not supported\n"
                              "  2 | b: *x\n"
                              "    |    ^^\n"
                              "  = write the value out\n"},
    {STR("a:\n  <<: {b: 1}\n"), "f.yaml:2:3: error: merge keys are not supported\n"
                                "  2 |   <<: {b: 1}\n"
                                "    |   ^^\n"
                                "  = write the merged keys out\n"},
    {STR("? [a, b]\n: 1\n"), "f.yaml:1:3: error: a sequence cannot be a key\n"
                             "  1 | ? [a, b]\n"
                             "    |   ^^^^^^\n"
                             "  = keys are strings; quote one that starts with { or [\n"},
    {STR("{{a: 1}: 2}\n"), "f.yaml:1:2: error: a mapping cannot be a key\n"
                           "  1 | {{a: 1}: 2}\n"
                           "    |  ^^^^^^\n"
                           "  = keys are strings; quote one that starts with { or [\n"},
    {STR("a: !!int 1\n"), "f.yaml:1:4: error: tag \"!!int\" is not supported\n"
                          "  1 | a: !!int 1\n"
                          "    |    ^^^^^\n"
                          "  = quote a value to make it a string\n"},
    {STR("a: 1\nreason: x\nb:\n  reason: y\nreason: z\n"),
        "f.yaml:5:1: error: duplicate key \"reason\"\n"
        "  5 | reason: z\n"
        "    | ^^^^^^\n"
        "  = first given at line 2\n"},
    {STR("{1: a, \"1\": b}\n"), "f.yaml:1:8: error: duplicate key \"1\"\n"
                                "  1 | {1: a, \"1\": b}\n"
                                "    |        ^^^\n"
                                "  = first given at line 1\n"},
    {STR("a: x\0y\n"), "f.yaml:1:5: error: NUL byte\n"
                       "  1 | a: x\\x00y\n"
                       "    |     ^^^^\n"
                       "  = save the file as UTF-8 text\n"},
    {STR("a: 1\nb: \x1b[31m\n"), "f.yaml:2:4: error: control character 0x1b\n"
                                 "  2 | b: \\x1b[31m\n"
                                 "    |    ^^^^\n"},
    {STR("a: \"\\0\"\n"), "f.yaml:1:4: error: NUL character in a string\n"
                          "  1 | a: \"\\0\"\n"
                          "    |    ^^^^\n"},
    {STR("\xff\xfe"
         "a\0"), /* UTF-16 */
        "f.yaml:1:1: error: invalid UTF-8\n"
        "  1 | \\xff\\xfea\\x00\n"
        "    | ^^^^\n"
        "  = save the file as UTF-8 text\n"},
    {STR("a: ok\nb: \xc3(\n"), "f.yaml:2:4: error: invalid UTF-8\n"
                               "  2 | b: \\xc3(\n"
                               "    |    ^^^^\n"
                               "  = save the file as UTF-8 text\n"},
};

/* Errors found by libfyaml. */
static const ErrorCase syntax_cases[] = {
    {STR("a:\n\tb: 1\n"), "f.yaml:2:1: error: a tab cannot indent a line\n"
                          "  2 |  b: 1\n"
                          "    | ^\n"
                          "  = indent with spaces\n"},
    {STR("a: b: c\n"), "f.yaml:1:5: error: a second \": \" in one line\n"
                       "  1 | a: b: c\n"
                       "    |     ^\n"
                       "  = put the value in quotes if it has a colon\n"},
    {STR("a: \"x\n"), "f.yaml:1:4: error: the closing \" is missing\n"
                      "  1 | a: \"x\n"
                      "    |    ^^\n"},
    {STR("a: 'x\nb: 1\n"), "f.yaml:1:4: error: the closing ' is missing\n"
                           "  1 | a: 'x\n"
                           "    |    ^^\n"
                           "  = or indent the lines that continue the text\n"},
    {STR("a:\n  b: [1, 2\n\n# end\n"), "f.yaml:2:6: error: the closing ] is missing\n"
                                       "  2 |   b: [1, 2\n"
                                       "    |      ^\n"},
    {STR("a: {b: {c: 1}\n"), "f.yaml:1:4: error: the closing } is missing\n"
                             "  1 | a: {b: {c: 1}\n"
                             "    |    ^\n"},
    {STR("a: 1\n}\n"), "f.yaml:2:1: error: no { before this }\n"
                       "  2 | }\n"
                       "    | ^\n"},
    {STR("a: 1\n b: 2\n"), "f.yaml:1:4: error: a key must be on one line\n"
                           "  1 | a: 1\n"
                           "    |    ^\n"
                           "  = check the indentation of the next line\n"},
    {STR("a:\n  b: 1\n c: 2\n"), "f.yaml:3:2: error: wrong indentation\n"
                                 "  3 |  c: 2\n"
                                 "    |  ^\n"
                                 "  = check the indentation of this line and the one above\n"},
    {STR("- a\nb: c\n"), "f.yaml:2:1: error: expected \"- \", as in the lines above\n"
                         "  2 | b: c\n"
                         "    | ^\n"
                         "  = check the indentation of this line and the one above\n"},
    {STR("a: 1\nbcd\ne: 2\n"), "f.yaml:2:1: error: expected a colon after this key\n"
                               "  2 | bcd\n"
                               "    | ^^^\n"
                               "  = check the indentation of this line and the one above\n"},
    {STR("a: @x\n"), "f.yaml:1:4: error: a value cannot start with this character\n"
                     "  1 | a: @x\n"
                     "    |    ^\n"
                     "  = put the value in quotes\n"},
    {STR("a: \"\\d\"\n"), "f.yaml:1:4: error: unknown escape in a double-quoted string\n"
                          "  1 | a: \"\\d\"\n"
                          "    |    ^^^\n"
                          "  = write \\\\ for a backslash, or use single quotes\n"},
    {STR("a: - b\n"), "f.yaml:1:4: error: a list item cannot start here\n"
                      "  1 | a: - b\n"
                      "    |    ^\n"
                      "  = start the list on a line of its own\n"},
    /* would make libfyaml 0.7.12 free a key twice */
    {STR("? 4:\t:"), "f.yaml:1:5: error: a tab after a colon\n"
                     "  1 | ? 4: :\n"
                     "    |     ^\n"
                     "  = use a space\n"},
    /* YAML permits this one; libfyaml 0.7.12 does not, unless the list is indented */
    {STR("a:\n- x\n-\n- y\n"), "f.yaml:4:1: error: expected a value\n"
                               "  4 | - y\n"
                               "    | ^\n"
                               "  = write null where there is none\n"},
    {STR("%YAML 3.0\n---\na: b\n"), "f.yaml:1:1: error: not valid YAML\n"
                                    "  1 | %YAML 3.0\n"
                                    "    | ^\n"
                                    "  = berth reads YAML 1.2\n"},
};

/* Several errors in one text: all are reported. */
static const ErrorCase several_cases[] = {
    {STR("a: *x\na: *y\n---\n[1\n---\nb: \"x\n---\nok: 1\n---\n]\n"),
        "f.yaml:1:4: error: alias \"*x\" is not supported\n"
        "  1 | a: *x\n"
        "    |    ^^\n"
        "  = write the value out\n"
        "f.yaml:2:1: error: duplicate key \"a\"\n"
        "  2 | a: *y\n"
        "    | ^\n"
        "  = first given at line 1\n"
        "f.yaml:2:4: error: alias \"*y\" is not supported\n"
        "  2 | a: *y\n"
        "    |    ^^\n"
        "  = write the value out\n"
        "f.yaml:4:1: error: the closing ] is missing\n"
        "  4 | [1\n"
        "    | ^\n"
        "f.yaml:7:1: error: the closing \" is missing before this line\n"
        "  7 | ---\n"
        "    | ^^^\n"
        "f.yaml:10:1: error: no [ before this ]\n"
        "  10 | ]\n"
        "     | ^\n"},
};

static size_t count_of(const char *text, const char *word) {
    size_t n = 0;

    while ((text = strstr(text, word))) {
        text += strlen(word);
        n++;
    }
    return n;
}

static void check_errors(const ErrorCase *cases, size_t n) {
    for (size_t i = 0; i < n; i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(ARENA_SIZE);
        _cleanup_(buf_done) Buf out = BUF_INIT(1 << 20);
        YamlStream untouched = {.n_documents = 77}, stream = untouched;
        DiagList diags;

        assert_int_equal(parse(cases[i].source, arena, &diags, &stream), -EINVAL);
        for (size_t k = 0; k < diags.diags.n; k++)
            diag_print(&diags.diags.items[k], false, &out);
        assert_text(cases[i].source.ptr, buf_str(&out), cases[i].text);
        assert_int_equal(stream.n_unsupported, count_of(cases[i].text, "not supported"));
        stream.n_unsupported = 0;
        assert_memory_equal(&stream, &untouched, sizeof(stream));
    }
}

static void test_unsupported_yaml_is_refused(void **state) {
    (void)state;
    check_errors(refused_cases, ELEMENTS_OF(refused_cases));
}

static void test_syntax_errors_are_explained(void **state) {
    (void)state;
    check_errors(syntax_cases, ELEMENTS_OF(syntax_cases));
}

static void test_all_errors_are_reported(void **state) {
    (void)state;
    check_errors(several_cases, ELEMENTS_OF(several_cases));
}

static void test_find(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(ARENA_SIZE);
    YamlStream stream = {0};
    const YamlNode *root;
    DiagList diags;

    (void)state;
    assert_int_equal(parse(STR("a: {b: 1}\nc: [x]"), arena, &diags, &stream), 0);
    root = stream.documents[0];
    assert_int_equal(yaml_find(yaml_find(root, STR("a")), STR("b"))->integer, 1);
    assert_null(yaml_find(root, STR("b")));
    assert_null(yaml_find(yaml_find(root, STR("c")), STR("x")));
    assert_null(yaml_find(NULL, STR("a")));
    assert_string_equal(yaml_kind_name(root->kind), "a mapping");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts_give_trees),
        cmocka_unit_test(test_unsupported_yaml_is_refused),
        cmocka_unit_test(test_syntax_errors_are_explained),
        cmocka_unit_test(test_all_errors_are_reported),
        cmocka_unit_test(test_find),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
