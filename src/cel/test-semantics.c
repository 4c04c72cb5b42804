/*
 * A second, simple evaluator of expressions: it walks the checked tree, evaluates each node in
 * place, caches nothing and passes errors on explicitly. Random expressions must give the same
 * value or the same error in it and in the machine: as compiled, without folding, without sharing,
 * and with some nodes computed beforehand.
 *
 * It repeats only the decisions of the engine: names, order, laziness, absorption, loops. Both call
 * the same library functions.
 */
#include "cel/operators.h"
#include "cel/test-fixture.h"
#include "cel/test-random.h"

#define EXPRESSIONS 30000
#define DEPTH 4
#define ARENA_BUDGET ((size_t)32 * 1024 * 1024)
#define CHILDREN_MAX 16

/* --- the simple evaluator --------------------------------------------------------------- */

typedef struct Plain {
    const CelChecked *checked;
    const CelValue *variables;
    CelValue *bound; /* by BINDER */
    CelRun *run;
} Plain;

static CelValue eval(Plain *p, uint32_t i);

static bool is_error(CelValue v) {
    return v.kind == CEL_ERROR;
}

static CelValue eval_name(Plain *p, const CelNodeInfo *info) {
    CelValue v = p->bound[info->binder];

    if (info->ref == CEL_REF_VARIABLE)
        v = info->variable->is_constant ? info->variable->value
                                        : p->variables[info->variable->slot];
    return v.kind != CEL_ABSENT
               ? v
               : cel_fail(p->run, "no value for variable '%.*s'", STR_FMT(info->variable->name));
}

/* Evaluates both sides; an error counts only if the other side does not decide. If both sides are
 * errors, the left one is returned. */
static CelValue eval_logic(Plain *p, const uint32_t *children, bool decides) {
    CelValue v[2];

    for (int side = 0; side < 2; side++) {
        v[side] = eval(p, children[side]);
        if (v[side].kind == CEL_BOOL && v[side].boolean == decides)
            return v[side];
        if (v[side].kind != CEL_BOOL && !is_error(v[side]))
            v[side] = cel_no_overload(p->run);
    }
    return is_error(v[0]) ? v[0] : v[1];
}

static CelValue eval_choice(Plain *p, const uint32_t *children) {
    CelValue v = eval(p, children[0]);

    if (v.kind != CEL_BOOL)
        return is_error(v) ? v : cel_no_overload(p->run);
    return eval(p, children[v.boolean ? 1 : 2]);
}

static bool fits(const CelOverload *overload, const CelValue *args, uint32_t n) {
    if (overload->n_args != n)
        return false;
    for (uint32_t k = 0; k < n; k++) {
        uint8_t kind = cel_param_kind(overload, k);

        if (kind != CEL_ABSENT && kind != args[k].kind)
            return false;
    }
    return true;
}

/* The right side of or() and orValue() is not evaluated when the left side has a value. */
static bool is_lazy(const CelNode *node) {
    return node->is_receiver && (str_is(node->name, "or") || str_is(node->name, "orValue"));
}

static CelValue eval_call(Plain *p, uint32_t i, const uint32_t *children) {
    const CelNode *node = &p->checked->tree->nodes[i];
    const CelNodeInfo *info = &p->checked->infos[i];
    CelValue args[CHILDREN_MAX];
    uint32_t n = 0;

    for (uint32_t k = info->is_namespaced; k < node->n_children; k++) {
        args[n] = eval(p, children[k]);
        if (is_error(args[n]))
            return args[n];
        if (n++ == 0 && is_lazy(node) && args[0].kind == CEL_OPTIONAL && args[0].inner)
            return str_is(node->name, "or") ? args[0] : *args[0].inner;
    }
    for (size_t k = 0; k < info->n_overloads; k++) {
        if (fits(info->overloads[k], args, n))
            return info->overloads[k]->spec->fn(p->run, args, NULL);
    }
    return cel_no_overload(p->run);
}

/* The elements of a list, or the keys and values of a map, without empty optionals. */
static CelValue eval_parts(Plain *p, uint32_t i, const uint32_t *children) {
    const CelNode *nodes = p->checked->tree->nodes;
    bool is_map = nodes[i].kind == CEL_NODE_MAP;
    CelValue parts[CHILDREN_MAX];
    uint32_t n = 0;

    for (uint32_t k = 0; k < nodes[i].n_children; k++) {
        bool is_optional = nodes[children[k]].kind == CEL_NODE_OPTIONAL;
        CelValue v = eval(p, is_optional ? children[k] - 1 : children[k]);

        if (is_optional && !is_error(v) && v.kind != CEL_OPTIONAL)
            v = cel_no_overload(p->run);
        if (is_error(v))
            return v;
        if (is_optional && !v.inner)
            n -= is_map;
        else
            parts[n++] = is_optional ? *v.inner : v;
    }
    if (is_map) {
        CelEntry *entries = cel_map_begin(p->run, n / 2);

        memcpy(entries, parts, n * sizeof(CelValue));
        return cel_map_end(p->run, entries, n / 2);
    }
    CelValue *items = cel_list_begin(p->run, n);
    memcpy(items, parts, n * sizeof(CelValue));
    return cel_list_end(p->run, items, n);
}

typedef struct Result {
    CelValue *items;
    CelEntry *entries;
    CelValue error; /* all, exists: the first one */
    uint32_t n, n_true;
} Result;

/* Runs one iteration. Returns an error, or a bool: true ends the loop. */
static CelValue turn(
    Plain *p, const CelNode *macro, const uint32_t *children, CelValue element, Result *r) {
    CelValue v = cel_bool(true);

    if (macro->has_predicate)
        v = eval(p, children[macro->n_children - 2]);
    if (v.kind == CEL_BOOL && v.boolean)
        v = eval(p, children[macro->n_children - 1]);
    else if (!is_error(v))
        return v.kind == CEL_BOOL ? v : cel_no_overload(p->run);
    if (macro->kind <= CEL_NODE_FILTER && v.kind != CEL_BOOL && !is_error(v))
        v = cel_no_overload(p->run);
    if (is_error(v) && (macro->kind == CEL_NODE_ALL || macro->kind == CEL_NODE_EXISTS)) {
        r->error = is_error(r->error) ? r->error : v;
        return cel_bool(false);
    }
    if (is_error(v))
        return v;
    if (macro->kind == CEL_NODE_ALL || macro->kind == CEL_NODE_EXISTS) {
        r->n_true += v.boolean == (macro->kind == CEL_NODE_EXISTS);
        return cel_bool(r->n_true > 0);
    }
    if (macro->kind == CEL_NODE_EXISTS_ONE)
        r->n_true += v.boolean;
    else if (macro->kind == CEL_NODE_TRANSFORM_MAP)
        r->entries[r->n++] = (CelEntry){p->bound[children[1]], v};
    else if (macro->kind == CEL_NODE_MAP_LIST || v.boolean)
        r->items[r->n++] = macro->kind == CEL_NODE_FILTER ? element : v;
    return cel_bool(false);
}

static CelValue eval_loop(Plain *p, const CelNode *macro, const uint32_t *children) {
    CelValue range = eval(p, children[0]), v = cel_bool(false);
    Result r = {.error = cel_absent()};
    bool is_map = range.kind == CEL_MAP;
    uint32_t n;

    if (range.kind != CEL_LIST && !is_map)
        return is_error(range) ? range : cel_no_overload(p->run);
    n = is_map ? range.map->n : range.list->n;
    r.items = cel_list_begin(p->run, n);
    r.entries = cel_map_begin(p->run, n);
    for (uint32_t k = 0; k < n && !is_error(v) && !v.boolean; k++) {
        CelEntry at = is_map ? cel_map_at(range.map, k, p->run)
                             : (CelEntry){cel_int(k), cel_list_at(range.list, k, p->run)};
        bool is_value = !is_map && macro->n_binders == 1;

        p->bound[children[1]] = is_value ? at.value : at.key;
        if (macro->n_binders == 2)
            p->bound[children[2]] = at.value;
        v = turn(p, macro, children, is_value ? at.value : at.key, &r);
    }
    if (is_error(v))
        return v;
    if (macro->kind == CEL_NODE_ALL || macro->kind == CEL_NODE_EXISTS)
        return r.n_true == 0 && is_error(r.error)
                   ? r.error
                   : cel_bool((r.n_true > 0) == (macro->kind == CEL_NODE_EXISTS));
    if (macro->kind == CEL_NODE_EXISTS_ONE)
        return cel_bool(r.n_true == 1);
    return macro->kind == CEL_NODE_TRANSFORM_MAP ? cel_map_end(p->run, r.entries, r.n)
                                                 : cel_list_end(p->run, r.items, r.n);
}

static CelValue eval_opt_map(Plain *p, const CelNode *macro, const uint32_t *children) {
    CelValue v = eval(p, children[0]);

    if (v.kind != CEL_OPTIONAL || !v.inner)
        return v.kind == CEL_OPTIONAL || is_error(v) ? v : cel_no_overload(p->run);
    p->bound[children[1]] = *v.inner;
    v = eval(p, children[2]);
    return macro->kind == CEL_NODE_OPT_MAP && !is_error(v) ? cel_make_optional(p->run, v) : v;
}

static CelValue eval_select(Plain *p, const CelNode *node, uint32_t child) {
    CelValue v = eval(p, child), key = cel_string(node->name);

    if (is_error(v))
        return v;
    return node->kind == CEL_NODE_SELECT ? cel_select(p->run, v, key)
           : node->kind == CEL_NODE_TEST ? cel_test_select(p->run, v, key)
                                         : cel_opt_select(p->run, v, key);
}

/* Recursive: expressions are a few times DEPTH deep. */
static CelValue eval(Plain *p, uint32_t i) {
    const CelNode *node = &p->checked->tree->nodes[i];
    uint32_t children[CHILDREN_MAX];

    assert_true(node->n_children <= CHILDREN_MAX);
    if (p->checked->infos[i].ref != CEL_REF_NONE)
        return eval_name(p, &p->checked->infos[i]);
    cel_tree_children(p->checked->tree, i, children);
    switch ((CelNodeKind)node->kind) {
    case CEL_NODE_LITERAL:
        return node->literal;
    case CEL_NODE_SELECT:
    case CEL_NODE_OPT_SELECT:
    case CEL_NODE_TEST:
        return eval_select(p, node, children[0]);
    case CEL_NODE_CALL:
        return eval_call(p, i, children);
    case CEL_NODE_AND:
    case CEL_NODE_OR:
        return eval_logic(p, children, node->kind == CEL_NODE_OR);
    case CEL_NODE_CONDITIONAL:
        return eval_choice(p, children);
    case CEL_NODE_LIST:
    case CEL_NODE_MAP:
        return eval_parts(p, i, children);
    case CEL_NODE_BIND: /* an error counts only when the name is used */
        p->bound[children[1]] = eval(p, children[0]);
        return eval(p, children[2]);
    case CEL_NODE_OPT_MAP:
    case CEL_NODE_OPT_FLAT_MAP:
        return eval_opt_map(p, node, children);
    default:
        return eval_loop(p, node, children);
    }
}

/* --- the machine -------------------------------------------------------------------------- */

static void print_answer(CelValue v, CelRun *run, Buf *out) {
    buf_reset(out);
    if (run->limit)
        return;
    if (is_error(v)) /* compare the kind of error only, not the text behind it */
        buf_printf(out, "error: %.*s", STR_FMT(str_take(v.error->text, 12)));
    else
        cel_value_print(v, run, 0, out);
}

typedef enum Mode { AS_COMPILED, UNFOLDED, UNSHARED, CUT, N_MODES } Mode;

/* Computes some nodes beforehand, needed or not, each from the earlier ones. An error among them
 * counts only when it is read. */
static CelValue run_cut(
    const Fixture *f, const CelGraph *graph, uint32_t root, Arena *arena, CelRun *run) {
    size_t n_variables = ELEMENTS_OF(f->variables);
    uint32_t *slots = ARENA_ARRAY(arena, uint32_t, (size_t)root + 1);
    CelValue *values = ARENA_ARRAY(arena, CelValue, n_variables + root + 1);
    CelEmitOptions emit = {.scratch = arena, .known_slots = slots, .n_known_slots = root};
    CelCode *code = NULL;

    memcpy(values, f->variables, sizeof(f->variables));
    for (uint32_t i = 0; i < root; i++) {
        const CelGraphNode *node = cel_graph_node(graph, i);

        slots[i] = CEL_NO_SLOT;
        if (i % 3 == 1 || node->levels != 0 || node->op == OP_OPT_ELEMENT)
            continue;
        assert_int_equal(cel_emit(graph, i, &emit, arena, &code), 0);
        slots[i] = (uint32_t)n_variables + i;
        values[slots[i]] = cel_run(code, run, values);
    }
    assert_int_equal(cel_emit(graph, root, &emit, arena, &code), 0);
    return cel_run(code, run, values);
}

static CelValue run_machine(
    const Fixture *f, const CelChecked *checked, Mode mode, Arena *arena, CelRun *run) {
    CelOptions options = {.no_fold = mode != AS_COMPILED, .is_plain = true};
    CelEmitOptions emit = {.flat = mode == UNSHARED, .scratch = arena};
    CelGraph *graph = cel_graph_new(arena, arena);
    DiagList diags = DIAG_LIST_IN(arena);
    CelCode *code = NULL;
    uint32_t root = CEL_NO_NODE;

    assert_int_equal(cel_lower(graph, checked, &options, &diags, &root), 0);
    if (mode == CUT)
        return run_cut(f, graph, root, arena, run);
    assert_int_equal(cel_emit(graph, root, &emit, arena, &code), 0);
    return cel_run(code, run, f->variables);
}

static void assert_same(
    const Fixture *f, Str source, const CelChecked *checked, Arena *arena, size_t *n_errors) {
    Buf want = BUF_INIT(1 << 20), got = BUF_INIT(1 << 20);
    CelRun run = CEL_RUN(arena);
    Plain plain = {checked, f->variables, NULL, &run};
    CelValue v;

    plain.bound = ARENA_ARRAY(arena, CelValue, checked->tree->n_nodes);
    v = eval(&plain, checked->tree->n_nodes - 1);
    *n_errors += is_error(v);
    print_answer(v, &run, &want);
    for (Mode mode = AS_COMPILED; want.len > 0 && mode < N_MODES; mode++) {
        CelRun again = CEL_RUN(arena);

        print_answer(run_machine(f, checked, mode, arena, &again), &again, &got);
        if (got.len > 0 && !str_eq(buf_str(&got), buf_str(&want)))
            fail_msg("%.*s\n  should be %.*s\n  in mode %d  %.*s", STR_FMT(source),
                STR_FMT(buf_str(&want)), mode, STR_FMT(buf_str(&got)));
    }
    buf_done(&want);
    buf_done(&got);
}

/* n, s, d, l and m, in a few combinations; reading one that is not bound is an error. */
static void fill(Fixture *f, uint32_t which) {
    static const CelValue numbers[] = {
        {.kind = CEL_INT, .i = 1}, {.kind = CEL_INT, .i = 0}, {.kind = CEL_INT, .i = INT64_MAX}};
    static const CelEntry entries[] = {
        {{.kind = CEL_STRING, .len = 1, .text = "a"}, {.kind = CEL_INT, .i = 2}},
        {{.kind = CEL_STRING, .len = 1, .text = "x"}, {.kind = CEL_INT, .i = 0}}};
    static const CelList lists[] = {{.n = 3, .depth = 1, .items = numbers},
        {.n = 0, .depth = 1, .items = numbers}, {.n = 1, .depth = 1, .items = numbers}};
    static const CelMap maps[] = {
        {.n = 2, .depth = 1, .entries = entries}, {.n = 0, .depth = 1, .entries = entries}};

    f->variables[f->n] = numbers[which % 3];
    f->variables[f->s] = cel_string(which % 2 ? STR("a") : STR("x"));
    f->variables[f->d] = which % 4 ? numbers[which % 3] : cel_absent();
    f->variables[f->l] = cel_list(&lists[which % 3]);
    f->variables[f->m] = which % 5 ? cel_map(&maps[which % 2]) : cel_absent();
}

static void test_random_expressions(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(ARENA_BUDGET);
    RandomText text = {.rng = {1}, .out = BUF_INIT(1 << 16)};
    CelOptions options = {.is_plain = true};
    size_t n_run = 0, n_errors = 0;
    Fixture f;

    (void)state;
    fixture_init(&f);
    for (uint32_t i = 0; i < EXPRESSIONS; i++) {
        DiagList diags = DIAG_LIST_IN(arena);
        CelChecked *checked = NULL;
        Str source = random_expression(&text, DEPTH);

        if (cel_compile_tree(f.env, STR("test"), source, &options, arena, &diags, &checked) == 0) {
            fill(&f, i);
            assert_same(&f, source, checked, arena, &n_errors);
            n_run++;
        }
        arena_reset(arena);
    }
    /* Most expressions have a value, and some fail. */
    assert_in_range(n_run, EXPRESSIONS * 3 / 4, EXPRESSIONS);
    assert_in_range(n_errors, n_run / 10, n_run * 3 / 4);
    buf_done(&text.out);
    fixture_done(&f);
}

/* Cases that random expressions seldom contain: equal parts in different loops, a loop that hides
 * another of its level while it runs in the other's body, errors that leave both loops. */
static void test_parts_and_loops(void **state) {
    static const char *const sources[] = {
        "[1, 2].map(x, x * x + x * x) + [3, 4].map(y, y * y + y * y)",
        "[1, 2].map(x, [3, 4].map(y, (x * y) + (x * y))) == [[6, 8], [12, 16]]",
        "cel.bind(a, [1, 2].map(x, x + 1), [5, 6].map(y, a[0] + y + a[1] + y))",
        "cel.bind(a, [1, 2].map(x, x / 0), [5, 6].map(y, (a == [] || y > 0) ? y : y + a[0]))",
        "[1, 2].map(x, cel.bind(a, [3, 4].map(y, y / (x - 1)), (a == [] || x == 1) ? x : a[0]))",
        "cel.bind(a, l.map(x, l.map(y, x * y)), l.map(x, a.map(y, y.map(x, x + y[0])) + [[x]]))",
        "cel.bind(a, l.all(x, x / n > 0), l.exists(x, a || l.exists(y, a || y > x)) || a || true)",
        "l.map(x, l.filter(y, x / y > 0 || l.exists(x, x == y)).map(x, x + n))",
        "[[1], [2]].map(x, x.map(x, x + 1).map(x, x * x).filter(x, x in [4, 5]))",
        "{'a': [1, 0], 'b': [2]}.transformMap(k, v, v.exists(i, v, i / v > 0) || k == 'a')",
        "cel.bind(a, optional.of(n), [?a, ?a.optMap(x, x / 0), ?a])",
        "[0.0, -0.0, 1.0].map(x, [1.0 / x == 1.0 / 0.0, 1.0 / x == 1.0 / -0.0])",
        "[type(1), type(1u), type(1.0), type('1'), type(b'1')]",
    };
    _cleanup_(arena_freep) Arena *arena = arena_new(ARENA_BUDGET);
    size_t n_errors = 0;
    Fixture f;

    (void)state;
    fixture_init(&f);
    f.options.is_plain = true;
    for (size_t i = 0; i < ELEMENTS_OF(sources); i++) {
        const CelChecked *checked = fixture_check(&f, sources[i]);

        for (uint32_t which = 0; which < 6; which++) {
            fill(&f, which);
            assert_same(&f, str_from_c(sources[i]), checked, arena, &n_errors);
            arena_reset(arena);
        }
    }
    assert_in_range(n_errors, 1, ELEMENTS_OF(sources) * 3);
    fixture_done(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_and_loops),
        cmocka_unit_test(test_random_expressions),
    };

    return cmocka_run_group_tests_name("cel/semantics", tests, NULL, NULL);
}
