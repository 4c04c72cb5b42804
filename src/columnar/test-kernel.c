/* Every kernel against the scalar machine, row by row and bit by bit: special values, random ones,
 * rows without a value, operands that are the same for all rows. */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "cel/test-fixture.h"
#include "columnar/kernel.h"

enum { ROWS_MAX = 200, ROUNDS = 24 };

/* i, j, k: int; x, y, z: double; p, q, r: bool; t, u: timestamp; g, h: duration */
static const struct {
    const char *name;
    const CelType *type;
} variables[] = {
    {"i", &cel_int_type},
    {"j", &cel_int_type},
    {"k", &cel_int_type},
    {"x", &cel_double_type},
    {"y", &cel_double_type},
    {"z", &cel_double_type},
    {"p", &cel_bool_type},
    {"q", &cel_bool_type},
    {"r", &cel_bool_type},
    {"t", &cel_timestamp_type},
    {"u", &cel_timestamp_type},
    {"g", &cel_duration_type},
    {"h", &cel_duration_type},
};

static const char *const sources[] = {
    "i + j",
    "i - j",
    "i * j",
    "i / j",
    "i % j",
    "-i",
    "x + y",
    "x - y",
    "x * y",
    "x / y",
    "-x",
    "i == j",
    "i != j",
    "i < j",
    "i <= j",
    "i > j",
    "i >= j",
    "x == y",
    "x != y",
    "x < y",
    "x <= y",
    "x > y",
    "x >= y",
    "i < y",
    "i <= y",
    "i > y",
    "i >= y",
    "x < j",
    "x <= j",
    "x > j",
    "x >= j",
    "p == q",
    "p != q",
    "t == u",
    "t != u",
    "t < u",
    "t <= u",
    "t > u",
    "t >= u",
    "g == h",
    "g != h",
    "g < h",
    "g <= h",
    "g > h",
    "g >= h",
    "!p",
    "p && q",
    "p || q",
    "p ? i : j",
    "p ? x : y",
    "p ? t : u",
    "p ? g : h",
    "p ? q : r",
    "t - u",
    "t + g",
    "g + t",
    "t - g",
    "g + h",
    "g - h",
    "bool(p)",
    "int(i)",
    "int(x)",
    "double(x)",
    "double(i)",
    "timestamp(t)",
    "timestamp(i)",
    "duration(g)",
    "int(t)",
    "int(g)",
    "g.getHours()",
    "g.getMinutes()",
    "g.getSeconds()",
    "math.least(i)",
    "math.least(x)",
    "math.least(i, j)",
    "math.least(x, y)",
    "math.greatest(i)",
    "math.greatest(x)",
    "math.greatest(i, j)",
    "math.greatest(x, y)",
    "math.ceil(x)",
    "math.floor(x)",
    "math.round(x)",
    "math.trunc(x)",
    "math.isNaN(x)",
    "math.abs(x)",
    "math.abs(i)",
    "math.sqrt(x)",
};

static const int64_t special_ints[] = {0, 1, -1, 2, -3, 7, 1000000000, -1000000001, INT64_MAX,
    INT64_MIN, INT64_MAX - 1, INT64_MIN + 1, (INT64_C(1) << 53) + 1, -(INT64_C(1) << 53) - 1,
    INT64_C(3037000500), INT64_C(9223372036), INT64_C(9223372037), -INT64_C(9223372036),
    -INT64_C(9223372037), INT64_C(253402300800)};

static const double special_doubles[] = {0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5,
    0.49999999999999994, 0x1p52 + 0.5, 0x1p63, -0x1p63, 0x1.fffffffffffffp62, 0x1p-1074, 0x1p1023,
    9007199254740993.0, INFINITY, -INFINITY, NAN};

/* --- columns ---------------------------------------------------------------------------- */

/* A column with memory of its own. */
typedef struct TestColumn {
    Column column;
    uint8_t states[ROWS_MAX];
    union {
        int64_t ints[ROWS_MAX];
        double doubles[ROWS_MAX];
    };
} TestColumn;

typedef struct Scene {
    Fixture f;
    uint32_t slots[ELEMENTS_OF(variables)];
    TestColumn columns[3], out;
    Rng rng;
} Scene;

static uint64_t next(Scene *s) {
    return rng_next(&s->rng);
}

static int64_t random_int(Scene *s) {
    switch (next(s) % 4) {
    case 0:
        return special_ints[next(s) % ELEMENTS_OF(special_ints)];
    case 1:
        return (int64_t)(next(s) % 21) - 10;
    default:
        return (int64_t)next(s) >> next(s) % 64;
    }
}

static double random_double(Scene *s) {
    switch (next(s) % 3) {
    case 0:
        return special_doubles[next(s) % ELEMENTS_OF(special_doubles)];
    case 1:
        return (double)((int64_t)(next(s) % 41) - 20) / 4;
    default:
        return (double)random_int(s) / 1024;
    }
}

static void place(TestColumn *t, ColumnLane lane) {
    t->column = (Column){.lane = lane, .states = t->states};
    if (lane == LANE_DOUBLE)
        t->column.doubles = t->doubles;
    else if (lane != LANE_BOOL)
        t->column.ints = t->ints;
}

/* On average, @holes of 8 rows have no value. */
static void fill(Scene *s, TestColumn *t, ColumnLane lane, unsigned holes) {
    place(t, lane);
    for (size_t i = 0; i < ROWS_MAX; i++) {
        bool is_hole = next(s) % 8 < holes;

        t->states[i] = is_hole             ? (uint8_t)(COLUMN_ERROR + next(s) % 2)
                       : lane == LANE_BOOL ? (uint8_t)(next(s) % 2)
                                           : COLUMN_OK;
        if (lane == LANE_DOUBLE)
            t->doubles[i] = random_double(s);
        else
            t->ints[i] = random_int(s);
    }
    if (holes == 0 && lane != LANE_BOOL)
        t->column.states = NULL;
}

/* --- rows as values ---------------------------------------------------------------------- */

static CelValue time_of(int64_t ns) {
    int64_t sec = ns / 1000000000, rest = ns % 1000000000;

    return rest < 0 ? cel_timestamp(sec - 1, (uint32_t)(rest + 1000000000))
                    : cel_timestamp(sec, (uint32_t)rest);
}

static CelValue value_at(const Column *column, const CelType *type, size_t i) {
    static const CelError error = {.text = STR("an error"), .is_placed = true};
    uint8_t state = column->states ? column->states[i] : COLUMN_OK;

    if (state == COLUMN_ERROR)
        return (CelValue){.kind = CEL_ERROR, .error = &error};
    if (state == COLUMN_FALLBACK)
        return cel_absent();
    switch (type->kind) {
    case CEL_T_BOOL:
        return cel_bool(state == COLUMN_TRUE);
    case CEL_T_INT:
        return cel_int(column->ints[i]);
    case CEL_T_DOUBLE:
        return cel_double(column->doubles[i]);
    case CEL_T_TIMESTAMP:
        return time_of(column->ints[i]);
    default:
        return cel_duration(column->ints[i]);
    }
}

/* All NaN are the same value. */
static bool is_same(CelValue a, CelValue b) {
    if (a.kind != b.kind || a.kind == CEL_ERROR)
        return a.kind == b.kind;
    if (a.kind == CEL_BOOL)
        return a.boolean == b.boolean;
    if (a.kind == CEL_DOUBLE && isnan(a.d))
        return isnan(b.d);
    return a.u == b.u && a.len == b.len;
}

/* --- one kernel -------------------------------------------------------------------------- */

typedef struct Case {
    const char *source;
    const CelGraph *graph;
    const CelGraphNode *node;
    const CelCode *code;
    uint32_t n_args;
    const uint32_t *args; /* nodes: variables */
    KernelOperand operands[3];
    size_t n;
} Case;

static const CelType *arg_type(const Case *c, uint32_t arg) {
    return cel_graph_node(c->graph, c->args[arg])->type;
}

static uint32_t arg_slot(const Case *c, uint32_t arg) {
    return cel_graph_node(c->graph, c->args[arg])->immediate;
}

static CelValue scalar(Scene *s, const Case *c) {
    s->f.run.fuel = CEL_FUEL_DEFAULT;
    return cel_run(c->code, &s->f.run, s->f.variables);
}

static CelValue arg_at(const Case *c, uint32_t arg, size_t row) {
    const KernelOperand *operand = &c->operands[arg];

    return value_at(operand->column, arg_type(c, arg), operand->is_single ? 0 : row);
}

/* The @which-th value that a FALLBACK argument could have. */
static CelValue guess(const CelType *type, unsigned which) {
    static const CelError error = {.text = STR("a guess"), .is_placed = true};

    if (which == 0)
        return (CelValue){.kind = CEL_ERROR, .error = &error};
    switch (type->kind) {
    case CEL_T_BOOL:
        return cel_bool(which % 2);
    case CEL_T_INT:
        return cel_int(special_ints[which]);
    case CEL_T_DOUBLE:
        return cel_double(special_doubles[which + 6]);
    case CEL_T_TIMESTAMP:
        return cel_timestamp((int64_t)which * 100000000000 - 20000000000, 5);
    default:
        return cel_duration(special_ints[which + 6]);
    }
}

/* A result that is not a fallback must hold for every value of the fallback arguments. */
static void check_row(Scene *s, const Case *c, size_t row) {
    CelValue got = value_at(&s->out.column, c->node->type, row);
    bool has_fallback = false;

    for (unsigned which = 0; which < 4; which++) {
        CelValue want;

        for (uint32_t arg = 0; arg < c->n_args; arg++) {
            CelValue v = arg_at(c, arg, row);

            has_fallback |= v.kind == CEL_ABSENT;
            s->f.variables[arg_slot(c, arg)] =
                v.kind == CEL_ABSENT ? guess(arg_type(c, arg), which) : v;
        }
        want = scalar(s, c);
        if (got.kind == CEL_ABSENT && has_fallback)
            return;
        /* A timestamp that does not fit the lane. */
        if (got.kind == CEL_ABSENT && c->node->type == &cel_timestamp_type) {
            assert_case(c->source, want.kind == CEL_ERROR || want.i > INT64_MAX / 1000000000 - 1 ||
                                       want.i < INT64_MIN / 1000000000 + 1);
            return;
        }
        if (!is_same(got, want)) {
            print_error("%s, row %zu of %zu: got kind %d %lld, want kind %d %lld\n", c->source, row,
                c->n, got.kind, (long long)got.i, want.kind, (long long)want.i);
            fail();
        }
        if (!has_fallback)
            return;
    }
}

/* Fills the output with wrong values: entries that the kernel does not write show. */
static void spoil(Scene *s, ColumnLane lane) {
    memset(&s->out, 0x5a, sizeof(s->out));
    place(&s->out, lane);
}

static void arrange(Scene *s, Case *c, unsigned round) {
    static const size_t sizes[] = {1, 7, 64, ROWS_MAX};

    c->n = sizes[round % ELEMENTS_OF(sizes)];
    for (uint32_t arg = 0; arg < c->n_args; arg++) {
        fill(s, &s->columns[arg], column_lane_of(arg_type(c, arg)), next(s) % 3);
        c->operands[arg] = (KernelOperand){&s->columns[arg].column, next(s) % 4 == 0};
    }
}

static Case begin_case(Scene *s, const char *source) {
    CelGraph *graph = cel_graph_new(s->f.arena, s->f.arena);
    uint32_t root = fixture_lower(&s->f, graph, source);
    Case c = {.source = source, .graph = graph, .node = cel_graph_node(graph, root)};
    CelCode *code;

    assert_case(source, cel_emit(graph, root, NULL, s->f.arena, &code) == 0);
    c.code = code;
    c.args = c.node->args;
    c.n_args = c.node->n_args;
    return c;
}

static uint32_t root_of(const Case *c) {
    uint32_t n = cel_graph_size(c->graph);

    while (cel_graph_node(c->graph, n - 1) != c->node)
        n--;
    return n - 1;
}

static void test_kernels(void **state) {
    Scene *s = *state;

    for (size_t i = 0; i < ELEMENTS_OF(sources); i++) {
        Case c = begin_case(s, sources[i]);
        Kernel *kernel = kernel_find(c.graph, root_of(&c));

        assert_case(sources[i], kernel != NULL);
        for (unsigned round = 0; round < ROUNDS; round++) {
            KernelArgs args = {.out = &s->out.column};

            arrange(s, &c, round);
            spoil(s, column_lane_of(c.node->type));
            args.n = c.n;
            memcpy(args.operands, c.operands, sizeof(args.operands));
            kernel(&args);
            for (size_t row = 0; row < c.n; row++)
                check_row(s, &c, row);
        }
    }
}

/* Every pair of states, so that no combination depends on chance. */
static void test_states_of_logic(void **state) {
    static const struct {
        const char *source;
        uint8_t want[4][4]; /* left, right: false, true, error, fallback */
    } cases[] = {
        {"p && q", {{0, 0, 0, 0}, {0, 1, 2, 3}, {0, 2, 2, 3}, {0, 3, 3, 3}}},
        {"p || q", {{0, 1, 2, 3}, {1, 1, 1, 1}, {2, 1, 2, 3}, {3, 1, 3, 3}}},
        {"p == q", {{1, 0, 2, 3}, {0, 1, 2, 3}, {2, 2, 2, 3}, {3, 3, 3, 3}}},
    };
    Scene *s = *state;

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Case c = begin_case(s, cases[i].source);
        KernelArgs args = {.n = 16,
            .operands = {{&s->columns[0].column, false}, {&s->columns[1].column, false}},
            .out = &s->out.column};

        place(&s->columns[0], LANE_BOOL);
        place(&s->columns[1], LANE_BOOL);
        for (size_t row = 0; row < 16; row++) {
            s->columns[0].states[row] = (uint8_t)(row / 4);
            s->columns[1].states[row] = (uint8_t)(row % 4);
        }
        spoil(s, LANE_BOOL);
        kernel_find(c.graph, root_of(&c))(&args);
        assert_memory_equal(s->out.column.states, cases[i].want, 16);
    }
}

/* Without errors the column has no states to read. */
static void test_states_are_left_out(void **state) {
    static const char *const all_fine[] = {
        "i + j", "x / y", "t + g", "p ? i : j", "int(x)", "-i", "math.least(x, y)", "double(i)"};
    Scene *s = *state;

    for (size_t i = 0; i < ELEMENTS_OF(all_fine); i++) {
        Case c = begin_case(s, all_fine[i]);
        KernelArgs args = {.n = 3, .out = &s->out.column};

        for (uint32_t arg = 0; arg < c.n_args; arg++) {
            TestColumn *column = &s->columns[arg];

            fill(s, column, column_lane_of(arg_type(&c, arg)), 0);
            memset(column->ints, 0, sizeof(column->ints));
            args.operands[arg] = (KernelOperand){&column->column, false};
        }
        spoil(s, column_lane_of(c.node->type));
        kernel_find(c.graph, root_of(&c))(&args);
        assert_case(all_fine[i], s->out.column.states == NULL);
    }
}

/* --- folds ------------------------------------------------------------------------------- */

static void test_folds(void **state) {
    static const char *const folds[] = {"math.least(i, j, k)", "math.greatest(i, j, k)",
        "math.least(x, y, z)", "math.greatest(x, y, z)"};
    Scene *s = *state;

    for (size_t i = 0; i < ELEMENTS_OF(folds); i++) {
        Case c = begin_case(s, folds[i]);
        const CelGraphNode *list = cel_graph_node(c.graph, c.node->args[0]);
        Kernel *kernel = kernel_find_fold(c.graph, root_of(&c));
        static TestColumn between;

        assert_case(folds[i], kernel != NULL && kernel_find(c.graph, root_of(&c)) == NULL);
        c.args = list->args;
        c.n_args = list->n_args;
        assert_int_equal(c.n_args, 3);
        for (unsigned round = 0; round < ROUNDS; round++) {
            KernelArgs args;

            arrange(s, &c, round);
            place(&between, column_lane_of(c.node->type));
            spoil(s, column_lane_of(c.node->type));
            args = (KernelArgs){c.n, {c.operands[0], c.operands[1]}, &between.column};
            kernel(&args);
            args = (KernelArgs){c.n, {{&between.column, false}, c.operands[2]}, &s->out.column};
            kernel(&args);
            for (size_t row = 0; row < c.n; row++)
                check_row(s, &c, row);
        }
    }
}

/* --- functions without a kernel ---------------------------------------------------------- */

static CelValue twice(CelRun *run, const CelValue *args, const void *prepared) {
    (void)run;
    (void)prepared;
    return cel_double(2 * args[0].d);
}

static void test_functions_without_a_kernel(void **state) {
    static const char *const others[] = {
        "string(i)",
        "uint(i) == uint(j)",
        "dyn(i) == dyn(g)",
        "dyn(i) == 1.0",
        "p ? dyn(i) : dyn(x)",
        "[i].size()",
        "math.greatest([i])",
        "math.greatest(i, x)",
        "t.getHours()",
        "t.getHours('+01:00')",
        "math.sign(x)",
        "p < q",
        "p ? 'a' : string(i)",
        "string(i) == string(j)",
        "i in [1, 2]",
    };
    Scene *s = *state;

    for (size_t i = 0; i < ELEMENTS_OF(others); i++) {
        Case c = begin_case(s, others[i]);

        assert_case(others[i], kernel_find(c.graph, root_of(&c)) == NULL);
        assert_case(others[i], kernel_find_fold(c.graph, root_of(&c)) == NULL);
    }
}

/* A function of the host is not taken for the library's function of the same name. */
static void test_host_functions_have_no_kernel(void **state) {
    static const CelOverloadSpec spec = {"math.ceil", "(double) -> double", twice};
    const CelOverload *const *overloads;
    Scene *s = *state;
    CelEnv *env = cel_env_extend(s->f.env, s->f.arena);
    size_t n;

    assert_int_equal(cel_env_add_overload(env, &spec), 0);
    n = cel_env_overloads(env, STR("math.ceil"), &overloads);
    assert_int_equal(n, 2);
    assert_non_null(kernel_for_call(overloads[0]));
    assert_null(kernel_for_call(overloads[1]));
}

static void test_lanes(void **state) {
    (void)state;
    assert_int_equal(column_lane_of(&cel_bool_type), LANE_BOOL);
    assert_int_equal(column_lane_of(&cel_duration_type), LANE_INT);
    assert_int_equal(column_lane_of(&cel_timestamp_type), LANE_TIME);
    assert_int_equal(column_lane_of(&cel_string_type), LANE_TEXT);
    assert_int_equal(column_lane_of(&cel_uint_type), LANE_NONE);
    assert_int_equal(column_lane_of(&cel_dyn_type), LANE_NONE);
}

static int setup(void **state) {
    static Scene s;

    s.rng = (Rng){1};
    fixture_init(&s.f);
    s.f.env = cel_env_extend(cel_env_new(s.f.arena), s.f.arena);
    for (size_t i = 0; i < ELEMENTS_OF(variables); i++)
        fixture_variable(&s.f, variables[i].name, variables[i].type, 0, &s.slots[i]);
    *state = &s;
    return 0;
}

static int teardown(void **state) {
    Scene *s = *state;

    fixture_done(&s->f);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(test_kernels),
        TEST(test_states_of_logic),
        TEST(test_states_are_left_out),
        TEST(test_folds),
        TEST(test_functions_without_a_kernel),
        TEST(test_host_functions_have_no_kernel),
        TEST(test_lanes),
#undef TEST
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
