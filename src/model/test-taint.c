#include "model/taint.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/test-assert.h"

/* False: some were left out. */
static bool tolerations_decode(JsonReader *reader, Arena *arena, Tolerations *ret) {
    bool is_cut = false;

    ret->items = json_read_items(
        reader, arena, TOLERATIONS_MAX, sizeof(Toleration), toleration_decode, &ret->n, &is_cut);
    return !is_cut;
}

static JsonReader read_one(const char *text, Buf *out) {
    JsonReader reader;

    buf_printf(out, "[%s]", text);
    for (size_t i = 0; i < out->len; i++)
        if (out->data[i] == '\'')
            out->data[i] = '"';
    json_reader_init(&reader, buf_str(out));
    return reader;
}

/* How a pod's toleration matches a node's taint. */
static const struct {
    const char *toleration, *taint;
    bool tolerates, admits;
} tolerances[] = {
    {"{'key':'a','value':'1','effect':'NoSchedule'}",
        "{'key':'a','value':'1','effect':'NoSchedule'}", true, true},
    {"{'key':'a','operator':'Equal','value':'1'}", "{'key':'a','value':'1','effect':'NoSchedule'}",
        true, true},
    {"{'key':'a','value':'2'}", "{'key':'a','value':'1','effect':'NoSchedule'}", false, false},
    {"{'key':'b','value':'1'}", "{'key':'a','value':'1','effect':'NoSchedule'}", false, false},
    {"{'key':'a','operator':'Exists'}", "{'key':'a','value':'1','effect':'NoExecute'}", true, true},
    {"{'operator':'Exists'}", "{'key':'any','effect':'NoExecute'}", true, true},
    {"{'operator':'Exists','effect':'NoSchedule'}", "{'key':'a','effect':'NoExecute'}", false,
        false},
    {"{'operator':'Exists','effect':'NoSchedule'}", "{'key':'a','effect':'PreferNoSchedule'}",
        false, true}, /* only a preference */
    {"{'key':'a','effect':'PreferNoSchedule','operator':'Exists'}",
        "{'key':'a','effect':'PreferNoSchedule'}", true, true},
    {"{'key':'a'}", "{'key':'a','effect':'NoSchedule'}", true, true}, /* both without value */
    {"{'key':'a','value':null,'effect':null}",
        "{'key':'a','value':null,'effect':'NoSchedule','timeAdded':'2026-01-01T00:00:00Z'}", true,
        true},
    {"{'key':'a','operator':'Gt','value':'5'}", "{'key':'a','value':'9','effect':'NoSchedule'}",
        false, false},
    {"{'operator':'Exists','effect':'Sometimes'}", "{'key':'a','effect':'Sometimes'}", false, true},
    {"{'operator':'exists'}", "{'key':'a','effect':'NoSchedule'}", false, false},
    {"{'key':'A','operator':'Exists'}", "{'key':'a','effect':'NoSchedule'}", false, false},
    {"{'key':'a','operator':'Exists','tolerationSeconds':300}", "{'key':'a','effect':'NoExecute'}",
        true, true},
};

static void test_tolerates(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(tolerances); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(65536);
        _cleanup_(buf_done) Buf pod = BUF_INIT(1000), node = BUF_INIT(1000);
        JsonReader of_pod = read_one(tolerances[i].toleration, &pod);
        JsonReader of_node = read_one(tolerances[i].taint, &node);
        Tolerations tolerations = {0};
        Taints taints = {0};

        assert_true(tolerations_decode(&of_pod, arena, &tolerations));
        taints_decode(&of_node, arena, &taints);
        assert_int_equal(json_error(&of_pod), JSON_OK);
        assert_int_equal(json_error(&of_node), JSON_OK);
        assert_true(tolerations.n == 1 && taints.n == 1);
        assert_case(tolerances[i].toleration, toleration_tolerates(&tolerations.items[0],
                                                  &taints.items[0]) == tolerances[i].tolerates);
        assert_case(tolerances[i].toleration,
            tolerations_admit(&tolerations, &taints) == tolerances[i].admits);
    }
}

static void test_all_taints_count(void **state) {
    static const Taint both[] = {
        {STR("a"), STR(""), TAINT_NO_SCHEDULE}, {STR("b"), STR(""), TAINT_NO_EXECUTE}};
    static const Toleration each[] = {
        {.key = STR("b"), .exists = true}, {.key = STR("a"), .exists = true}};

    (void)state;
    assert_true(tolerations_admit(&(Tolerations){0}, &(Taints){0}));
    assert_true(tolerations_admit(&(Tolerations){each, 2}, &(Taints){0}));
    assert_false(tolerations_admit(&(Tolerations){0}, &(Taints){both, 1}));
    assert_false(tolerations_admit(&(Tolerations){each, 1}, &(Taints){both, 2}));
    assert_true(tolerations_admit(&(Tolerations){each, 2}, &(Taints){both, 2}));
}

static void test_malformed(void **state) {
    static const struct {
        const char *json;
        JsonError error;
    } cases[] = {
        {"null", JSON_OK},
        {"[]", JSON_OK},
        {"[null]", JSON_OK},
        {"{}", JSON_E_TYPE},
        {"[1]", JSON_E_TYPE},
        {"[{\"key\":1}]", JSON_E_TYPE},
        {"[{\"effect\":[]}]", JSON_E_TYPE},
        {"[{\"key\":\"a\"}", JSON_E_END},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(65536);
        JsonReader reader;
        Tolerations tolerations = {0};
        Taints taints = {0};

        json_reader_init(&reader, str_from_c(cases[i].json));
        taints_decode(&reader, arena, &taints);
        assert_case(cases[i].json, json_error(&reader) == cases[i].error);
        json_reader_init(&reader, str_from_c(cases[i].json));
        (void)!tolerations_decode(&reader, arena, &tolerations);
        assert_case(cases[i].json, json_error(&reader) == cases[i].error);
    }
}

static void print_many(size_t n, const char *element, const char *last, Buf *out) {
    for (size_t i = 0; i < n; i++)
        buf_printf(out, "%s%s", i == 0 ? "[" : ",", i == n - 1 ? last : element);
    buf_append_char(out, ']');
}

/* Too many taints repel at least as much as all of them would. */
static void test_too_many_taints(void **state) {
    static const char repels[] = "{\"key\":\"k\",\"effect\":\"NoSchedule\"}";
    static const char prefers[] = "{\"key\":\"k\",\"effect\":\"PreferNoSchedule\"}";
    static const struct {
        size_t n;
        const char *last;
        bool admits_k, admits_all; /* a pod that tolerates k; one that tolerates everything */
    } cases[] = {
        {TAINTS_MAX, repels, true, true},
        {TAINTS_MAX + 1, repels, false, true},
        {TAINTS_MAX + 1, "{\"key\":\"l\",\"effect\":\"NoExecute\"}", false, true},
        {TAINTS_MAX + 1, prefers, true, true},
        {TAINTS_MAX + 1, "{}", true, true},
        {TAINTS_MAX + 9, repels, false, true},
    };
    Toleration k = {.key = STR("k"), .exists = true}, all = {.exists = true};

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
        _cleanup_(buf_done) Buf text = BUF_INIT(65536);
        Taints taints = {0};
        JsonReader reader;

        print_many(cases[i].n, repels, cases[i].last, &text);
        json_reader_init(&reader, buf_str(&text));
        taints_decode(&reader, arena, &taints);
        assert_int_equal(json_error(&reader), JSON_OK);
        assert_int_equal(taints.n, TAINTS_MAX);
        assert_int_equal(
            tolerations_admit(&(Tolerations){.items = &k, .n = 1}, &taints), cases[i].admits_k);
        assert_int_equal(
            tolerations_admit(&(Tolerations){.items = &all, .n = 1}, &taints), cases[i].admits_all);
    }
}

static void test_too_many_tolerations(void **state) {
    (void)state;
    for (size_t n = TOLERATIONS_MAX; n <= TOLERATIONS_MAX + 2; n++) {
        _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
        _cleanup_(buf_done) Buf text = BUF_INIT(65536);
        Tolerations tolerations = {0};
        JsonReader reader;

        print_many(n, "{}", "{}", &text);
        json_reader_init(&reader, buf_str(&text));
        assert_int_equal(tolerations_decode(&reader, arena, &tolerations), n <= TOLERATIONS_MAX);
        assert_int_equal(json_error(&reader), JSON_OK);
        assert_int_equal(tolerations.n, TOLERATIONS_MAX);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_too_many_taints),
        cmocka_unit_test(test_too_many_tolerations),
        cmocka_unit_test(test_tolerates),
        cmocka_unit_test(test_all_taints_count),
        cmocka_unit_test(test_malformed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
