#include <float.h>
#include <math.h>

#include "cel/format.h"
#include "cel/test-library.h"
#include "cel/type.h"

#define FORMAT(format_text, ...)                                                                   \
    "format", "string.(list(dyn)) -> string", {                                                    \
        text(format_text), LIST(__VA_ARGS__)                                                       \
    }

static void test_formats_values(void **state) {
    const CelEntry entries[] = {{text("b"), cel_int(1)}, {cel_int(7), text("x")},
        {cel_bool(true), cel_null()}, {text("a"), cel_double(2.5)}};
    const CelMap map = {.n = 4, .depth = 1, .entries = entries};
    const LibraryCase cases[] = {
        {FORMAT("%s", cel_int(INT64_MIN)), "\"-9223372036854775808\""},
        {FORMAT("%d", cel_uint(UINT64_MAX)), "\"18446744073709551615\""},
        {FORMAT("%x", cel_int(INT64_MIN)), "\"-8000000000000000\""},
        {FORMAT("%b", cel_uint(UINT64_MAX)),
            "\"1111111111111111111111111111111111111111111111111111111111111111\""},
        {FORMAT("%b", cel_int(INT64_MIN)),
            "\"-1000000000000000000000000000000000000000000000000000000000000000\""},
        {FORMAT("%s", cel_double(1e21)), "\"1000000000000000000000\""},
        {FORMAT("%s %d", cel_double(-0.0), cel_double(1.5)), "\"-0 1.5\""},
        {FORMAT("%f", cel_int(INT64_MAX)), "\"9223372036854775808.000000\""},
        {FORMAT("%.18e", cel_uint(UINT64_MAX)), "\"1.844674407370955162e+19\""},
        {FORMAT("%f", cel_double(-NAN)), "\"NaN\""},
        {FORMAT("%s", cel_bytes(STR("a\xff\xc3"
                                    "b"))),
            "\"a\xef\xbf\xbd\xef\xbf\xbd"
            "b\""},
        {FORMAT("%s", cel_map(&map)), "\"{7: x, a: 2.5, b: 1, true: null}\""},
        {FORMAT("%s", COUNTDOWN(3)), "\"[3, 2, 1]\""},
        {FORMAT("%s", cel_type(&cel_duration_type)), "\"google.protobuf.Duration\""},
        {FORMAT("%s", cel_duration(1500000000)), "\"1.5s\""},
        {FORMAT("%s", cel_none()), "error: string clause can only be used"},
        {FORMAT("%d", cel_duration(1)),
            "error: error during formatting: decimal clause can only be used on integers, was "
            "given google.protobuf.Duration"},
        {FORMAT("%.1001f", cel_double(1)), "error: error while parsing precision"},
        {FORMAT("%.99999999999999999999f", cel_double(1)), "error: error while parsing precision"},
        {FORMAT("%", cel_int(1)), "error: unexpected end of string"},
        {FORMAT("%.", cel_int(1)), "error: could not find end of precision specifier"},
        {FORMAT("%\xc3\xa9", cel_int(1)), "error: unrecognized formatting clause \"\xc3\xa9\""},
        {FORMAT("%d %d", cel_int(1)), "error: index 1 out of range"},
        {FORMAT("", cel_int(1)), "\"\""},
    };

    (void)state;
    library_check_all(cel_format_library, cases);
    library_starve_all(cel_format_library, cases);
}

/* The longest numbers, with the largest precision. */
static void test_widest_numbers(void **state) {
    const struct {
        LibraryCase call;
        uint32_t length;
    } cases[] = {
        {{FORMAT("%.1000f", cel_double(-DBL_MAX)), ""}, 1 + 309 + 1 + 1000},
        {{FORMAT("%.1000e", cel_double(-DBL_TRUE_MIN)), ""}, 1 + 1 + 1 + 1000 + 5},
        {{FORMAT("%s", cel_double(DBL_TRUE_MIN)), ""}, 2 + 324},
        {{FORMAT("%s", cel_double(DBL_MAX)), ""}, 309},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(1 << 20);
        CelRun run = CEL_RUN(arena);
        CelValue v = library_call(&cel_format_library, &cases[i].call, &run);

        assert_int_equal(v.kind, CEL_STRING);
        assert_int_equal(v.len, cases[i].length);
    }
}

static void test_splits_a_format_into_pieces(void **state) {
    Str rest = STR("a%%b%.3fc%X");
    CelFormatPiece piece;

    (void)state;
    assert_true(cel_format_next(&rest, &piece));
    assert_text("escape", piece.text, "a%");
    assert_false(piece.is_clause);
    assert_true(cel_format_next(&rest, &piece));
    assert_text("text", piece.text, "b");
    assert_true(piece.is_clause && piece.clause == 'f' && piece.precision == 3);
    assert_true(cel_format_next(&rest, &piece));
    assert_text("text", piece.text, "c");
    assert_true(piece.clause == 'X' && piece.precision == CEL_PRECISION_DEFAULT);
    assert_false(cel_format_next(&rest, &piece));
}

/* Formats that are known at compile time. */
static void test_constant_format_is_prepared(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 16);
    CelPrepare *prepare = cel_format_library.overloads[0].prepare;
    Str error = STR_NULL;

    (void)state;
    assert_non_null(prepare(text("%s and %.2e and %%"), arena, &error));
    assert_null(prepare(text("%s and %y"), arena, &error));
    assert_text("prepare", error,
        "could not parse formatting clause: unrecognized formatting clause \"y\"");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats_values),
        cmocka_unit_test(test_widest_numbers),
        cmocka_unit_test(test_splits_a_format_into_pieces),
        cmocka_unit_test(test_constant_format_is_prepared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
