#include "base/digest.h"

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/test-assert.h"

/* Digests are shown to people and kept by them: they must never change. */
static void test_known(void **state) {
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"", "99aa06d3014798d86001c324468d497f"},
        {"a", "a96faf705af16834e6c632b61e964e1f"},
    };
    char text[DIGEST_TEXT_MAX];

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        assert_string_equal(
            digest_print(digest_of(str_from_c(cases[i].text)), text), cases[i].want);
    assert_string_equal(digest_print(DIGEST_NONE, text), "00000000000000000000000000000000");
}

static bool same(Digest a, Digest b) {
    return a.high == b.high && a.low == b.low;
}

static Digest chain(const char *first, const char *second) {
    return digest_chain(digest_chain(DIGEST_NONE, str_from_c(first)), str_from_c(second));
}

static void test_chains(void **state) {
    assert_true(same(chain("a", "b"), chain("a", "b")));
    assert_false(same(chain("a", "b"), chain("b", "a")));
    assert_false(same(chain("ab", ""), chain("a", "b")));
    assert_false(same(chain("", "a"), digest_of(STR("a"))));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_chains),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
