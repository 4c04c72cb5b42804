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
                               "---\n"
                               "apiVersion: berth.dev/v1alpha1\n"
                               "kind: PlacementPolicy\n"
                               "metadata: {name: other}\n"
                               "spec: {filters: [{name: full, maxPods: 5}]}\n";

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
        cmocka_unit_test(test_parse),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
