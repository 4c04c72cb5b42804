/*
 * Every check against facts with one fault (test-list.h), and the table itself: each check has a
 * case in which it fails, and each code is unique.
 */

#include <errno.h>
#include <math.h>

#include "base/cleanup.h"
#include "base/test-assert.h"
#include "checkup/check.h"
#include "checkup/test-facts.h"
#include "checkup/verdict.h"

#define BUDGET ((size_t)1024 * 1024)

typedef struct Case {
    const char *code, *name;
    CheckState state;
    const char *cause, *fix; /* parts of them */
    void (*spoil)(Scene *scene);
} Case;

#define CASE(code, name, state, cause, fix, ...)                                                   \
    static void spoil_##name(Scene *s) {                                                           \
        __VA_ARGS__;                                                                               \
    }
#include "checkup/test-list.h"
#undef CASE

static const Case cases[] = {
#define CASE(code, name, state, cause, fix, ...)                                                   \
    {#code, #name, CHECK_##state, cause, fix, spoil_##name},
#include "checkup/test-list.h"
#undef CASE
};

static bool has_part(Str text, const char *part) {
    return *part == '\0' || memmem(text.ptr, text.len, part, strlen(part));
}

static void run(const InstallationFacts *facts, const char *only, Arena *arena, Checkup *ret) {
    Str name = str_from_c(only), unknown = STR_NULL;

    assert_int_equal(checkup_run(facts, &name, only ? 1 : 0, arena, ret, &unknown), 0);
}

/* --- each check ------------------------------------------------------------------------------- */

static void test_every_check_passes_without_faults(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    Checkup checkup;
    Scene scene;

    (void)state;
    scene_init(&scene);
    run(&scene.facts, NULL, arena, &checkup);
    assert_int_equal(checkup.n, n_checks);
    for (size_t i = 0; i < checkup.n; i++) {
        if (checkup.findings[i].state != CHECK_PASSED)
            print_error("%s\n", checkup.findings[i].cause.ptr);
        assert_case(checkup.checks[i]->code, checkup.findings[i].state == CHECK_PASSED);
        assert_case(checkup.checks[i]->code, str_is_empty(checkup.findings[i].fix));
    }
    assert_int_equal(checkup_state(&checkup), CHECK_PASSED);
}

static void check_case(const Case *c, Arena *arena) {
    bool is_bad = c->state == CHECK_WARNED || c->state == CHECK_FAILED;
    const Finding *finding;
    Checkup checkup;
    Scene scene;

    scene_init(&scene);
    c->spoil(&scene);
    run(&scene.facts, c->code, arena, &checkup);
    finding = &checkup.findings[0];
    if (finding->state != c->state || !has_part(finding->cause, c->cause) ||
        !has_part(finding->fix, c->fix))
        print_error("%s %s: %s\n%s\nfix: %s\n", c->code, c->name, check_state_name(finding->state),
            finding->cause.ptr, finding->fix.ptr);
    assert_case(c->name, checkup.n == 1);
    assert_case(c->name, finding->state == c->state);
    assert_case(c->name, has_part(finding->cause, c->cause));
    assert_case(c->name, has_part(finding->fix, c->fix));
    assert_case(c->name, is_bad != str_is_empty(finding->fix));
    assert_case(c->name, finding->state == CHECK_PASSED || !str_is_empty(finding->cause));
}

static void test_each_fault_is_found(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        check_case(&cases[i], arena);
        arena_reset(arena);
    }
}

/* A check without facts never passes, and states only that they are missing. */
static void test_unknown_facts_never_pass(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    const InstallationFacts nothing = {.is_offline = false};
    Checkup checkup;

    (void)state;
    run(&nothing, NULL, arena, &checkup);
    for (size_t i = 0; i < checkup.n; i++) {
        assert_case(checkup.checks[i]->code, checkup.findings[i].state != CHECK_PASSED);
        assert_case(checkup.checks[i]->code, !str_is_empty(checkup.findings[i].cause));
        if (checkup.findings[i].state == CHECK_SKIPPED)
            assert_case(
                checkup.checks[i]->code, str_find(checkup.findings[i].cause, '\n') == SIZE_MAX);
    }
    assert_int_equal(checkup_count(&checkup, CHECK_WARNED), 1); /* B101 */
    assert_int_equal(checkup_count(&checkup, CHECK_FAILED), 0);
}

/* --- the table -------------------------------------------------------------------------------- */

static void test_every_check_can_fail(void **state) {
    (void)state;
    for (size_t i = 0; i < n_checks; i++) {
        bool can_fail = false;

        for (size_t k = 0; k < ELEMENTS_OF(cases); k++)
            can_fail |= strcmp(cases[k].code, checks[i].code) == 0 &&
                        (cases[k].state == CHECK_WARNED || cases[k].state == CHECK_FAILED);
        assert_case(checks[i].code, can_fail);
    }
}

static void test_codes_and_titles_are_well_formed(void **state) {
    (void)state;
    for (size_t i = 0; i < n_checks; i++) {
        const Check *check = &checks[i];

        assert_case(check->code, strlen(check->code) == 4);
        assert_case(check->code, check->code[1] == '1' + (char)check->group);
        assert_case(check->code, i == 0 || strcmp(checks[i - 1].code, check->code) < 0);
        assert_case(check->code, strlen(check->title) <= 64);
        assert_case(check->code, check->meaning[strlen(check->meaning) - 1] == '.');
        assert_case(check->code, !strchr(check->title, '|') && !strchr(check->meaning, '|'));
    }
}

/* --- selection -------------------------------------------------------------------------------- */

static void test_runs_only_the_named_checks(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    Str only[] = {STR("rights"), STR("b201")}, unknown = STR_NULL;
    Checkup checkup;
    Scene scene;

    (void)state;
    scene_init(&scene);
    assert_int_equal(checkup_run(&scene.facts, only, 2, arena, &checkup, &unknown), 0);
    assert_int_equal(checkup.n, 4);
    assert_string_equal(checkup.checks[0]->code, "B201");
    assert_string_equal(checkup.checks[3]->code, "B303");
    only[1] = STR("B999");
    assert_int_equal(checkup_run(&scene.facts, only, 2, arena, &checkup, &unknown), -EINVAL);
    assert_text("unknown", unknown, "B999");
}

static void test_offline_judges_configurations_only(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    Checkup checkup;
    Scene scene;

    (void)state;
    scene_init(&scene);
    scene.facts.is_offline = true;
    scene.facts.n_berths = scene.facts.n_pods = scene.facts.n_rights = 0;
    run(&scene.facts, NULL, arena, &checkup);
    assert_true(checkup.n > 20);
    for (size_t i = 0; i < checkup.n; i++) {
        assert_int_equal(checkup.checks[i]->group, CHECK_SCHEDULER);
        assert_case(checkup.checks[i]->code, checkup.findings[i].state != CHECK_FAILED);
    }
    run(&scene.facts, "B202", arena, &checkup);
    assert_int_equal(checkup.n, 1);
    assert_int_equal(checkup.findings[0].state, CHECK_SKIPPED);
    assert_int_equal(checkup_state(&checkup), CHECK_SKIPPED);
}

static void test_state_is_the_worst(void **state) {
    Finding findings[] = {
        {.state = CHECK_SKIPPED}, {.state = CHECK_FAILED}, {.state = CHECK_WARNED}};
    Checkup checkup = {.findings = findings, .n = 3};

    (void)state;
    assert_int_equal(checkup_state(&checkup), CHECK_FAILED);
    findings[1].state = CHECK_PASSED;
    assert_int_equal(checkup_state(&checkup), CHECK_WARNED);
    checkup.n = 2;
    assert_int_equal(checkup_state(&checkup), CHECK_PASSED);
    checkup.n = 1;
    assert_int_equal(checkup_state(&checkup), CHECK_SKIPPED);
}

/* --- limits ----------------------------------------------------------------------------------- */

static void test_counts_lines_beyond_the_limit(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    RightFact rights[FACTS_RIGHTS_MAX];
    Checkup checkup;
    Scene scene;

    (void)state;
    scene_init(&scene);
    for (size_t i = 0; i < ELEMENTS_OF(rights); i++) {
        rights[i] = scene.rights[4];
        rights[i].answer = RIGHT_ALLOWED;
    }
    scene.facts.rights = rights;
    scene.facts.n_rights = ELEMENTS_OF(rights);
    run(&scene.facts, "B303", arena, &checkup);
    assert_true(has_part(checkup.findings[0].cause, "\nand 116 more"));
    assert_null(memchr(checkup.findings[0].fix.ptr, '\n', checkup.findings[0].fix.len));
}

static void test_reports_out_of_memory(void **state) {
    Str unknown = STR_NULL;
    Checkup checkup;
    Scene scene;
    size_t budget = 64;
    int r = -ENOMEM;

    (void)state;
    scene_init(&scene);
    scene.facts.n_berths = 0;
    for (; r == -ENOMEM; budget += 512) {
        _cleanup_(arena_freep) Arena *arena = arena_new(budget);

        r = checkup_run(&scene.facts, NULL, 0, arena, &checkup, &unknown);
    }
    assert_int_equal(r, 0);
    assert_true(budget > 1024);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_check_passes_without_faults),
        cmocka_unit_test(test_each_fault_is_found),
        cmocka_unit_test(test_unknown_facts_never_pass),
        cmocka_unit_test(test_every_check_can_fail),
        cmocka_unit_test(test_codes_and_titles_are_well_formed),
        cmocka_unit_test(test_runs_only_the_named_checks),
        cmocka_unit_test(test_offline_judges_configurations_only),
        cmocka_unit_test(test_state_is_the_worst),
        cmocka_unit_test(test_counts_lines_beyond_the_limit),
        cmocka_unit_test(test_reports_out_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
