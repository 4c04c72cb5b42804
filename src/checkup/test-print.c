#include "base/cleanup.h"
#include "base/test-assert.h"
#include "checkup/check.h"
#include "checkup/verdict.h"

#define TEXT_MAX ((size_t)1024 * 1024)

static const Check some[] = {
    {.code = "B101", .group = CHECK_SCHEDULER, .title = "a thing is so"},
    {.code = "B102", .group = CHECK_SCHEDULER, .title = "something else is right"},
    {.code = "B201", .group = CHECK_BERTH, .title = "third"},
    {.code = "B202", .group = CHECK_BERTH, .title = "fourth"},
};

static Finding findings[] = {
    {CHECK_PASSED, STR("by the way"), STR("")},
    {CHECK_WARNED, STR("f:1: \"weak\"\nand more \033[2J"), STR("do this\nthen that")},
    {CHECK_FAILED, STR("it broke"), STR("fix it")},
    {CHECK_SKIPPED, STR("nobody knows"), STR("")},
};

static const Check *list[] = {&some[0], &some[1], &some[2], &some[3]};
static const Checkup checkup = {.checks = list, .findings = findings, .n = ELEMENTS_OF(some)};

static void test_prints_findings_as_text(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(TEXT_MAX);

    (void)state;
    checkup_print(&checkup, /* has_colour= */ false, /* is_ascii= */ false, &out);
    assert_text("text", buf_str(&out),
        "scheduler\n"
        "---------\n"
        "✓ a thing is so            B101\n"
        "    by the way\n"
        "‼ something else is right  B102\n"
        "    f:1: \"weak\"\n"
        "    and more \\x1b[2J\n"
        "    fix: do this\n"
        "         then that\n"
        "\n"
        "berth\n"
        "-----\n"
        "× third                    B201\n"
        "    it broke\n"
        "    fix: fix it\n"
        "- fourth                   B202\n"
        "    nobody knows\n"
        "\n"
        "1 passed, 1 warning, 1 failed, 1 skipped\n");
}

static void test_prints_ascii_signs(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(TEXT_MAX);
    const Checkup two = {.checks = list + 2, .findings = findings + 2, .n = 2};

    (void)state;
    checkup_print(&two, /* has_colour= */ false, /* is_ascii= */ true, &out);
    assert_text("text", buf_str(&out),
        "berth\n"
        "-----\n"
        "x  third   B201\n"
        "    it broke\n"
        "    fix: fix it\n"
        "-  fourth  B202\n"
        "    nobody knows\n"
        "\n"
        "0 passed, 0 warnings, 1 failed, 1 skipped\n");
}

static void test_colours_signs_and_dims_notes(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(TEXT_MAX);
    const Checkup first = {.checks = list, .findings = findings, .n = 1};
    const Checkup last = {.checks = list + 3, .findings = findings + 3, .n = 1};

    (void)state;
    checkup_print(&first, /* has_colour= */ true, /* is_ascii= */ false, &out);
    checkup_print(&last, /* has_colour= */ true, /* is_ascii= */ false, &out);
    assert_text("text", buf_str(&out),
        "scheduler\n"
        "---------\n"
        "\033[32m✓\033[0m a thing is so  B101\n"
        "\033[2m    by the way\n"
        "\033[0m\n"
        "1 passed, 0 warnings, 0 failed, 0 skipped\n"
        "berth\n"
        "-----\n"
        "\033[2m- fourth  B202\033[0m\n"
        "\033[2m    nobody knows\n"
        "\033[0m\n"
        "0 passed, 0 warnings, 0 failed, 1 skipped\n");
}

/* Checks skipped for one reason share a line; two reasons give two lines. */
static void test_joins_checks_skipped_for_one_reason(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(TEXT_MAX);
    const Check *all[] = {&some[0], &some[0], &some[1], &some[2], &some[3]};
    Finding nobody = {CHECK_SKIPPED, STR("nobody knows"), STR("")};
    Finding found[] = {nobody, nobody, nobody, nobody, nobody};
    const Checkup runs = {.checks = all, .findings = found, .n = ELEMENTS_OF(found)};

    (void)state;
    checkup_print(&runs, /* has_colour= */ false, /* is_ascii= */ false, &out);
    assert_text("text", buf_str(&out),
        "scheduler\n"
        "---------\n"
        "- 3 checks could not be made  B101 to B102\n"
        "    nobody knows\n"
        "\n"
        "berth\n"
        "-----\n"
        "- third                    B201\n"
        "    nobody knows\n"
        "- fourth                   B202\n"
        "    nobody knows\n"
        "\n"
        "0 passed, 0 warnings, 0 failed, 5 skipped\n");
}

static void test_prints_totals_without_checks(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(TEXT_MAX);
    const Checkup none = {.n = 0};

    (void)state;
    checkup_print(&none, /* has_colour= */ false, /* is_ascii= */ false, &out);
    assert_text("text", buf_str(&out), "0 passed, 0 warnings, 0 failed, 0 skipped\n");
}

static void test_prints_json(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(TEXT_MAX);
    const Checkup two = {.checks = list + 1, .findings = findings + 1, .n = 2};

    (void)state;
    checkup_print_json(&two, &out);
    assert_text("json", buf_str(&out),
        "{\n"
        "  \"state\": \"failed\",\n"
        "  \"counts\": {\n"
        "    \"passed\": 0,\n"
        "    \"warned\": 1,\n"
        "    \"failed\": 1,\n"
        "    \"skipped\": 0\n"
        "  },\n"
        "  \"checks\": [\n"
        "    {\n"
        "      \"code\": \"B102\",\n"
        "      \"group\": \"scheduler\",\n"
        "      \"title\": \"something else is right\",\n"
        "      \"state\": \"warned\",\n"
        "      \"cause\": \"f:1: \\\"weak\\\"\\nand more \\u001b[2J\",\n"
        "      \"fix\": \"do this\\nthen that\",\n"
        "      \"hint\": \"docs/troubleshooting.md#b102\"\n"
        "    },\n"
        "    {\n"
        "      \"code\": \"B201\",\n"
        "      \"group\": \"berth\",\n"
        "      \"title\": \"third\",\n"
        "      \"state\": \"failed\",\n"
        "      \"cause\": \"it broke\",\n"
        "      \"fix\": \"fix it\",\n"
        "      \"hint\": \"docs/troubleshooting.md#b201\"\n"
        "    }\n"
        "  ]\n"
        "}\n");
}

static void test_prints_a_row_per_code(void **state) {
    static const char first[] = "| B101 | scheduler | kube-scheduler's configuration was found | ";
    _cleanup_(buf_done) Buf out = BUF_INIT(TEXT_MAX);
    Str text, line;
    size_t n = 0;

    (void)state;
    checkup_print_codes(&out);
    text = buf_str(&out);
    assert_true(str_has_prefix(text, STR(first)));
    while (str_split(&text, '\n', &line))
        n += !str_is_empty(line);
    assert_int_equal(n, n_checks);
}

static void test_durations_are_short_texts(void **state) {
    static const struct {
        double sec;
        const char *text;
    } cases[] = {
        {6.9 * DURATION_DAY_SEC, "6 days"},
        {-400 * DURATION_DAY_SEC, "400 days"},
        {47.9 * 3600, "47 hours"},
        {7199, "119 minutes"},
        {119.9, "119 s"},
        {5.25, "5.25 s"},
        {0.1, "100 ms"},
        {0.000001, "0.001 ms"},
        {1e-9, "1 ns"},
        {0, "0 ns"},
        {__builtin_inf(), "inf days"},
        {__builtin_nan(""), ""},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        assert_string_equal(duration_text(cases[i].sec).text, cases[i].text);
    assert_true(strlen(duration_text(1e300).text) < DURATION_TEXT_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prints_findings_as_text),
        cmocka_unit_test(test_prints_ascii_signs),
        cmocka_unit_test(test_colours_signs_and_dims_notes),
        cmocka_unit_test(test_joins_checks_skipped_for_one_reason),
        cmocka_unit_test(test_prints_totals_without_checks),
        cmocka_unit_test(test_prints_json),
        cmocka_unit_test(test_prints_a_row_per_code),
        cmocka_unit_test(test_durations_are_short_texts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
