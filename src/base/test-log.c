#include "base/log.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/nsec.h"
#include "base/test-assert.h"

/* 2026-11-15T08:09:31.123Z */
#define STAMP (INT64_C(1794730171) * NSEC_PER_SEC + 123 * NSEC_PER_MSEC)

static void test_values(void **state) {
    static const struct {
        Str value;
        const char *logfmt, *json; /* of the field's value */
    } cases[] = {
        {STR("plain"), "plain", "\"plain\""},
        {STR("a/b:c.d-e"), "a/b:c.d-e", "\"a/b:c.d-e\""},
        {STR(""), "\"\"", "\"\""},
        {{NULL, 0}, "\"\"", "\"\""},
        {STR("two words"), "\"two words\"", "\"two words\""},
        {STR("a=b"), "\"a=b\"", "\"a=b\""},
        {STR("say \"hi\""), "\"say \\\"hi\\\"\"", "\"say \\\"hi\\\"\""},
        {STR("back\\slash"), "\"back\\\\slash\"", "\"back\\\\slash\""},
        {STR("a\nlevel=error msg=forged"), "\"a\\nlevel=error msg=forged\"",
            "\"a\\nlevel=error msg=forged\""},
        {STR("cr\rtab\t"), "\"cr\\u000dtab\\u0009\"", "\"cr\\u000dtab\\u0009\""},
        {STR("nul\0!"), "\"nul\\u0000!\"", "\"nul\\u0000!\""},
        {STR("\033[31mred"), "\"\\u001b[31mred\"", "\"\\u001b[31mred\""},
        {STR("del\x7f"), "\"del\\u007f\"", "\"del\\u007f\""},
        {STR("csi\xc2\x9bm"), "\"csi\\u009bm\"", "\"csi\\u009bm\""},
        {STR("ls\xe2\x80\xa8"), "\"ls\\u2028\"", "\"ls\\u2028\""},
        {STR("rlo\xe2\x80\xae"), "\"rlo\\u202e\"", "\"rlo\\u202e\""},
        {STR("rli\xe2\x81\xa7"), "\"rli\\u2067\"", "\"rli\\u2067\""},
        {STR("bad\xff"), "\"bad\\ufffd\"", "\"bad\\ufffd\""},
        {STR("half\xe2\x80"), "\"half\\ufffd\\ufffd\"", "\"half\\ufffd\\ufffd\""},
        {STR("caf\xc3\xa9"), "\"caf\xc3\xa9\"", "\"caf\xc3\xa9\""},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(buf_done) Buf out = BUF_INIT(4096);
        _cleanup_(buf_done) Buf want = BUF_INIT(4096);
        const LogField fields[] = {LOG_STR("v", cases[i].value), {.key = NULL}};

        log_render(LOG_LOGFMT, LOG_INFO, STAMP, "m", fields, &out);
        buf_printf(
            &want, "ts=2026-11-15T08:09:31.123Z level=info msg=m v=%s\n%c", cases[i].logfmt, '\0');
        assert_text(cases[i].logfmt, buf_str(&out), want.data);

        buf_reset(&out);
        buf_reset(&want);
        log_render(LOG_JSON, LOG_INFO, STAMP, "m", fields, &out);
        buf_printf(&want,
            "{\"ts\":\"2026-11-15T08:09:31.123Z\",\"level\":\"info\",\"msg\":\"m\",\"v\":%s}\n%c",
            cases[i].json, '\0');
        assert_text(cases[i].json, buf_str(&out), want.data);
    }
}

/* Every byte and pair of bytes in a value gives one line, without raw control characters. */
static void test_every_pair_stays_one_line(void **state) {
    (void)state;
    for (unsigned i = 0; i < 0x10000; i++) {
        _cleanup_(buf_done) Buf out = BUF_INIT(4096);
        char bytes[3] = {(char)(i >> 8), (char)i, 'x'};
        const LogField fields[] = {LOG_STR("v", str_of(bytes, 3)), {.key = NULL}};

        log_render(i % 2 ? LOG_JSON : LOG_LOGFMT, LOG_WARN, STAMP, "m", fields, &out);
        assert_int_equal(str_find(buf_str(&out), '\n'), out.len - 1);
        for (size_t k = 0; k + 1 < out.len; k++)
            assert_true((unsigned char)out.data[k] >= 0x20 && out.data[k] != 0x7f);
    }
}

static void test_kinds_of_fields(void **state) {
    const LogField fields[] = {
        LOG_INT("least", INT64_MIN),
        LOG_BOOL("yes", true),
        LOG_BOOL("no", false),
        LOG_CSTR("null", NULL),
        {.key = NULL},
    };
    _cleanup_(buf_done) Buf out = BUF_INIT(4096);

    (void)state;
    log_render(LOG_JSON, LOG_ERROR, 0, "policy loaded", fields, &out);
    assert_text("json", buf_str(&out),
        "{\"ts\":\"1970-01-01T00:00:00.000Z\",\"level\":\"error\",\"msg\":\"policy loaded\","
        "\"least\":-9223372036854775808,\"yes\":true,\"no\":false,\"null\":\"\"}\n");
    buf_reset(&out);
    log_render(LOG_LOGFMT, LOG_DEBUG, 0, "policy loaded", fields, &out);
    assert_text("logfmt", buf_str(&out),
        "ts=1970-01-01T00:00:00.000Z level=debug msg=\"policy loaded\" "
        "least=-9223372036854775808 yes=true no=false null=\"\"\n");
}

/* Values are cut at LOG_VALUE_MAX bytes, between characters. */
static void test_long_values(void **state) {
    static const struct {
        const char *name;
        size_t n_ascii; /* then characters of two bytes */
        size_t kept;
    } cases[] = {
        {"boundary between characters", 0, LOG_VALUE_MAX},
        {"boundary inside a character", 1, LOG_VALUE_MAX - 1},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(buf_done) Buf out = BUF_INIT(8192);
        char value[LOG_VALUE_MAX + 100];
        const LogField fields[] = {LOG_STR("v", str_of(value, sizeof(value))), {.key = NULL}};

        memset(value, 'a', cases[i].n_ascii);
        for (size_t k = cases[i].n_ascii; k < sizeof(value); k++)
            value[k] = (k - cases[i].n_ascii) % 2 ? '\xa9' : '\xc3';
        log_render(LOG_JSON, LOG_INFO, STAMP, "m", fields, &out);
        assert_case(cases[i].name, str_has_suffix(buf_str(&out), STR("\xc3\xa9\xe2\x80\xa6\"}\n")));
        assert_case(cases[i].name,
            out.len == cases[i].kept + strlen("{\"ts\":\"2026-11-15T08:09:31.123Z\",\"level\":"
                                              "\"info\",\"msg\":\"m\",\"v\":\"...\"}\n"));
    }
}

/* The text that @speak writes to stderr. */
static Str capture(void (*speak)(void), char *text, size_t size) {
    int saved = dup(STDERR_FILENO), ends[2];
    ssize_t n;

    assert_int_equal(pipe(ends), 0);
    assert_true(dup2(ends[1], STDERR_FILENO) >= 0);
    speak();
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    (void)close(ends[1]);
    (void)close(saved);
    n = read(ends[0], text, size);
    (void)close(ends[0]);
    assert_true(n >= 0);
    return str_of(text, (size_t)n);
}

static void speak_levels(void) {
    log_setup(LOG_WARN, LOG_LOGFMT);
    log_debug("not this");
    log_info("nor this", LOG_INT("n", 1));
    log_warn("this", LOG_INT("n", 2), LOG_CSTR("s", "a b"));
    log_error("and this");
}

static void speak_too_long(void) {
    static char junk[LOG_VALUE_MAX]; /* NULs: six bytes each when escaped */
    Str value = str_of(junk, sizeof(junk));

    log_setup(LOG_INFO, LOG_JSON);
    log_info("flood", LOG_STR("a", value), LOG_STR("b", value), LOG_STR("c", value),
        LOG_STR("d", value), LOG_STR("e", value), LOG_STR("f", value));
}

static void test_events(void **state) {
    char text[4096];
    Str said = capture(speak_levels, text, sizeof(text)), line;

    (void)state;
    assert_true(str_split(&said, '\n', &line));
    assert_true(str_has_suffix(line, STR(" level=warn msg=this n=2 s=\"a b\"")));
    assert_true(str_split(&said, '\n', &line));
    assert_true(str_has_suffix(line, STR(" level=error msg=\"and this\"")));
    assert_true(str_is_empty(said));

    said = capture(speak_too_long, text, sizeof(text));
    assert_true(str_has_suffix(
        said, STR("\"level\":\"info\",\"msg\":\"flood\",\"fields_dropped\":true}\n")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_every_pair_stays_one_line),
        cmocka_unit_test(test_kinds_of_fields),
        cmocka_unit_test(test_long_values),
        cmocka_unit_test(test_events),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
