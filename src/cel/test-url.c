#include "cel/test-library.h"

#include "cel/url.h"

static void test_parts(void **state) {
    static const struct {
        const char *text;
        const char *scheme, *host, *hostname, *port, *path, *query;
        const char *whole; /* NULL: as written */
    } cases[] = {
        {"http://example.com", "http", "example.com", "example.com", "", "", "", NULL},
        {"HTTPS://Example.com:443/A?b=c#d", "https", "Example.com:443", "Example.com", "443", "/A",
            "b=c", "https://Example.com:443/A?b=c#d"},
        {"http://[::1]:80/", "http", "[::1]:80", "::1", "80", "/", "", NULL},
        {"http://[fe80::1%25en0]/", "http", "[fe80::1%en0]", "fe80::1%en0", "", "/", "", NULL},
        {"http://[::ffff:1.2.3.4]/", "http", "[::ffff:1.2.3.4]", "::ffff:1.2.3.4", "", "/", "",
            NULL},
        {"http://a:/", "http", "a:", "a", "", "/", "", NULL},
        {"http://u:p%20w@h/", "http", "h", "h", "", "/", "", NULL},
        {"http://u:@h/", "http", "h", "h", "", "/", "", NULL},
        {"http://a@b@c/", "http", "c", "c", "", "/", "", "http://a%40b@c/"},
        {"ftp://x:80,y:90/", "ftp", "x:80,y:90", "x:80,y", "90", "/", "", NULL},
        {"mailto:a@b.c?x=1", "mailto", "", "", "", "", "x=1", NULL},
        {"mailto:", "mailto", "", "", "", "", "", NULL},
        {"/a/b?c=d", "", "", "", "", "/a/b", "c=d", NULL},
        {"//a/b", "", "a", "a", "", "/b", "", NULL}, /* isURL() sees a path, url() a host */
        {"///a/b", "", "", "", "", "///a/b", "", NULL},
        {"file:///etc", "file", "", "", "", "/etc", "", NULL},
        {"file:/etc", "file", "", "", "", "/etc", "", NULL},
        {"*", "", "", "", "", "*", "", NULL},
        {"http://x?", "http", "x", "x", "", "", "", NULL},
        {"http://x/??", "http", "x", "x", "", "/", "?", NULL},
        {"http://x/#", "http", "x", "x", "", "/", "", "http://x/"},
        {"http://x/a%2Fb", "http", "x", "x", "", "/a%2Fb", "", NULL},
        {"http://x/a%2fb", "http", "x", "x", "", "/a%2fb", "",
            NULL}, /* quoting is kept as written */
        {"http://x/a[b]!", "http", "x", "x", "", "/a[b]!", "", NULL},
        {"http://x/\xc3\xa4 b%2f", "http", "x", "x", "", "/%C3%A4%20b/", "",
            "http://x/%C3%A4%20b/"},
        {"http://h%C3%A9/", "http", "h\xc3\xa9", "h\xc3\xa9", "", "/", "", NULL},
        {"http://h%FF/", "http", "h\xef\xbf\xbd", "h\xef\xbf\xbd", "", "/", "", NULL},
        {"http://x/#a b", "http", "x", "x", "", "/", "", "http://x/#a%20b"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(1 << 16);
        const char *name = cases[i].text;
        CelUrlFault fault;
        const CelUrl *url = cel_url_parse(str_from_c(name), arena, &fault);

        assert_case(name, url != NULL);
        assert_case(name, cel_url_check(str_from_c(name), NULL));
        assert_text(name, url->scheme, cases[i].scheme);
        assert_text(name, url->host, cases[i].host);
        assert_text(name, url->hostname, cases[i].hostname);
        assert_text(name, url->port, cases[i].port);
        assert_text(name, url->path, cases[i].path);
        assert_text(name, url->query, cases[i].query);
        assert_text(name, url->text, cases[i].whole ? cases[i].whole : name);
    }
}

static void test_faults(void **state) {
    static const char *const cases[][2] = {
        {"", "parse \"\": empty url"},
        {"abc", "parse \"abc\": invalid URI for request"},
        {"a\"b\\", "parse \"a\\\"b\\\\\": invalid URI for request"},
        {"1http://x", "parse \"1http://x\": invalid URI for request"},
        {":foo", "parse \":foo\": missing protocol scheme"},
        {"http://a b/", "parse \"http://a b/\": invalid character \" \" in host name"},
        {"http://x#a", "parse \"http://x#a\": invalid character \"#\" in host name"},
        {"http://a:b/", "parse \"http://a:b/\": invalid port \":b\" after host"},
        {"http://x:80:90/", "parse \"http://x:80:90/\": invalid port \":80:90\" after host"},
        {"http://[::1", "parse \"http://[::1\": missing ']' in host"},
        {"http://[::1]x", "parse \"http://[::1]x\": invalid port \"x\" after host"},
        {"http://[1.2.3.4]/", "parse \"http://[1.2.3.4]/\": invalid IP-literal"},
        {"http://a[::1]/", "parse \"http://a[::1]/\": invalid IP-literal"},
        {"http://[::1%25]/", "parse \"http://[::1%25]/\": invalid host: no IPv6 address"},
        {"http://[::g]/", "parse \"http://[::g]/\": invalid host: no IPv6 address"},
        {"http://[::1.2.3.256]/", "parse \"http://[::1.2.3.256]/\": invalid host: no IPv6 address"},
        {"http://[0000000000000000000000000000000000000000000000000000000000000000::]/",
            "parse "
            "\"http://[0000000000000000000000000000000000000000000000000000000000000000::]/\": "
            "invalid host: no IPv6 address"},
        {"http://[::1%25%41%00]/", "parse \"http://[::1%25%41%00]/\": invalid URL escape \"%00\""},
        {"http://a%41/", "parse \"http://a%41/\": invalid URL escape \"%41\""},
        {"http://a/%zz", "parse \"http://a/%zz\": invalid URL escape \"%zz\""},
        {"http://a/%a\xc3\xa9", "parse \"http://a/%a\xc3\xa9\": invalid URL escape \"%a\\xc3\""},
        {"http://a/%", "parse \"http://a/%\": invalid URL escape \"%\""},
        {"http://us er@x/", "parse \"http://us er@x/\": net/url: invalid userinfo"},
        {"http://%u:p@x/", "parse \"http://%u:p@x/\": invalid URL escape \"%u\""},
        {"/\n\x01", "parse \"/\\n\\x01\": net/url: invalid control character in URL"},
        {"/\x7f", "parse \"/\\x7f\": net/url: invalid control character in URL"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(1 << 16);
        _cleanup_(buf_done) Buf out = BUF_INIT(4096);
        Str text = str_of(cases[i][0], strlen(cases[i][0]));
        CelUrlFault fault;

        assert_case(cases[i][0], !cel_url_check(text, &fault));
        assert_case(cases[i][0], !cel_url_parse(text, arena, &fault));
        cel_url_fault_print(text, &fault, &out);
        assert_text(cases[i][0], buf_str(&out), cases[i][1]);
    }
}

/* The message has a limit, for texts of any length, and is cut between code points. */
static void test_long_fault(void **state) {
    _cleanup_(buf_done) Buf long_text = BUF_INIT(1 << 20), out = BUF_INIT(1 << 20);
    CelUrlFault fault;

    (void)state;
    for (size_t i = 0; i < 5000; i++)
        buf_append(&long_text, STR("\xe2\x82\xac"));
    assert_false(cel_url_check(buf_str(&long_text), &fault));
    cel_url_fault_print(buf_str(&long_text), &fault, &out);
    assert_true(out.len < 2000);
    assert_true(str_has_suffix(buf_str(&out), STR("\xac\"…: invalid URI for request")));
}

/* --- functions -------------------------------------------------------------- */

static CelValue make_url(CelRun *run, const char *c) {
    LibraryCase wanted = {"url", "(string) -> kubernetes.URL", {text(c)}, NULL};

    return library_call(&cel_url_library, &wanted, run);
}

static void test_query(void **state) {
    static const char *const cases[][2] = {
        {"http://x/", "{}"},
        {"http://x/?", "{}"},
        {"http://x/?a", "{\"a\": [\"\"]}"},
        {"http://x/?=f", "{\"\": [\"f\"]}"},
        {"http://x/?x=1&y=2&x=3&x", "{\"x\": [\"1\", \"3\", \"\"], \"y\": [\"2\"]}"},
        {"http://x/?a=b=c&&d=%26+%2B", "{\"a\": [\"b=c\"], \"d\": [\"& +\"]}"},
        /* ignored, as Go does */
        {"http://x/?a;b=1&c=%zz&%=1&d=1", "{\"d\": [\"1\"]}"},
        {"http://x/?a=%C3%A9&b=%FFx", "{\"a\": [\"\xc3\xa9\"], \"b\": [\"\xef\xbf\xbdx\"]}"},
        {"mailto:a?a=1#b=2", "{\"a\": [\"1\"]}"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(1 << 20);
        _cleanup_(buf_done) Buf got = BUF_INIT(1 << 16);
        CelRun run = CEL_RUN(arena);
        LibraryCase wanted = {"getQuery", "kubernetes.URL.() -> map(string, list(string))",
            {make_url(&run, cases[i][0])}, cases[i][1]};

        cel_value_print(library_call(&cel_url_library, &wanted, &run), &run, 0, &got);
        assert_text(cases[i][0], buf_str(&got), cases[i][1]);
        library_starve(&cel_url_library, &wanted);
    }
}

static void test_url_functions(void **state) {
    const LibraryCase cases[] = {
        {"url", "(string) -> kubernetes.URL", {text("HTTP://x/a b")}, "url(\"http://x/a%20b\")"},
        {"url", "(string) -> kubernetes.URL", {text("x:a\"b")}, "url(\"x:a\\\"b\")"},
        {"url", "(string) -> kubernetes.URL", {text("abc")},
            "error: URL parse error during conversion from string: parse \"abc\": invalid URI"},
        {"url", "(string) -> kubernetes.URL", {text("//a b")}, "error: in host name"},
        {"isURL", "(string) -> bool", {text("//a b")}, "true"}, /* a path, as a request's URI */
        {"isURL", "(string) -> bool", {text("abc")}, "false"},
        {"isURL", "(string) -> bool", {cel_string(STR_NULL)}, "false"},
    };

    (void)state;
    library_check_all(cel_url_library, cases);
    library_starve_all(cel_url_library, cases);
}

static void test_equal(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 20);
    CelRun run = CEL_RUN(arena);

    (void)state;
    assert_true(cel_equal(make_url(&run, "HTTP://x/a b"), make_url(&run, "http://x/a%20b"), &run));
    assert_false(cel_equal(make_url(&run, "http://x/a"), make_url(&run, "http://x/A"), &run));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_long_fault),
        cmocka_unit_test(test_query),
        cmocka_unit_test(test_url_functions),
        cmocka_unit_test(test_equal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
