/*
 * Cases as data: every test/data/cel/<name>.test, line by line, through the whole language.
 *
 *     1 + 2                         => 3
 *     'a' + 1                       => check error: no such overload
 *     [1, 2][5]                     => error@6: index out of bounds
 *     type: [1, 2]                  => list(int)
 *     cost: [1, 2].all(x, x > 0)    => 3..17
 *     x.name == 'n' | x = {"name": "n"}  => true
 *     mode: plain
 *
 * A value is compared as cel_value_print() writes it; an error by a part of its text and,
 * after an @, by the offset of its caret. Variables follow " | ", separated by semicolons,
 * and have the types of their expressions. Modes: kubernetes (at the start of each file),
 * plain, unchecked.
 */

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/test-assert.h"
#include "cel/program.h"
#include "cel/zone.h"

#define CASE_BUDGET ((size_t)64 * 1024 * 1024)
#define TEXT_MAX ((size_t)1024 * 1024)
#define LINE_SIZE 16384
#define VARIABLES_MAX 16

/* --- the system's time zones, read without a cache --------------------------------- */

typedef struct TestZones {
    CelZones base;
    Arena *arena;
} TestZones;

static const CelZone *find_zone(const CelZones *zones, Str name) {
    const TestZones *test = (const TestZones *)zones;
    char path[256], bytes[65536];
    FILE *file;
    size_t n;

    (void)snprintf(path, sizeof(path), "/usr/share/zoneinfo/%.*s", STR_FMT(name));
    file = name.len > 0 && !memmem(name.ptr, name.len, "..", 2) ? fopen(path, "rb") : NULL;
    if (!file)
        return NULL;
    n = fread(bytes, 1, sizeof(bytes), file);
    (void)fclose(file);
    return cel_zone_parse(str_of(bytes, n), test->arena);
}

/* --- one case -------------------------------------------------------------------------- */

typedef struct Case {
    const char *place; /* file:line */
    Str expression, variables, want;
    CelOptions options;
} Case;

typedef struct Scene {
    Arena *arena;
    CelEnv *env;
    CelRun run;
    TestZones zones;
    CelValue values[VARIABLES_MAX];
} Scene;

static void scene_init(Scene *scene, const CelEnv *language) {
    scene->arena = arena_new(CASE_BUDGET);
    assert_non_null(scene->arena);
    scene->env = cel_env_extend(language, scene->arena);
    assert_non_null(scene->env);
    scene->zones = (TestZones){.base = {.find = find_zone}, .arena = scene->arena};
    scene->run = CEL_RUN(scene->arena);
    scene->run.zones = &scene->zones.base;
}

/* "x = {'a': 1}; y = 2": each value is an expression. */
static void bind_variables(Scene *scene, const Case *test) {
    DiagList diags = DIAG_LIST_IN(scene->arena);
    Str rest = test->variables, part, name;

    while (rest.len > 0 && str_split(&rest, ';', &part)) {
        CelProgram *program = NULL;
        uint32_t slot = UINT32_MAX;
        int r;

        (void)str_split(&part, '=', &name);
        r = cel_compile(scene->env, STR("variable"), str_trim(part), &test->options, scene->arena,
            &diags, &program);
        assert_case(test->place, r == 0);
        r = cel_env_add_variable(
            scene->env, str_trim(name), program->type, /* max_size= */ 0, /* group= */ 0, &slot);
        assert_case(test->place, r == 0 && slot < VARIABLES_MAX);
        scene->values[slot] = cel_run(program->code, &scene->run, scene->values);
        assert_case(test->place, scene->values[slot].kind != CEL_ERROR);
    }
}

/* The errors in the notation of the file. @ret_at: the column of the caret, or SIZE_MAX. */
static void describe_refusal(const DiagList *diags, Buf *out, size_t *ret_at) {
    const Diag *first = diags->diags.items;

    assert_true(diags->diags.n > 0);
    for (size_t i = 0; i < diags->diags.n; i++)
        buf_printf(out, "%s%.*s (%.*s)", i ? "; " : "check error: ", STR_FMT(first[i].text),
            STR_FMT(first[i].hint));
    *ret_at = first->place.column - 1; /* each case is one line */
}

static void describe_result(Scene *scene, const CelProgram *program, Buf *out, size_t *ret_at) {
    CelValue v = cel_run(program->code, &scene->run, scene->values);

    if (v.kind == CEL_ERROR) {
        buf_printf(out, "error: %.*s (%.*s)", STR_FMT(v.error->text), STR_FMT(v.error->hint));
        *ret_at = v.error->at;
    } else {
        cel_value_print(v, &scene->run, /* max= */ 0, out);
    }
}

static void describe(Scene *scene, const Case *test, Buf *out, size_t *ret_at) {
    bool is_type = str_has_prefix(test->expression, STR("type:")),
         is_cost = str_has_prefix(test->expression, STR("cost:"));
    Str source = is_type || is_cost ? str_trim(str_skip(test->expression, 5)) : test->expression;
    DiagList diags = DIAG_LIST_IN(scene->arena);
    CelProgram *program = NULL;
    int r = cel_compile(
        scene->env, STR("case"), source, &test->options, scene->arena, &diags, &program);

    *ret_at = SIZE_MAX;
    assert_case(test->place, r >= 0);
    if (r > 0)
        describe_refusal(&diags, out, ret_at);
    else if (is_type)
        cel_type_print(program->type, /* is_wire= */ false, out);
    else if (is_cost)
        buf_printf(out, "%llu..%llu", (unsigned long long)program->cost.min,
            (unsigned long long)program->cost.max);
    else
        describe_result(scene, program, out, ret_at);
}

/* Compares with "error@6: part". */
static bool is_wanted(Str want, Str got, size_t at) {
    static const Str kinds[] = {STR("check error"), STR("error")};

    for (size_t i = 0; i < ELEMENTS_OF(kinds); i++) {
        Str rest = want, head = STR_NULL;
        int64_t place;

        if (!str_has_prefix(want, kinds[i]) || !memchr(want.ptr, ':', want.len))
            continue;
        (void)str_split(&rest, ':', &head);
        head = str_trim(str_skip(head, kinds[i].len));
        if (head.len > 0 &&
            (head.ptr[0] != '@' || !str_to_int64(str_skip(head, 1), &place) || (size_t)place != at))
            return false;
        rest = str_trim(rest);
        return str_has_prefix(got, kinds[i]) &&
               (rest.len == 0 || memmem(got.ptr, got.len, rest.ptr, rest.len));
    }
    return str_eq(want, got);
}

/* Returns false and prints the difference when the result is not the expected one. */
static bool run_case(const CelEnv *language, const Case *test) {
    _cleanup_(buf_done) Buf got = BUF_INIT(TEXT_MAX);
    Scene scene = {0};
    bool is_good;
    size_t at;

    scene_init(&scene, language);
    bind_variables(&scene, test);
    describe(&scene, test, &got, &at);
    is_good = is_wanted(test->want, buf_str(&got), at);
    if (!is_good) {
        print_error("%s: %.*s\n  want %.*s\n  got  %.*s", test->place, STR_FMT(test->expression),
            STR_FMT(test->want), STR_FMT(buf_str(&got)));
        print_error(at == SIZE_MAX ? "\n" : " (at %zu)\n", at);
    }
    (void)arena_free(scene.arena);
    return is_good;
}

/* --- files ------------------------------------------------------------------------------ */

static bool is_mode(Str line, CelOptions *options) {
    if (!str_has_prefix(line, STR("mode:")))
        return false;
    line = str_trim(str_skip(line, 5));
    *options = (CelOptions){0};
    if (str_eq(line, STR("plain")))
        options->is_plain = true;
    else if (str_eq(line, STR("unchecked")))
        options->no_check = options->is_plain = true;
    else
        assert_true(str_eq(line, STR("kubernetes")));
    return true;
}

/* The last " => " splits: strings in expressions may contain arrows. */
static bool split_case(Str line, Case *test) {
    static const char arrow[] = " => ", bar[] = " | ";
    const char *at = NULL, *next = memmem(line.ptr, line.len, arrow, strlen(arrow));

    while (next) {
        at = next;
        next = memmem(at + 1, (size_t)(line.ptr + line.len - at - 1), arrow, strlen(arrow));
    }
    if (!at)
        return false;
    test->want = str_trim(str_skip(line, (size_t)(at - line.ptr) + strlen(arrow)));
    test->expression = str_trim(str_take(line, (size_t)(at - line.ptr)));
    test->variables = STR_NULL;
    at = memmem(test->expression.ptr, test->expression.len, bar, strlen(bar));
    if (at) {
        test->variables =
            str_skip(test->expression, (size_t)(at - test->expression.ptr) + strlen(bar));
        test->expression =
            str_trim(str_take(test->expression, (size_t)(at - test->expression.ptr)));
    }
    return true;
}

static size_t run_file(const CelEnv *language, const char *path, size_t *n_cases) {
    FILE *file = fopen(path, "r");
    char text[LINE_SIZE], place[512];
    CelOptions options = {0};
    size_t n_bad = 0, number = 0;

    assert_non_null(file);
    while (fgets(text, sizeof(text), file)) {
        Str line = str_trim(str_from_c(text));
        Case test = {.place = place};

        number++;
        if (line.len == 0 || line.ptr[0] == '#' || is_mode(line, &options))
            continue;
        (void)snprintf(place, sizeof(place), "%s:%zu", strrchr(path, '/') + 1, number);
        if (!split_case(line, &test)) { /* a [section], not a list without a result */
            assert_case(place, line.ptr[0] == '[' && str_find(line, ']') == line.len - 1);
            continue;
        }
        test.options = options;
        n_bad += !run_case(language, &test);
        ++*n_cases;
    }
    (void)fclose(file);
    return n_bad;
}

static void test_cases(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(CASE_BUDGET);
    CelEnv *language = arena ? cel_env_new(arena) : NULL;
    const char *only = getenv("CEL_CASES"); /* run one file only */
    size_t n_bad = 0, n_cases = 0;
    glob_t files;
    char pattern[512];

    (void)state;
    assert_non_null(language);
    (void)snprintf(pattern, sizeof(pattern), TEST_DATA "/cel/%s.test", only ? only : "*");
    assert_int_equal(glob(pattern, 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++)
        n_bad += run_file(language, files.gl_pathv[i], &n_cases);
    globfree(&files);
    print_message("%zu cases, %zu wrong\n", n_cases, n_bad);
    assert_int_equal(n_bad, 0);
    assert_true(n_cases > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
