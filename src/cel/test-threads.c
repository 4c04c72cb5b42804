/* Several threads run the same code at once, under ThreadSanitizer. */
#include <pthread.h>

#include "cel/test-fixture.h"

#define THREADS 4
#define ROUNDS 50
#define RUN_BUDGET ((size_t)1 << 20)

static const char *const sources[] = {
    /* a pattern prepared at compile time, and one made at run time */
    "s.matches('^n(o|0)de-[0-9]+$') && s.find('[0-9]+') == '17' && s.matches(s + '$')",
    /* shared parts, loops, absorbed errors */
    "cel.bind(a, l.map(x, x * x + n), l.all(x, a.exists(y, y / (x - 2) > 0 || y > x)) || a == [])",
    /* sets, folded values of the libraries */
    "s in ['a', 'b', 'node-17', 'd', 'e', 'f', 'g'] && quantity('1Gi') == quantity('1024Mi')",
    "timestamp('2024-02-29T00:00:00Z').getDayOfYear('+01:00') == 59 && n in [7, 8, 9]",
};

typedef struct Shared {
    const CelProgram *programs[ELEMENTS_OF(sources)];
    const CelValue *variables;
} Shared;

static void *run_all(void *argument) {
    const Shared *shared = argument;
    _cleanup_(arena_freep) Arena *arena = arena_new(RUN_BUDGET);
    uintptr_t n_true = 0;

    for (int round = 0; arena && round < ROUNDS; round++) {
        for (size_t i = 0; i < ELEMENTS_OF(sources); i++) {
            CelRun run = CEL_RUN(arena);

            n_true += cel_is_true(cel_run(shared->programs[i]->code, &run, shared->variables));
            arena_reset(arena);
        }
    }
    return (void *)n_true; // NOLINT(performance-no-int-to-ptr)
}

static void test_one_code_many_threads(void **state) {
    static const CelValue items[] = {
        {.kind = CEL_INT, .i = 1}, {.kind = CEL_INT, .i = 2}, {.kind = CEL_INT, .i = 3}};
    pthread_t threads[THREADS];
    Shared shared;
    Fixture f;

    (void)state;
    fixture_init(&f);
    f.variables[f.n] = cel_int(7);
    f.variables[f.s] = cel_string(STR("node-17"));
    f.variables[f.l] = cel_list(&(CelList){.n = 3, .depth = 1, .items = items});
    shared.variables = f.variables;
    for (size_t i = 0; i < ELEMENTS_OF(sources); i++)
        shared.programs[i] = fixture_compile(&f, sources[i]);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_all, &shared), 0);
    for (size_t i = 0; i < THREADS; i++) {
        void *n_true = NULL;

        assert_int_equal(pthread_join(threads[i], &n_true), 0);
        assert_int_equal((uintptr_t)n_true, ROUNDS * ELEMENTS_OF(sources));
    }
    fixture_done(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_code_many_threads),
    };

    return cmocka_run_group_tests_name("cel/threads", tests, NULL, NULL);
}
