/*
 * Names and rows: the remembered order of earlier requests makes finding names faster and does not
 * change results.
 *
 * One view gets many lists in turn, so that it learns orders that are wrong for later ones. Each
 * name must be found at its row and at its position in the request.
 */

#include "base/rng.h"
#include "base/test-assert.h"
#include "extender/verbs.h"
#include "policy/test-scene.h"

#define N_NODES 1000u
#define LIST_MAX (2 * N_NODES)

/* Nodes from N_NODES on are not in the cluster: their names are existing ones plus a letter. */
typedef struct List {
    size_t n;
    uint32_t nodes[LIST_MAX];
} List;

typedef enum Style {
    STYLE_PLAIN,
    STYLE_SPACED,  /* white space behind some commas */
    STYLE_ESCAPED, /* some names have escapes */
    _STYLE_MAX,
} Style;

static Arena *memory;
static View *view;
static TestScene scene;

/* A fixed seed, so that a failure repeats. */
static unsigned below(unsigned n) {
    static Rng rng = {.state = 1};

    return (unsigned)rng_pick(&rng, n);
}

/* Names have many lengths, including those that need memcmp(). */
static void print_name(Buf *out, uint32_t node, bool escaped) {
    uint32_t known = node % N_NODES;

    buf_printf(out, "%s%u", escaped ? "\\u006e" : "n", known);
    for (uint32_t i = 0; i < known % 23; i++)
        buf_printf(out, "-abc");
    if (node >= N_NODES)
        buf_printf(out, "x");
}

static int setup(void **state) {
    _cleanup_(buf_done) Buf text = BUF_INIT((size_t)1 << 20);

    (void)state;
    buf_printf(&text, "policy: {filters: [{name: up, nodeReady: true}]}\nnodes:\n");
    for (uint32_t i = 0; i < N_NODES; i++) {
        buf_printf(&text, "  ");
        print_name(&text, i, /* escaped= */ false);
        buf_printf(&text, ": {}\n");
    }
    assert_int_equal(buf_error(&text), 0);
    memory = arena_new((size_t)1 << 20);
    assert_non_null(memory);
    scene_init_text(&scene, arena_copy(memory, buf_str(&text)).ptr);
    return view_new(&(ViewParts){.snapshot = scene.snapshot, .program = scene.program},
        /* before= */ NULL, &view);
}

static int teardown(void **state) {
    (void)state;
    view = view_unref(view);
    scene_done(&scene);
    memory = arena_free(memory);
    return 0;
}

static bool is_odd(Style style, size_t i) {
    return style != STYLE_PLAIN && i % 7 == 3;
}

static void print_body(const List *list, Style style, Buf *out) {
    buf_printf(out, "{\"Pod\":{},\"NodeNames\":[");
    for (size_t i = 0; i < list->n; i++) {
        bool odd = is_odd(style, i);

        buf_printf(out, "%s%s\"", i > 0 ? "," : "", odd && style == STYLE_SPACED ? " " : "");
        print_name(out, list->nodes[i], odd && style == STYLE_ESCAPED);
        buf_printf(out, "\"");
    }
    buf_printf(out, "]}");
}

static void check_entry(const FilterArgs *args, size_t i, uint32_t node, bool escaped) {
    _cleanup_(buf_done) Buf name = BUF_INIT(1024), literal = BUF_INIT(1024);
    Str raw = str_of(args->body.ptr + args->spans[i].at, args->spans[i].len);

    print_name(&name, node, /* escaped= */ false);
    buf_printf(&literal, "\"");
    print_name(&literal, node, escaped);
    buf_printf(&literal, "\"");
    assert_int_equal(args->rows[i], table_find(view->table, buf_str(&name)));
    assert_true((args->rows[i] == view->table->n_rows) == (node >= N_NODES));
    assert_true(str_eq(raw, buf_str(&literal)));
}

static int decode(Str body, Arena *arena, FilterArgs *ret) {
    char error[WIRE_ERROR_MAX];

    return filter_args_decode(
        view, /* time= */ NULL, body, &view->program->filter_parts, arena, ret, error);
}

static void check(const List *list, Style style) {
    _cleanup_(buf_done) Buf body = BUF_INIT((size_t)1 << 20);
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)16 << 20);
    size_t n_unknown = 0;
    FilterArgs args;

    print_body(list, style, &body);
    assert_int_equal(decode(buf_str(&body), arena, &args), 0);
    assert_int_equal(args.n, list->n);
    for (size_t i = 0; i < list->n; i++) {
        check_entry(&args, i, list->nodes[i], style == STYLE_ESCAPED && is_odd(style, i));
        n_unknown += list->nodes[i] >= N_NODES;
    }
    assert_int_equal(args.n_unknown, n_unknown);
}

/* --- lists -------------------------------------------------------------------------- */

/* An order other than the cluster's, as kube-scheduler makes with many zones. */
static void fill_all(List *list) {
    list->n = 0;
    for (uint32_t zone = 0; zone < 3; zone++)
        for (uint32_t node = zone; node < N_NODES; node += 3)
            list->nodes[list->n++] = node;
}

/* Keeps @keep of @of nodes. */
static void thin(List *list, unsigned keep, unsigned of) {
    size_t n = 0;

    for (size_t i = 0; i < list->n; i++)
        if (below(of) < keep)
            list->nodes[n++] = list->nodes[i];
    list->n = n;
}

static void rotate(List *list, size_t by) {
    List before = *list;

    for (size_t i = 0; i < list->n; i++)
        list->nodes[i] = before.nodes[(i + by) % list->n];
}

static void shuffle(List *list) {
    for (size_t i = list->n; i > 1; i--) {
        size_t j = below((unsigned)i);
        uint32_t node = list->nodes[j];

        list->nodes[j] = list->nodes[i - 1];
        list->nodes[i - 1] = node;
    }
}

/* Unknown nodes in some positions. */
static void make_some_unknown(List *list) {
    for (size_t i = 0; i < list->n; i++)
        if (below(50) == 0)
            list->nodes[i] += N_NODES;
}

static void repeat(List *list) {
    for (size_t i = 0; i < list->n && list->n + i < LIST_MAX; i++)
        list->nodes[list->n + i] = list->nodes[i];
    list->n *= 2;
}

/* Fills the list and changes it in one of the ways above. */
static void fill_at_random(List *list) {
    fill_all(list);
    switch (below(8)) {
    case 0:
        thin(list, 1, 2 + below(20));
        break;
    case 1:
        thin(list, 199 - below(190), 200);
        break;
    case 2:
        rotate(list, below(N_NODES));
        break;
    case 3:
        shuffle(list);
        break;
    case 4:
        make_some_unknown(list);
        break;
    case 5:
        repeat(list);
        break;
    case 6:
        list->n = below(N_NODES);
        break;
    default:
        break;
    }
}

/* The same list before, while and after its order is learned. */
static void test_names_of_a_repeated_list_are_found(void **state) {
    List list;

    (void)state;
    fill_all(&list);
    for (int turn = 0; turn < 4; turn++)
        check(&list, STYLE_PLAIN);
    assert_non_null(names_sequence(view->table->names));
    assert_int_equal(names_sequence(view->table->names)->n, N_NODES);
    check(&list, STYLE_SPACED);
    check(&list, STYLE_ESCAPED);
}

static void test_names_of_changing_lists_are_found(void **state) {
    List list;

    (void)state;
    for (int turn = 0; turn < 200; turn++) {
        fill_at_random(&list);
        check(&list, below(4) == 0 ? (Style)below(_STYLE_MAX) : STYLE_PLAIN);
    }
}

static void test_truncated_lists_are_errors(void **state) {
    _cleanup_(buf_done) Buf body = BUF_INIT((size_t)1 << 20);
    List list;

    (void)state;
    fill_all(&list);
    print_body(&list, STYLE_PLAIN, &body);
    for (size_t len = 30; len < body.len; len += 13) {
        _cleanup_(arena_freep) Arena *arena = arena_new((size_t)16 << 20);
        Str text = arena_copy(arena, str_take(buf_str(&body), len));
        FilterArgs args;

        assert_int_equal(decode(text, arena, &args), WIRE_E_MALFORMED);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_of_a_repeated_list_are_found),
        cmocka_unit_test(test_names_of_changing_lists_are_found),
        cmocka_unit_test(test_truncated_lists_are_errors),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
