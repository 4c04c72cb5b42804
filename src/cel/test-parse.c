#include "cel/parse.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/test-assert.h"
#include "cel/limits.h"
#include "cel/report.h"
#include "cel/test-print.h"

#define BUDGET ((size_t)64 << 20)

/* --- a tree as one line ---------------------------------------------------- */

static Str literal_text(CelValue v, Arena *arena) {
    switch (v.kind) {
    case CEL_NULL:
        return STR("null");
    case CEL_BOOL:
        return v.boolean ? STR("true") : STR("false");
    case CEL_INT:
        return arena_printf(arena, "%" PRId64, v.i);
    case CEL_UINT:
        return arena_printf(arena, "%" PRIu64 "u", v.u);
    case CEL_DOUBLE:
        return arena_printf(arena, "%.17g%s", v.d, v.d == (double)(int64_t)v.d ? ".0" : "");
    case CEL_STRING:
        return arena_printf(arena, "'%.*s'", STR_FMT(cel_str(v)));
    case CEL_BYTES:
        return arena_printf(arena, "b'%.*s'", STR_FMT(cel_str(v)));
    default:
        return STR("?");
    }
}

/* "(_+_ a 1)": a node with the texts of its children, which start at @children. */
static Str node_text(const CelNode *node, const Str *children, Arena *arena) {
    Str text = arena_printf(arena, "%s%s%s%s%s",
        node->kind == CEL_NODE_CALL ? "" : cel_node_name(node->kind),
        node->kind == CEL_NODE_CALL && node->is_receiver ? "~" : "", node->is_mixed ? "*" : "",
        node->has_predicate ? "?" : "", node->n_binders == 2 ? "2" : "");

    if (node->kind == CEL_NODE_SELECT || node->kind == CEL_NODE_OPT_SELECT ||
        node->kind == CEL_NODE_TEST || node->kind == CEL_NODE_CALL ||
        node->kind == CEL_NODE_STRUCT || node->kind == CEL_NODE_FIELD)
        text = arena_printf(arena, "%.*s%s%s%.*s", STR_FMT(text),
            node->kind == CEL_NODE_CALL ? "" : " ", node->is_absolute ? "." : "",
            STR_FMT(node->name));
    for (uint32_t i = 0; i < node->n_children; i++)
        text = arena_printf(arena, "%.*s %.*s", STR_FMT(text), STR_FMT(children[i]));
    return arena_printf(arena, "(%.*s)", STR_FMT(text));
}

static Str tree_text(const CelTree *tree, Arena *arena) {
    Str *stack = ARENA_ARRAY(arena, Str, tree->n_nodes);
    size_t n = 0;

    assert_non_null(stack);
    for (uint32_t i = 0; i < tree->n_nodes; i++) {
        const CelNode *node = &tree->nodes[i];
        Str text;

        assert_true(n >= node->n_children);
        n -= node->n_children;
        if (node->kind == CEL_NODE_LITERAL)
            text = literal_text(node->literal, arena);
        else if (node->kind == CEL_NODE_IDENT)
            text = arena_printf(arena, "%s%.*s", node->is_absolute ? "." : "", STR_FMT(node->name));
        else if (node->kind == CEL_NODE_BINDER)
            text = arena_printf(arena, "%.*s:", STR_FMT(node->name));
        else
            text = node_text(node, stack + n, arena);
        stack[n++] = text;
    }
    assert_int_equal(n, 1);
    return stack[0];
}

/* Checks invariants of every tree. */
static void check_tree(const char *name, const CelTree *tree, Arena *arena) {
    uint32_t *children = ARENA_ARRAY(arena, uint32_t, tree->n_nodes);

    assert_case(name, tree->n_nodes > 0 && tree->nodes[tree->n_nodes - 1].size == tree->n_nodes);
    for (uint32_t i = 0; i < tree->n_nodes; i++) {
        const CelNode *node = &tree->nodes[i];
        uint32_t size = 1;

        cel_tree_children(tree, i, children);
        for (uint32_t n = 0; n < node->n_children; n++)
            size += tree->nodes[children[n]].size;
        assert_case(name, size == node->size && size <= i + 1);
        assert_case(name, node->from <= node->to && node->to <= tree->source.len);
        assert_case(name, node->at < tree->source.len);
        if (node->call > 0) {
            const CelNode *call = &tree->nodes[node->call];

            assert_case(name, call->kind == CEL_NODE_CALL && call->is_receiver);
            assert_case(name, node->call + 1 - call->size == i);
        }
    }
}

typedef struct TreeCase {
    const char *text, *tree;
} TreeCase;

static void check_trees(const TreeCase *cases, size_t n, const CelOptions *options) {
    for (size_t i = 0; i < n; i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
        _cleanup_(buf_done) Buf out = BUF_INIT(BUDGET);
        DiagList diags = DIAG_LIST_IN(arena);
        CelTree *tree = NULL;
        int r;

        assert_non_null(arena);
        r = cel_parse(STR("test"), str_from_c(cases[i].text), options, arena, &diags, &tree);
        if (r != 0)
            diag_list_print(&diags, /* colour= */ false, &out);
        assert_text(cases[i].text, buf_str(&out), "");
        assert_int_equal(r, 0);
        check_tree(cases[i].text, tree, arena);
        assert_text(cases[i].text, tree_text(tree, arena), cases[i].tree);
    }
}

/* --- valid expressions ----------------------------------------------------- */

static void test_operators(void **state) {
    static const TreeCase cases[] = {
        {"a", "a"},
        {"1 + 2 * 3", "(_+_ 1 (_*_ 2 3))"},
        {"1 * 2 + 3", "(_+_ (_*_ 1 2) 3)"},
        {"1 - 2 - 3", "(_-_ (_-_ 1 2) 3)"},
        {"a / b % c * d", "(_*_ (_%_ (_/_ a b) c) d)"},
        {"(1 + 2) * 3", "(_*_ (_+_ 1 2) 3)"},
        {"a < b == c", "(_==_ (_<_ a b) c)"},
        {"a <= b != c > d >= e", "(_>=_ (_>_ (_!=_ (_<=_ a b) c) d) e)"},
        {"a + b in c + d", "(@in (_+_ a b) (_+_ c d))"},
        {"a || b && c", "(or a (and b c))"},
        {"a && b || c && d", "(or (and a b) (and c d))"},
        {"a || b || c", "(or (or a b) c)"},
        {"a == b && c != d || !e", "(or (and (_==_ a b) (_!=_ c d)) (!_ e))"},
        {"a ? b : c", "(conditional a b c)"},
        {"a ? b : c ? d : e", "(conditional a b (conditional c d e))"},
        {"a ? (b ? c : d) : e", "(conditional a (conditional b c d) e)"},
        {"a || b ? c && d : e || f", "(conditional (or a b) (and c d) (or e f))"},
        {"(a ? b : c) ? d : e", "(conditional (conditional a b c) d e)"},
        {"!a.b", "(!_ (select b a))"},
        {"-a * b", "(_*_ (-_ a) b)"},
        {"a - -b", "(_-_ a (-_ b))"},
        {"!a == b", "(_==_ (!_ a) b)"},
        /* parse/repeat: two signs cancel out. */
        {"!!a", "a"},
        {"!!!a", "(!_ a)"},
        {"--a", "a"},
        {"- - -a", "(-_ a)"},
        {"--a.b", "(select b a)"},
        {"-5", "-5"},
        {"- 5", "-5"},
        {"--5", "5"},
        {"---5", "(-_ 5)"},
        {"-(5)", "(-_ 5)"},
        {"-5u", "(-_ 5u)"},
        {"-1.5", "-1.5"},
        {"!-5", "(!_ -5)"},
        {"1-5", "(_-_ 1 5)"},
        {"1 - -5", "(_-_ 1 -5)"},
        {"-5.f()", "(~f -5)"},
        {"-9223372036854775808", "-9223372036854775808"},
        {"1in[1]", "(@in 1 (list 1))"},
        {"a//x\n+\r\f\tb", "(_+_ a b)"},
    };

    (void)state;
    check_trees(cases, ELEMENTS_OF(cases), NULL);
}

static void test_members(void **state) {
    static const TreeCase cases[] = {
        {"a.b.c", "(select c (select b a))"},
        {".a.b", "(select b .a)"},
        {"a . b", "(select b a)"},
        {"a[b]", "(_[_] a b)"},
        {"a[?b]", "(_[?_] a b)"},
        {"a[b][c].d", "(select d (_[_] (_[_] a b) c))"},
        {"a.?b.?c", "(opt-select c (opt-select b a))"},
        {"a.`b-c.d/e f`", "(select b-c.d/e f a)"},
        {"a.?`b-c`", "(opt-select b-c a)"},
        {"a.`in`", "(select in a)"},
        {"f()", "(f)"},
        {".f(a)", "(.f a)"},
        {"f(a, b + 1)", "(f a (_+_ b 1))"},
        {"a.f()", "(~f a)"},
        {"a.b.f(c).g(d, e)", "(~g (~f (select b a) c) d e)"},
        {"a.for", "(select for a)"},
        {"a.if(b)", "(~if a b)"},
        {"1.f()", "(~f 1)"},
        {"'a'.size()", "(~size 'a')"},
        {"true.a", "(select a true)"},
        {"[a].b", "(select b (list a))"},
        {"f (a)", "(f a)"},
    };

    (void)state;
    check_trees(cases, ELEMENTS_OF(cases), NULL);
}

static void test_literals(void **state) {
    static const TreeCase cases[] = {
        {"null", "null"},
        {"[true, false]", "(list true false)"},
        {"0xFF + 1u", "(_+_ 255 1u)"},
        {"1.5e3", "1500.0"},
        {"'a' + \"b\"", "(_+_ 'a' 'b')"},
        {"b'\\x41' + br'\\x'", "(_+_ b'A' b'\\x')"},
        {"[]", "(list)"},
        {"[,]", "(list)"}, /* the grammar allows it */
        {"[1,]", "(list 1)"},
        {"[[1], [2, 3]]", "(list (list 1) (list 2 3))"},
        {"[?a, b, ?c.?d]", "(list (optional a) b (optional (opt-select d c)))"},
        {"{}", "(map)"},
        {"{,}", "(map)"},
        {"{'a': 1, b: c,}", "(map 'a' 1 b c)"},
        {"{?'a': b, 'c': d}", "(map 'a' (optional b) 'c' d)"},
        {"{a ? b : c: d ? e : f}", "(map (conditional a b c) (conditional d e f))"},
        {"{a: {b: c}}", "(map a (map b c))"},
        {"T{}", "(struct T)"},
        {"T{,}", "(struct T)"},
        {"a.b.T{f: 1, ?g: x,}", "(struct a.b.T (field f 1) (field g (optional x)))"},
        {".a . T {`f-g`: 1}", "(struct .a.T (field f-g 1))"},
        {"T{if: 1}.f", "(select f (struct T (field if 1)))"},
        {"T{f: U{g: 1}}", "(struct T (field f (struct U (field g 1))))"},
    };

    (void)state;
    check_trees(cases, ELEMENTS_OF(cases), NULL);
}

static void test_macros(void **state) {
    static const TreeCase cases[] = {
        {"has(a.b)", "(has b a)"},
        {"has(a.b.c)", "(has c (select b a))"},
        {"has((a.`b-c`))", "(has b-c a)"},
        {"has(a, b)", "(has a b)"},
        {"a.has(b.c)", "(~has a (select c b))"},
        {".has(a.b)", "(.has (select b a))"},
        {"l.all(x, x > 0)", "(all l x: (_>_ x 0))"},
        {"l.all(i, x, x > i)", "(all2 l i: x: (_>_ x i))"},
        {"l.exists(x, p)", "(exists l x: p)"},
        {"l.exists(i, x, p)", "(exists2 l i: x: p)"},
        {"l.exists_one(x, p)", "(exists-one l x: p)"},
        {"l.existsOne(x, p)", "(exists-one l x: p)"},
        {"l.exists_one(i, x, p)", "(exists-one2 l i: x: p)"},
        {"l.existsOne(i, x, p)", "(exists-one2 l i: x: p)"},
        {"l.filter(x, p)", "(filter l x: p)"},
        {"l.map(x, t)", "(map-list l x: t)"},
        {"l.map(x, p, t)", "(map-list? l x: p t)"},
        {"l.transformList(i, x, t)", "(map-list2 l i: x: t)"},
        {"l.transformList(i, x, p, t)", "(map-list?2 l i: x: p t)"},
        {"m.transformMap(k, v, t)", "(transform-map2 m k: v: t)"},
        {"m.transformMap(k, v, p, t)", "(transform-map?2 m k: v: p t)"},
        {"m.transformMapEntry(k, v, {v: k})", "(transform-entry2 m k: v: (map v k))"},
        {"m.transformMapEntry(k, v, p, e)", "(transform-entry?2 m k: v: p e)"},
        {"o.optMap(x, t)", "(opt-map o x: t)"},
        {"o.optFlatMap(x, t)", "(opt-flat-map o x: t)"},
        {"l.map(x, x.map(y, y))", "(map-list l x: (map-list x y: y))"},
        {"l.all((x), x)", "(all l x: x)"},
        /* With another number of arguments it is an ordinary call. */
        {"l.all(x)", "(~all l x)"},
        {"l.filter(x, y, z)", "(~filter l x y z)"},
        {"all(x, y)", "(all x y)"},
        {"cel.bind(x, a.f(), x + x)", "(bind (~f a) x: (_+_ x x))"},
        {"cel.bind(x, a, cel.bind(y, b, x.f(y)))", "(bind a x: (bind b y: (~f x y)))"},
        {"x.bind(a, b, c)", "(~bind x a b c)"},
        {"a.cel.bind(x, b, c)", "(~bind (select cel a) x b c)"},
        {"cel.block([a, cel.index(0) + b.f()], cel.index(1).g(b))",
            "(bind a @index0: (bind (_+_ @index0 (~f b)) @index1: (~g @index1 b)))"},
        {"cel.block([], a)", "a"},
        {"l.map(cel.iterVar(0, 1), cel.iterVar(0, 1) + cel.accuVar(2, 3))",
            "(map-list l @it:0:1: (_+_ @it:0:1 @ac:2:3))"},
        {"math.least(a)", "(~least math a)"},
        {"math.least(a, b)", "(~least math a b)"},
        {"math.greatest(a, 1, 2.5)", "(~greatest math (list* a 1 2.5))"},
        {"x.least(a, b, c)", "(~least x a b c)"},
        {"l.sortBy(x, x.f())",
            "(bind l @list: (~@sortByAssociatedKeys @list (map-list @list x: (~f x))))"},
    };

    (void)state;
    check_trees(cases, ELEMENTS_OF(cases), NULL);
}

static void test_no_macros(void **state) {
    static const CelOptions options = {.no_macros = true};
    static const TreeCase cases[] = {
        {"has(a.b)", "(has (select b a))"},
        {"l.all(x.y, x)", "(~all l (select y x) x)"},
        {"cel.bind(x, a, b)", "(~bind cel x a b)"},
        {"math.least(1, 2, 3)", "(~least math 1 2 3)"},
    };

    (void)state;
    check_trees(cases, ELEMENTS_OF(cases), &options);
}

/* --- positions ------------------------------------------------------------- */

/* The dump with all positions of a node; also tests the dump. */
static void test_positions(void **state) {
    static const struct {
        const char *text, *dump;
    } cases[] = {
        {"a.b(c) + 1", "call _+_  #4 0-10@7  a.b(c) + 1\n"
                       "  call b receiver  #2 0-6@2  a.b(c)\n"
                       "    ident a call=2  #0 0-1@0  a\n"
                       "    ident c  #1 4-5@4  c\n"
                       "  literal  #3 9-10@9  1\n"},
        {" ( a ) [ b ] ? .c : {'d': -1}", "conditional  #7 1-29@13  ( a ) [ b ] ? .c : {'d': -1}\n"
                                          "  call _[_]  #2 1-12@7  ( a ) [ b ]\n"
                                          "    ident a  #0 1-6@3  ( a )\n"
                                          "    ident b  #1 9-10@9  b\n"
                                          "  ident c absolute  #3 15-17@16  .c\n"
                                          "  map  #6 20-29@20  {'d': -1}\n"
                                          "    literal  #4 21-24@21  'd'\n"
                                          "    literal  #5 26-28@26  -1\n"},
        {"has(a.b) && x.T{f: ?y}.all(v, .g(v))", NULL},
        {"has(a.b) && x.T{?f: y}.all(v, .g(v))",
            "and  #10 0-36@9  has(a.b) && x.T{?f: y}.all(v, .g(v))\n"
            "  has b  #1 0-8@6  has(a.b)\n"
            "    ident a  #0 4-5@4  a\n"
            "  all all  #9 12-36@23  x.T{?f: y}.all(v, .g(v))\n"
            "    struct x.T  #5 12-22@12  x.T{?f: y}\n"
            "      field f  #4 16-21@17  ?f: y\n"
            "        optional  #3 20-21@16  y\n"
            "          ident y  #2 20-21@20  y\n"
            "    binder v  #6 27-28@27  v\n"
            "    call g absolute  #8 30-35@31  .g(v)\n"
            "      ident v  #7 33-34@33  v\n"},
        {"cel.bind(x, a.b.f(), x.g())", "bind bind  #6 0-27@4  cel.bind(x, a.b.f(), x.g())\n"
                                        "  call f receiver  #2 12-19@16  a.b.f()\n"
                                        "    select b  #1 12-15@14  a.b\n"
                                        "      ident a call=2  #0 12-13@12  a\n"
                                        "  binder x  #3 9-10@9  x\n"
                                        "  call g receiver  #5 21-26@23  x.g()\n"
                                        "    ident x call=5  #4 21-22@21  x\n"},
        {"[?a, !!b]", "list  #3 0-9@0  [?a, !!b]\n"
                      "  optional  #1 1-3@1  ?a\n"
                      "    ident a  #0 2-3@2  a\n"
                      "  ident b  #2 5-8@7  !!b\n"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
        _cleanup_(buf_done) Buf out = BUF_INIT(BUDGET);
        DiagList diags = DIAG_LIST_IN(arena);
        CelTree *tree = NULL;
        int r = cel_parse(STR("test"), str_from_c(cases[i].text), NULL, arena, &diags, &tree);

        if (!cases[i].dump) {
            assert_case(cases[i].text, r == CEL_REFUSED);
            continue;
        }
        assert_case(cases[i].text, r == 0);
        cel_tree_print(tree, &out);
        assert_text(cases[i].text, buf_str(&out), cases[i].dump);
    }
}

static void test_position_of_an_offset(void **state) {
    static const struct {
        const char *source;
        uint32_t at, to;
        size_t line, column, width;
    } cases[] = {
        {"abc", 0, 3, 1, 1, 3},
        {"abc", 1, 2, 1, 2, 1},
        {"abc", 1, 1, 1, 2, 1},
        {"abc", 3, 4, 1, 4, 1},
        {"abc", 99, 100, 1, 4, 1},
        {"a\nbcd\ne", 2, 4, 2, 1, 2},
        {"a\nbcd\ne", 3, 7, 2, 2, 2}, /* to the end of the line at most */
        {"a\nbcd\n", 6, 7, 3, 1, 1},
        {"", 0, 0, 1, 1, 1},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Place place = cel_place(STR("f"), str_from_c(cases[i].source), cases[i].at, cases[i].to);

        assert_int_equal(place.line, cases[i].line);
        assert_int_equal(place.column, cases[i].column);
        assert_int_equal(place.width, cases[i].width);
        assert_text(cases[i].source, place.file, "f");
    }
}

/* --- errors ---------------------------------------------------------------- */

/* "1:3+1 text; 1:9+2 text": all errors. */
static Str mistakes_text(const DiagList *diags, Arena *arena) {
    Str text = STR("");

    for (size_t i = 0; i < diags->diags.n; i++) {
        const Diag *diag = &diags->diags.items[i];

        text = arena_printf(arena, "%.*s%s%zu:%zu+%zu %.*s", STR_FMT(text), i > 0 ? "; " : "",
            diag->place.line, diag->place.column, diag->place.width, STR_FMT(diag->text));
    }
    return text;
}

static void test_mistakes(void **state) {
    static const struct {
        const char *text, *errors;
    } cases[] = {
        {"", "1:1+1 the expression is empty"},
        {" // nothing", "1:1+1 the expression is empty"},
        {"1 +", "1:4+1 a value must follow '+', but here is the end of the expression"},
        {"1 +\n\n // more\n",
            "1:4+1 a value must follow '+', but here is the end of the expression"},
        {"&& a", "1:1+2 an expression cannot start with '&&'"},
        {"1 + * 2 +\n/ 3", "1:5+1 a value must follow '+', but here is '*'; "
                           "2:1+1 a value must follow '+', but here is '/'"},
        {"a ++", "1:4+1 there is no '+' before a value, only between two"},
        {"a b", "1:3+1 an operator is missing before 'b'"},
        {"a b c d", "1:3+1 an operator is missing before 'b'"},
        {"a b + c d", "1:3+1 an operator is missing before 'b'; "
                      "1:9+1 an operator is missing before 'd'"},
        {"f(a b, c d)", "1:5+1 an operator or a comma is missing before 'b'; "
                        "1:10+1 an operator or a comma is missing before 'd'"},
        {"'a' 'b'", "1:5+3 an operator is missing before text in quotes"},
        {"1 b'a'", "1:3+4 an operator is missing before bytes in quotes"},
        {"a !b", "1:3+1 an operator is missing before '!'"},
        {"a `b` c", "1:3+3 an operator is missing before 'b'"},
        {"a and b OR not c", "1:3+3 'and' is not an operator; 1:9+2 'OR' is not an operator; "
                             "1:12+3 'not' is not an operator"},
        {"a not in b", "1:3+3 'not' is not an operator"},
        {"a = b & c", "1:3+1 there is no operator '='; 1:7+1 there is no operator '&'"},
        {"a $ b", "1:3+1 '$' means nothing here"},
        {"if (a > 0) { b } else { c }", "1:1+2 'if' is a reserved word and cannot be a name"},
        {"return a", "1:1+6 'return' is a reserved word and cannot be a name"},
        {"for(a)", "1:1+3 'for' is a reserved word and cannot be a name"},
        {"a + package", "1:5+7 'package' is a reserved word and cannot be a name"},
        {"f(a, b", "1:2+1 this '(' is never closed"},
        {"f(", "1:2+1 this '(' is never closed"},
        {"((a)", "1:1+1 this '(' is never closed"},
        {"{'a': [1, 2}", "1:7+1 this '[' is not closed before '}'"},
        {"(a]", "1:3+1 '(' is closed by ')', not by ']'"},
        {"(a] + b", "1:3+1 '(' is closed by ')', not by ']'"},
        {"a)", "1:2+1 ')' closes nothing"},
        {"a) + b]", "1:2+1 ')' closes nothing; 1:7+1 ']' closes nothing"},
        {")", "1:1+1 ')' closes nothing"},
        {"f(a,,b)", "1:5+1 an argument is missing before ','"},
        {"f(a,)", "1:5+1 an argument is missing before ')'"},
        {"[a,,b]", "1:4+1 an element is missing before ','"},
        {"[?]", "1:3+1 an element is missing before ']'"},
        {"{a: }", "1:5+1 a value is missing before '}'"},
        {"{a: 1, , b: 2}", "1:8+1 a key is missing before ','"},
        {"{a, b}", "1:3+1 a ':' and a value must follow the key, but here is ','"},
        {"{a b}", "1:4+1 a ':' and a value must follow the key, but here is 'b'"},
        {"()", "1:2+1 there is nothing between the brackets"},
        {"a[]", "1:3+1 there is no index between the brackets"},
        {"(a, b)", "1:3+1 there can be no comma here"},
        {"a, b", "1:2+1 there can be no comma here"},
        {"a ? b", "1:3+1 this '?' has no ':'"},
        {"(a ? b)", "1:4+1 this '?' has no ':'"},
        {"a : b", "1:3+1 there is no '?' that this ':' belongs to"},
        {"a ? b : c : d", "1:11+1 there is no '?' that this ':' belongs to"},
        {"a ? b ? c : d : e", "1:7+1 a conditional between '?' and ':' must stand in brackets"},
        {"!-a", "1:2+1 '!' and '-' cannot follow each other"},
        {"-!a", "1:2+1 '!' and '-' cannot follow each other"},
        {"a.", "1:3+1 a name must follow '.', but here is the end of the expression"},
        {"a.?", "1:4+1 a name must follow '.?', but here is the end of the expression"},
        {"a.in", "1:3+2 a name must follow '.', but here is 'in'"},
        {"a.'b'", "1:3+3 a name must follow '.', but here is text in quotes"},
        {".1.a.", "1:6+1 a name must follow '.', but here is the end of the expression"},
        {"a.5", "1:2+2 an operator is missing before '.5'"},
        {"`a`", "1:1+3 a name in back quotes can only stand behind a dot, or as a field"},
        {"a.`b`()", "1:6+1 what stands before this bracket cannot be called"},
        {"a.?b()", "1:5+1 what stands before this bracket cannot be called"},
        {"a[0]{}", "1:5+1 an operator is missing before '{'"},
        {"T{'a': 1}", "1:3+3 the name of a field must stand here, not text in quotes"},
        {"T{a 1}", "1:5+1 a ':' and a value must follow the field's name, but here is '1'"},
        {"T{a: 1,,}", "1:8+1 the name of a field must stand here, not ','"},
        {"T{a: 1", "1:2+1 this '{' is never closed"},
        {"T{", "1:2+1 this '{' is never closed"},
        {"'\\q' + '\\z'", "1:2+2 there is no such escape; 1:9+2 there is no such escape"},
        {"99999999999999999999", "1:1+20 this number is too large"},
        {"'a", "1:1+1 the text that starts here has no closing '"},
        {"a.all(b.c, true)", "1:7+3 this argument must be a simple name"},
        {"a.all(.b, true)", "1:7+2 this argument must be a simple name"},
        {"a.map(1, 2, 3)", "1:7+1 this argument must be a simple name"},
        {"a.all(x, x, true)", "1:10+1 both variables have the same name"},
        {"a.all(x, 1, true)", "1:10+1 this argument must be a simple name"},
        {"a.all(__result__, true)", "1:7+10 __result__ cannot be the name of a variable"},
        {"cel.bind(a.b, 1, 2)", "1:10+3 this argument must be a simple name"},
        {"a.optMap(1, 2)", "1:10+1 this argument must be a simple name"},
        {"a.sortBy(1, 2)", "1:10+1 this argument must be a simple name"},
        {"has(a)", "1:5+1 has() takes the selection of a field"},
        {"has(a.?b)", "1:5+4 has() takes the selection of a field"},
        {"has(a[0])", "1:5+4 has() takes the selection of a field"},
        {"math.least()", "1:6+7 math.least() takes at least one argument"},
        {"math.least(1, 'a', true)", "1:15+3 this argument must be a number; "
                                     "1:20+4 this argument must be a number"},
        {"cel.block(a, b)",
            "1:11+1 the first argument of cel.block() must be a list in square brackets"},
        {"cel.index(a)", "1:11+1 this argument must be a whole number, 0 or more"},
        {"cel.iterVar(0, -1)", "1:16+2 this argument must be a whole number, 0 or more"},
        {"a.all(b c, $)", "1:9+1 an operator or a comma is missing before 'c'; "
                          "1:12+1 '$' means nothing here"},
        {"a +\nb c +\n'd", "2:3+1 an operator is missing before 'c'; "
                           "3:1+1 the text that starts here has no closing '"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
        DiagList diags = DIAG_LIST_IN(arena);
        CelTree *tree = NULL;
        int r = cel_parse(STR("test"), str_from_c(cases[i].text), NULL, arena, &diags, &tree);

        assert_case(cases[i].text, r == CEL_REFUSED && !tree);
        assert_text(cases[i].text, mistakes_text(&diags, arena), cases[i].errors);
    }
}

/* A message as users see it. */
static void test_printed_message(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    _cleanup_(buf_done) Buf out = BUF_INIT(BUDGET);
    DiagList diags = DIAG_LIST_IN(arena);
    CelTree *tree = NULL;

    (void)state;
    assert_int_equal(
        cel_parse(STR("rule"), STR("a == 1 &&\n  b = 2"), NULL, arena, &diags, &tree), CEL_REFUSED);
    diag_list_print(&diags, /* colour= */ false, &out);
    assert_text("printed", buf_str(&out),
        "rule:2:5: error: there is no operator '='\n"
        "  2 |   b = 2\n"
        "    |     ^\n"
        "  = to compare two values write '=='\n"
        "1 error\n");
}

static void test_refuses_invalid_utf8_and_nul(void **state) {
    static const struct {
        Str text;
        const char *errors;
    } cases[] = {
        {STR("a + \xff"), "1:5+1 byte 0xff is not part of a character"},
        {STR("'\xc3'"), "1:2+1 byte 0xc3 is not part of a character"},
        {STR("a\0"), "1:2+1 there is a NUL byte in the text"},
        {STR("\0"), "1:1+1 there is a NUL byte in the text"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
        DiagList diags = DIAG_LIST_IN(arena);
        CelTree *tree = NULL;

        assert_int_equal(
            cel_parse(STR("test"), cases[i].text, NULL, arena, &diags, &tree), CEL_REFUSED);
        assert_text("not text", mistakes_text(&diags, arena), cases[i].errors);
    }
}

/* --- limits ---------------------------------------------------------------- */

/* Parses @open n times, @middle, @close n times; returns the first error. */
static Str repeat(
    const char *open, const char *middle, const char *close, size_t n, const CelOptions *options) {
    static char error[4096];
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    _cleanup_(buf_done) Buf text = BUF_INIT(BUDGET), out = BUF_INIT(BUDGET);
    DiagList diags = DIAG_LIST_IN(arena);
    CelTree *tree = NULL;
    int r;

    for (size_t i = 0; i < n; i++)
        buf_append(&text, str_from_c(open));
    buf_append(&text, str_from_c(middle));
    for (size_t i = 0; i < n; i++)
        buf_append(&text, str_from_c(close));
    r = cel_parse(STR("test"), buf_str(&text), options, arena, &diags, &tree);
    if (r == 0) {
        check_tree(open, tree, arena);
        cel_tree_print(tree, &out);
        assert_true(out.len > 0);
        return STR("good");
    }
    assert_int_equal(r, CEL_REFUSED);
    assert_int_equal(diags.n_errors, 1);
    (void)snprintf(error, sizeof(error), "%.*s", STR_FMT(diags.diags.items[0].text));
    return str_from_c(error);
}

static void test_limits(void **state) {
    static const char deep[] =
        "the expression is nested too deeply: more than 100 brackets and conditionals inside each "
        "other";
    static const char large[] = "the expression is too large: it has more than 10000 parts";
    static const struct {
        const char *open, *middle, *close;
        size_t n;
        const char *want;
    } cases[] = {
        {"(", "a", ")", 100, "good"},
        {"(", "a", ")", 101, deep},
        {"[", "", "]", 100, "good"},
        {"[", "", "]", 101, deep},
        {"f(", "a", ")", 100, "good"},
        {"f(", "a", ")", 101, deep},
        {"a[", "0", "]", 101, deep},
        {"{0: ", "a", "}", 100, "good"},
        {"{0: ", "a", "}", 101, deep},
        {"T{f: ", "a", "}", 101, deep},
        {"a ? b : ", "c", "", 100, "good"},
        {"a ? b : ", "c", "", 101, deep},
        {"a ? (", "b", ") : c", 50, "good"},
        {"a ? (", "b", ") : c", 51, deep},
        {"(", "", "", 10000, deep},
        {"(a + b * !-", "c", ")", 100, "'!' and '-' cannot follow each other"},
        {"(a || b && c == d + e * -", "c", ")", 100, "good"},
        /* Long expressions that are not deep. */
        {"1+", "1", "", 4999, "good"},
        {"1+", "1", "", 5000, large},
        {"a||", "b", "", 3000, "good"},
        {"!", "a", "", 10000, "good"},
        {"-", "a", "", 10001, "good"},
        {"-", "5", "", 10001, "good"},
        {"", "a", ".b", 5000, "good"},
        {"", "a", "[0]", 3000, "good"},
        {"", "a", ".f()", 2000, "good"},
        {"", "a", ".all(x,x)", 1000, "good"},
        {"", "a", ".all(x,x)", 3400,
            "the expression is too long: 30601 bytes, and 10240 are allowed"},
        {"cel.bind(x,a,", "x", ")", 100, "good"},
        {"a.sortBy(x,", "x", ")", 100, "good"},
        {" ", "a", "", 10239, "good"},
        {" ", "a", "", 10240, "the expression is too long: 10241 bytes, and 10240 are allowed"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        assert_text(cases[i].open,
            repeat(cases[i].open, cases[i].middle, cases[i].close, cases[i].n, NULL),
            cases[i].want);
}

/* Running out of memory anywhere returns -ENOMEM, without an error message. */
static void test_no_memory(void **state) {
    static const char text[] = "cel.block([a.b(1.5, '\\n'), {c: T . U{d: 1}}], l.sortBy(x, x.e))";
    size_t n_refused = 0, budget = 64;
    int r = -1;

    (void)state;
    for (; r != 0 && budget < BUDGET; budget += 64) {
        _cleanup_(arena_freep) Arena *arena = arena_new(budget), *texts = arena_new(BUDGET);
        DiagList diags = DIAG_LIST_IN(texts);
        CelTree *tree = NULL;

        assert_non_null(arena);
        r = cel_parse(STR("test"), str_from_c(text), NULL, arena, &diags, &tree);
        assert_true(r == 0 || r == -ENOMEM);
        assert_int_equal(diags.n_errors, 0);
        n_refused += r != 0;
    }
    assert_true(n_refused > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operators),
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_literals),
        cmocka_unit_test(test_macros),
        cmocka_unit_test(test_no_macros),
        cmocka_unit_test(test_positions),
        cmocka_unit_test(test_position_of_an_offset),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_printed_message),
        cmocka_unit_test(test_refuses_invalid_utf8_and_nul),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
