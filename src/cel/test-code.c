#include "cel/test-fixture.h"
#include "cel/test-print.h"

static void assert_code(Fixture *f, const char *source, const char *want) {
    const CelProgram *program = fixture_compile(f, source);
    Buf out = BUF_INIT(1 << 16);

    cel_code_print(program->code, &out);
    assert_text(source, buf_str(&out), want);
    buf_done(&out);
}

static void test_code_without_jumps(void **state) {
    Fixture f;

    (void)state;
    fixture_init(&f);
    assert_code(&f, "node.cpu + n * 2",
        "    0  variable-field      node #1 as int                          ; at 5\n"
        "    1  variable            n as int                                ; at 11\n"
        "    2  constant            2                                       ; at 15\n"
        "    3  mul-int                                                     ; at 13\n"
        "    4  add-int                                                     ; at 9\n"
        "    5  return                                                      ; at 9\n");
    assert_code(&f, "s.matches('^a+$') && d + 1 > 2",
        "    0  variable            s as string                             ; at 0\n"
        "    1  constant            \"^a+$\"                                  ; at 10\n"
        "    2  call                matches, 2 arguments, prepared          ; at 2\n"
        "    3  and-left            -> 10                                   ; at 18\n"
        "    4  variable            d                                       ; at 21\n"
        "    5  constant            1                                       ; at 25\n"
        "    6  call-checked        _+_, 2 arguments                        ; at 23\n"
        "    7  constant            2                                       ; at 29\n"
        "    8  gt-int                                                      ; at 27\n"
        "    9  and-right                                                   ; at 18\n"
        "   10  return                                                      ; at 18\n"
        "errors:\n"
        "    0 to 2     -> 3     on top of 0\n"
        "    4 to 8     -> 9     on top of 1\n");
    fixture_done(&f);
}

/* Operands whose kind is not certain, and fields of values that are not variables. */
static void test_uncertain_kinds_are_checked(void **state) {
    Fixture f;

    (void)state;
    fixture_init(&f);
    assert_code(&f, "[node][0].cpu",
        "    0  variable            node as record                          ; at 1\n"
        "    1  list                1                                       ; at 0\n"
        "    2  constant            0                                       ; at 7\n"
        "    3  index-list           as record                              ; at 6\n"
        "    4  field               #1 as int                               ; at 10\n"
        "    5  return                                                      ; at 10\n");
    assert_code(&f, "d + d",
        "    0  variable            d                                       ; at 0\n"
        "    1  variable            d                                       ; at 0\n"
        "    2  dispatch            _+_, 2 arguments, 9 overloads           ; at 2\n"
        "    3  return                                                      ; at 2\n");
    fixture_done(&f);
}

static void test_constant_list_becomes_a_set(void **state) {
    Fixture f;

    (void)state;
    fixture_init(&f);
    assert_code(&f, "s in ['p', 'q']",
        "    0  variable            s as string                             ; at 0\n"
        "    1  in-set              [\"p\", \"q\"]                              ; at 2\n"
        "    2  return                                                      ; at 2\n");
    fixture_done(&f);
}

/* An && that is decided jumps to the end of the chain, not to the next &&. */
static void test_jumps(void **state) {
    Fixture f;

    (void)state;
    fixture_init(&f);
    assert_code(&f, "n > 1 && n > 2 && n > 3 || s == 'a'",
        "    0  variable            n as int                                ; at 0\n"
        "    1  constant            1                                       ; at 4\n"
        "    2  gt-int                                                      ; at 2\n"
        "    3  and-left            -> 14                                   ; at 6\n"
        "    4  variable            n as int                                ; at 0\n"
        "    5  constant            2                                       ; at 13\n"
        "    6  gt-int                                                      ; at 11\n"
        "    7  and-right                                                   ; at 6\n"
        "    8  and-left            -> 14                                   ; at 15\n"
        "    9  variable            n as int                                ; at 0\n"
        "   10  constant            3                                       ; at 22\n"
        "   11  gt-int                                                      ; at 20\n"
        "   12  and-right                                                   ; at 15\n"
        "   13  or-left             -> 18                                   ; at 24\n"
        "   14  variable            s as string                             ; at 27\n"
        "   15  constant            \"a\"                                     ; at 32\n"
        "   16  eq-string                                                   ; at 29\n"
        "   17  or-right                                                    ; at 24\n"
        "   18  return                                                      ; at 24\n"
        "errors:\n"
        "    0 to 12    -> 13    on top of 0\n"
        "    0 to 7     -> 8     on top of 0\n"
        "    0 to 2     -> 3     on top of 0\n"
        "    4 to 6     -> 7     on top of 1\n"
        "    9 to 11    -> 12    on top of 1\n"
        "   14 to 16    -> 17    on top of 1\n");
    assert_code(&f, "n > 1 ? 1 : 2",
        "    0  variable            n as int                                ; at 0\n"
        "    1  constant            1                                       ; at 4\n"
        "    2  gt-int                                                      ; at 2\n"
        "    3  jump-unless         -> 6                                    ; at 6\n"
        "    4  constant            1                                       ; at 4\n"
        "    5  jump                -> 7                                    ; at 6\n"
        "    6  constant            2                                       ; at 12\n"
        "    7  return                                                      ; at 6\n");
    fixture_done(&f);
}

static void test_loops(void **state) {
    Fixture f;

    (void)state;
    fixture_init(&f);
    assert_code(&f, "l.map(x, x > n, x * 2)",
        "    0  variable            l as list                               ; at 0\n"
        "    1  loop                level 0, fuel 9 a turn                  ; at 2\n"
        "    2  next                -> 11                                   ; at 2\n"
        "    3  local               first of level 0 as int                 ; at 6\n"
        "    4  variable            n as int                                ; at 13\n"
        "    5  gt-int                                                      ; at 11\n"
        "    6  skip-unless         -> 2                                    ; at 2\n"
        "    7  local               first of level 0 as int                 ; at 6\n"
        "    8  constant            2                                       ; at 20\n"
        "    9  mul-int                                                     ; at 18\n"
        "   10  list-step           -> 2                                    ; at 2\n"
        "   11  list-end                                                    ; at 2\n"
        "   12  return                                                      ; at 2\n");
    fixture_done(&f);
}

static void test_shared_parts(void **state) {
    Fixture f;

    (void)state;
    fixture_init(&f);
    assert_code(&f, "s.size() > 1 && s.size() < 9",
        "part 0 (node 1):\n"
        "    0  variable            s as string                             ; at 0\n"
        "    1  call                size, 1 argument                        ; at 2\n"
        "    2  keep                                                        ; at 2\n"
        "start:\n"
        "    3  recall              part 0                                  ; at 9\n"
        "    4  constant            1                                       ; at 11\n"
        "    5  gt-int                                                      ; at 9\n"
        "    6  and-left            -> 11                                   ; at 13\n"
        "    7  recall              part 0                                  ; at 25\n"
        "    8  constant            9                                       ; at 27\n"
        "    9  lt-int                                                      ; at 25\n"
        "   10  and-right                                                   ; at 13\n"
        "   11  return                                                      ; at 13\n"
        "errors:\n"
        "    3 to 5     -> 6     on top of 0\n"
        "    7 to 9     -> 10    on top of 1\n");
    assert_code(&f, "l.all(x, l.exists(y, x * x > s.size()))",
        "part 0 (node 5):\n"
        "    0  variable            s as string                             ; at 29\n"
        "    1  call                size, 1 argument                        ; at 31\n"
        "    2  keep                                                        ; at 31\n"
        "part 1 (node 6), for a turn of the loop of level 0:\n"
        "    3  local               first of level 0 as int                 ; at 6\n"
        "    4  local               first of level 0 as int                 ; at 6\n"
        "    5  mul-int                                                     ; at 23\n"
        "    6  recall              part 0                                  ; at 27\n"
        "    7  gt-int                                                      ; at 27\n"
        "    8  keep                                                        ; at 27\n"
        "start:\n"
        "    9  variable            l as list                               ; at 0\n"
        "   10  loop                level 0, fuel 8 a turn                  ; at 2\n"
        "   11  next                -> 19                                   ; at 2\n"
        "   12  variable            l as list                               ; at 0\n"
        "   13  loop                level 1, fuel 3 a turn                  ; at 11\n"
        "   14  next                -> 17                                   ; at 11\n"
        "   15  recall              part 1                                  ; at 11\n"
        "   16  exists-step         -> 14                                   ; at 11\n"
        "   17  exists-end                                                  ; at 11\n"
        "   18  all-step            -> 11                                   ; at 2\n"
        "   19  all-end                                                     ; at 2\n"
        "   20  return                                                      ; at 2\n"
        "errors:\n"
        "   12 to 17    -> 18    on top of 0\n"
        "   15 to 15    -> 16    on top of 0\n");
    fixture_done(&f);
}

/* Nested cel.bind doubles the expression each time; the code grows linearly. */
static void test_code_is_linear(void **state) {
    Buf source = BUF_INIT(1 << 16);
    const CelProgram *program;
    Fixture f;

    (void)state;
    fixture_init(&f);
    for (int i = 0; i < 40; i++)
        buf_printf(&source, "cel.bind(a%d, %s%d + %s%d, ", i + 1, i ? "a" : "n + ", i,
            i ? "a" : "n + ", i);
    buf_append(&source, STR("a40"));
    buf_append_repeat(&source, ')', 40);
    buf_append_char(&source, '\0');
    program = fixture_compile(&f, source.data);
    assert_in_range(program->code->n_instructions, 40, 250);
    f.variables[f.n] = cel_int(1);
    assert_eval(&f, source.data, "1099511627776");
    buf_done(&source);
    fixture_done(&f);
}

/* The value of an optional element cannot be stored; that of its operand can. */
static void test_optional_elements_are_linear(void **state) {
    Buf source = BUF_INIT(1 << 16);
    Fixture f;

    (void)state;
    fixture_init(&f);
    buf_append(&source, STR("cel.bind(a0, optional.of(dyn(n)), "));
    for (int i = 0; i < 20; i++)
        buf_printf(&source, "cel.bind(a%d, optional.of(dyn([?a%d, ?a%d])), ", i + 1, i, i);
    buf_append(&source, STR("a20.hasValue()"));
    buf_append_repeat(&source, ')', 21);
    buf_append_char(&source, '\0');
    assert_in_range(fixture_compile(&f, source.data)->code->n_instructions, 40, 300);
    f.variables[f.n] = cel_int(1);
    assert_eval(&f, source.data, "true");
    buf_done(&source);
    fixture_done(&f);
}

static void test_size(void **state) {
    const CelProgram *program;
    Fixture f;

    (void)state;
    fixture_init(&f);
    program = fixture_compile(&f,
        "node.labels.tier == 'gpu' && node.cpu - n >= 4 && (!has(node.cpu) || node.cpu < 8) && "
        "!(node.name == 'a') && node.labels['zone'] in ['a', 'b', 'c']");
    assert_in_range(program->code->size, 200, 4096);
    fixture_done(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_code_without_jumps),
        cmocka_unit_test(test_uncertain_kinds_are_checked),
        cmocka_unit_test(test_constant_list_becomes_a_set),
        cmocka_unit_test(test_jumps),
        cmocka_unit_test(test_loops),
        cmocka_unit_test(test_shared_parts),
        cmocka_unit_test(test_code_is_linear),
        cmocka_unit_test(test_optional_elements_are_linear),
        cmocka_unit_test(test_size),
    };

    return cmocka_run_group_tests_name("cel/code", tests, NULL, NULL);
}
