#include "api/token.h"

#include "base/test-assert.h"
#include "base/test-folder.h"

#define SECRET "0123456789abcdef"
#define OTHER "fedcba9876543210-"

static void test_accepts_bearer_and_basic_token(void **state) {
    static const struct {
        const char *header;
        bool opens;
    } cases[] = {
        {"Bearer " SECRET, true},
        {"bearer " SECRET, true}, /* schemes are not case-sensitive */
        {"Bearer  " SECRET " ", true},
        {"Bearer " SECRET "0", false},
        {"Bearer 0123456789abcde", false},
        {"Bearer 0123456789abcdeF", false},
        {"Bearer ", false},
        {"Bearer", false},
        {"", false},
        {SECRET, false},
        {"Basic " SECRET, false},
        {"Bearer" SECRET, false},
        {"Basic bWU6MDEyMzQ1Njc4OWFiY2RlZg==", true}, /* me:SECRET */
        {"basic OjAxMjM0NTY3ODlhYmNkZWY=", true},     /* :SECRET */
        {"Basic bWU6MDEyMzQ1Njc4OWFiY2RlZg", false},  /* no padding */
        {"Basic MDEyMzQ1Njc4OWFiY2RlZg==", false},    /* SECRET, no name */
        {"Basic MDEyMzQ1Njc4OWFiY2RlZjo=", false},    /* SECRET: */
        {"Basic bWU6MDEyMzQ1Njc4OWFiY2RlRg==", false},
        {"Basic ", false},
        {"Basic !", false},
    };
    _cleanup_(token_freep) Token *token = NULL;
    char error[256];
    Folder folder;

    (void)state;
    folder_init(&folder);
    assert_int_equal(
        token_new(folder_write(&folder, "token", STR(SECRET "\n")), &token, error, sizeof(error)),
        0);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        assert_case(cases[i].header,
            token_opens(token, str_from_c(cases[i].header), STR_NULL) == cases[i].opens);
    folder_done(&folder);
}

/* Berth-Token is for clients behind the API server's proxy. It wins over Authorization. */
static void test_accepts_berth_token(void **state) {
    _cleanup_(token_freep) Token *token = NULL;
    char error[256];
    Folder folder;

    (void)state;
    folder_init(&folder);
    assert_int_equal(
        token_new(folder_write(&folder, "token", STR(SECRET)), &token, error, sizeof(error)), 0);
    assert_true(token_opens(token, STR_NULL, STR(SECRET)));
    assert_true(token_opens(token, STR("Bearer " OTHER), STR(SECRET)));
    assert_false(token_opens(token, STR("Bearer " SECRET), STR(OTHER)));
    assert_false(token_opens(token, STR_NULL, STR("Bearer " SECRET)));
    assert_false(token_opens(token, STR_NULL, STR_NULL));
    folder_done(&folder);
}

static void test_rejects_invalid_token_files(void **state) {
    static const struct {
        Str text;
        const char *says;
    } cases[] = {
        {STR(""), "at least 16 characters"},
        {STR("\n\n"), "at least 16 characters"},
        {STR("0123456789abcde\n"), "at least 16 characters"},
        {STR("0123456789 abcdef\n"), "one word of visible"},
        {STR("0123456789\0abcdef\n"), "one word of visible"},
        {STR("0123456789abcd\xc3\xa9\n"), "one word of visible"},
    };
    char error[256];
    Token *token = NULL;
    Folder folder;

    (void)state;
    folder_init(&folder);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        const char *path = folder_write(&folder, "token", cases[i].text);

        assert_case(cases[i].says, token_new(path, &token, error, sizeof(error)) < 0);
        assert_non_null(strstr(error, cases[i].says));
        assert_non_null(strstr(error, path));
        assert_null(token);
    }
    assert_true(token_new(folder_path(&folder, "none"), &token, error, sizeof(error)) < 0);
    assert_non_null(strstr(error, "No such file"));
    folder_done(&folder);
}

static void test_reload_keeps_the_old_token_on_errors(void **state) {
    _cleanup_(token_freep) Token *token = NULL;
    char error[256];
    char path[512];
    Folder folder;

    (void)state;
    folder_init(&folder);
    (void)snprintf(path, sizeof(path), "%s", folder_write(&folder, "token", STR(SECRET)));
    assert_int_equal(token_new(path, &token, error, sizeof(error)), 0);
    (void)folder_replace(&folder, "token", OTHER "\n");
    assert_int_equal(token_reload(token, error, sizeof(error)), 0);
    assert_true(token_opens(token, STR("Bearer " OTHER), STR_NULL));
    assert_false(token_opens(token, STR("Bearer " SECRET), STR_NULL));
    (void)folder_replace(&folder, "token", "short");
    assert_true(token_reload(token, error, sizeof(error)) < 0);
    assert_true(token_opens(token, STR("Bearer " OTHER), STR_NULL)); /* the old token stays */
    folder_done(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepts_bearer_and_basic_token),
        cmocka_unit_test(test_accepts_berth_token),
        cmocka_unit_test(test_rejects_invalid_token_files),
        cmocka_unit_test(test_reload_keeps_the_old_token_on_errors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
