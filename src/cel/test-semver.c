#include <stdlib.h>

#include "base/cleanup.h"
#include "base/test-assert.h"
#include "cel/semver.h"

/* The version that a text gives as it is and normalized; NULL: none. */
static void test_texts(void **state) {
    static const struct {
        const char *text, *strict, *normalised;
    } cases[] = {
        {"1.2.3", "1.2.3", "1.2.3"},
        {"0.0.0", "0.0.0", "0.0.0"},
        {"1.2.3-beta.1+build.1", "1.2.3-beta.1+build.1", "1.2.3-beta.1+build.1"},
        {"1.2.3--", "1.2.3--", "1.2.3--"},
        {"1.2.3-0a", "1.2.3-0a", "1.2.3-0a"},
        {"1.2.3-0", "1.2.3-0", "1.2.3-0"},
        {"1.2.3+01", "1.2.3+01", "1.2.3+01"},
        {"1.2.3+b-c", "1.2.3+b-c", "1.2.3+b-c"},
        {"18446744073709551615.0.0", "18446744073709551615.0.0", "18446744073709551615.0.0"},
        {"1.2.3-18446744073709551615", "1.2.3-18446744073709551615", "1.2.3-18446744073709551615"},
        {"v1.2.3", NULL, "1.2.3"},
        {"v1.0", NULL, "1.0.0"},
        {"1", NULL, "1.0.0"},
        {"0000", NULL, "0.0.0"},
        {"01.02.03", NULL, "1.2.3"},
        {"v01.01", NULL, "1.1.0"},
        {"1.2.003-x", NULL, "1.2.3-x"},
        {"1.2.-a", NULL, "1.2.0-a"},
        {"1.2.+a", NULL, "1.2.0+a"},
        {"1.2.00+a", NULL, "1.2.0+a"},
        {"", NULL, NULL},
        {"v", NULL, NULL},
        {"vv1", NULL, NULL},
        {"V1", NULL, NULL},
        {"1.", NULL, NULL},
        {"1.2.", NULL, NULL},
        {".2.3", NULL, NULL},
        {"1..3", NULL, NULL},
        {"1.2.-", NULL, NULL},
        {"1.0-alpha", NULL, NULL},
        {"1+b", NULL, NULL},
        {"1.2.3.4", NULL, NULL},
        {" 1.0.0", NULL, NULL},
        {"1. 0.0", NULL, NULL},
        {"1.0.0 ", NULL, NULL},
        {"1.2.x", NULL, NULL},
        {"-1.2.3", NULL, NULL},
        {"1.2.3-", NULL, NULL},
        {"1.2.3+", NULL, NULL},
        {"1.2.3-01", NULL, NULL},
        {"1.2.003-01", NULL, NULL},
        {"1.2.3-a..b", NULL, NULL},
        {"1.2.3-a.", NULL, NULL},
        {"1.2.3-a_b", NULL, NULL},
        {"1.2.3+a+b", NULL, NULL},
        {"1.2.3+a..b", NULL, NULL},
        {"1.2.3-\xc3\xa4", NULL, NULL},
        {"18446744073709551616.0.0", NULL, NULL},
        {"1.2.3-18446744073709551616", NULL, NULL},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        for (int normalise = 0; normalise < 2; normalise++) {
            const char *want = normalise ? cases[i].normalised : cases[i].strict;
            _cleanup_(buf_done) Buf out = BUF_INIT(1000);
            CelSemver version;
            const char *why = NULL;
            bool is_version =
                cel_semver_parse(str_from_c(cases[i].text), normalise, &version, &why);

            assert_case(cases[i].text, is_version == (want != NULL));
            assert_case(cases[i].text, is_version == (why == NULL));
            if (!is_version)
                continue;
            cel_semver_print(&version, &out);
            assert_text(cases[i].text, buf_str(&out), want);
        }
    }
}

/* Every version is smaller than the next; those in one line are equal. */
static void test_order(void **state) {
    static const char *const order[][2] = {
        {"0.0.0-0", "0.0.0-0+x"},
        {"1.0.0-0", "1.0.0-0"},
        {"1.0.0-2", "1.0.0-2"},
        {"1.0.0-10", "1.0.0-10+y"},
        {"1.0.0--", "1.0.0--"},
        {"1.0.0-Beta", "1.0.0-Beta"},
        {"1.0.0-alpha", "1.0.0-alpha"},
        {"1.0.0-alpha.1", "1.0.0-alpha.1"},
        {"1.0.0-alpha.1.0", "1.0.0-alpha.1.0"},
        {"1.0.0-alpha.beta", "1.0.0-alpha.beta"},
        {"1.0.0-alpha-", "1.0.0-alpha-"},
        {"1.0.0-beta", "1.0.0-beta"},
        {"1.0.0-beta.2", "1.0.0-beta.2"},
        {"1.0.0-beta.11", "1.0.0-beta.11"},
        {"1.0.0-beta.18446744073709551615", "1.0.0-beta.18446744073709551615"},
        {"1.0.0-rc.1", "1.0.0-rc.1"},
        {"1.0.0", "1.0.0+build"},
        {"1.0.1", "1.0.1"},
        {"1.2.0", "1.2.0"},
        {"1.10.0", "1.10.0"},
        {"2.0.0", "2.0.0"},
        {"18446744073709551615.0.0", "18446744073709551615.0.0"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(order); i++) {
        for (size_t j = 0; j < ELEMENTS_OF(order); j++) {
            CelSemver a, b;

            assert_true(cel_semver_parse(str_from_c(order[i][0]), false, &a, NULL));
            assert_true(cel_semver_parse(str_from_c(order[j][1]), false, &b, NULL));
            assert_case(order[i][0], cel_semver_cmp(&a, &b) == (i > j) - (i < j));
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
