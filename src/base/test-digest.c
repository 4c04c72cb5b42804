#include "base/digest.h"

#include "base/cleanup.h"
#include "base/test-assert.h"

/* Users see and store digests: they must never change. */
static void test_known_digests_never_change(void **state) {
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

static Digest chain(const char *first, const char *second) {
    return digest_chain(digest_chain(DIGEST_NONE, str_from_c(first)), str_from_c(second));
}

static void test_chains(void **state) {
    assert_true(digest_equal(chain("a", "b"), chain("a", "b")));
    assert_false(digest_equal(chain("a", "b"), chain("b", "a")));
    assert_false(digest_equal(chain("ab", ""), chain("a", "b")));
    assert_false(digest_equal(chain("", "a"), digest_of(STR("a"))));
    assert_false(digest_equal((Digest){1, 2}, (Digest){1, 3}));
    assert_false(digest_equal((Digest){1, 2}, (Digest){3, 2}));
}

static void test_parse(void **state) {
    static const char *const wrong[] = {
        "",
        "99aa06d3014798d86001c324468d497",
        "99aa06d3014798d86001c324468d497f0",
        "99aa06d3014798d8-001c324468d497f",
        "g9aa06d3014798d86001c324468d497f",
        "99aa06d3014798d86001c324468d49\0217",
    };
    Digest digest = DIGEST_NONE;

    assert_true(digest_parse(STR("99aa06d3014798d86001C324468D497F"), &digest));
    assert_true(digest_equal(digest, digest_of(STR_NULL)));
    for (size_t i = 0; i < ELEMENTS_OF(wrong); i++)
        assert_case(wrong[i], !digest_parse(str_from_c(wrong[i]), &digest));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_digests_never_change),
        cmocka_unit_test(test_chains),
        cmocka_unit_test(test_parse),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
