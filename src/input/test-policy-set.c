/* Setting values by name, in every way a policy may be written. */

#include "input/policy-set.h"

#include "base/test-assert.h"

static const char policies[] = "apiVersion: berth.dev/v1alpha1\n"
                               "kind: PlacementPolicy\n"
                               "metadata: {name: web.pool}\n"
                               "spec:\n"
                               "  params: {maxLoad: 0.8, word: \"a\"}\n"
                               "  filters:\n"
                               "    - name: cool\n"
                               "      expression: 'params.maxLoad > 0.5'\n"
                               "    - {name: room, headroom: {cpu: 500m}}\n"
                               "  scores:\n"
                               "    - {name: pack, binPack: {cpu: 1}}\n"
                               "  narrow: {to: 5}\n"
                               "---\n"
                               "apiVersion: berth.dev/v1alpha1\n"
                               "kind: PlacementPolicy\n"
                               "metadata: {name: other}\n"
                               "spec:\n"
                               "  filters:\n"
                               "    - {name: full, maxPods: 5}\n"
                               "    - {name: full.gpu, headroom: {nvidia.com/gpu: 1, cpu: 500m}}\n"
                               "    - name: seats\n"
                               "      maxPods: {limit: 4, podSelector: {matchLabels: {a: 1}}}\n"
                               "    - {name: zones, x: [3, {y: 4}]}\n";

typedef struct Case {
    const char *set;
    const char *has;   /* expected text; NULL: an error, ... */
    const char *error; /* ... that starts like this */
} Case;

static const Case cases[] = {
    {"web.pool.params.maxLoad=0.9", "\"maxLoad\":0.9", NULL},
    {"web.pool.params.word=true", "\"word\":true", NULL},
    {"web.pool.cool.expression=true", "\"expression\":true", NULL},
    {"web.pool.room.headroom.cpu=1", "\"headroom\":{\"cpu\":1}", NULL},
    {"web.pool.pack.weight=3", "\"binPack\":{\"cpu\":1},\"weight\":3", NULL},
    {"web.pool.mode=Observe", "\"mode\":\"Observe\"", NULL},
    {"other.full.maxPods=7", "\"maxPods\":7", NULL},
    {"other.full.reason=\"too full\"", "\"reason\":\"too full\"", NULL},
    {"other.full.messageExpression=\"'full'\"", "\"messageExpression\":\"'full'\"", NULL},
    {"other.full.message=x", NULL, "other.full.message: there is no field \"message\"; there are"},
    {"othr.full.maxPods=7", NULL,
        "othr.full.maxPods: there is no policy \"othr\"; did you mean \"other\"?"},
    {"other.ful.maxPods=7", NULL, "other.ful.maxPods: there is no rule \"ful\"; did you mean"},
    {"other.full.maxPod=7", NULL, "other.full.maxPod: there is no field \"maxPod\"; did you mean"},
    {"web.pool.params.load=1", NULL, "web.pool.params.load: there is no parameter \"load\""},
    {"other.params.x=1", NULL, "other.params.x: there is no parameter \"x\""},
    {"other.full.maxPods={", NULL, "other.full.maxPods: \"{\" is not a value"},
    {"other.full.gpu.headroom[\"nvidia.com/gpu\"]=2", "{\"nvidia.com/gpu\":2,", NULL},
    {"other.full.gpu.headroom['nvidia.com/gpu']=2", "{\"nvidia.com/gpu\":2,", NULL},
    {"other.full.gpu.headroom.nvidia.com/gpu=2", "{\"nvidia.com/gpu\":2,", NULL},
    {"other[\"full.gpu\"].headroom.cpu=1", "\"cpu\":1}", NULL},
    {"other.full.gpu.headroom[\"amd.com/gpu\"]=1", "\"amd.com/gpu\":1}", NULL},
    {"other.full.gpu.headroom.amd.com/gpu=1", NULL,
        "other.full.gpu.headroom.amd.com/gpu: there is no field \"amd\""},
    {"other.seats.maxPods.limit=9", "\"limit\":9", NULL},
    {"other.zones.x[0]=9", "\"x\":[9,", NULL},
    {"other.zones.x[1].y=9", "\"x\":[3,{\"y\":9}]", NULL},
    {"other.zones.x[2]=9", NULL, "other.zones.x[2]: there is no item \"other.zones.x[2]\""},
    {"other.zones.x[-1]=9", NULL, "other.zones.x[-1]: there is no field \"[-1]\""},
    {"other.full.gpu.headroom[\"cpu=9", NULL, "other.full.gpu.headroom[\"cpu: there is no field"},
    {"web.pool.narrow.to=9", "\"narrow\":{\"to\":9}", NULL},
    {"other.full.maxPods=", NULL, "other.full.maxPods: \"\" is not a value"},
};

static bool has(Str text, const char *part) {
    return memmem(text.ptr, text.len, part, strlen(part)) != NULL;
}

static void test_cases(void **state) {
    static const PolicySource sources[] = {
        {.file = STR("empty.yaml"), .text = STR("")},
        {.file = STR("p.yaml"), .text = STR(policies)},
    };

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 24);
        PolicySource changed[ELEMENTS_OF(sources)];
        char error[POLICY_SET_ERROR_MAX] = "";
        PolicySetting setting;
        int r;

        assert_true(policy_setting_parse(str_from_c(cases[i].set), &setting));
        r = policy_set(sources, ELEMENTS_OF(sources), &setting, 1, arena, changed, error);
        if (cases[i].has) {
            assert_string_equal(error, "");
            assert_int_equal(r, 0);
            assert_ptr_equal(changed[0].text.ptr, sources[0].text.ptr);
            if (!has(changed[1].text, cases[i].has))
                print_error("%s: %.*s\n", cases[i].set, STR_FMT(changed[1].text));
            assert_true(has(changed[1].text, cases[i].has));
        } else {
            assert_int_equal(r, POLICY_SET_E_UNKNOWN);
            assert_text(
                cases[i].set, str_take(str_from_c(error), strlen(cases[i].error)), cases[i].error);
        }
    }
}

/* Errors in unchanged values are in the file, errors in new values in the setting. */
static void test_places_of_errors(void **state) {
    static const char text[] = "apiVersion: berth.dev/v1alpha1\nkind: PlacementPolicy\n"
                               "metadata: {name: p}\nspec:\n  filters:\n"
                               "    - {name: a, headroom: {cpu: 500m}}\n"
                               "    - {name: b, maxPods: x}\n"
                               "    - {name: c, expression: 'true'}\n";
    static const PolicySource source = {.file = STR("p.yaml"), .text = STR(text)};
    static const PolicySetting settings[] = {
        {STR("p.a.headroom.cpu"), STR("1x")},
        {STR("p.a.headroom[\"y/z/\"]"), STR("1")},
        {STR("p.c.expression"), STR("'1 + '")},
    };
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 26);
    _cleanup_(buf_done) Buf out = BUF_INIT(1 << 20);
    DiagList diags = DIAG_LIST_IN(arena);
    char error[POLICY_SET_ERROR_MAX] = "";
    Program *program = NULL;
    PolicySource changed;

    assert_int_equal(
        policy_set(&source, 1, settings, ELEMENTS_OF(settings), arena, &changed, error), 0);
    assert_int_equal(program_compile(&changed, 1, &diags, &program), PROGRAM_E_INVALID);
    policy_set_show(settings, ELEMENTS_OF(settings), &diags);
    diag_list_print(&diags, false, &out);
    assert_true(has(buf_str(&out), "p.yaml:7:"));
    assert_true(has(buf_str(&out), "  7 |     - {name: b, maxPods: x}"));
    assert_true(has(buf_str(&out), "--set p.a.headroom.cpu:1:18: error: "));
    assert_true(has(buf_str(&out), "  1 | p.a.headroom.cpu=1x\n    |                  ^^"));
    assert_true(has(buf_str(&out), "--set p.a.headroom[\"y/z/\"]:1:1: error: "));
    assert_true(has(buf_str(&out), "--set p.c.expression:1:"));
}

static void test_numbers(void **state) {
    static const PolicySource sources[] = {
        {.file = STR("bad.yaml"), .text = STR("a: [")},
        {.file = STR("p.yaml"), .text = STR(policies)},
    };
    static const struct {
        const char *path, *value;
        bool is_text;
    } wanted[] = {
        {"web.pool.params.maxLoad", "0.8", false},
        {"web.pool.narrow.to", "5", false},
        {"web.pool.room.headroom.cpu", "500m", true},
        {"web.pool.pack.binPack.cpu", "1", false},
        {"web.pool.pack.weight", "1", false},
        {"other.full.maxPods", "5", false},
        {"other.full.gpu.headroom[\"nvidia.com/gpu\"]", "1", false},
        {"other.full.gpu.headroom.cpu", "500m", true},
        {"other.seats.maxPods.limit", "4", false},
        {"other.zones.x[0]", "3", false},
        {"other.zones.x[1].y", "4", false},
    };
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 24);
    PolicyNumbers numbers;

    assert_int_equal(policy_numbers(sources, ELEMENTS_OF(sources), arena, &numbers), 0);
    for (size_t i = 0; i < numbers.n && i < ELEMENTS_OF(wanted); i++) {
        PolicySetting setting = {.path = numbers.items[i].path, .value = STR("7")};
        PolicySource changed[ELEMENTS_OF(sources)];
        char error[POLICY_SET_ERROR_MAX] = "";

        assert_text("path", numbers.items[i].path, wanted[i].path);
        assert_text(wanted[i].path, numbers.items[i].value, wanted[i].value);
        assert_int_equal(numbers.items[i].is_text, wanted[i].is_text);
        /* each of them can be set */
        assert_int_equal(
            policy_set(sources, ELEMENTS_OF(sources), &setting, 1, arena, changed, error), 0);
        assert_non_null(changed[1].tree);
    }
    assert_int_equal(numbers.n, ELEMENTS_OF(wanted));
}

static void test_parse(void **state) {
    PolicySetting setting;

    assert_false(policy_setting_parse(STR("a.b.c"), &setting));
    assert_false(policy_setting_parse(STR("=1"), &setting));
    assert_true(policy_setting_parse(STR("a.b=x=y"), &setting));
    assert_text("value", setting.value, "x=y");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_places_of_errors),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_parse),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
