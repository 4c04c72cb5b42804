/*
 * Random expressions over random tables: a session and the scalar machine agree, row by row and bit
 * by bit. The methods of evaluation are counted, so that the test cannot end up testing only one.
 */
#include "columnar/test-plan.h"

#define ROUNDS 300
#define ROOTS 30
#define DEPTH 4
#define TEMPLATES_MAX 48

/* @B a bool, @I an int, @D a double, @S a string, @T a timestamp: an expression of rows and pod. In
 * a loop over elements @E stands for its variable. @R and @P are leaves of the row and the pod. */
typedef struct Templates {
    char type;
    size_t n_leaves; /* the first templates, which contain no others */
    const char *texts[TEMPLATES_MAX];
} Templates;

static const Templates all[] = {
    {'B', 6,
        {"row.ok", "pod.ok", "true", "has(row.zone)", "row.zone == pod.app", "row.cpu > pod.n",
            "(@B && @B)", "(@B || @B)", "(@B && @B)", "(@B || @B)", "!(@B)", "(@B ? @B : @B)",
            "(@I < @I)", "(@I == @I)", "(@I >= @I)", "(@D < @D)", "(@D == @D)", "(@D >= @D)",
            "(@S == @S)", "(@S != @S)", "@S.startsWith(@S)", "(@S in ['a', 'b', pod.app])",
            "(@S in row.labels)", "(json.decode(@S) == 1)", "(@T < @T)",
            "(@T - @T > duration('60s'))", "row.items.exists(e, @b)", "row.items.all(e, @b)",
            "row.items.exists_one(e, @b)", "row.items.filter(e, @b).exists(e, @b)",
            "row.items.filter(e, @b).all(e, @b)", "row.domain('zone').items.exists(e, @u)",
            "row.domain('rack').items.all(e, @u)",
            "row.domain('zone').items.filter(e, @u).exists_one(e, @u)",
            "row.domain('zone').rows.exists(row, @m)", "row.domain('rack').rows.all(row, @m)",
            "row.domain('rack').rows.filter(row, @m).exists_one(row, @m)",
            "cluster.domains('rack').exists(d, d.rows.filter(row, @m).size() > pod.n)",
            "cluster.domains('zone').exists(d, d.items.filter(e, @v).size() > pod.n)",
            "(row.labels == pod.labels)", "row.numbers.exists(m, m == @I)"}},
    {'I', 5,
        {"row.cpu", "pod.n", "1", "row.numbers.size()", "3", "(@I + @I)", "(@I - @I)", "(@I * @I)",
            "(@I / @I)", "(@I % @I)", "(-(@I))", "(@B ? @I : @I)", "@S.size()", "int(@D)",
            "math.greatest([@I, @I, @I])", "row.items.filter(e, @b).size()",
            "row.items.filter(e, @b).filter(e, @b).size()", "row.items.map(e, @i).sum()",
            "row.items.filter(e, @b).map(e, @i).sum()", "row.items.map(e, @b, @i).max()",
            "row.items.map(e, @i).min()", "row.domain('zone').items.filter(e, @u).size()",
            "row.domain('rack').items.map(e, e.n).sum()",
            "row.domain('rack').items.filter(e, @u).map(e, e.n).min()",
            "cluster.domains('rack').map(d, d.items.filter(e, @v).size()).min()",
            "row.domain('zone').rows.filter(row, @m).map(row, @n).sum()",
            "row.domain('zone').rows.filter(row, @m).map(row, @n).max()",
            "cluster.domains('zone').filter(d, d.rows.exists(row, @m)).map(d, d.rows.filter(row, "
            "@m).map(row, @n).sum()).min()",
            "row.numbers.map(m, m * pod.n).sum()"}},
    {'D', 5,
        {"row.load", "pod.w", "1.5", "0.1", "row.load", "(@D + @D)", "(@D - @D)", "(@D * @D)",
            "(@D / @D)", "(-(@D))", "(@B ? @D : @D)", "double(@I)", "hash(@S)", "hash(@S, @S)",
            "math.betaInc(@D, @D, @D)", "math.normQuantile(@D)", "row.items.map(e, @d).sum()",
            "row.items.filter(e, @b).map(e, @d).sum()", "row.items.map(e, @d).max()",
            "row.items.map(e, @b, @d).min()", "row.domain('zone').items.map(e, e.w).sum()",
            "row.domain('zone').items.filter(e, @u).map(e, e.w).max()",
            "row.domain('rack').rows.map(row, @o).sum()",
            "cluster.domains('zone').map(d, d.rows.filter(row, @m).map(row, @o).sum()).max()"}},
    {'S', 7,
        {"row.zone", "row.name", "pod.app", "'a'", "row.labels['a']", "pod.labels['b']",
            "row.labels[?'b'].orValue('none')", "(@B ? @S : @S)", "(@S + @S)", "row.labels[@S]"}},
    {'T', 4,
        {"row.born", "pod.at", "now", "timestamp('2023-11-14T22:13:20Z')", "(@B ? @T : @T)",
            "(@T + duration('60s'))"}},
    /* The same inside a loop over elements, which may also read the row and the pod. */
    {'b', 6,
        {"e.ok", "e.app == pod.app", "e.n > pod.n", "e.app == 'a'", "e.name == row.name",
            "e.w < row.load", "(@b && @b)", "(@b || @b)", "!(@b)", "(@b ? @b : @b)", "(@i < @i)",
            "(@i == @i)", "(@d < @d)", "(@s == @s)", "@s.startsWith(@s)",
            "(@s in ['a', 'b', pod.app])", "(now - e.at < duration('120s'))", "(e.at < row.born)",
            "(e.labels == pod.labels)", "row.numbers.exists(m, m == e.n)", "has(e.app)", "@B"}},
    {'i', 3,
        {"e.n", "pod.n", "2", "(@i + @i)", "(@i - @i)", "(@i * @i)", "(@i / @i)", "(@b ? @i : @i)",
            "@s.size()", "row.cpu", "@I"}},
    {'d', 3,
        {"e.w", "pod.w", "0.5", "(@d + @d)", "(@d * @d)", "(@b ? @d : @d)", "double(@i)",
            "row.load", "@D"}},
    {'s', 4,
        {"e.app", "e.name", "pod.app", "'b'", "e.labels['a']", "e.labels[?'c'].orValue('')",
            "row.zone", "(@b ? @s : @s)", "(@s + @s)"}},
    /* Only elements and the pod: for unions. */
    {'u', 5,
        {"e.ok", "e.app == pod.app", "e.n > pod.n", "e.app == 'a'", "e.n < 4", "(@u && @u)",
            "(@u || @u)", "!(@u)", "(e.n + pod.n > 2)", "(e.w < 3.0)", "(e.labels == pod.labels)",
            "e.name.startsWith(pod.app)", "(1 / e.n > 0)"}},
    {'v', 4,
        {"e.ok", "e.app == pod.app", "e.n > pod.n", "e.app == 'a'", "(@v && @v)", "(@v || @v)",
            "!(@v)", "(1 / e.n > 0)"}},
    /* In a loop over the rows of a group, whose variable is called row. */
    {'m', 5,
        {"row.ok", "pod.ok", "row.zone == pod.app", "row.cpu > pod.n", "has(row.zone)",
            "(@m && @m)", "(@m || @m)", "!(@m)", "(@n < @n)", "(@o < @o)",
            "row.items.exists(e, @u)", "row.numbers.all(x, x > pod.n)", "(1 / row.cpu > 0)",
            "(row.labels == pod.labels)", "row.name.startsWith(pod.app)",
            "row.labels[?'b'].orValue('') == pod.app", "(pod.app in row.labels)"}},
    {'n', 3,
        {"row.cpu", "pod.n", "2", "(@n + @n)", "(@m ? @n : @n)", "row.items.filter(e, @u).size()",
            "row.items.map(e, e.n).sum()"}},
    {'o', 2, {"row.load", "pod.w", "double(@n)", "(@o + @o)"}},
};

static const Templates *templates_of(char type) {
    size_t i = 0;

    while (all[i].type != type)
        i++;
    return &all[i];
}

/* Appends a random expression of @type; recursive up to @depth. */
static void fill(Rng *rng, char type, int depth, Buf *out) {
    const Templates *templates = templates_of(type);
    size_t n = templates->n_leaves;
    const char *at;

    while (depth > 0 && n < TEMPLATES_MAX && templates->texts[n])
        n++;
    for (at = templates->texts[rng_pick(rng, n)]; *at; at++) {
        if (*at == '@')
            fill(rng, *++at, depth - 1, out);
        else
            buf_append_char(out, *at);
    }
}

static const char *random_source(Rng *rng, Arena *arena) {
    static const char types[] = "BBBIID";
    Buf out = BUF_INIT(1 << 20);
    Str copy;

    fill(rng, types[rng_pick(rng, 6)], DEPTH, &out);
    copy = arena_copy(arena, buf_str(&out));
    buf_done(&out);
    assert_non_null(copy.ptr);
    return copy.ptr;
}

typedef struct Counts {
    size_t times[3], n_slow, n_roots;
} Counts;

static void count(const TestPlan *p, Counts *counts) {
    for (size_t i = 0; i < p->n; i++) {
        uint32_t node;

        counts->times[plan_frequency(p->plan, i)]++;
        counts->n_slow += plan_falls_back(p->plan, i, &node);
        counts->n_roots++;
    }
}

/* Roots of one plan share equal parts; several tables share the blocks of equal rows. */
static void check_round(Rng *rng, Counts *counts) {
    const char *sources[ROOTS];
    const PlanBlock **blocks;
    TestTable *table;
    TestSchema s;
    TestPlan p;

    test_schema_init(&s);
    s.has_leaves = rng_pick(rng, 2) == 0;
    for (size_t i = 0; i < ROOTS; i++)
        sources[i] = random_source(rng, s.arena);
    test_plan_init(&p, &s, sources, ROOTS);
    count(&p, counts);
    table = test_random_table(&s, rng, 1 + (uint32_t)rng_pick(rng, 150), 4);
    blocks = test_blocks(&p, table);
    for (int i = 0; i < 2; i++)
        test_table_check(&p, table, blocks, test_random_variables(&s, rng, table), rng);
    test_schema_done(&s);
}

static void test_agreement(void **state) {
    Rng rng = {.state = UINT64_C(20240229)};
    Counts counts = {0};

    (void)state;
    for (int i = 0; i < ROUNDS; i++)
        check_round(&rng, &counts);
    for (int i = 0; i < 3; i++)
        assert_true(counts.times[i] > counts.n_roots / 50);
    assert_true(counts.n_slow > counts.n_roots / 20);
    assert_true(counts.n_slow < counts.n_roots / 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_agreement)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
