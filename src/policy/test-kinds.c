/* Tests the expressions that built-in rules are compiled to, and their errors. The cases in
 * test/data/policy test what the rules mean. */

#include "cel/program.h"
#include "policy/cel-text.h"
#include "policy/reader.h"
#include "policy/test-kind.h"
#include "schema/schema.h"

static void check_text(const Case *test, bool is_score) {
    WrittenRule written;

    written_init(&written, is_score, test->source);
    assert_case(test->source, written.diags.n_errors == 0);
    if (test->expression)
        assert_text(test->source, buf_str(&written.text.expression), test->expression);
    if (test->message)
        assert_text(test->source, buf_str(&written.text.message), test->message);
    assert_case(test->source, (written.text.message.len == 0) == is_score);
    written_done(&written);
}

static void test_expressions_and_messages(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(filters); i++)
        check_text(&filters[i], /* is_score= */ false);
    for (size_t i = 0; i < ELEMENTS_OF(scores); i++)
        check_text(&scores[i], /* is_score= */ true);
}

/* --- texts -------------------------------------------------------------------- */

/* Checks that CEL parses @wanted's literal back to @wanted. */
static void check_round_trip(const Schema *schema, Arena *arena, Str wanted) {
    _cleanup_(buf_done) Buf text = BUF_INIT(KIND_TEXT_MAX);
    DiagList diags = DIAG_LIST_IN(arena);
    CelOptions options = {0};
    CelChecked *checked = NULL;

    cel_text(&text, "$1", TEXT_QUOTED(wanted));
    assert_int_equal(
        cel_compile_tree(schema->env, STR("x"), buf_str(&text), &options, arena, &diags, &checked),
        0);
    assert_int_equal(checked->tree->n_nodes, 1);
    assert_true(str_eq(cel_str(checked->tree->nodes[0].literal), wanted));
}

/* Any text in a policy becomes a CEL string literal and cannot end that literal early. */
static void test_any_text_becomes_a_literal(void **state) {
    static const Str odd[] = {
        STR(""),
        STR("'"),
        STR("\\"),
        STR("\\'"),
        STR("\\u0027 || true || '"),
        STR("''' \"\"\" `x` ${x} %s"),
        STR("a\0b"),
        STR("\r\n\t\v\f\a\b\x7f"),
        STR("\xc2\x80\xc2\x85\u00a0\u2028\u2029\ufeff\U0010ffff"),
    };
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)16 << 20);
    Schema *schema = schema_new(arena);

    (void)state;
    assert_non_null(schema);
    for (size_t i = 0; i < ELEMENTS_OF(odd); i++)
        check_round_trip(schema, arena, odd[i]);
    for (unsigned first = 0; first < 128; first++)
        for (unsigned second = 0; second < 128; second += 3) {
            char pair[] = {(char)first, (char)second};

            check_round_trip(schema, arena, str_of(pair, 2));
        }
}

/* If one part does not fit, the whole text fails, so that no shortened text remains. */
static void test_failed_part_fails_the_whole(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(100);
    _cleanup_(buf_done) Buf part = BUF_INIT(4);

    (void)state;
    cel_text(&out, "<$1>$", TEXT_BUF(&part));
    assert_text("empty", buf_str(&out), "<>$");
    buf_reset(&out);
    buf_append(&part, STR("abcd"));
    cel_text(&out, "<$1>", TEXT_BUF(&part));
    assert_text("full", buf_str(&out), "<abcd>");
    buf_append(&part, STR("e"));
    cel_text(&out, "<$1>", TEXT_BUF(&part));
    assert_true(buf_error(&out) < 0);
}

/* Checks that every kind has a case. */
static void check_has_cases(
    const RuleKind *const *kinds, size_t n_kinds, const Case *cases, size_t n_cases) {
    for (size_t i = 0; i < n_kinds; i++) {
        bool is_tried = false;

        for (size_t k = 0; k < n_cases; k++)
            is_tried |= str_has_prefix(str_from_c(cases[k].source), kinds[i]->field);
        assert_case(kinds[i]->summary, is_tried);
        assert_case(kinds[i]->summary, kinds[i]->shape != NULL);
    }
}

/* Checks that every field describes its values and purpose, for the documentation and JSON
 * Schema. */
#define SHAPES_DEPTH 8u
static void check_shape(const Shape *shape, unsigned depth) {
    assert_true(shape && depth < SHAPES_DEPTH);
    for (size_t i = 0; i < shape->n_fields; i++) {
        assert_non_null(shape->fields[i].about);
        check_shape(shape->fields[i].shape, depth + 1);
    }
    if (shape->kind == SHAPE_LIST || shape->kind == SHAPE_MAP || shape->kind == SHAPE_EITHER)
        check_shape(shape->of, depth + 1);
    if (shape->kind == SHAPE_EITHER)
        check_shape(shape->other, depth + 1);
    assert_true(shape->kind != SHAPE_WORD || shape->words);
    assert_true(shape->kind != SHAPE_OBJECT || shape->n_fields > 0);
}

static void test_kinds_and_fields_are_complete(void **state) {
    (void)state;
    check_has_cases(filter_kinds, n_filter_kinds, filters, ELEMENTS_OF(filters));
    check_has_cases(score_kinds, n_score_kinds, scores, ELEMENTS_OF(scores));
    for (size_t i = 0; i < n_filter_kinds; i++)
        check_shape(filter_kinds[i]->shape, 0);
    for (size_t i = 0; i < n_score_kinds; i++)
        check_shape(score_kinds[i]->shape, 0);
}

/* --- mistakes -------------------------------------------------------------------- */

typedef struct Mistake {
    bool is_score;
    const char *source, *text;
} Mistake;

/* Errors of older kinds are in test/data/policy/errors. */
static const Mistake mistakes[] = {
    {false, "nodeAnnotations: {}", "nodeAnnotations must not be empty"},
    {false, "nodeAnnotations: {a: {}}", "an annotation condition must not be empty"},
    {false, "nodeAnnotations: {a b: x}", "\"a b\" is not an annotation key"},
    {false, "nodeAnnotations: {a: }", "an annotation's value must be a string, not empty"},
    {false, "nodeConditions: [Ready]", "nodeConditions must be a mapping, not a list"},
    {false, "nodeConditions: {}", "nodeConditions must not be empty"},
    {false, "nodeConditions: {Ready: yes}", "\"yes\" is not a condition's status"},
    {false, "nodeConditions: {Ready: []}", "a condition's statuses must not be empty"},
    {false, "nodeConditions: {'': True}", "a condition's type has 1 to 316 bytes"},
    {false, "noTaints: a", "noTaints must be a list, not the string \"a\""},
    {false, "noTaints: []", "noTaints must not be empty"},
    {false, "noTaints: ['a=b']", "\"a=b\" is not a label key"},
    {false, "dedicated: {}", "dedicated needs the field \"key\""},
    {false, "dedicated: {key: a, pod: b}", "unknown field \"pod\" in dedicated"},
    {false, "dedicated: {key: a, podKey: 3}", "podKey must be a string, not 3"},
    {false, "nodeAge: {}", "nodeAge needs min or max"},
    {false, "nodeAge: {min: 1}", "min must be a duration up to 36500d, not 1"},
    {false, "nodeAge: {min: soon}", "min must be a duration up to 36500d, not \"soon\""},
    {false, "nodeAge: {min: -1s}", "min must be a duration up to 36500d, not \"-1s\""},
    {false, "nodeAge: {max: 36501d}", "max must be a duration up to 36500d, not \"36501d\""},
    {false, "nodeAge: {max: 36500d1ns}", "max must be a duration up to 36500d, not \"36500d1ns\""},
    {false, "nodeAge: {max: -3d}", "max must be a duration up to 36500d, not \"-3d\""},
    {false, "nodeAge: {max: ''}", "max must be a duration up to 36500d, not \"\""},
    {false, "nodeAge: {max: [1]}", "max must be a string, not a list"},
    {false, "nodeAge: {min: 2h, max: 1h}", "nodeAge: min is greater than max, no node could pass"},
    {false, "maxPods: {limit: 1, per: zone}", "per must be node or owner, not \"zone\""},
    {false, "maxPods: {limit: 1, topologyKey: 'a b'}", "\"a b\" is not a label key"},
    {false, "maxPods: {limit: 1, matchLabelKeys: []}", "matchLabelKeys must not be empty"},
    {false, "maxFreshPods: {limit: 1}", "maxFreshPods needs the field \"youngerThan\""},
    {false, "maxFreshPods: {youngerThan: 1s}", "maxFreshPods needs the field \"limit\""},
    {false, "maxFreshPods: 3", "maxFreshPods must be a mapping, not 3"},
    {false, "podAffinity: {}",
        "podAffinity needs one of podSelector, sameOwner and matchLabelKeys"},
    {false, "podAffinity: {topologyKey: zone}",
        "podAffinity needs one of podSelector, sameOwner and matchLabelKeys"},
    {false, "podAffinity: {sameOwner: false}", "sameOwner: false has no effect"},
    {false, "podAntiAffinity: {matchLabelKeys: [a b]}", "\"a b\" is not a label key"},
    {false, "podAntiAffinity: {sameOwner: true, namespaces: x}", "namespaces must be a list"},
    {false, "topologySpread: {maxSkew: 1, sameOwner: true}",
        "topologySpread needs the field \"topologyKey\""},
    {false,
        "topologySpread: {topologyKey: z, maxSkew: 1, sameOwner: true, nodeTaintsPolicy: honor}",
        "nodeTaintsPolicy must be"},
    {false, "topologySpread: {topologyKey: z, maxSkew: 1, sameOwner: true, nodeLabels: {}}",
        "nodeLabels must not be empty"},
    {false, "poolHeadroom: {pods: 1, nodes: 1, requests: {cpu: 1}}",
        "poolHeadroom has one size, and \"pods\" is given already"},
    {false, "poolHeadroom: {nodeLabels: {a: x}}", "poolHeadroom needs a size"},
    {false, "poolHeadroom: {pods: 1}", "poolHeadroom with pods needs requests"},
    {false, "poolHeadroom: {pods: 1, requests: {}}", "requests must not be empty"},
    {false, "poolHeadroom: {pods: 1, requests: {cpu: 0}}", "\"0\" is not an amount of cpu"},
    {false, "poolHeadroom: {pods: 1, requests: {memory: 10%}}",
        "\"10%\" is not an amount of memory"},
    {false, "poolHeadroom: {pods: 1, requests: {cpu: 1}, resources: [memory]}",
        "resources goes with nodes, not with pods"},
    {false, "poolHeadroom: {nodes: 1, requests: {cpu: 1}}",
        "requests goes with pods, not with nodes"},
    {false, "poolHeadroom: {nodes: 1, resources: []}", "resources must not be empty"},
    {false, "poolHeadroom: {nodes: 1, resources: [cpu, cpu]}", "\"cpu\" is named twice"},
    {false, "poolHeadroom: {nodes: 1, exceptPriorityAtLeast: high}",
        "exceptPriorityAtLeast must be"},
    {false, "poolHeadroom: {nodes: 1, exceptPriorityClass: a b}", "\"a b\" is not a"},
    {false, "poolHeadroom: {nodes: 1, nodeLabels: {a b: x}}", "\"a b\" is not a label key"},
    {false, "poolHeadroom: 3", "poolHeadroom must be a mapping, not 3"},
    {false, "topologySpread: {topologyKey: z, maxSkew: 0, sameOwner: true}",
        "maxSkew must be between 1 and 1000000"},
    {false, "metricLimit: {metric: load}", "metricLimit needs min or max"},
    {false, "metricLimit: {max: 1}", "metricLimit needs the field \"metric\""},
    {false, "metricLimit: {metric: a-b, max: 1}", "\"a-b\" is not a metric's name"},
    {false, "metricLimit: {metric: '', max: 1}", "\"\" is not a metric's name"},
    {false, "metricLimit: {metric: 'x || true', max: 1}", "\"x || true\" is not a metric's name"},
    {false, "metricLimit: {metric: 1a, max: 1}", "\"1a\" is not a metric's name"},
    {false, "metricLimit: {metric: load, max: high}", "max must be a number"},
    {false, "metricLimit: {metric: load, max: 1e19}", "max must be between -1e+18 and 1e+18"},
    {false, "metricLimit: {metric: load, min: 2, max: 1}",
        "metricLimit: min is greater than max, no node could pass"},
    {false, "metricLimit: {metric: load, most: 1}", "unknown field \"most\" in metricLimit"},
    {false, "metricLimit: load", "metricLimit must be a mapping"},
    {true, "metricScore: {metric: load, low: 1, high: 1, prefer: low}",
        "high must be greater than low"},
    {true, "metricScore: {metric: load, low: 0, high: 1, prefer: idle}",
        "prefer must be low or high, not \"idle\""},
    {true, "metricScore: {metric: load, low: 0, prefer: low}",
        "metricScore needs the field \"high\""},
    {true, "labelOrder: {key: a, values: []}", "values must not be empty"},
    {true, "labelOrder: {key: a, values: [x, y, x]}", "\"x\" is named twice"},
    {true, "labelNumber: {key: a, prefer: cheap, min: 0, max: 1}",
        "prefer must be low or high, not \"cheap\""},
    {true, "labelNumber: {key: a, prefer: low, min: 1, max: 1}", "max must be greater than min"},
    {true, "labelNumber: {key: a, prefer: low, min: 1}", "labelNumber needs the field \"max\""},
    {true, "nodeAge: {prefer: old, full: 0s}", "full must be greater than 0"},
    {true, "nodeAge: {prefer: new, full: 1d}", "prefer must be old or young, not \"new\""},
    {true, "imageLocality: false", "imageLocality: false has no effect"},
    {true, "imageLocality: yes", "imageLocality must be true or false, not the string \"yes\""},
    {true, "podSpread: {}", "podSpread needs one of podSelector, sameOwner and matchLabelKeys"},
    {true, "podPack: {sameOwner: true}", "podPack needs the field \"full\""},
    {true, "podPack: {sameOwner: true, full: 0}", "full must be between 1 and 1000000"},
};

static void test_mistakes_are_reported(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(mistakes); i++) {
        _cleanup_(buf_done) Buf out = BUF_INIT(1 << 16);
        WrittenRule written;

        written_init(&written, mistakes[i].is_score, mistakes[i].source);
        diag_list_print(&written.diags, /* colour= */ false, &out);
        buf_append_char(&out, 0);
        assert_case(mistakes[i].source, written.diags.n_errors == 1);
        if (!strstr(out.data, mistakes[i].text)) {
            print_error("%s:\n%s\nwant %s\n", mistakes[i].source, out.data, mistakes[i].text);
            fail();
        }
        written_done(&written);
    }
}

/* A value of the wrong type leaves the result unchanged and unread: the caller need not initialize
 * it. */
static void test_wrong_type_reads_no_result(void **state) {
    static const Shape shape = {.kind = SHAPE_TRUE};
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 20);
    DiagList diags = DIAG_LIST_IN(arena);
    Str source = STR("x: 3");
    YamlStream stream = {0};
    YamlReader reader = {.arena = arena, .diags = &diags, .source = source};
    unsigned char unwritten = 0x5a;

    (void)state;
    assert_int_equal(yaml_parse(STR("f.yaml"), source, arena, &diags, &stream), 0);
    assert_false(
        reader_value(&reader, stream.documents[0]->pairs[0].value, "x", &shape, &unwritten));
    assert_int_equal(diags.n_errors, 1);
    assert_int_equal(unwritten, 0x5a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expressions_and_messages),
        cmocka_unit_test(test_any_text_becomes_a_literal),
        cmocka_unit_test(test_failed_part_fails_the_whole),
        cmocka_unit_test(test_kinds_and_fields_are_complete),
        cmocka_unit_test(test_mistakes_are_reported),
        cmocka_unit_test(test_wrong_type_reads_no_result),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
