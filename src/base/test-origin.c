#include "base/origin.h"

#include "base/cleanup.h"
#include "base/test-assert.h"

/* What of a URL is this machine. */
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
        if (origin_is_loopback(&origin) != cases[i].is_loopback)
            fail_msg("%s", cases[i].url);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_loopback)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
