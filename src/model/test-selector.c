#include "model/selector.h"

#include "base/cleanup.h"
#include "base/test-assert.h"

static const Str pools[] = {STR("a"), STR("b")};
static const Str nothing[] = {STR("")};

static void test_requirement(void **state) {
    static const struct {
        const char *name;
        Requirement requirement;
        const char *value; /* NULL: absent */
        bool matches;
    } cases[] = {
        {"in, first", {.op = SELECTOR_IN, .values = pools, .n_values = 2}, "a", true},
        {"in, last", {.op = SELECTOR_IN, .values = pools, .n_values = 2}, "b", true},
        {"in, other", {.op = SELECTOR_IN, .values = pools, .n_values = 2}, "c", false},
        {"in, prefix only", {.op = SELECTOR_IN, .values = pools, .n_values = 2}, "ab", false},
        {"in, absent", {.op = SELECTOR_IN, .values = pools, .n_values = 2}, NULL, false},
        {"in, empty value", {.op = SELECTOR_IN, .values = nothing, .n_values = 1}, "", true},
        {"in, empty is not absent", {.op = SELECTOR_IN, .values = nothing, .n_values = 1}, NULL,
            false},
        {"not in, one of them", {.op = SELECTOR_NOT_IN, .values = pools, .n_values = 2}, "a",
            false},
        {"not in, other", {.op = SELECTOR_NOT_IN, .values = pools, .n_values = 2}, "c", true},
        {"not in, absent", {.op = SELECTOR_NOT_IN, .values = pools, .n_values = 2}, NULL, true},
        {"exists", {.op = SELECTOR_EXISTS}, "", true},
        {"exists, absent", {.op = SELECTOR_EXISTS}, NULL, false},
        {"absent", {.op = SELECTOR_ABSENT}, NULL, true},
        {"absent, is there", {.op = SELECTOR_ABSENT}, "", false},
        {"gt, greater", {.op = SELECTOR_GT, .bound = 7}, "8", true},
        {"gt, equal", {.op = SELECTOR_GT, .bound = 7}, "7", false},
        {"gt, as numbers, not as text", {.op = SELECTOR_GT, .bound = 9}, "10", true},
        {"gt, negative bound", {.op = SELECTOR_GT, .bound = -1}, "0", true},
        {"gt, no number", {.op = SELECTOR_GT, .bound = 0}, "8x", false},
        {"gt, no whole number", {.op = SELECTOR_GT, .bound = 0}, "8.5", false},
        {"gt, too large", {.op = SELECTOR_GT, .bound = 0}, "9223372036854775808", false},
        {"gt, empty", {.op = SELECTOR_GT, .bound = -1}, "", false},
        {"gt, absent", {.op = SELECTOR_GT, .bound = -1}, NULL, false},
        {"lt, less", {.op = SELECTOR_LT, .bound = 7}, "6", true},
        {"lt, equal", {.op = SELECTOR_LT, .bound = 7}, "7", false},
        {"lt, absent", {.op = SELECTOR_LT, .bound = 7}, NULL, false},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Str value = str_from_c(cases[i].value);

        assert_case(cases[i].name, requirement_matches(&cases[i].requirement,
                                       cases[i].value ? &value : NULL) == cases[i].matches);
    }
}

static void test_selector(void **state) {
    static const Label items[] = {{STR("pool"), STR("a")}, {STR("zone"), STR("z1")}};
    static const Labels labels = {items, ELEMENTS_OF(items)};
    static const Requirement both[] = {
        {.key = STR("pool"), .op = SELECTOR_IN, .values = pools, .n_values = 2},
        {.key = STR("zone"), .op = SELECTOR_EXISTS},
        {.key = STR("zone"), .op = SELECTOR_ABSENT},
    };

    (void)state;
    assert_true(selector_matches(&(Selector){0}, &labels));
    assert_true(selector_matches(&(Selector){0}, &(Labels){0}));
    assert_true(selector_matches(&(Selector){both, 2}, &labels));
    assert_false(selector_matches(&(Selector){both, 3}, &labels));
    assert_false(selector_matches(&(Selector){both, 1}, &(Labels){0}));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requirement),
        cmocka_unit_test(test_selector),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
