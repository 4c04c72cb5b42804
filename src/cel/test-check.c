#include "cel/check.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/test-assert.h"
#include "cel/env.h"
#include "cel/parse.h"

#define BUDGET ((size_t)16 * 1024 * 1024)

static const CelField spec_fields[] = {
    {.name = STR("unschedulable"), .type = &cel_bool_type, .always = true},
};
static const CelRecordType spec_record = {
    .name = STR("Spec"), .fields = spec_fields, .n_fields = ELEMENTS_OF(spec_fields)};
static const CelType spec_type = {
    .kind = CEL_T_RECORD, .value_kind = CEL_RECORD, .name = STR("Spec"), .record = &spec_record};
static const CelField node_fields[] = {
    {.name = STR("name"), .type = &cel_string_type, .always = true},
    {.name = STR("free"), .type = &cel_int_type},
    {.name = STR("memory"), .type = &cel_quantity_type},
    {.name = STR("spec"), .type = &spec_type},
};
static const CelRecordType node_record = {
    .name = STR("Node"), .fields = node_fields, .n_fields = ELEMENTS_OF(node_fields)};

static const CelOverloadSpec own_functions[] = {
    {"com.example.f", "(int) -> string", NULL},
    {"f", "(int) -> bool", NULL},
    {"a.b.g", "(int) -> int", NULL},
    {"tuple", "(T, U) -> opaque(tuple, T, U)", NULL},
    {"pair", "(opaque(tuple, T, T)) -> T", NULL},
};

static const struct {
    const char *name, *type;
} variables[] = {
    {"node", "Node"},
    {"nodes", "list(Node)"},
    {"i", "int"},
    {"u", "uint"},
    {"d", "double"},
    {"s", "string"},
    {"x", "dyn"},
    {"when", "timestamp"},
    {"q", "kubernetes.Quantity"},
    {"labels", "map(string, string)"},
    {"maybe", "optional_type(map(string, int))"},
    {"a.b", "map(string, bool)"},
    {"com.example.y", "bool"},
    {"com.y", "uint"},
    {"y", "string"},
    {"com.example.z.w", "int"},
};

/* All allocations of a case are in one arena. */
typedef struct Scene {
    Arena *arena;
    CelEnv *env;
    CelOptions options;
    DiagList diags;
    CelTree *tree;
    CelChecked *checked;
} Scene;

static void scene_done(Scene *scene) {
    (void)arena_free(scene->arena);
}

static void scene_init(Scene *scene, const char *container) {
    *scene = (Scene){.arena = arena_new(BUDGET), .options = {.is_plain = true}};
    assert_non_null(scene->arena);
    scene->env = cel_env_extend(cel_env_new(scene->arena), scene->arena);
    assert_int_equal(cel_env_add_record(scene->env, &node_record), 0);
    for (size_t i = 0; i < ELEMENTS_OF(own_functions); i++)
        assert_int_equal(cel_env_add_overload(scene->env, &own_functions[i]), 0);
    for (size_t i = 0; i < ELEMENTS_OF(variables); i++) {
        const CelType *type =
            cel_type_read(scene->env, str_from_c(variables[i].type), scene->arena);

        assert_case(variables[i].type, type != NULL);
        assert_int_equal(
            cel_env_add_variable(scene->env, str_from_c(variables[i].name), type, 0, 0, NULL), 0);
    }
    assert_int_equal(cel_env_set_container(scene->env, str_from_c(container)), 0);
}

static int scene_check(Scene *scene, const char *source) {
    CelOptions options = {0};
    int r;

    scene->diags = DIAG_LIST_IN(scene->arena);
    r = cel_parse(
        STR("test"), str_from_c(source), &options, scene->arena, &scene->diags, &scene->tree);
    assert_case(source, r == 0);
    return cel_check(
        scene->env, scene->tree, &scene->options, scene->arena, &scene->diags, &scene->checked);
}

static void assert_type(Scene *scene, const char *source, const char *want) {
    _cleanup_(buf_done) Buf got = BUF_INIT(8192);
    int r = scene_check(scene, source);

    if (r == 0)
        cel_type_print(cel_checked_type(scene->checked), false, &got);
    else
        buf_printf(&got, "refused: %.*s", STR_FMT(scene->diags.diags.items[0].text));
    assert_text(source, buf_str(&got), want);
}

/* The CelNodeInfo of the first node with @ref; NULL: none. */
static const CelNodeInfo *first_name(const Scene *scene, CelRef ref) {
    for (uint32_t i = 0; i < scene->tree->n_nodes; i++)
        if (scene->checked->infos[i].ref == ref)
            return &scene->checked->infos[i];
    return NULL;
}

static void test_types(void **state) {
    static const struct {
        const char *source, *type;
    } cases[] = {
        {"[]", "list(dyn)"},
        {"{}", "map(dyn, dyn)"},
        {"[[], [[]], [[[]]]]", "list(list(list(list(dyn))))"},
        {"[1, x]", "list(dyn)"},
        {"[1, 'a']", "list(dyn)"},
        {"{'a': [], 'b': [1]}", "map(string, list(int))"},
        {"[optional.of(1), null][0]", "optional_type(int)"},
        {"[null, optional.of(1)][0]", "optional_type(int)"},
        {"i > 1 ? when : null", "timestamp"},
        {"i > 1 ? [] : [1]", "list(int)"},
        {"i > 1 ? x : 1", "dyn"},
        {"node.name", "string"},
        {"node.spec.unschedulable", "bool"},
        {"has(node.spec.unschedulable)", "bool"},
        {"node.?spec.unschedulable", "optional_type(bool)"},
        {"node.?spec.?unschedulable", "optional_type(bool)"},
        {"maybe.a", "optional_type(int)"},
        {"maybe.?a.orValue(3)", "int"},
        {"labels['a']", "string"},
        {"labels[?'a']", "optional_type(string)"},
        {"labels.a", "string"},
        {"x.a.b.c", "dyn"},
        {"nodes.map(n, n.free)", "list(int)"},
        {"nodes.filter(n, n.free > 1)", "list(Node)"},
        {"labels.filter(k, k != '')", "list(string)"},
        {"labels.map(k, size(k))", "list(int)"},
        {"labels.transformMap(k, v, size(v))", "map(string, int)"},
        {"labels.transformMapEntry(k, v, {size(v): k})", "map(int, string)"},
        {"nodes.transformList(n, v, n)", "list(int)"},
        {"nodes.transformMap(n, v, v.name)", "map(int, string)"},
        {"x.map(a, a)", "list(dyn)"},
        {"maybe.optMap(m, m.size())", "optional_type(int)"},
        {"maybe.optFlatMap(m, m.?a)", "optional_type(int)"},
        {"cel.bind(b, [i], b[0] + 1)", "int"},
        {"[].map(e, e)[0].foo", "dyn"},
        {"[].map(e, [?e])", "list(list(dyn))"},
        {"[].map(e, e.map(v, v))", "list(list(dyn))"},
        {"[?maybe, {}]", "list(map(string, int))"},
        {"{?'a': optional.of(1)}", "map(string, int)"},
        {"x + 1", "int"},
        {"x + x", "dyn"},
        {"x == 1", "bool"},
        {"dyn(maybe).value()", "dyn"},
        {"type(1)", "type(int)"},
        {"type(i) == int", "bool"},
        {"google.protobuf.Timestamp", "type(timestamp)"},
        {"tuple(1, 'a')", "tuple(int, string)"},
        {"pair(tuple(1, 2))", "int"},
        {"pair(tuple(x, 2))", "dyn"},
        {"a.b.g(1)", "int"},
        {"a.b.c", "bool"},
    };
    _cleanup_(scene_done) Scene scene;

    (void)state;
    scene_init(&scene, "");
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        assert_type(&scene, cases[i].source, cases[i].type);
}

/* Containers: the innermost is searched first; a leading dot skips them; macros hide all names. */
static void test_names(void **state) {
    static const struct {
        const char *container, *source, *type;
    } cases[] = {
        {"com.example", "y", "bool"},
        {"com.example", ".y", "string"},
        {"com", "y", "uint"},
        {"com", "example.y", "bool"},
        {"org", "y", "string"},
        {"com.example.deep", "y", "bool"},
        {"com.example", "f(1)", "string"},
        {"com.example", ".f(1)", "bool"},
        {"", "com.example.f(1)", "string"},
        {"com", "example.f(1)", "string"},
        {"com.example", "z.w", "int"},
        {"com.example", "[{'w': 'a'}].map(z, z.w)", "list(string)"},
        {"com.example", "[1].map(y, y)", "list(int)"},
        {"com.example", "[1].map(y, .y)", "list(string)"},
        {"com.example", "[1].map(y, ['a'].map(y, y))", "list(list(string))"},
        {"com.example", "[1].map(y, y)[0] == 1 && y", "bool"},
        {"com.example", "cel.bind(y, 'a', y) + 'b'", "string"},
        {"", "[1].map(v, [v].map(v, [v]))", "list(list(list(int)))"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(scene_done) Scene scene;

        scene_init(&scene, cases[i].container);
        assert_type(&scene, cases[i].source, cases[i].type);
    }
}

static void test_references(void **state) {
    _cleanup_(scene_done) Scene scene;
    const CelNodeInfo *info;

    (void)state;
    scene_init(&scene, "com.example");
    assert_int_equal(scene_check(&scene, "z.w + 1"), 0);
    assert_non_null(first_name(&scene, CEL_REF_SKIP));
    info = first_name(&scene, CEL_REF_VARIABLE);
    assert_text("full name", info->variable->name, "com.example.z.w");
    assert_int_equal(scene_check(&scene, "int"), 0);
    info = first_name(&scene, CEL_REF_CONSTANT);
    assert_ptr_equal(info->constant.type, &cel_int_type);
    assert_int_equal(scene_check(&scene, "[1].all(e, e > 0)"), 0);
    info = first_name(&scene, CEL_REF_LOCAL);
    assert_int_equal(scene.tree->nodes[info->binder].kind, CEL_NODE_BINDER);
    assert_int_equal(scene_check(&scene, "node.free"), 0);
    assert_int_equal(scene.checked->infos[scene.tree->n_nodes - 1].field, 1);
    assert_int_equal(scene_check(&scene, "nowhere.f(1)"), CEL_REFUSED);
    assert_int_equal(scene_check(&scene, ".a.b.g(1)"), 0);
    info = &scene.checked->infos[scene.tree->n_nodes - 1];
    assert_true(info->is_namespaced && info->n_overloads == 1);
}

/* How many overloads of the root call remain. test-graph.c tests which kinds are certain. */
static void test_overloads(void **state) {
    static const struct {
        const char *source;
        size_t n_overloads;
    } cases[] = {
        {"i + 1", 1},
        {"x + 1", 1},
        {"s.size()", 1},
        {"[i][0] + 1", 1},
        {"[x][0] + 1", 1},
        {"[x, 1][1] + 1", 1},
        {"i == 1", 1},
        {"x == 1", 1},
        {"q.isLessThan(q)", 1},
        {"[q, null][0].isLessThan(q)", 1},
        {"[[null], [q]][0][0].isLessThan(q)", 1},
        {"(i > 1 ? null : q).isLessThan(q)", 1},
        {"[{'a': x}, {x: 'a'}][0]['a'].size()", 1},
        {"maybe.optMap(m, m)['a'].orValue(1) + 1", 1},
    };
    _cleanup_(scene_done) Scene scene;

    (void)state;
    scene_init(&scene, "");
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        assert_case(cases[i].source, scene_check(&scene, cases[i].source) == 0);
        assert_case(cases[i].source,
            scene.checked->infos[scene.tree->n_nodes - 1].n_overloads == cases[i].n_overloads);
    }
}

/* The whole message: text, hint and position of the caret. */
static void test_messages(void **state) {
    static const struct {
        const char *source, *text, *hint;
        size_t column, width;
    } cases[] = {
        {"'a' + i", "no matching overload: string + int", "write string(i)", 5, 1},
        {"d * 2", "no matching overload: double * int",
            "numbers of different types do not mix: write 2.0", 3, 1},
        {"i + u", "no matching overload: int + uint",
            "numbers of different types do not mix: write uint(i)", 3, 1},
        {"when - 5", "no matching overload: timestamp - int", "write duration('5s')", 6, 1},
        {"q + q", "no matching overload: kubernetes.Quantity + kubernetes.Quantity", NULL, 3, 1},
        {"q > q", "no matching overload: kubernetes.Quantity > kubernetes.Quantity",
            "there are methods for that: write q.isGreaterThan(q)", 3, 1},
        {"q == '1Gi'", "no matching overload: kubernetes.Quantity == string",
            "write quantity('1Gi')", 3, 2},
        {"i == null", "no matching overload: int == null_type",
            "it is never null; has(a.b) tells whether a field is set", 3, 2},
        {"i == s", "no matching overload: int == string", "write string(i)", 3, 2},
        {"when == s", "no matching overload: timestamp == string", "write timestamp(s)", 6, 2},
        {"s > duration('1s')", "no matching overload: string > duration", "write duration(s)", 3,
            1},
        {"i in d", "no matching overload: int in double", NULL, 3, 2},
        {"size(1, 2, 3, 4, 5, 6, 7, 8, 9)", "no matching overload: too many arguments", "", 1, 4},
        {"node == labels", "no matching overload: Node == map(string, string)",
            "a record is not a map: compare its fields one by one", 6, 2},
        {"'a' in s", "no matching overload: string in string", "write s.contains('a')", 5, 2},
        {"labels[?'a'] == 'b'", "no matching overload: optional_type(string) == string",
            "write labels[?'a'].orValue('')", 14, 2},
        {"s.size", "type 'string' does not support field selection",
            "'size' is a function: .size()", 3, 4},
        {"s.foo", "type 'string' does not support field selection", "", 3, 3},
        {"node.nmae", "undefined field 'nmae' of Node",
            "did you mean 'name'? it has name, free, memory, spec", 6, 4},
        {"node.zzzzzz", "undefined field 'zzzzzz' of Node", "it has name, free, memory, spec", 6,
            6},
        {"has(node.fre)", "undefined field 'fre' of Node",
            "did you mean 'free'? it has name, free, memory, spec", 10, 3},
        {"nod.name", "undeclared reference to 'nod'", "did you mean 'node'?", 1, 3},
        {"[1].all(elem, elme > 1)", "undeclared reference to 'elme'", "did you mean 'elem'?", 15,
            4},
        {"qwertz", "undeclared reference to 'qwertz'", "", 1, 6},
        {"size", "undeclared reference to 'size'", "'size' is a function: size(…)", 1, 4},
        {"s.startWith('a')", "undeclared reference to 'startWith'", "did you mean 'startsWith'?", 3,
            9},
        {"math.sqrtt(1.0)", "undeclared reference to 'math'", "did you mean 'math.sqrt'?", 1, 4},
        {"startsWith(s, 'a')", "no matching overload: startsWith(string, string)",
            "write string.startsWith(string)", 1, 10},
        {"s.startsWith(1)", "no matching overload: string.startsWith(int)",
            "there is string.startsWith(string)", 3, 10},
        {"1 ? 2 : 3", "expected type 'bool' but found 'int'", "", 1, 1},
        {"true && s", "expected type 'bool' but found 'string'", "write s == 'true'", 9, 1},
        {"[1].exists(e, e + 1)", "expected type 'bool' but found 'int'",
            "it is evaluated for every element", 15, 5},
        {"i.all(e, true)", "expression of type 'int' cannot be the range of a macro",
            "it must be a list or a map", 1, 1},
        {"Node{name: 'a'}", "'Node' is not a message type",
            "records cannot be made in an expression; a map is written {'key': value}", 1, 4},
        {"Pod{name: 'a'}", "undeclared reference to 'Pod'", "a map is written {'key': value}", 1,
            3},
        {"[?1]", "expected type 'optional_type(int)' but found 'int'", NULL, 3, 1},
        {"s.optMap(v, v)", "expected type 'optional_type(dyn)' but found 'string'",
            "optional.of(…) makes one", 1, 1},
    };
    _cleanup_(scene_done) Scene scene;

    (void)state;
    scene_init(&scene, "");
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        const Diag *diag;

        assert_case(cases[i].source, scene_check(&scene, cases[i].source) == CEL_REFUSED);
        assert_case(cases[i].source, scene.diags.n_errors == 1);
        diag = &scene.diags.diags.items[0];
        assert_text(cases[i].source, diag->text, cases[i].text);
        if (cases[i].hint)
            assert_text(cases[i].source, diag->hint, cases[i].hint);
        assert_case(cases[i].source, diag->place.column == cases[i].column);
        assert_case(cases[i].source, diag->place.width == cases[i].width);
    }
}

/* All errors, each once. */
static void test_all_errors(void **state) {
    static const struct {
        const char *source;
        size_t n;
    } cases[] = {
        {"one + two", 2},
        {"one + 1 + 'a'", 2},
        {"size(one) > 1 && node.nmae == 'a' && 'a' + 1 == 'b'", 3},
        {"[one, 1, 'a'][0].foo", 1},
        {"one.two.three.four(five) + 1", 2},
        {"one[0].four(1)", 2},
        {"nope(1) + nope(2)", 2},
        {"one.all(e, e.foo + two > 1)", 2},
        {"[i.foo].map(e, e + 1)", 1},
        {"node.nmae.foo.bar.size() + 1 > 2", 1},
        {"cel.bind(v, one, v + v + 1)", 1},
        {"{one: two}.a.b + 1", 2},
        {"one ? two : three", 3},
        {"x.map(y1)", 1},
        {"labels.filter(k, v, v == 'a')", 1},
        {"has()", 1},
        {"has(one, two)", 3},
        {"x.all(n, n + one > 2, n, n)", 1},
        {"[1].exists(x.any(v, v.w > 0))", 2},
        {"x.map(v) + one", 2},
        {"one.map(v)", 1},
        {"cel.bind(v, v)", 1},
        {"x.bind(v, 1)", 2},
        {"x.all(n, n > 0, n, 'a' + 1)", 2},
        {"x.any(v, v > 0)", 1},
    };
    _cleanup_(scene_done) Scene scene;

    (void)state;
    scene_init(&scene, "");
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        assert_case(cases[i].source, scene_check(&scene, cases[i].source) == CEL_REFUSED);
        if (scene.diags.n_errors != cases[i].n)
            for (size_t k = 0; k < scene.diags.diags.n; k++)
                print_error("  %.*s\n", STR_FMT(scene.diags.diags.items[k].text));
        assert_case(cases[i].source, scene.diags.n_errors == cases[i].n);
    }
}

/* Errors beyond the limit are counted but not kept. */
static void test_many_errors(void **state) {
    enum { N = DIAG_MAX + 50 };
    _cleanup_(buf_done) Buf source = BUF_INIT(64 * 1024);
    _cleanup_(scene_done) Scene scene;

    (void)state;
    scene_init(&scene, "");
    for (int i = 0; i < N; i++)
        buf_printf(&source, "%snod%d", i ? " + " : "", i);
    buf_append_char(&source, '\0');
    assert_int_equal(scene_check(&scene, source.data), CEL_REFUSED);
    assert_int_equal(scene.diags.n_errors, N);
    assert_int_equal(scene.diags.diags.n, DIAG_MAX);
}

/* Errors are sorted by position; diagnostics added earlier stay in front. */
static void test_errors_are_sorted(void **state) {
    static const char *const sources[] = {
        "[[1,[2]],[3]].flatten()",
        "size(one + 1) + 'a'.two()",
        "'%d %d'.format(['a', 'b']) + one + (1 + 'a')",
        "{1: 'a',\n'b': [1,\n 'c']}[0]\n.three()",
    };
    _cleanup_(scene_done) Scene scene;

    (void)state;
    scene_init(&scene, "");
    scene.options.is_plain = false;
    for (size_t i = 0; i < ELEMENTS_OF(sources); i++) {
        Place last = {0};

        assert_int_equal(scene_check(&scene, sources[i]), CEL_REFUSED);
        assert_case(sources[i], scene.diags.diags.n >= 2);
        for (size_t k = 0; k < scene.diags.diags.n; k++) {
            Place place = scene.diags.diags.items[k].place;

            assert_case(sources[i],
                place.line > last.line || (place.line == last.line && place.column >= last.column));
            last = place;
        }
    }
}

/* A function of the host with the name of a macro is called, not expanded. */
static void test_host_function_hides_macro(void **state) {
    static const CelOverloadSpec own[] = {
        {"map", "list(A).(int) -> int", NULL},
        {"a.b.filter", "(int) -> int", NULL},
    };
    _cleanup_(scene_done) Scene scene;

    (void)state;
    scene_init(&scene, "");
    for (size_t i = 0; i < ELEMENTS_OF(own); i++)
        assert_int_equal(cel_env_add_overload(scene.env, &own[i]), 0);
    assert_type(&scene, "[1].map(1)", "int");
    assert_type(&scene, "[1].map(y1)", "refused: undeclared reference to 'y1'");
    assert_type(&scene, "[1].map('a')", "refused: no matching overload: list(int).map(string)");
    assert_type(&scene, "a.b.filter(1)", "int");
    assert_type(&scene, "a.b.filter(y1)", "refused: undeclared reference to 'y1'");
}

/* Kubernetes requires literals of one type, except below format(). */
static void test_literals_have_one_type(void **state) {
    static const struct {
        const char *source;
        bool is_good;
    } cases[] = {
        {"[1, 2]", true},
        {"[1, 'a']", false},
        {"[1, null]", false},
        {"[1, dyn(2)]", false},
        {"[dyn(1), dyn('a')]", true},
        {"[[], [1]]", true},
        {"[[1], ['a']]", false},
        {"[optional.of(1), null]", false},
        {"[?optional.of(1), 2]", true},
        {"[?optional.of(1), 'a']", false},
        {"{'a': 1, 'b': 'c'}", false},
        {"{'a': 1, 1: 1}", false},
        {"{?'a': optional.of(1), 'b': 2}", true},
        {"'%s %d'.format(['a', 1])", true},
        {"'%s %d'.format([[1, {'a': 1, 'b': 'c'}], 1])", true},
        {"['%s %s'.format([1, 'a']), 1]", false},
        {"math.greatest(1, 2.0)", true},
    };
    _cleanup_(scene_done) Scene scene;

    (void)state;
    scene_init(&scene, "");
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        scene.options.is_plain = false;
        assert_case(
            cases[i].source, (scene_check(&scene, cases[i].source) == 0) == cases[i].is_good);
        scene.options.is_plain = true;
        assert_case(cases[i].source, scene_check(&scene, cases[i].source) == 0);
    }
}

static void test_unchecked(void **state) {
    _cleanup_(scene_done) Scene scene;
    const CelNodeInfo *info;

    (void)state;
    scene_init(&scene, "com.example");
    scene.options.no_check = true;
    assert_type(&scene, "'a' + 1", "dyn");
    assert_type(&scene, "nothing(1)", "dyn");
    assert_int_equal(scene.checked->infos[scene.tree->n_nodes - 1].n_overloads, 0);
    assert_type(&scene, "nobody.name || true", "dyn");
    info = first_name(&scene, CEL_REF_UNKNOWN);
    assert_text("unknown", scene.tree->nodes[info - scene.checked->infos].name, "nobody");
    assert_type(&scene, "y", "dyn");
    assert_text("container", first_name(&scene, CEL_REF_VARIABLE)->variable->name, "com.example.y");
    assert_type(&scene, "[{'w': 0}].exists(z, z.w == 0)", "dyn");
    assert_null(first_name(&scene, CEL_REF_VARIABLE));
    assert_type(&scene, "'a'.size(1, 2, 3)", "dyn");
    assert_int_equal(scene.checked->infos[scene.tree->n_nodes - 1].n_overloads, 0);
    assert_type(&scene, "1.size()", "dyn");
    assert_true(scene.checked->infos[scene.tree->n_nodes - 1].n_overloads > 1);
}

static void test_expected(void **state) {
    _cleanup_(scene_done) Scene scene;

    (void)state;
    scene_init(&scene, "");
    scene.options.expect = &cel_bool_type;
    assert_int_equal(scene_check(&scene, "i > 1"), 0);
    assert_int_equal(scene_check(&scene, "x"), 0);
    assert_int_equal(scene_check(&scene, "i + 1"), CEL_REFUSED);
    assert_text("expected", scene.diags.diags.items[0].text, "the result must be bool, it is int");
    assert_int_equal(scene.diags.diags.items[0].place.width, 5);
    assert_int_equal(scene_check(&scene, "nothing"), CEL_REFUSED);
    assert_int_equal(scene.diags.n_errors, 1);
}

/* Types that are too long to print, or deeper than allowed. */
static void test_too_large_types_are_refused(void **state) {
    _cleanup_(buf_done) Buf source = BUF_INIT(64 * 1024);
    _cleanup_(scene_done) Scene scene;
    char *text;

    (void)state;
    scene_init(&scene, "");
    buf_append(&source, STR("cel.bind(a0, [], "));
    for (int i = 0; i < 30; i++)
        buf_printf(&source, "cel.bind(a%d, [], ", i + 1);
    buf_append_char(&source, '[');
    for (int i = 0; i < 30; i++)
        buf_printf(&source, "[a%d, [{a%d: a%d}]], ", i, i + 1, i + 1);
    buf_append(&source, STR("[a0]]"));
    buf_append_repeat(&source, ')', 31);
    buf_append_char(&source, '\0');
    text = buf_take(&source);
    assert_int_equal(scene_check(&scene, text), CEL_REFUSED);
    assert_int_equal(scene.diags.n_errors, 1);
    free(text);
}

static void test_no_memory(void **state) {
    static const Str source =
        STR("nodes.map(n, n.nmae).size() + 'a' > [1, q, null].map(e, e)[0] ? {1: []} : {}");
    _cleanup_(scene_done) Scene scene;
    bool is_done = false;

    (void)state;
    scene_init(&scene, "com.example");
    for (size_t budget = 0; !is_done && budget < BUDGET; budget += 64) {
        _cleanup_(arena_freep) Arena *arena = arena_new(budget);
        CelOptions options = {0};
        DiagList diags = DIAG_LIST_IN(arena);
        CelChecked *checked = NULL;
        CelTree *tree = NULL;

        if (cel_parse(STR("test"), source, &options, arena, &diags, &tree) != 0)
            continue;
        is_done =
            cel_check(scene.env, tree, &scene.options, arena, &diags, &checked) == CEL_REFUSED &&
            !arena_has_failed(arena);
    }
    assert_true(is_done);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_references),
        cmocka_unit_test(test_overloads),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_all_errors),
        cmocka_unit_test(test_many_errors),
        cmocka_unit_test(test_errors_are_sorted),
        cmocka_unit_test(test_host_function_hides_macro),
        cmocka_unit_test(test_literals_have_one_type),
        cmocka_unit_test(test_unchecked),
        cmocka_unit_test(test_expected),
        cmocka_unit_test(test_too_large_types_are_refused),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
