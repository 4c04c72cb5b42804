#include "cel/program.h"

#include <errno.h>

#include "cel/test-fixture.h"

static int compile(Fixture *f, const char *source, CelProgram **ret) {
    return cel_compile(
        f->env, STR("test"), str_from_c(source), &f->options, f->arena, &f->diags, ret);
}

static void test_types(void **state) {
    static const struct {
        const char *source, *type;
    } cases[] = {
        {"1 + 2", "int"},
        {"[1, 2].map(x, string(x))", "list(string)"},
        {"{'a': [1]}", "map(string, list(int))"},
        {"optional.of({'a': 1.5})", "optional_type(map(string, double))"},
        {"d", "dyn"},
        {"node", "Node"},
        {"type(1)", "type(int)"},
    };
    Fixture f;

    (void)state;
    fixture_init(&f);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        const CelProgram *program = fixture_compile(&f, cases[i].source);
        Buf out = BUF_INIT(1000);

        cel_type_print(program->type, false, &out);
        assert_text(cases[i].source, buf_str(&out), cases[i].type);
        buf_done(&out);
    }
    fixture_done(&f);
}

/* Each stage reports errors in its own way; the caller sees one. */
static void test_each_stage_refuses(void **state) {
    static const struct {
        const char *source, *part;
    } cases[] = {
        {"1 +", "1 +"},
        {"1 + 'a'", "overload"},
        {"nod.cpu", "did you mean"},
        {"timestamp('x')", "timestamp"},
        {"s.matches('[')", "missing"},
        {"l.all(a, l.all(b, l.all(c, l.all(d, a + b + c + d > 0))))", "cost"},
    };
    Fixture f;

    (void)state;
    fixture_init(&f);
    f.options.cost_limit = 100000;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        CelProgram *program = NULL;
        Buf out = BUF_INIT(1 << 16);

        f.diags = DIAG_LIST_IN(f.arena);
        assert_case(cases[i].source, compile(&f, cases[i].source, &program) == CEL_REFUSED);
        assert_case(cases[i].source, !program && f.diags.n_errors > 0);
        diag_list_print(&f.diags, false, &out);
        if (!memmem(out.data, out.len, cases[i].part, strlen(cases[i].part)))
            fail_msg("%s:\n%.*s", cases[i].source, STR_FMT(buf_str(&out)));
        buf_done(&out);
    }
    fixture_done(&f);
}

/* Nested loops up to the limit, and one more. */
static void test_loops_inside_each_other(void **state) {
    static const char eight[] = "l.all(a, l.all(b, l.all(c, l.all(d, l.all(e, l.all(f, l.all(g, "
                                "l.all(h, a + b + c + d + e + f + g + h > 0))))))))";
    static const char nine[] = "l.all(a, l.all(b, l.all(c, l.all(d, l.all(e, l.all(f, l.all(g, "
                               "l.all(h, l.all(i, a + i > 0)))))))))";
    static const CelValue items[] = {{.kind = CEL_INT, .i = 1}, {.kind = CEL_INT, .i = 2}};
    CelProgram *program = NULL;
    Fixture f;

    (void)state;
    fixture_init(&f);
    f.variables[f.l] = cel_list(&(CelList){.n = 2, .depth = 1, .items = items});
    assert_eval(&f, eight, "true");
    assert_int_equal(compile(&f, nine, &program), CEL_REFUSED);
    assert_int_equal(f.diags.n_errors, 1);
    assert_text("nine", f.diags.diags.items[0].text, "more than 8 loops inside each other");
    f.options.no_check = true;
    assert_int_equal(compile(&f, nine, &program), CEL_REFUSED);
    fixture_done(&f);
}

/* The program keeps no reference to the source or to the compiler's arena. */
static void test_program_outlives_its_source(void **state) {
    char source[] = "s + 'xyz' + {'key': ['one', 'two']}[s][0] + string('abc'.matches('b+')) + "
                    "string(quantity('1Gi').sign()) + string(s in ['abc', 'def'])";
    CelProgram *program;
    Fixture f;
    CelValue v;

    (void)state;
    fixture_init(&f);
    assert_int_equal(compile(&f, source, &program), 0);
    memset(source, 'Z', sizeof(source) - 1);
    f.variables[f.s] = cel_string(STR("key"));
    v = cel_run(program->code, &f.run, f.variables);
    assert_int_equal(v.kind, CEL_STRING);
    assert_text("alone", cel_str(v), "keyxyzonetrue1false");
    fixture_done(&f);
}

static void test_cost(void **state) {
    Fixture f;

    (void)state;
    fixture_init(&f);
    assert_int_equal(fixture_compile(&f, "n + 1")->cost.max, 2);
    assert_true(fixture_compile(&f, "l.all(x, x > 0)")->cost.max > 1000);
    fixture_done(&f);
}

static void test_options(void **state) {
    CelProgram *program;
    Fixture f;

    (void)state;
    fixture_init(&f);
    assert_int_equal(compile(&f, "[1, 'a']", &program), CEL_REFUSED);
    f.options.is_plain = true;
    assert_eval(&f, "[1, 'a']", "[1, \"a\"]");
    assert_eval(&f, "duration('x') == duration('1s') || true", "true");
    f.options.no_check = true;
    assert_eval(&f, "1 + 'a'", "error@2: no such overload: int + string");
    assert_eval(&f, "nothing.here || true", "true");
    assert_eval(&f, "nothing.here", "error@0: undeclared reference to 'nothing'");
    assert_eval(&f, "size(1, 2, 3)", "error@0: no such overload: size with 3 arguments");
    f.options.no_macros = true;
    f.options.no_check = false;
    assert_int_equal(compile(&f, "[1].all(x, x > 0)", &program), CEL_REFUSED);
    assert_int_equal(cel_compile(f.env, STR("t"), STR("1"), NULL, f.arena, &f.diags, &program), 0);
    fixture_done(&f);
}

static void test_out_of_memory(void **state) {
    Fixture f;

    (void)state;
    fixture_init(&f);
    for (size_t budget = 0; budget < 4000; budget += 40) {
        _cleanup_(arena_freep) Arena *arena = arena_new(budget);
        CelProgram *program;
        int r = cel_compile(f.env, STR("test"), STR("l.map(x, x + 1) == [1] && s.matches('a')"),
            &f.options, arena, &f.diags, &program);

        assert_true(r == 0 || r == -ENOMEM);
        assert_true(budget < 3000 || r == 0);
    }
    fixture_done(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_each_stage_refuses),
        cmocka_unit_test(test_loops_inside_each_other),
        cmocka_unit_test(test_program_outlives_its_source),
        cmocka_unit_test(test_cost),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_out_of_memory),
    };

    return cmocka_run_group_tests_name("cel/program", tests, NULL, NULL);
}
