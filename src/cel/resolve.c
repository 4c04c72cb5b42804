/* Resolves names: in a.b.c the longest declared name wins, in the container first. Variables of
 * macros hide them all; a leading dot skips both (namespace/namespace_shadowing). The first IDENT
 * decides for the whole chain; parts of a longer name are skipped later. */

#include "base/ascii.h"
#include "cel/check-internal.h"

/* The last SELECT of the chain that starts at @node; each comes right after its operand. */
static uint32_t chain_end(const CelTree *tree, uint32_t node) {
    uint32_t end = node;

    while (end + 1 < tree->n_nodes && tree->nodes[end + 1].kind == CEL_NODE_SELECT &&
           tree->nodes[end + 1].size == end + 2 - node)
        end++;
    return end;
}

/* The memory where names are built, with room for the container before them. */
static char *name_room(const CelChecker *checker) {
    return checker->name + cel_env_container(checker->env).len + 1;
}

static bool is_declared(const CelEnv *env, Str name, bool is_function) {
    const CelOverload *const *ignored;

    return is_function ? cel_env_overloads(env, name, &ignored) > 0
                       : cel_env_variable(env, name) != NULL;
}

/* The declared name that @name means: with the whole container before it, then with ever less of
 * it, or @name itself. Names with a container are in name_room(). */
static Str meant_by(const CelChecker *checker, Str name, bool is_absolute, bool is_function) {
    Str container = cel_env_container(checker->env);
    char *room = name_room(checker);

    if (container.len == 0 || is_absolute || name.len == 0)
        return name;
    if (name.ptr != room)
        memcpy(room, name.ptr, name.len);
    for (size_t n = container.len; n != SIZE_MAX; n = str_find_last(str_take(container, n), '.')) {
        Str full = str_of(room - n - 1, n + 1 + name.len);

        memcpy(room - n - 1, container.ptr, n);
        room[-1] = '.';
        if (is_declared(checker->env, full, is_function))
            return full;
    }
    return name;
}

const CelVariable *cel_resolve_variable(CelChecker *checker, Str name, bool is_absolute) {
    return cel_env_variable(checker->env, meant_by(checker, name, is_absolute, false));
}

size_t cel_resolve_function(
    CelChecker *checker, Str name, bool is_absolute, const CelOverload *const **ret) {
    *ret = NULL;
    return cel_env_overloads(checker->env, meant_by(checker, name, is_absolute, true), ret);
}

/* The names from @node to @end with dots between, in name_room(). */
static Str dotted_name(const CelChecker *checker, uint32_t node, uint32_t end) {
    char *room = name_room(checker);

    return str_of(room, cel_join_names(checker->tree->nodes, node, end, room));
}

static void skip(CelChecker *checker, uint32_t from, uint32_t to) {
    for (uint32_t i = from; i < to; i++) {
        checker->infos[i].ref = CEL_REF_SKIP;
        checker->infos[i].type = &cel_dyn_type;
    }
}

/* a.b.f(x) with a declared function "a.b.f": the receiver is a namespace. */
static bool resolve_namespace(CelChecker *checker, uint32_t node, uint32_t end) {
    const CelNode *nodes = checker->tree->nodes;
    uint32_t call = nodes[node].call;
    CelNodeInfo *info = &checker->infos[call];
    Str name;
    char *at;

    if (call == 0)
        return false;
    name = dotted_name(checker, node, end);
    at = name_room(checker) + name.len;
    *at++ = '.';
    memcpy(at, nodes[call].name.ptr, nodes[call].name.len);
    name.len += 1 + nodes[call].name.len;
    info->n_overloads =
        cel_resolve_function(checker, name, nodes[node].is_absolute, &info->overloads);
    if (info->n_overloads == 0)
        return false;
    info->is_namespaced = true;
    skip(checker, node, end + 1);
    return true;
}

static bool resolve_local(CelChecker *checker, uint32_t node) {
    const CelNode *nodes = checker->tree->nodes;

    if (nodes[node].is_absolute)
        return false;
    for (size_t i = checker->scope.n; i-- > 0;) {
        uint32_t binder = checker->scope.items[i];

        if (!str_eq(nodes[binder].name, nodes[node].name))
            continue;
        checker->infos[node].ref = CEL_REF_LOCAL;
        checker->infos[node].binder = binder;
        checker->infos[node].type = checker->infos[binder].type;
        return true;
    }
    return false;
}

static void use_variable(CelChecker *checker, uint32_t node, const CelVariable *variable) {
    CelNodeInfo *info = &checker->infos[node];

    info->ref = variable->is_constant ? CEL_REF_CONSTANT : CEL_REF_VARIABLE;
    info->variable = variable;
    info->constant = variable->value;
    info->type = checker->options->no_check ? &cel_dyn_type : variable->type;
}

/* Resolves the longest declared name at the start of the chain. */
static bool resolve_declared(CelChecker *checker, uint32_t node, uint32_t end) {
    const CelNode *nodes = checker->tree->nodes;
    Str name = end == node ? nodes[node].name : dotted_name(checker, node, end);

    for (uint32_t i = end;; i--) {
        const CelVariable *variable = cel_resolve_variable(checker, name, nodes[node].is_absolute);

        if (variable) {
            skip(checker, node, i);
            use_variable(checker, i, variable);
            return true;
        }
        if (i == node)
            return false;
        name.len -= 1 + nodes[i].name.len;
    }
}

/* A name that is not declared is misspelt, a function without its brackets, a method called as a
 * function or the reverse, or a name of another language. Each gets its own hint. */

#define FIELDS_SHOWN 12 /* a record with more is not listed */

/* A hint, and the text that replaces the name; STR_NULL: no simple replacement. */
typedef struct Suggestion {
    Str hint, instead;
} Suggestion;

static Suggestion did_you_mean(CelChecker *checker, Str name) {
    if (name.len == 0)
        return (Suggestion){0};
    return (Suggestion){
        cel_checker_printf(checker, "did you mean '%.*s'?", STR_FMT(name)), .instead = name};
}

/* Reports at the name of @node. If the suggestion has dots, and @node is the namespace of a
 * function, the fix replaces all of the function's name. */
static void report_name(CelChecker *checker, uint32_t node, Str text, Suggestion suggestion) {
    const CelNode *written = &checker->tree->nodes[node], *last = written;
    bool is_dotted = written->kind == CEL_NODE_IDENT && written->call > 0 &&
                     str_find(suggestion.instead, '.') != SIZE_MAX;

    if (is_dotted)
        last = &checker->tree->nodes[written->call];
    cel_checker_report_at(checker, node, text, suggestion.hint);
    cel_checker_fix(checker, (CelFix){.from = written->at,
                                 .to = last->at + (uint32_t)last->name.len,
                                 .text = suggestion.instead});
}

static Str undeclared(CelChecker *checker, Str name) {
    Str container = cel_env_container(checker->env);

    if (container.len == 0)
        return cel_checker_printf(checker, "undeclared reference to '%.*s'", STR_FMT(name));
    return cel_checker_printf(checker, "undeclared reference to '%.*s' (in container '%.*s')",
        STR_FMT(name), STR_FMT(container));
}

/* Further errors are not shown, so a search among all names is not worth its time. */
static bool is_enough(const CelChecker *checker) {
    return checker->diags->n_errors >= DIAG_MAX;
}

/* Functions that have other names in other languages, and macros: one that is still a call has
 * wrong arguments. */
typedef struct ForeignName {
    Str name, hint;
    const char *takes; /* a macro's arguments, for the message; NULL: not a macro */
    bool declares;     /* names among its arguments may be variables of its own */
    Str meant;         /* the same function here, with the same arguments; empty: none */
} ForeignName;

#define MACRO(word, what, how)                                                                     \
    { .name = STR(word), .hint = STR("write " how), .takes = (what), .declares = true }
#define LOOP(word, it, how)                                                                        \
    { .name = STR(word), .hint = STR("write " how), .declares = true, .meant = STR(it) }
#define WORD(word, it, how)                                                                        \
    { .name = STR(word), .hint = STR("write " how), .meant = STR(it) }

static const ForeignName aliases[] = {
    {.name = STR("has"), .hint = STR("write has(a.b)"), .takes = "the selection of a field"},
    MACRO("all", "a variable and a condition",
        "list.all(x, condition) or map.all(key, value, condition)"),
    MACRO("exists", "a variable and a condition",
        "list.exists(x, condition); has(a.b) asks for a field"),
    MACRO("exists_one", "a variable and a condition", "list.exists_one(x, condition)"),
    MACRO("existsOne", "a variable and a condition", "list.existsOne(x, condition)"),
    MACRO("filter", "a variable and a condition",
        "list.filter(x, condition); of a map, x is the key"),
    MACRO("map", "a variable and a value", "list.map(x, value) or list.map(x, condition, value)"),
    MACRO("transformList", "two variables and a value", "map.transformList(key, value, result)"),
    MACRO("transformMap", "two variables and a value", "map.transformMap(key, value, result)"),
    MACRO("transformMapEntry", "two variables and a map",
        "map.transformMapEntry(key, value, {newKey: newValue})"),
    MACRO("optMap", "a variable and a value", "optional.optMap(x, value)"),
    MACRO("optFlatMap", "a variable and an optional", "optional.optFlatMap(x, optional)"),
    MACRO("sortBy", "a variable and a key", "list.sortBy(x, key)"),
    MACRO("cel.bind", "a name, a value and an expression", "cel.bind(name, value, expression)"),
    LOOP("any", "exists", "list.exists(x, condition)"),
    LOOP("some", "exists", "list.exists(x, condition)"),
    LOOP("every", "all", "list.all(x, condition)"),
    LOOP("forEach", "", "list.map(x, value), or list.all(x, condition)"),
    WORD("len", "size", "size(x)"),
    WORD("length", "size", "size(x)"),
    WORD("count", "size", "size(x)"),
    WORD("lower", "lowerAscii", "text.lowerAscii()"),
    WORD("toLower", "lowerAscii", "text.lowerAscii()"),
    WORD("toLowerCase", "lowerAscii", "text.lowerAscii()"),
    WORD("upper", "upperAscii", "text.upperAscii()"),
    WORD("toUpper", "upperAscii", "text.upperAscii()"),
    WORD("toUpperCase", "upperAscii", "text.upperAscii()"),
    WORD("match", "matches", "text.matches(pattern)"),
    WORD("orElse", "orValue", "optional.orValue(value)"),
    {.name = STR("now"), .hint = STR("an expression has no clock: its time must be given to it")},
    WORD("math.max", "math.greatest", "math.greatest(a, b)"),
    WORD("math.min", "math.least", "math.least(a, b)"),
};

/* NULL: no suggestion for @name. */
static const ForeignName *find_alias(Str name) {
    for (size_t i = 0; i < ELEMENTS_OF(aliases); i++)
        if (str_eq(name, aliases[i].name))
            return &aliases[i];
    return NULL;
}

/* Reports at @node, a call of an undeclared function or its namespace. */
static void report_alias(CelChecker *checker, uint32_t node, const ForeignName *alias) {
    Str text =
        alias->takes && !checker->options->no_macros
            ? cel_checker_printf(checker, "%.*s() takes %s", STR_FMT(alias->name), alias->takes)
            : undeclared(checker, checker->tree->nodes[node].name);

    report_name(checker, node, text,
        (Suggestion){alias->hint, alias->meant.len > 0 ? alias->meant : STR_NULL});
}

/* The root of the receiver of @call, which must have one. */
static uint32_t receiver_of(const CelTree *tree, uint32_t call) {
    uint32_t child = call - 1;

    for (uint32_t i = 1; i < tree->nodes[call].n_children; i++)
        child -= tree->nodes[child].size;
    return child;
}

/* Whether @call is cel.bind(…), which was reported at its "cel". */
static bool is_bind(const CelChecker *checker, uint32_t call) {
    const CelNode *nodes = checker->tree->nodes;
    uint32_t receiver = receiver_of(checker->tree, call);

    return str_is(nodes[call].name, "bind") && nodes[receiver].kind == CEL_NODE_IDENT &&
           str_is(nodes[receiver].name, "cel") &&
           checker->infos[receiver].type->kind == CEL_T_ERROR;
}

/* Whether @node is in the arguments of @call, a macro with wrong arguments. The receiver was
 * checked before. */
static bool is_macro_argument(CelChecker *checker, uint32_t node, uint32_t call) {
    const CelNode *written = &checker->tree->nodes[call];
    const CelOverload *const *overloads;
    const ForeignName *alias;

    if (written->kind != CEL_NODE_CALL || written->is_operator || call + 1 - written->size > node ||
        checker->infos[call].is_namespaced)
        return false;
    if (written->is_receiver && node <= receiver_of(checker->tree, call))
        return false;
    if (written->is_receiver && is_bind(checker, call))
        return true;
    alias = find_alias(written->name);
    return alias && alias->declares &&
           cel_resolve_function(checker, written->name, written->is_absolute, &overloads) == 0;
}

/* Whether @node is an argument of a macro with a wrong form. Names there may be the variables it
 * would declare: the error is the macro, not the names. */
static bool may_be_variable(CelChecker *checker, uint32_t node) {
    if (node < checker->vague_end)
        return true;
    if (checker->options->no_macros || is_enough(checker))
        return false;
    for (uint32_t i = node + 1; i < checker->tree->n_nodes; i++)
        if (is_macro_argument(checker, node, i)) {
            checker->vague_end = i;
            return true;
        }
    return false;
}

void cel_suggest_function(CelChecker *checker, uint32_t node) {
    const CelNode *written = &checker->tree->nodes[node];
    const ForeignName *alias = find_alias(written->name);
    Str nearest = STR_NULL;

    if (!written->is_receiver && cel_env_variable(checker->env, written->name)) {
        cel_checker_report_at(checker, node, undeclared(checker, written->name),
            cel_checker_printf(
                checker, "'%.*s' is a variable: write it without (…)", STR_FMT(written->name)));
        if (written->n_children == 0)
            cel_checker_fix(checker, (CelFix){written->from, written->to, written->name});
        return;
    }
    if (alias) {
        report_alias(checker, node, alias);
        return;
    }
    if (!is_enough(checker))
        nearest = cel_env_nearest_function(checker->env, written->name, written->is_receiver);
    if (nearest.len == 0 && !is_enough(checker))
        nearest = cel_env_nearest_function(checker->env, written->name, !written->is_receiver);
    report_name(checker, node, undeclared(checker, written->name), did_you_mean(checker, nearest));
}

/* The variable, of an open macro or declared, that is closest to @name. */
static Str nearest_variable(CelChecker *checker, Str name) {
    if (name.len < 2) /* every other letter is as close */
        return STR_NULL;
    for (size_t i = checker->scope.n; i-- > 0;) {
        Str local = checker->tree->nodes[checker->scope.items[i]].name;

        if (str_nearest(name, &local, 1).len > 0)
            return local;
    }
    return cel_env_nearest_variable(checker->env, name);
}

static bool is_word(char c) {
    return ascii_is_alnum(c) || c == '_';
}

/* The first byte that is not a space, from @at on (@by 1) or before @at (@by -1); 0: none. */
static char next_byte(Str source, size_t at, int by) {
    size_t i = by < 0 ? at - 1 : at;

    while (i < source.len && source.ptr[i] == ' ')
        i += (size_t)by;
    return i < source.len ? source.ptr[i] : '\0';
}

/* labels.app.kubernetes.io/name is parsed as a division: finds the map that the key is selected
 * from. UINT32_MAX: none. */
static uint32_t map_before(CelChecker *checker, uint32_t node) {
    uint32_t map = node - 1;

    while (map > 0 && checker->tree->nodes[map].kind == CEL_NODE_SELECT &&
           cel_checker_type(checker, map)->kind != CEL_T_MAP)
        map--;
    return cel_checker_type(checker, map)->kind == CEL_T_MAP ? map : UINT32_MAX;
}

/* Suggests m['a-b/c'] for m.a-b/c: takes all characters behind @map that a key may have. */
static void fix_key(CelChecker *checker, uint32_t node, uint32_t map) {
    Str source = checker->tree->source;
    uint32_t to = checker->tree->nodes[node].to;
    Str key;

    while (to < source.len && (is_word(source.ptr[to]) || str_find(STR("-./"), source.ptr[to]) < 3))
        to++;
    key = str_skip(str_take(source, to), checker->tree->nodes[map].to + 1);
    cel_checker_fix(checker, (CelFix){checker->tree->nodes[map].to, to,
                                 cel_checker_printf(checker, "['%.*s']", STR_FMT(key))});
}

/* {a: 1}, labels[app]: a key that was meant to be text. */
static Suggestion key_hint(CelChecker *checker, uint32_t node) {
    const CelNode *written = &checker->tree->nodes[node];
    Str source = checker->tree->source;
    char before = next_byte(source, written->from, -1), after = next_byte(source, written->to, 1);
    bool is_key = (before == '{' || before == ',') && after == ':';

    if (!is_key && !(before == '[' && after == ']'))
        return (Suggestion){0};
    return (Suggestion){cel_checker_printf(checker,
                            is_key ? "a key that is text is written \"%.*s\""
                                   : "a key that is text is written [\"%.*s\"]",
                            STR_FMT(written->name)),
        cel_checker_printf(checker, "'%.*s'", STR_FMT(written->name))};
}

/* The '/' or '-' that joins this name to the one before it; 0: none. */
static char joint_before(CelChecker *checker, uint32_t node) {
    const CelNode *written = &checker->tree->nodes[node];
    Str source = checker->tree->source;
    char joint = written->from > 0 ? source.ptr[written->from - 1] : '\0';

    return (joint == '/' || joint == '-') && written->from > 1 &&
                   is_word(source.ptr[written->from - 2])
               ? joint
               : '\0';
}

/* A hint for an undeclared name. As the key of a map it was most likely meant as text. */
static Suggestion name_hint(CelChecker *checker, uint32_t node, Str dotted) {
    Str name = checker->tree->nodes[node].name;
    bool is_after_map = node > 0 && cel_checker_type(checker, node - 1)->kind == CEL_T_MAP;
    Suggestion suggestion = is_after_map ? key_hint(checker, node) : (Suggestion){0};

    if (suggestion.hint.len > 0)
        return suggestion;
    if (dotted.len > 0)
        suggestion = did_you_mean(checker, cel_env_nearest_function(checker->env, dotted, false));
    if (suggestion.hint.len == 0 && (cel_env_has_function(checker->env, name, false) ||
                                        cel_env_has_function(checker->env, name, true)))
        suggestion.hint = cel_checker_printf(
            checker, "'%.*s' is a function: %.*s(…)", STR_FMT(name), STR_FMT(name));
    if (suggestion.hint.len == 0)
        suggestion = did_you_mean(checker, nearest_variable(checker, name));
    return suggestion.hint.len > 0 ? suggestion : key_hint(checker, node);
}

/* Reports an undeclared name; @dotted is all of it, with selections. */
static void suggest_name(CelChecker *checker, uint32_t node, Str dotted) {
    Str name = checker->tree->nodes[node].name;
    Suggestion suggestion;
    const ForeignName *alias;
    uint32_t map, call;
    char joint;

    if (is_enough(checker)) {
        cel_checker_report_at(checker, node, undeclared(checker, name), STR_NULL);
        return;
    }
    /* math.sqroot(2): the function's full name; empty: the name is no namespace of a call. */
    call = checker->tree->nodes[node].call;
    dotted = call == 0 ? STR_NULL
                       : cel_checker_printf(checker, "%.*s.%.*s", STR_FMT(dotted),
                             STR_FMT(checker->tree->nodes[call].name));
    alias = find_alias(dotted);
    if (alias) {
        report_alias(checker, node, alias);
        return;
    }
    joint = joint_before(checker, node);
    map = joint ? map_before(checker, node) : UINT32_MAX;
    suggestion = map == UINT32_MAX ? name_hint(checker, node, dotted) : (Suggestion){0};
    if (suggestion.hint.len == 0 && joint) {
        cel_checker_report_at(checker, node, undeclared(checker, name),
            cel_checker_printf(checker, "a key with '%c' in it is selected by a[\"…\"]", joint));
        if (map != UINT32_MAX)
            fix_key(checker, node, map);
        return;
    }
    report_name(checker, node, undeclared(checker, name), suggestion);
}

/* Whether the field is declared only so that reading it is refused with a reason. */
static bool is_refused(const CelField *field) {
    return field->type->kind == CEL_T_ERROR;
}

/* "it has a, b, c"; STR_NULL if there are many. */
static Str list_fields(CelChecker *checker, const CelRecordType *record) {
    _cleanup_(buf_done) Buf out = BUF_INIT(4096);

    if (record->n_fields == 0 || record->n_fields > FIELDS_SHOWN)
        return STR_NULL;
    for (uint32_t i = 0; i < record->n_fields; i++)
        if (!is_refused(&record->fields[i]))
            buf_printf(
                &out, "%s%.*s", out.len > 0 ? ", " : "it has ", STR_FMT(record->fields[i].name));
    return arena_copy(checker->arena, buf_str(&out));
}

static Str nearest_field(const CelRecordType *record, Str name) {
    Str best = STR_NULL;

    for (uint32_t i = 0; i < record->n_fields; i++)
        if (!is_refused(&record->fields[i]))
            best = cel_nearer(name, best, record->fields[i].name);
    return best;
}

/* node.labels: a field of a field that is a record, like metadata.labels. */
static Str nested_field(CelChecker *checker, const CelRecordType *record, Str name) {
    for (uint32_t i = 0; i < record->n_fields; i++) {
        const CelField *field = &record->fields[i];
        const CelRecordType *inner = field->type->kind == CEL_T_RECORD ? field->type->record : NULL;
        uint32_t found = inner ? cel_record_find(inner, name) : UINT32_MAX;

        if (found != UINT32_MAX && !is_refused(&inner->fields[found]))
            return cel_checker_printf(checker, "%.*s.%.*s", STR_FMT(field->name), STR_FMT(name));
    }
    return STR_NULL;
}

static Suggestion field_hint(CelChecker *checker, const CelRecordType *record, Str name) {
    Str nested = nested_field(checker, record, name);
    Str nearest = nested.len > 0 ? nested : nearest_field(record, name);
    Str fields = list_fields(checker, record);
    uint32_t refused = cel_record_find(record, name);
    Suggestion suggestion = did_you_mean(checker, nearest);

    if (refused != UINT32_MAX)
        return (Suggestion){.hint = record->fields[refused].about};
    if (nearest.len == 0)
        return (Suggestion){.hint = fields};
    if (nested.len == 0 && fields.len > 0)
        suggestion.hint =
            cel_checker_printf(checker, "%.*s %.*s", STR_FMT(suggestion.hint), STR_FMT(fields));
    return suggestion;
}

void cel_suggest_field(CelChecker *checker, uint32_t node, const CelRecordType *record) {
    Str name = checker->tree->nodes[node].name;

    report_name(checker, node,
        cel_checker_printf(
            checker, "undefined field '%.*s' of %.*s", STR_FMT(name), STR_FMT(record->name)),
        field_hint(checker, record, name));
}

/* Whether there is a method @name for @type without arguments. */
static bool is_method(CelChecker *checker, Str name, const CelType *type) {
    const CelOverload *const *overloads;
    size_t n = cel_env_overloads(checker->env, name, &overloads);

    for (size_t i = 0; i < n; i++)
        if (overloads[i]->is_receiver && overloads[i]->n_args == 1 &&
            overloads[i]->args[0]->kind == type->kind)
            return true;
    return false;
}

void cel_suggest_selection(CelChecker *checker, uint32_t node, const CelType *type) {
    Str name = checker->tree->nodes[node].name;
    Suggestion suggestion = {0};
    uint32_t map = type->kind == CEL_T_STRING ? map_before(checker, node) : UINT32_MAX;

    if (cel_env_has_function(checker->env, name, true))
        suggestion.hint = cel_checker_printf(
            checker, "'%.*s' is a function: .%.*s()", STR_FMT(name), STR_FMT(name));
    else if (type->kind == CEL_T_LIST)
        suggestion.hint = STR("a list has elements: x[0], x.map(e, …), x.exists(e, …)");
    else if (map != UINT32_MAX)
        suggestion.hint = STR("a key with '.' in it is selected by a[\"…\"]");
    if (is_method(checker, name, type))
        suggestion.instead = cel_checker_printf(checker, "%.*s()", STR_FMT(name));
    report_name(checker, node,
        cel_checker_printf(checker, "type '%.*s' does not support field selection",
            STR_FMT(cel_checker_type_text(checker, type))),
        suggestion);
    if (map != UINT32_MAX && suggestion.instead.len == 0)
        fix_key(checker, node, map);
}

void cel_resolve_ident(CelChecker *checker, uint32_t node) {
    uint32_t end = chain_end(checker->tree, node);
    CelNodeInfo *info = &checker->infos[node];

    if (resolve_namespace(checker, node, end) || resolve_local(checker, node) ||
        resolve_declared(checker, node, end))
        return;
    if (checker->options->no_check) {
        info->ref = CEL_REF_UNKNOWN;
        info->type = &cel_dyn_type;
        return;
    }
    info->type = &cel_error_type;
    if (!may_be_variable(checker, node))
        suggest_name(checker, node, dotted_name(checker, node, end));
}
