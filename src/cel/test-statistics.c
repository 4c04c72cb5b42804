#include "cel/test-library.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define BETA "math.betaInc", "(double, double, double) -> double"
#define NORM "math.normQuantile", "(double) -> double"

static void test_limits_and_errors(void **state) {
    const LibraryCase cases[] = {
        {BETA, {cel_double(2), cel_double(3), cel_double(0)}, "0.0"},
        {BETA, {cel_double(2), cel_double(3), cel_double(1)}, "1.0"},
        {BETA, {cel_double(0), cel_double(1), cel_double(0.5)}, "error: a and b must be above 0"},
        {BETA, {cel_double(1), cel_double(NAN), cel_double(0.5)}, "error: a and b must be above"},
        {BETA, {cel_double(1), cel_double(1e9), cel_double(0.5)}, "error: at most 1e8"},
        {BETA, {cel_double(1), cel_double(1), cel_double(1.5)}, "error: x must be 0 to 1"},
        {BETA, {cel_double(1), cel_double(1), cel_double(NAN)}, "error: x must be 0 to 1"},
        {NORM, {cel_double(0.5)}, "0.0"},
        {NORM, {cel_double(0)}, "double(\"-Infinity\")"},
        {NORM, {cel_double(1)}, "double(\"Infinity\")"},
        {NORM, {cel_double(-0.1)}, "error: p must be 0 to 1"},
        {NORM, {cel_double(NAN)}, "error: p must be 0 to 1"},
    };

    (void)state;
    library_check_all(cel_statistics_library, cases);
}

/* Compares with a line of test/data/cel/statistics.tsv, made by an independent implementation with
 * 60 digits. */
static void check_row(char *line) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 16);
    CelRun run = CEL_RUN(arena);
    char *rest = line;
    const char *name = strsep(&rest, "\t");
    bool is_beta = strcmp(name, "betaInc") == 0;
    LibraryCase row = is_beta ? (LibraryCase){BETA} : (LibraryCase){NORM};
    double want;
    CelValue got;

    for (int i = 0; i < (is_beta ? 3 : 1); i++)
        row.args[i] = cel_double(strtod(strsep(&rest, "\t"), NULL));
    want = strtod(rest, NULL);
    got = library_call(&cel_statistics_library, &row, &run);
    if (got.kind != CEL_DOUBLE || !(fabs(got.d - want) <= 1e-9))
        fail_msg("%s(%.17g, %.17g, %.17g) is %.17g, not %.17g", name, row.args[0].d, row.args[1].d,
            row.args[2].d, got.d, want);
}

static void test_agrees_with_reference_values(void **state) {
    FILE *file = fopen(TEST_DATA "/cel/statistics.tsv", "r");
    char line[256];
    size_t n = 0;

    (void)state;
    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        if (line[0] == '#')
            continue;
        check_row(line);
        n++;
    }
    assert_int_equal(fclose(file), 0);
    assert_true(n > 2500);
}

/* The fraction charges for its steps, and stops when the fuel is used up. */
static void test_beta_inc_charges(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 16);
    const LibraryCase large = {BETA, {cel_double(1e8), cel_double(1e8), cel_double(0.5)}, NULL};
    CelRun run = CEL_RUN(arena);

    (void)state;
    assert_int_equal(library_call(&cel_statistics_library, &large, &run).kind, CEL_DOUBLE);
    assert_in_range(CEL_FUEL_DEFAULT - run.fuel, 100, 20000);
    run = CEL_RUN(arena);
    run.fuel = 50;
    assert_int_equal(library_call(&cel_statistics_library, &large, &run).kind, CEL_ERROR);
    assert_non_null(run.limit);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits_and_errors),
        cmocka_unit_test(test_agrees_with_reference_values),
        cmocka_unit_test(test_beta_inc_charges),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
