/* Macros: a table of names and numbers of arguments; a name with another number is a plain call.
 * Most are loops (range, variables, body stay as written); only cel.bind() and cel.block() put the
 * value before the variable. */

#include "cel/parser-internal.h"

#include <inttypes.h>

#define MACRO_ARGS_MAX 4
#define MACRO_ANY_ARGS UINT8_MAX

typedef struct Macro Macro;
typedef bool MacroExpand(CelBuilder *builder, const Macro *macro, CelCall *call);

struct Macro {
    Str name;
    Str space;      /* "cel": the receiver is this name; empty: any receiver */
    uint8_t n_args; /* or MACRO_ANY_ARGS */
    bool is_receiver;
    MacroExpand *expand;
    uint8_t kind; /* the node it becomes */
    uint8_t n_binders;
    bool has_predicate;
    const char *prefix; /* start of a hidden name */
};

/* The node numbers of the arguments' roots. There are MACRO_ARGS_MAX at most. */
static void find_args(const CelBuilder *builder, const CelCall *call, uint32_t *ret) {
    uint32_t root = cel_builder_next(builder) - 1;

    for (uint32_t i = call->n_args; i-- > 0;) {
        ret[i] = root;
        root -= builder->nodes.items[root].size;
    }
}

static bool is_space(const CelBuilder *builder, const CelCall *call, Str space) {
    const CelNode *node = &builder->nodes.items[call->first];

    return call->args == call->first + 1 && node->kind == CEL_NODE_IDENT && !node->is_absolute &&
           str_eq(node->name, space);
}

static void refuse(CelBuilder *builder, const CelNode *node, const char *hint, const char *text) {
    if (!cel_node_is_broken(node))
        cel_syntax_error(builder->lexer->errors, node->from, node->to, hint, "%s", text);
}

/* Turns node @i, a name, into a variable's declaration. False: it is no name, which is reported. */
static bool bind_variable(CelBuilder *builder, uint32_t i, const char *hint) {
    CelNode *node = &builder->nodes.items[i];

    if (node->kind != CEL_NODE_IDENT || node->is_absolute) {
        refuse(builder, node, hint, "this argument must be a simple name");
        return false;
    }
    if (str_eq(node->name, STR("__result__"))) { /* reserved by cel-go */
        refuse(builder, node, NULL, "__result__ cannot be the name of a variable");
        return false;
    }
    node->kind = CEL_NODE_BINDER;
    return true;
}

/* has(m['k']): suggests 'k' in m. */
static bool refuse_has_key(CelBuilder *builder, const CelCall *call, const CelNode *index) {
    const CelLexer *lexer = builder->lexer;
    const CelNode *key, *map;
    Str written;

    if (index->kind != CEL_NODE_CALL || !str_is(index->name, "_[_]"))
        return false;
    key = index - 1;
    map = key - key->size;
    written = arena_printf(builder->arena, "write %.*s in %.*s", (int)(key->to - key->from),
        lexer->source.ptr + key->from, (int)(map->to - map->from), lexer->source.ptr + map->from);
    if (!written.ptr || cel_node_is_broken(key) || cel_node_is_broken(map))
        return false;
    if (cel_syntax_error(lexer->errors, index->from, index->to, written.ptr, "%s",
            "has() takes the selection of a field"))
        cel_report_fix(lexer->errors->diags, lexer->source,
            (CelFix){call->span.from, call->span.to, str_skip(written, strlen("write "))});
    return true;
}

static bool expand_has(CelBuilder *builder, const Macro *macro, CelCall *call) {
    CelNode *node = cel_builder_last(builder);

    if (node->kind != CEL_NODE_SELECT) {
        if (refuse_has_key(builder, call, node))
            return true;
        refuse(builder, node,
            node->kind == CEL_NODE_OPT_SELECT
                ? "write has(a.b); or ask the optional: a.?b.hasValue()"
                : "has(a.b) asks whether a has b; whether a map has a key is \"key\" in map",
            "has() takes the selection of a field");
        return true;
    }
    node->kind = macro->kind;
    node->from = call->span.from;
    node->to = call->span.to;
    return true;
}

static bool expand_loop(CelBuilder *builder, const Macro *macro, CelCall *call) {
    uint32_t args[MACRO_ARGS_MAX] = {0};
    bool is_good = true;
    CelNode *node;

    find_args(builder, call, args);
    for (uint8_t i = 0; i < macro->n_binders; i++)
        is_good = bind_variable(builder, args[i],
                      macro->n_binders == 2 ? "it names a variable: map.all(key, value, …)"
                                            : "it names the variable: list.all(x, x > 0)") &&
                  is_good;
    node = builder->nodes.items;
    if (is_good && macro->n_binders == 2 && str_eq(node[args[0]].name, node[args[1]].name))
        refuse(builder, &node[args[1]], "the first is the index or key, the second the value",
            "both variables have the same name");
    node = cel_builder_add(
        builder, (CelNodeKind)macro->kind, call->first, call->n_args + 1, call->span);
    node->name = call->name;
    node->n_binders = macro->n_binders;
    node->has_predicate = macro->has_predicate;
    return true;
}

/* Adds a name that no source text can contain. */
static CelNode *add_hidden(CelBuilder *builder, CelNodeKind kind, Str name, CelSpan span) {
    CelNode *node = cel_builder_add(builder, kind, cel_builder_next(builder), 0, span);

    node->name = name;
    return node;
}

static CelSpan node_span(const CelNode *node) {
    return (CelSpan){.from = node->from, .to = node->to, .at = node->at};
}

/* list.sortBy(x, key) is cel.bind(@list, list, @list.@sortByAssociatedKeys(@list.map(x, key))). */
static bool expand_sort_by(CelBuilder *builder, const Macro *macro, CelCall *call) {
    static const Macro map = {.kind = CEL_NODE_MAP_LIST, .n_binders = 1};
    CelSpan span = node_span(&builder->nodes.items[call->args - 1]);
    uint32_t n_args = cel_builder_next(builder) - call->args;
    CelNode *args = cel_builder_copy(builder, call->args, n_args), *node;
    CelCall keys = {.name = STR("map"), .is_receiver = true, .n_args = 2, .span = call->span};
    CelCall sort = {
        .name = STR("@sortByAssociatedKeys"), .is_receiver = true, .n_args = 1, .span = call->span};

    if (!args)
        return true;
    cel_builder_drop(builder, call->args);
    (void)add_hidden(builder, CEL_NODE_BINDER, STR("@list"), span);
    sort.first = cel_builder_next(builder);
    (void)add_hidden(builder, CEL_NODE_IDENT, STR("@list"), span);
    sort.args = keys.first = cel_builder_next(builder);
    (void)add_hidden(builder, CEL_NODE_IDENT, STR("@list"), span);
    keys.args = cel_builder_next(builder);
    cel_builder_append(builder, args, n_args);
    if (builder->is_stopped)
        return true;
    (void)expand_loop(builder, &map, &keys);
    cel_builder_add_call(builder, &sort);
    node = cel_builder_add(builder, (CelNodeKind)macro->kind, call->first, 3, call->span);
    node->name = call->name;
    node->n_binders = 1;
    return true;
}

/* cel, name, value …, body … becomes value …, name, body …, BIND. */
static bool expand_bind(CelBuilder *builder, const Macro *macro, CelCall *call) {
    CelNode *nodes = builder->nodes.items, *node, binder;
    uint32_t args[MACRO_ARGS_MAX] = {0}, first = call->first, value_size;

    find_args(builder, call, args);
    if (bind_variable(builder, args[0], "cel.bind(name, value, expression that uses the name)")) {
        binder = nodes[args[0]];
        value_size = nodes[args[1]].size;
        memmove(nodes + first, nodes + args[0] + 1, value_size * sizeof(CelNode));
        nodes[first + value_size] = binder;
        memmove(nodes + first + value_size + 1, nodes + args[1] + 1,
            nodes[args[2]].size * sizeof(CelNode));
        builder->nodes.n--;
    }
    node = cel_builder_add(builder, (CelNodeKind)macro->kind, first, 3, call->span);
    node->name = call->name;
    node->n_binders = 1;
    return true;
}

/* Reads a whole number that is not negative, as cel.index(0) takes. */
static bool read_index(CelBuilder *builder, uint32_t i, int64_t *ret) {
    const CelNode *node = &builder->nodes.items[i];

    *ret = node->literal.i;
    if (node->kind == CEL_NODE_LITERAL && node->literal.kind == CEL_INT && node->literal.i >= 0)
        return true;
    refuse(builder, node, NULL, "this argument must be a whole number, 0 or more");
    return false;
}

/* cel.index(0), cel.iterVar(0, 1), cel.accuVar(0, 1) stand for names. */
static bool expand_hidden_name(CelBuilder *builder, const Macro *macro, CelCall *call) {
    uint32_t args[MACRO_ARGS_MAX] = {0};
    int64_t numbers[MACRO_ARGS_MAX] = {0};
    Str name;

    find_args(builder, call, args);
    for (uint32_t i = 0; i < call->n_args; i++)
        if (!read_index(builder, args[i], &numbers[i])) {
            cel_builder_drop(builder, call->first);
            cel_builder_add_broken(builder, call->span);
            return true;
        }
    cel_builder_drop(builder, call->first);
    if (call->n_args == 1)
        name = arena_printf(builder->arena, "%s%" PRId64, macro->prefix, numbers[0]);
    else
        name = arena_printf(
            builder->arena, "%s:%" PRId64 ":%" PRId64, macro->prefix, numbers[0], numbers[1]);
    (void)add_hidden(builder, CEL_NODE_IDENT, name, call->span);
    return true;
}

/* The arguments of cel.block(), copied. */
typedef struct Block {
    const CelNode *nodes;
    uint32_t n_nodes;
    uint32_t list;    /* the LIST */
    uint32_t *roots;  /* its elements */
    uint32_t *firsts; /* where each begins when it is added again */
    uint32_t n;
} Block;

/* Returns false if out of memory, or the builder has stopped. */
static bool block_init(CelBuilder *builder, const CelCall *call, uint32_t list, Block *ret) {
    uint32_t child = list - 1, n = builder->nodes.items[call->args + list].n_children;

    *ret = (Block){.n_nodes = cel_builder_next(builder) - call->args, .list = list, .n = n};
    ret->nodes = cel_builder_copy(builder, call->args, ret->n_nodes);
    ret->roots = ARENA_RAW(builder->arena, uint32_t, n);
    ret->firsts = ARENA_RAW(builder->arena, uint32_t, n);
    if (!ret->nodes || !ret->roots || !ret->firsts)
        return false;
    for (uint32_t i = n; i-- > 0; child -= ret->nodes[child].size)
        ret->roots[i] = child;
    return true;
}

/* Adds cel.block([a, b], body) as a, @index0, b, @index1, body, BIND, BIND. */
static void nest_binds(CelBuilder *builder, const CelCall *call, const Block *block) {
    const CelNode *body = &block->nodes[block->list + 1];

    for (uint32_t i = 0; i < block->n && !builder->is_stopped; i++) {
        const CelNode *root = &block->nodes[block->roots[i]];

        block->firsts[i] = cel_builder_next(builder);
        cel_builder_append(builder, root + 1 - root->size, root->size);
        (void)add_hidden(builder, CEL_NODE_BINDER,
            arena_printf(builder->arena, "@index%" PRIu32, i), node_span(root));
    }
    cel_builder_append(builder, body, block->n_nodes - block->list - 1);
    for (uint32_t i = block->n; i-- > 0 && !builder->is_stopped;) {
        CelNode *bind = cel_builder_add(builder, CEL_NODE_BIND, block->firsts[i], 3, call->span);

        bind->name = call->name;
        bind->n_binders = 1;
    }
}

static bool expand_block(CelBuilder *builder, const Macro *macro, CelCall *call) {
    uint32_t args[MACRO_ARGS_MAX] = {0};
    const CelNode *list;
    Block block;

    find_args(builder, call, args);
    list = &builder->nodes.items[args[0]];
    if (list->kind != CEL_NODE_LIST) {
        refuse(builder, list, NULL,
            "the first argument of cel.block() must be a list in square brackets");
        return false;
    }
    if (!block_init(builder, call, args[0] - call->args, &block)) {
        builder->is_stopped = true;
        return true;
    }
    for (uint32_t i = 0; i < block.n; i++) {
        const CelNode *element = &block.nodes[block.roots[i]];

        if (element->kind == CEL_NODE_OPTIONAL) /* an absent value has no name */
            refuse(builder, element, NULL, "an element of cel.block() cannot be optional");
    }
    cel_builder_drop(builder, call->first);
    nest_binds(builder, call, &block);
    return true;
}

/* Rejects arguments that are plainly no numbers, as cel-go does: no later check rejects them in a
 * list of dyn. */
static void check_numbers(CelBuilder *builder, const CelCall *call) {
    uint32_t root = cel_builder_next(builder) - 1;

    for (uint32_t i = call->n_args; i-- > 0;) {
        const CelNode *node = &builder->nodes.items[root];
        bool is_literal = node->kind == CEL_NODE_LITERAL && !cel_is_number(node->literal);

        if (is_literal || node->kind == CEL_NODE_LIST || node->kind == CEL_NODE_MAP ||
            node->kind == CEL_NODE_STRUCT)
            refuse(builder, node, NULL, "this argument must be a number");
        root -= node->size;
    }
}

/* Three or more arguments become one list; one and two have overloads of their own. */
static bool expand_many(CelBuilder *builder, const Macro *macro, CelCall *call) {
    CelSpan span = call->span;
    CelNode *list;

    if (call->n_args == 0) {
        cel_syntax_error(builder->lexer->errors, span.at, span.to, NULL,
            "math.%.*s() takes at least one argument", STR_FMT(call->name));
        return false;
    }
    if (call->n_args < 3)
        return false;
    check_numbers(builder, call);
    span.from = span.at = builder->nodes.items[call->args].from;
    span.to = cel_builder_last(builder)->to;
    list = cel_builder_add(builder, CEL_NODE_LIST, call->args, call->n_args, span);
    list->is_mixed = true;
    call->n_args = 1;
    return false;
}

#define LOOP(word, args, node, binders, predicate)                                                 \
    {                                                                                              \
        .name = STR(word), .n_args = (args), .is_receiver = true, .expand = expand_loop,           \
        .kind = (node), .n_binders = (binders), .has_predicate = (predicate)                       \
    }
#define SPACE(of, word, args, expand_with, node)                                                   \
    {                                                                                              \
        .name = STR(word), .space = STR(of), .n_args = (args), .is_receiver = true,                \
        .expand = (expand_with), .kind = (node)                                                    \
    }
#define NAME(word, args, start)                                                                    \
    {                                                                                              \
        .name = STR(word), .space = STR("cel"), .n_args = (args), .is_receiver = true,             \
        .expand = expand_hidden_name, .prefix = (start)                                            \
    }

static const Macro macros[] = {
    {.name = STR("has"), .n_args = 1, .expand = expand_has, .kind = CEL_NODE_TEST},
    LOOP("all", 2, CEL_NODE_ALL, 1, false),
    LOOP("all", 3, CEL_NODE_ALL, 2, false),
    LOOP("exists", 2, CEL_NODE_EXISTS, 1, false),
    LOOP("exists", 3, CEL_NODE_EXISTS, 2, false),
    LOOP("exists_one", 2, CEL_NODE_EXISTS_ONE, 1, false),
    LOOP("exists_one", 3, CEL_NODE_EXISTS_ONE, 2, false),
    LOOP("existsOne", 2, CEL_NODE_EXISTS_ONE, 1, false),
    LOOP("existsOne", 3, CEL_NODE_EXISTS_ONE, 2, false),
    LOOP("map", 2, CEL_NODE_MAP_LIST, 1, false),
    LOOP("map", 3, CEL_NODE_MAP_LIST, 1, true),
    LOOP("filter", 2, CEL_NODE_FILTER, 1, false),
    LOOP("transformList", 3, CEL_NODE_MAP_LIST, 2, false),
    LOOP("transformList", 4, CEL_NODE_MAP_LIST, 2, true),
    LOOP("transformMap", 3, CEL_NODE_TRANSFORM_MAP, 2, false),
    LOOP("transformMap", 4, CEL_NODE_TRANSFORM_MAP, 2, true),
    LOOP("transformMapEntry", 3, CEL_NODE_TRANSFORM_ENTRY, 2, false),
    LOOP("transformMapEntry", 4, CEL_NODE_TRANSFORM_ENTRY, 2, true),
    LOOP("optMap", 2, CEL_NODE_OPT_MAP, 1, false),
    LOOP("optFlatMap", 2, CEL_NODE_OPT_FLAT_MAP, 1, false),
    SPACE("", "sortBy", 2, expand_sort_by, CEL_NODE_BIND),
    SPACE("cel", "bind", 3, expand_bind, CEL_NODE_BIND),
    SPACE("cel", "block", 2, expand_block, CEL_NODE_BIND),
    NAME("index", 1, "@index"),
    NAME("iterVar", 2, "@it"),
    NAME("accuVar", 2, "@ac"),
    SPACE("math", "least", MACRO_ANY_ARGS, expand_many, CEL_NODE_CALL),
    SPACE("math", "greatest", MACRO_ANY_ARGS, expand_many, CEL_NODE_CALL),
};

bool cel_macro_expand(CelBuilder *builder, CelCall *call) {
    if (builder->is_stopped || call->is_absolute)
        return false;
    for (size_t i = 0; i < ELEMENTS_OF(macros); i++) {
        const Macro *macro = &macros[i];

        if ((macro->n_args == call->n_args || macro->n_args == MACRO_ANY_ARGS) &&
            macro->is_receiver == call->is_receiver && str_eq(call->name, macro->name) &&
            (str_is_empty(macro->space) || is_space(builder, call, macro->space)))
            return macro->expand(builder, macro, call);
    }
    return false;
}
