#include "dashboard/html.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/nsec.h"
#include "base/test-assert.h"

#define BYTES_MAX ((size_t)64 * 1024)

/* --- escaping --------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    Str text;
    const char *want; /* the same in elements and in attributes */
} escapes[] = {
    {"nothing", STR_NULL, ""},
    {"plain", STR("web-7 ~!@#$%^*()_+{}|:?`-=[]\\;,./"), "web-7 ~!@#$%^*()_+{}|:?`-=[]\\;,./"},
    {"element", STR("<script>alert(1)</script>"), "&lt;script&gt;alert(1)&lt;/script&gt;"},
    {"comment", STR("<!--x-->"), "&lt;!--x--&gt;"},
    {"cdata", STR("<![CDATA[x]]>"), "&lt;![CDATA[x]]&gt;"},
    {"entity", STR("&lt;&#60;&amp;"), "&amp;lt;&amp;#60;&amp;amp;"},
    {"quotes", STR("a\" onclick='x'"), "a&quot; onclick=&#39;x&#39;"},
    {"NUL", STR("a\0b"), "a\\x00b"}, {"line ends", STR("a\r\nb\tc"), "a\\x0d\\x0ab c"},
    {"escape", STR("\x1b[2J"), "\\x1b[2J"}, {"backspace", STR("a\x08"), "a\\x08"},
    {"delete", STR("\x7f"), "\\x7f"}, {"C1", STR("\xc2\x85\xc2\x9b"), "\\u0085\\u009b"},
    {"override",
        STR("a\xe2\x80\xae"
            "gpj.exe"),
        "a\\u202egpj.exe"},
    {"embedding", STR("\xe2\x80\xaa\xe2\x80\xab\xe2\x80\xac\xe2\x80\xad"),
        "\\u202a\\u202b\\u202c\\u202d"},
    {"isolates", STR("\xe2\x81\xa6\xe2\x81\xa7\xe2\x81\xa8\xe2\x81\xa9"),
        "\\u2066\\u2067\\u2068\\u2069"},
    {"marks", STR("\xe2\x80\x8e\xe2\x80\x8f\xd8\x9c"), "\\u200e\\u200f\\u061c"},
    {"separators", STR("\xe2\x80\xa8\xe2\x80\xa9"), "\\u2028\\u2029"},
    {"byte order mark", STR("\xef\xbb\xbf"), "\\ufeff"},
    {"noncharacters", STR("\xef\xbf\xbe\xef\xbf\xbf"), "\\ufffe\\uffff"},
    {"lone bytes",
        STR("a\x80\xff"
            "b"),
        "a\\x80\\xffb"},
    {"cut short", STR("\xe2\x82"), "\\xe2\\x82"}, {"overlong <", STR("\xc0\xbc"), "\\xc0\\xbc"},
    {"overlong NUL", STR("\xc0\x80"), "\\xc0\\x80"},
    {"high surrogate", STR("\xed\xa0\x80"), "\\xed\\xa0\\x80"},
    {"low surrogate", STR("\xed\xbf\xbf"), "\\xed\\xbf\\xbf"},
    {"pair as CESU-8", STR("\xed\xa0\xbd\xed\xb8\x80"), "\\xed\\xa0\\xbd\\xed\\xb8\\x80"},
    {"beyond Unicode", STR("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80"},
    {"letters", STR("Ä ß 東京 😀 ع"), "Ä ß 東京 😀 ع"},
    {"broken, then markup", STR("\xe2<b>"), "\\xe2&lt;b&gt;"},
    {"fullwidth <", STR("\xef\xbc\x9c"), "\xef\xbc\x9c"}, /* no markup in UTF-8, and stays text */
};

static void test_escaping(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(escapes); i++) {
        _cleanup_(buf_done) Buf out = BUF_INIT(BYTES_MAX);
        Html html = HTML(&out);
        char want[512];

        html_open(&html, "p");
        html_attr(&html, "title", escapes[i].text);
        html_text(&html, escapes[i].text);
        html_close(&html);
        (void)snprintf(
            want, sizeof(want), "<p title=\"%s\">%s</p>", escapes[i].want, escapes[i].want);
        assert_text(escapes[i].name, buf_str(&out), want);
        assert_int_equal(buf_error(&out), 0);
    }
}

/* Every byte alone, and every pair with '<': the output contains no markup from the input. */
static void test_every_byte(void **state) {
    (void)state;
    for (unsigned c = 0; c < 256; c++) {
        _cleanup_(buf_done) Buf out = BUF_INIT(BYTES_MAX);
        Html html = HTML(&out);
        char text[3] = {(char)c, '<', (char)c};

        html_text(&html, str_of(text, sizeof(text)));
        for (size_t i = 0; i < out.len; i++) {
            unsigned char got = (unsigned char)out.data[i];

            assert_true(got >= 0x20 && got != 0x7f);
            assert_true(got != '<' && got != '>' && got != '"' && got != '\'');
            if (got == '&')
                assert_true(memchr(out.data + i, ';', out.len - i) != NULL);
        }
        assert_non_null(memmem(out.data, out.len, "&lt;", 4));
    }
}

static void test_long_names(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(BYTES_MAX);
    Html html = HTML(&out);
    char name[4096];

    (void)state;
    memset(name, '<', sizeof(name));
    html_text(&html, str_of(name, sizeof(name)));
    assert_int_equal(out.len, sizeof(name) * 4);
    buf_reset(&out);
    memset(name, 'x', sizeof(name));
    html_text(&html, str_of(name, sizeof(name)));
    assert_int_equal(out.len, sizeof(name));
    buf_reset(&out);
    html_write(&html, "%.*s!", (int)sizeof(name), name);
    assert_int_equal(out.len, sizeof(name) + 1);
}

/* A failure is reported, and nothing is written after it. */
static void test_ceiling(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(8);
    Html html = HTML(&out);

    (void)state;
    html_write(&html, "<p>longer than that</p>");
    assert_int_equal(buf_error(&out), -EFBIG);
}

/* --- templates -------------------------------------------------------------------------------- */

static void test_templates(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(BYTES_MAX);
    Html html = HTML(&out);

    (void)state;
    html.now_nsec = 12 * NSEC_PER_SEC;
    html_write(&html, "<tr id='%s-%zu' hidden><td class='number' data-live>%zu of %u: %d %%</td>",
        "\"'<", (size_t)12345, (size_t)12345, 1000u, 5000);
    html_write(&html, "<td>");
    html_attr(&html, "title", STR("it's"));
    html_write(&html, "%jd, %td, %.1f</td></>", INT64_C(3400000), INT64_C(0), 0.25);
    html_write(&html, "<input name='q'>it's<br>%.*s", STR_FMT(STR("<b>")));
    assert_text("templates", buf_str(&out),
        "<tr id=\"&quot;&#39;&lt;-12345\" hidden=\"\"><td class=\"number\" data-live=\"\">"
        "12,345 of 1,000: 5000 %</td><td title=\"it&#39;s\">3.4 ms, "
        "<time datetime=\"1970-01-01T00:00:00Z\" title=\"1970-01-01 00:00:00 UTC\">12 s "
        "ago</time>, "
        "0.2</td></tr><input name=\"q\"/>it&#39;s<br/>&lt;b&gt;");
    assert_int_equal(html.depth, 0);
    html_write(&html, "<p><b>x</p>");
    assert_int_equal(buf_error(&out), -EINVAL);
}

/* --- elements --------------------------------------------------------------------------------- */

static void test_elements(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(BYTES_MAX);
    Html html = HTML(&out);

    (void)state;
    html_open(&html, "form");
    html_attr(&html, "x", STR("-9223372036854775808"));
    html_attr(&html, "hidden", STR_NULL);
    html_open(&html, "br");
    html_open(&html, "input");
    html_attr(&html, "name", STR("q"));
    html_write(&html, "<b class='c d'>x&y</b><i>%.*s</i>", STR_FMT(STR_NULL));
    html_open(&html, "script");
    html_close(&html);
    html_open(&html, "hr");
    html_write(&html, "%s %d", "<", 5);
    html_close(&html);
    assert_text("elements", buf_str(&out),
        "<form x=\"-9223372036854775808\" hidden=\"\"><br/><input name=\"q\"/>"
        "<b class=\"c d\">x&amp;y</b><i></i><script></script><hr/>&lt; 5</form>");
    assert_int_equal(html.depth, 0);
}

/* Line breaks stay in pre and textarea only. */
static void test_keeps_line_breaks_in_pre(void **state) {
    static const char *const tags[] = {"pre", "textarea"};

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(tags); i++) {
        _cleanup_(buf_done) Buf out = BUF_INIT(BYTES_MAX);
        Html html = HTML(&out);
        char want[128];

        html_open(&html, tags[i]);
        html_attr(&html, "title", STR("a\nb"));
        html_write(&html, "<code>%s</code>", "a\n\tb\r<\x1b");
        html_close(&html);
        html_text(&html, STR("\n"));
        (void)snprintf(want, sizeof(want),
            "<%s title=\"a\\x0ab\"><code>a\n\tb\\x0d&lt;\\x1b</code></%s>\\x0a", tags[i], tags[i]);
        assert_text(tags[i], buf_str(&out), want);
    }
}

static void test_depth(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(BYTES_MAX);
    Html html = HTML(&out);

    (void)state;
    for (size_t i = 0; i < HTML_DEPTH_MAX; i++)
        html_open(&html, "div");
    assert_int_equal(buf_error(&out), 0);
    html_open(&html, "div");
    assert_int_equal(buf_error(&out), -EINVAL);
    buf_reset(&out);
    html = HTML(&out);
    html_close(&html);
    assert_int_equal(buf_error(&out), -EINVAL);
}

/* --- links ------------------------------------------------------------------------------------ */

static const struct {
    Str value;
    const char *want;
} parameters[] = {
    {STR("web-7.x_y~Z09"), "web-7.x_y~Z09"},
    {STR("a b+c"), "a%20b%2Bc"},
    {STR("a/b?c=d&e#f"), "a%2Fb%3Fc%3Dd%26e%23f"},
    {STR("\"><script>"), "%22%3E%3Cscript%3E"},
    {STR("javascript:alert(1)"), "javascript%3Aalert%281%29"},
    {STR("100%"), "100%25"},
    {STR("a\0b"), "a%00b"},
    {STR("\r\nSet-Cookie: x"), "%0D%0ASet-Cookie%3A%20x"},
    {STR("\xff\xe2\x80\xae"), "%FF%E2%80%AE"},
    {STR("ü"), "%C3%BC"},
    {STR("'"), "%27"},
    {STR_NULL, ""},
};

static void test_links(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(parameters); i++) {
        _cleanup_(buf_done) Buf out = BUF_INIT(BYTES_MAX);
        const HtmlParameter both[] = {
            {"name", parameters[i].value}, {NULL, STR("left out")}, {"k", parameters[i].value}};
        Html html = HTML(&out);
        char want[512];

        html_open_link(&html, "/pod", both, ELEMENTS_OF(both));
        html_attr(&html, "class", STR("x"));
        html_text(&html, STR("<"));
        html_close(&html);
        (void)snprintf(want, sizeof(want), "<a href=\"/pod?name=%s&amp;k=%s\" class=\"x\">&lt;</a>",
            parameters[i].want, parameters[i].want);
        assert_text(parameters[i].want, buf_str(&out), want);
    }
}

static void test_every_parameter_byte(void **state) {
    (void)state;
    for (unsigned c = 0; c < 256; c++) {
        _cleanup_(buf_done) Buf out = BUF_INIT(BYTES_MAX);
        Html html = HTML(&out);
        char byte = (char)c, want[64];
        bool is_unreserved =
            c > 0 &&
            strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~", (int)c);
        const HtmlParameter one[] = {{"n", str_of(&byte, 1)}};

        html_link(&html, "/", one, 1, STR_NULL);
        (void)snprintf(want, sizeof(want),
            is_unreserved ? "<a href=\"/?n=%c\"></a>" : "<a href=\"/?n=%%%02X\"></a>", (int)c);
        assert_text("byte", buf_str(&out), want);
    }
}

/* --- numbers ---------------------------------------------------------------------------------- */

static const struct {
    int64_t nsec;
    const char *want;
} durations[] = {
    {-1, "–"},
    {0, "0 ns"},
    {999, "999 ns"},
    {1000, "1.0 µs"},
    {12400, "12 µs"},
    {999499, "999 µs"},
    {999500, "1.0 ms"},
    {3400000, "3.4 ms"},
    {9960000, "10 ms"},
    {INT64_C(999600000), "1.0 s"},
    {INT64_C(1200000000), "1.2 s"},
    {INT64_C(59400000000), "59 s"},
    {INT64_C(60000000000), "1 min"},
    {INT64_C(200000000000), "3 min 20 s"},
    {INT64_C(7500000000000), "2 h 5 min"},
    {INT64_C(86400000000000), "1 d"},
    {INT64_MAX, "106751 d 23 h"},
};

static void test_durations(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(durations); i++) {
        _cleanup_(buf_done) Buf out = BUF_INIT(BYTES_MAX);
        Html html = HTML(&out);

        html_duration(&html, durations[i].nsec);
        assert_text(durations[i].want, buf_str(&out), durations[i].want);
    }
}

#define AT(sec) ((int64_t)(sec)*NSEC_PER_SEC)

static const struct {
    int64_t at, now;
    const char *want;
} times[] = {
    {AT(1767323045), AT(1767323057),
        "<time datetime=\"2026-01-02T03:04:05Z\" title=\"2026-01-02 03:04:05 UTC\">12 s "
        "ago</time>"},
    {AT(1767323045) + 999999999, AT(1767323045),
        "<time datetime=\"2026-01-02T03:04:05Z\" title=\"2026-01-02 03:04:05 UTC\">0 s ago</time>"},
    {AT(1767323045), AT(1767323035),
        "<time datetime=\"2026-01-02T03:04:05Z\" title=\"2026-01-02 03:04:05 UTC\">in 10 s</time>"},
    {0, AT(90),
        "<time datetime=\"1970-01-01T00:00:00Z\" title=\"1970-01-01 00:00:00 UTC\">1 min 30 s "
        "ago</time>"},
    {-1, 0,
        "<time datetime=\"1969-12-31T23:59:59Z\" title=\"1969-12-31 23:59:59 UTC\">0 s ago</time>"},
};

static void test_times(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(times); i++) {
        _cleanup_(buf_done) Buf out = BUF_INIT(BYTES_MAX);
        Html html = HTML(&out);

        html.now_nsec = times[i].now;
        html_time(&html, times[i].at);
        assert_text(times[i].want, buf_str(&out), times[i].want);
        html.now_nsec = INT64_MAX;
        html_time(&html, INT64_MIN); /* nothing overflows */
        assert_int_equal(buf_error(&out), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_escaping),
        cmocka_unit_test(test_every_byte),
        cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_ceiling),
        cmocka_unit_test(test_templates),
        cmocka_unit_test(test_elements),
        cmocka_unit_test(test_keeps_line_breaks_in_pre),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_every_parameter_byte),
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_times),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
