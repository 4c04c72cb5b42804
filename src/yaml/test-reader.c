#include "yaml/reader.h"

#include "base/cleanup.h"
#include "yaml/test-yaml.h"

/* Reads @value with one of the functions and writes the result to @out. */
typedef bool (*Read)(YamlReader *reader, const YamlNode *value, Buf *out);

static bool read_string(YamlReader *reader, const YamlNode *value, Buf *out) {
    Str text = STR("untouched");
    bool is_read = reader_string(reader, value, "x", &text);

    buf_append(out, text);
    return is_read;
}

static bool read_bool(YamlReader *reader, const YamlNode *value, Buf *out) {
    bool flag = false;

    if (!reader_bool(reader, value, "x", &flag))
        return false;
    buf_append(out, flag ? STR("yes") : STR("no"));
    return true;
}

static bool read_int(YamlReader *reader, const YamlNode *value, Buf *out) {
    int64_t number = 99;
    bool is_read = reader_int(reader, value, "x", -5, 10, &number);

    buf_append_int(out, number);
    return is_read;
}

static bool read_number(YamlReader *reader, const YamlNode *value, Buf *out) {
    double number = 99;
    bool is_read = reader_number(reader, value, "x", 0.5, 2, &number);

    buf_printf(out, "%g", number);
    return is_read;
}

static bool read_mapping(YamlReader *reader, const YamlNode *value, Buf *out) {
    (void)out;
    return reader_mapping(reader, value, "x");
}

static bool read_sequence(YamlReader *reader, const YamlNode *value, Buf *out) {
    (void)out;
    return reader_sequence(reader, value, "x");
}

static const struct {
    Read read;
    Str source;            /* {x: …} */
    const char *got;       /* the result; the old one if nothing was read */
    const char *complaint; /* NULL: no error */
    const char *hint;      /* NULL: none */
} cases[] = {
    {read_string, STR("x: a b"), "a b", NULL, NULL},
    {read_string, STR("x: ''"), "", NULL, NULL},
    {read_string, STR("x: 5"), "untouched", "x must be a string, not 5", "put it in quotes"},
    {read_string, STR("x: true"), "untouched", "x must be a string, not true", "put it in quotes"},
    {read_string, STR("x:"), "untouched", "x must be a string, not empty", NULL},
    {read_string, STR("x: [a]"), "untouched", "x must be a string, not a list", NULL},
    {read_string, STR("x: {a: b}"), "untouched", "x must be a string, not a mapping", NULL},

    {read_bool, STR("x: true"), "yes", NULL, NULL},
    {read_bool, STR("x: false"), "no", NULL, NULL},
    {read_bool, STR("x: yes"), "", "x must be true or false, not the string \"yes\"", NULL},

    {read_int, STR("x: -5"), "-5", NULL, NULL},
    {read_int, STR("x: 10"), "10", NULL, NULL},
    {read_int, STR("x: -6"), "99", "x must be between -5 and 10", NULL},
    {read_int, STR("x: 11"), "99", "x must be between -5 and 10", NULL},
    {read_int, STR("x: 9223372036854775808"), "99", "x must be between -5 and 10", NULL},
    {read_int, STR("x: -99999999999999999999"), "99", "x must be between -5 and 10", NULL},
    {read_int, STR("x: 1.0"), "99", "x must be a whole number, not 1.0", NULL},
    {read_int, STR("x: 1a"), "99", "x must be a whole number, not the string \"1a\"", NULL},

    {read_number, STR("x: 0.5"), "0.5", NULL, NULL},
    {read_number, STR("x: 2"), "2", NULL, NULL},
    {read_number, STR("x: 2.5"), "99", "x must be between 0.5 and 2", NULL},
    {read_number, STR("x: .inf"), "99", "x must be between 0.5 and 2", NULL},
    {read_number, STR("x: .nan"), "99", "x must be between 0.5 and 2", NULL},
    {read_number, STR("x: ~"), "99", "x must be a number, not empty", NULL},

    {read_mapping, STR("x: {}"), "", NULL, NULL},
    {read_mapping, STR("x: []"), "", "x must be a mapping, not a list", NULL},
    {read_sequence, STR("x: []"), "", NULL, NULL},
    {read_sequence, STR("x: {}"), "", "x must be a list, not a mapping", NULL},
    {read_sequence, STR("x: a"), "", "x must be a list, not the string \"a\"", NULL},

};

static void test_values(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(ARENA_SIZE);
        _cleanup_(buf_done) Buf got = BUF_INIT(1000);
        const char *name = cases[i].source.ptr;
        YamlStream stream = {0};
        DiagList diags;
        YamlReader reader = {.arena = arena, .diags = &diags, .source = cases[i].source};
        bool is_read;

        assert_int_equal(parse(cases[i].source, arena, &diags, &stream), 0);
        is_read = cases[i].read(&reader, yaml_find(stream.documents[0], STR("x")), &got);
        assert_text(name, buf_str(&got), cases[i].got);
        assert_case(name, is_read == !cases[i].complaint);
        assert_case(name, diags.n_errors == !is_read);
        if (is_read)
            continue;
        assert_text(name, diags.diags.items[0].text, cases[i].complaint);
        assert_text(name, diags.diags.items[0].hint, cases[i].hint ? cases[i].hint : "");
        assert_int_equal(diags.diags.items[0].place.line, 1);
    }
}

/* An unknown field gets a suggestion, or the list of valid names. */
static void test_unknown_field(void **state) {
    static const Str known[] = {STR("reason"), STR("weight")};
    _cleanup_(arena_freep) Arena *arena = arena_new(ARENA_SIZE);
    _cleanup_(buf_done) Buf out = BUF_INIT(4096);
    Str source = STR("raeson: a\nzzz: b\n");
    YamlStream stream = {0};
    DiagList diags;
    YamlReader reader = {.arena = arena, .diags = &diags, .source = source};

    (void)state;
    assert_int_equal(parse(source, arena, &diags, &stream), 0);
    for (size_t i = 0; i < 2; i++)
        reader_unknown_field(&reader, i == 0 ? DIAG_ERROR : DIAG_WARNING,
            stream.documents[0]->pairs[i].key, "a filter", known, ELEMENTS_OF(known));
    diag_list_print(&diags, false, &out);
    assert_text("unknown fields", buf_str(&out),
        "f.yaml:1:1: error: unknown field \"raeson\" in a filter\n"
        "  1 | raeson: a\n"
        "    | ^^^^^^\n"
        "  = did you mean \"reason\"?\n"
        "f.yaml:2:1: warning: unknown field \"zzz\" in a filter\n"
        "  2 | zzz: b\n"
        "    | ^^^\n"
        "  = a filter has the fields reason, weight\n"
        "1 error, 1 warning\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_unknown_field),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
