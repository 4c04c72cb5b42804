#include "kube/proxy.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/test-assert.h"

/* Variables of the environment; NULL: not set. */
typedef struct Variables {
    const char *https_proxy, *http_proxy, *no_proxy;
} Variables;

static void set_variable(const char *name, const char *value) {
    assert_int_equal(value ? setenv(name, value, 1) : unsetenv(name), 0);
}

/* Sets variables in upper case, and removes those in lower case. */
static void set_variables(Variables variables) {
    set_variable("HTTPS_PROXY", variables.https_proxy);
    set_variable("HTTP_PROXY", variables.http_proxy);
    set_variable("NO_PROXY", variables.no_proxy);
    set_variable("https_proxy", NULL);
    set_variable("http_proxy", NULL);
    set_variable("no_proxy", NULL);
}

/* Whether the environment's proxy is used for a server, with this NO_PROXY. */
static void test_no_proxy_follows_the_rules_of_go(void **state) {
    static const struct {
        const char *server, *no_proxy;
        bool is_used;
    } cases[] = {
        {"https://api.corp", NULL, true},
        {"https://api.corp", "", true},
        {"https://api.corp", "*", false},
        {"https://api.corp", "other, api.corp", false},
        {"https://api.corp", "API.Corp", false},
        {"https://api.corp", "corp", false},
        {"https://api.corp", ".corp", false},
        {"https://api.corp", "*.corp", false},
        {"https://corp", ".corp", true},
        {"https://corp", "corp", false},
        {"https://xcorp", "corp", true},
        {"https://api.corp.org", "corp", true},
        {"https://api.corp", "api.corp:443", false},
        {"https://api.corp", "api.corp:6443", true},
        {"https://api.corp:6443", "api.corp:6443", false},
        {"https://api.corp", "api.corp:x", true},
        {"https://10.1.2.3:6443", "10.0.0.0/8", false},
        {"https://11.1.2.3", "10.0.0.0/8", true},
        {"https://10.1.2.3", "10.1.2.3", false},
        {"https://10.1.2.3", "10.1.2.3:443", false},
        {"https://10.1.2.3", "10.1.2.3:80", true},
        {"https://10.1.2.3", "10.1.2.2/31", false},
        {"https://10.1.2.3", "10.1.2.0/31", true},
        {"https://10.1.2.3", "0.0.0.0/0", false},
        {"https://10.1.2.3", "10.0.0.0/33", true},
        {"https://10.1.2.3", "10.0.0.0/x", true},
        {"https://10.1.2.3", "2.3", true}, /* addresses have no subdomains */
        {"https://[fd00::1]", "fd00::/8", false},
        {"https://[fd00::1]", "fd00::1", false},
        {"https://[fd00::1]", "[fd00::1]", false},
        {"https://[fd00::1]", "[fd00::1]:443", false},
        {"https://[fd00::1]", "[fd00::1]:80", true},
        {"https://[fe00::1]", "fd00::/8", true},
        {"https://[fd00::1]", "10.0.0.0/8", true},
        {"https://[::ffff:10.1.2.3]", "10.0.0.0/8", false},
        {"https://localhost:6443", NULL, false},
        {"https://127.0.0.1:6443", NULL, false},
        {"https://127.1.2.3", NULL, false},
        {"https://[::1]", NULL, false},
        {"https://128.0.0.1", NULL, true},
        {"https://h", ",, ,", true},
        {"https://h", "[", true},
        {"https://h", "[]:", true},
        {"https://h", ".", true},
        {"https://h", ":", true},
        {"https://10.1.2.3", "/", true},
        {"https://10.1.2.3", "[10", true},
        {"https://10.1.2.3", "an-entry-that-is-longer-than-any-address-could-be-written", true},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Origin origin;
        bool is_used;

        set_variables((Variables){.https_proxy = "p", .no_proxy = cases[i].no_proxy});
        assert_true(origin_parse(str_from_c(cases[i].server), &origin));
        is_used = proxy_choose(&origin, NULL) != NULL;
        if (is_used != cases[i].is_used)
            fail_msg("%s with NO_PROXY=%s", cases[i].server, cases[i].no_proxy);
    }
}

static void test_configured_proxy_comes_first(void **state) {
    Origin tls, plain;

    (void)state;
    set_variables((Variables){.https_proxy = "s", .http_proxy = "p", .no_proxy = "*"});
    assert_true(origin_parse(STR("https://127.0.0.1"), &tls));
    assert_string_equal(proxy_choose(&tls, "configured"), "configured");
    set_variables((Variables){.https_proxy = "s", .http_proxy = "p"});
    assert_true(origin_parse(STR("https://a"), &tls));
    assert_true(origin_parse(STR("http://a"), &plain));
    assert_string_equal(proxy_choose(&tls, NULL), "s");
    assert_string_equal(proxy_choose(&plain, NULL), "p");
    set_variables((Variables){.http_proxy = "p"});
    assert_null(proxy_choose(&tls, NULL));
}

/* Variables in upper case come first, unless they are empty. */
static void test_upper_case_variables_come_first(void **state) {
    Origin tls;

    (void)state;
    assert_true(origin_parse(STR("https://a"), &tls));
    set_variables((Variables){0});
    assert_null(proxy_choose(&tls, NULL));
    assert_int_equal(setenv("https_proxy", "low", 1), 0);
    assert_string_equal(proxy_choose(&tls, NULL), "low");
    assert_int_equal(setenv("HTTPS_PROXY", "", 1), 0);
    assert_string_equal(proxy_choose(&tls, NULL), "low");
    assert_int_equal(setenv("HTTPS_PROXY", "high", 1), 0);
    assert_string_equal(proxy_choose(&tls, NULL), "high");
    assert_int_equal(setenv("no_proxy", "a", 1), 0);
    assert_null(proxy_choose(&tls, NULL));
    assert_int_equal(setenv("NO_PROXY", "x", 1), 0);
    assert_string_equal(proxy_choose(&tls, NULL), "high");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_proxy_follows_the_rules_of_go),
        cmocka_unit_test(test_configured_proxy_comes_first),
        cmocka_unit_test(test_upper_case_variables_come_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
