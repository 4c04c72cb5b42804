#include "kube/access.h"

#include "base/cleanup.h"
#include "base/test-assert.h"

static void test_invalid_headers_are_explained(void **state) {
    static const struct {
        const char *name, *value, *says;
    } cases[] = {
        {"X-Scope-OrgID", "tenant-1", NULL},
        {"THANOS-TENANT", "a b", NULL},
        {"Cookie", "a=b", NULL},
        {"Authorization", "Bearer x", "is set by berth itself"},
        {"authorization", "Bearer x", "is set by berth itself"},
        {"HOST", "evil", "is set by berth itself"},
        {"Content-Length", "0", "is set by berth itself"},
        {"transfer-encoding", "chunked", "is set by berth itself"},
        {"Accept-Encoding", "gzip", "is set by berth itself"},
        {"X", "a\r\nAuthorization: b", "has a character that a header cannot have"},
        {"X", "\xc3\xa4", "has a character that a header cannot have"},
        {"X", "", "has no value"},
        {"X", "  ", "has no value"},
        {"", "x", "is no name of a header"},
        {"X Y", "x", "is no name of a header"},
        {"X:", "x", "is no name of a header"},
        {"X\n", "x", "is no name of a header"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        const char *complaint =
            header_complaint(str_from_c(cases[i].name), str_from_c(cases[i].value));

        assert_case(cases[i].name, !complaint == !cases[i].says);
        if (complaint)
            assert_text(cases[i].name, str_from_c(complaint), cases[i].says);
    }
}

static void test_length_is_limited(void **state) {
    char value[HEADER_SIZE_MAX + 1];

    (void)state;
    memset(value, 'v', sizeof(value));
    assert_null(header_complaint(STR("X"), str_of(value, HEADER_SIZE_MAX - 1)));
    assert_string_equal(
        header_complaint(STR("X"), str_of(value, HEADER_SIZE_MAX)), "is longer than 4096 bytes");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_invalid_headers_are_explained),
        cmocka_unit_test(test_length_is_limited),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
