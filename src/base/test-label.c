#include "base/label.h"

#include "base/cleanup.h"
#include "base/test-assert.h"

static void test_keys(void **state) {
    static const struct {
        const char *key;
        bool is_key;
    } cases[] = {
        {"pool", true},
        {"a", true},
        {"Some_Name-1.x", true},
        {"example.com/gpu", true},
        {"a-b.c/X", true},
        {"123456789012345678901234567890123456789012345678901234567890123", true},
        {"1234567890123456789012345678901234567890123456789012345678901234", false},
        {"", false},
        {"-a", false},
        {"a.", false},
        {"a b", false},
        {"/a", false},
        {"example.com/", false},
        {"Example.com/gpu", false},
        {"example..com/gpu", false},
        {"-example.com/gpu", false},
        {"example-.com/gpu", false},
        {".com/gpu", false},
        {"a_b/gpu", false},
        {"a/b/c", false},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        assert_case(cases[i].key, label_is_key(str_from_c(cases[i].key)) == cases[i].is_key);
}

static void test_namespaces(void **state) {
    static const struct {
        const char *name;
        bool is_namespace;
    } cases[] = {
        {"kube-system", true},
        {"0", true},
        {"123456789012345678901234567890123456789012345678901234567890123", true},
        {"1234567890123456789012345678901234567890123456789012345678901234", false},
        {"", false},
        {"Team", false},
        {"a_b", false},
        {"a.b", false},
        {"-a", false},
        {"a-", false},
        {"a/b", false},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        if (label_is_namespace(str_from_c(cases[i].name)) != cases[i].is_namespace)
            fail_msg("\"%s\"", cases[i].name);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys), cmocka_unit_test(test_namespaces)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
