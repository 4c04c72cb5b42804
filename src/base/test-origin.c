#include "base/origin.h"

#include "base/cleanup.h"
#include "base/test-assert.h"

static void test_parse(void **state) {
    static const struct {
        const char *url;
        bool is_good, is_tls, is_v6;
        const char *host;
        uint16_t port;
        const char *path;
    } cases[] = {
        {"https://h", true, true, false, "h", 443, ""},
        {"http://h", true, false, false, "h", 80, ""},
        {"https://h:6443/a/b", true, true, false, "h", 6443, "/a/b"},
        {"https://[fd00::1]", true, true, true, "fd00::1", 443, ""},
        {"https://[fd00::1]:1/x", true, true, true, "fd00::1", 1, "/x"},
        {"https://h:", true, true, false, "h", 443, ""},
        {"https://h:65535", true, true, false, "h", 65535, ""},
        {"https://h:65536", false, 0, 0, "", 0, ""},
        {"https://h:0", false, 0, 0, "", 0, ""},
        {"https://h:x", false, 0, 0, "", 0, ""},
        {"https://u@h", false, 0, 0, "", 0, ""},
        {"https://[fd00::1", false, 0, 0, "", 0, ""},
        {"https://[fd00::1]6443", false, 0, 0, "", 0, ""},
        {"https://[]", false, 0, 0, "", 0, ""},
        {"https://", false, 0, 0, "", 0, ""},
        {"https:///x", false, 0, 0, "", 0, ""},
        {"ftp://h", false, 0, 0, "", 0, ""},
        {"h:6443", false, 0, 0, "", 0, ""},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        const char *name = cases[i].url;
        Origin origin = {0};

        assert_case(name, origin_parse(str_from_c(name), &origin) == cases[i].is_good);
        if (!cases[i].is_good)
            continue;
        assert_case(name, origin.is_tls == cases[i].is_tls && origin.is_v6 == cases[i].is_v6);
        assert_text(name, origin.host, cases[i].host);
        assert_case(name, origin.port == cases[i].port);
        assert_text(name, origin.path, cases[i].path);
    }
}

/* Which URLs are this machine. */
static void test_loopback(void **state) {
    static const struct {
        const char *url;
        bool is_loopback;
    } cases[] = {
        {"http://127.0.0.1:8080", true},
        {"http://127.9.8.7", true},
        {"https://LocalHost:1/x", true},
        {"HTTP://127.0.0.1:8080", true},
        {"http://[::1]:8080", true},
        {"http://128.0.0.1", false},
        {"http://127.0.0", false},
        {"http://127.0.0.1.example.com", false},
        {"http://127.0.0.256", false},
        {"http://localhost.example.com", false},
        {"http://[::2]", false},
        {"http://berth", false},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Origin origin;

        assert_true(origin_parse(str_from_c(cases[i].url), &origin));
        assert_case(cases[i].url, origin_is_loopback(&origin) == cases[i].is_loopback);
    }
}

/* The target of a redirect; NULL: another server, or unknown. */
static const struct {
    const char *url, *location, *path;
} redirects[] = {
    /* A path is always on the same server. */
    {"http://h:9090/api/v1/query", "/other", "/other"},
    {"http://h:9090/api/v1/query", "/other?a=b&c=d", "/other?a=b&c=d"},
    {"http://h:9090/api/v1/query?x=u@h", "/other#part", "/other"},
    {"http://h:9090/", "/", "/"},
    {"http://h:9090/", "/a@b", "/a@b"},

    /* The same server by its name. */
    {"http://h:9090/q", "http://h:9090/p?x=1", "/p?x=1"},
    {"http://h:9090/q", "http://H:9090/p", "/p"},
    {"http://h/q", "http://h:80/p", "/p"},
    {"http://h:80/q", "http://h/p", "/p"},
    {"https://h/q", "https://h:443/p", "/p"},
    {"https://h:443/q", "HTTPS://h/p", "/p"},
    {"http://h:9090/q", "http://h:9090", "/"},
    {"http://h:9090/q", "http://h:9090#part", "/"},
    {"http://h:9090/q", "//h:9090/p", "/p"},
    {"https://h/q", "//h:443/p", "/p"},
    {"http://[fd00::1]:9090/q", "http://[FD00::1]:9090/p", "/p"},
    {"http://h:9090/q", "http://h:9090/p?to=http://evil/", "/p?to=http://evil/"},
    {"http://h:9090/q", "http://h:9090/p?u=a@b", "/p?u=a@b"},

    /* Another scheme, host or port. */
    {"http://h/q", "https://h/p", NULL},
    {"https://h/q", "http://h/p", NULL},
    {"http://h:9090/q", "http://h/p", NULL},
    {"http://h/q", "http://h:443/p", NULL},
    {"https://h/q", "//h:80/p", NULL},
    {"http://h/q", "http://evil/p", NULL},
    {"http://h/q", "//evil/p", NULL},
    {"http://h/q", "///evil/p", NULL},
    {"http://h/q", "http://h.evil/p", NULL},
    {"http://h/q", "http://evilh/p", NULL},
    {"http://h/q", "http://169.254.169.254/latest", NULL},
    {"http://h/q", "ftp://h/p", NULL},
    {"http://h/q", "file:///etc/passwd", NULL},
    {"http://h/q", "gopher://h:80/p", NULL},
    {"http://fd00::1/q", "http://[fd00::1]/p", NULL},

    /* Rejected although valid: no server needs them. */
    {"http://h/q", "http://u@h/p", NULL},
    {"http://h/q", "http://u:p@h/p", NULL},
    {"http://h/q", "http://h@evil/p", NULL},
    {"http://h/q", "http://evil#@h/p", NULL},
    {"http://h/q", "http://evil?@h/p", NULL},
    {"http://h/q", "http://evil\\@h/p", NULL},
    {"http://h/q", "/\\evil/p", NULL},
    {"http://h/q", "\\\\evil/p", NULL},
    {"http://h/q", "/p\r\nX: y", NULL},
    {"http://h/q", "/p\tq", NULL},
    {"http://h/q", "/p q", NULL},
    {"http://h/q", "/p\x7f", NULL},
    {"http://h/q", "/p\xc3\xa4", NULL},
    {"http://h/q", "http://h:/p", "/p"},
    {"http://h/q", "http://h:0/p", NULL},
    {"http://h/q", "http://h:80x/p", NULL},
    {"http://h/q", "http://h:65616/p", NULL},
    {"http://h/q", "http:h/p", NULL},
    {"http://h/q", "http:/p", NULL},
    {"http://h/q", "http:///p", NULL},
    {"http://h/q", "p", NULL},
    {"http://h/q", "../p", NULL},
    {"http://h/q", "?x=1", NULL},
    {"http://h/q", "http://h?x=1", NULL},
    {"http://h/q", "#part", NULL},
    {"http://h/q", "", NULL},
    {"h/q", "/p", NULL},
};

static void test_redirects(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(redirects); i++) {
        const char *name = redirects[i].location;
        Str path = STR("untouched");
        bool is_same = origin_is_same(str_from_c(redirects[i].url), str_from_c(name), &path);

        assert_case(name, is_same == (redirects[i].path != NULL));
        assert_text(name, path, is_same ? redirects[i].path : "untouched");
    }
}

static void test_control_characters(void **state) {
    char location[] = "http://h/?p";

    (void)state;
    for (int c = 0; c < 256; c++) {
        bool is_text = c > ' ' && c <= '~' && !strchr("\"<>\\^`{|}", c);
        Str path;

        location[9] = '/';
        location[10] = (char)c;
        assert_int_equal(
            origin_is_same(STR("http://h/"), str_of(location, sizeof(location) - 1), &path),
            is_text);
    }
}

static void test_complaints(void **state) {
    static const struct {
        const char *url, *expected; /* NULL: no error */
    } cases[] = {
        {"http://h", NULL},
        {"HTTP://h", NULL},
        {"https://h:9090/prometheus/", NULL},
        {"https://[fd00::1]:9090", NULL},
        {"http://2852039166/", NULL}, /* addresses are checked at the connect */
        {"", "must begin with https:// (or http://)"},
        {"prometheus:9090", "must begin with https:// (or http://)"},
        {"file:///etc/passwd", "must begin with https:// (or http://)"},
        {"unix:///run/x", "must begin with https:// (or http://)"},
        {"http://u:p@h", "has a user in it"},
        {"http://h/a b", "has a character that a URL cannot have"},
        {"http://h\r\nHost: x", "has a character that a URL cannot have"},
        {"http://h/?x=1", "has a query or a fragment"},
        {"http://h/#x", "has a query or a fragment"},
        {"http://", "has no host"},
        {"http:///x", "has no host"},
        {"http://:80", "has no host"},
        {"http://h:99999", "is no URL that can be used"},
        {"http://[::1", "is no URL that can be used"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        const char *complaint = origin_complaint(str_from_c(cases[i].url));

        assert_case(cases[i].url, !complaint == !cases[i].expected);
        if (complaint)
            assert_text(cases[i].url, str_from_c(complaint), cases[i].expected);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_loopback),
        cmocka_unit_test(test_redirects),
        cmocka_unit_test(test_control_characters),
        cmocka_unit_test(test_complaints),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
