/*
 * Warns of look-ups that fail if something is missing: a label, an annotation, a resource by its
 * quantity, a field that the API may leave out.
 *
 * A look-up is guarded if a condition next to it tests for the same: `'a' in m && m['a'] …`,
 * `!has(x.f) || x.f …`, `has(x.f) ? x.f : …`, a filter before a map; or for a format that '' does
 * not have: `isSemver(m[?'a'].orValue('')) && semver(m['a']) …`. Guards are found by their text; in
 * doubt a condition is a guard, because a wrong warning is worse than none.
 */

#include "policy/lint-internal.h"

/* A look-up, by its texts. */
typedef struct LookUp {
    uint32_t node;
    Str from;    /* the map or record */
    Str key;     /* constant key; STR_NULL: computed */
    Str spelled; /* source text of the key */
} LookUp;

static bool is_string(const LintExpression *x, uint32_t i, Str text) {
    Str string = lint_string(x, i);

    return string.ptr && str_eq(string, text);
}

/* Whether node @map is the map of a look-up, and node @key its key. */
static bool is_same(const LintExpression *x, uint32_t map, uint32_t key, const LookUp *look_up) {
    return str_eq(lint_text(x, map), look_up->from) &&
           (look_up->key.ptr ? is_string(x, key, look_up->key)
                             : str_eq(lint_text(x, key), look_up->spelled));
}

/* Whether node @i is the same look-up as an optional: m[?'key'], m.?key. */
static bool is_optional(const LintExpression *x, uint32_t i, const LookUp *look_up) {
    const CelNode *node = &x->tree->nodes[i];

    if (node->kind == CEL_NODE_OPT_SELECT)
        return str_eq(node->name, look_up->key) && str_eq(lint_text(x, i - 1), look_up->from);
    return lint_is_call(x->tree, i, "_[?_]") &&
           is_same(x, lint_child(x->tree, i, 0), lint_child(x->tree, i, 1), look_up);
}

/* Whether node @i is isSemver(m[?'key'].orValue('')) or m[?'key'].hasValue(). */
static bool is_optional_guard(const LintExpression *x, uint32_t i, const LookUp *look_up) {
    /* Functions that are false for ''. */
    static const Str names[] = {
        STR("isSemver"), STR("isIP"), STR("isCIDR"), STR("isQuantity"), STR("isURL")};
    const CelNode *node = &x->tree->nodes[i];
    uint32_t value;

    if (lint_is_call(x->tree, i, "hasValue"))
        return is_optional(x, lint_child(x->tree, i, 0), look_up);
    if (node->kind != CEL_NODE_CALL || !str_is_one_of(node->name, names, ELEMENTS_OF(names)))
        return false;
    value = lint_child(x->tree, i, 0);
    return lint_is_call(x->tree, value, "orValue") &&
           is_optional(x, lint_child(x->tree, value, 0), look_up) &&
           is_string(x, lint_child(x->tree, value, 1), STR(""));
}

static bool is_guard(const LintExpression *x, uint32_t i, const LookUp *look_up) {
    const CelNode *node = &x->tree->nodes[i];

    if (node->kind == CEL_NODE_TEST)
        return str_eq(node->name, look_up->key) && str_eq(lint_text(x, i - 1), look_up->from);
    if (lint_is_call(x->tree, i, "@in"))
        return is_same(x, lint_child(x->tree, i, 1), lint_child(x->tree, i, 0), look_up);
    return is_optional_guard(x, i, look_up);
}

/* Whether node @i is inside an odd number of `!` within @root. */
static bool is_negated(const LintExpression *x, uint32_t i, uint32_t root) {
    bool negated = false;

    for (;; i = x->parents[i]) {
        negated ^= lint_is_call(x->tree, i, "!_");
        if (i == root)
            return negated;
    }
}

typedef enum Polarity { GUARDS_IF_TRUE, GUARDS_IF_FALSE, GUARDS_EITHER } Polarity;

static bool has_guard(
    const LintExpression *x, uint32_t root, const LookUp *look_up, Polarity polarity) {
    for (uint32_t i = root - x->tree->nodes[root].size + 1; i <= root; i++)
        if (is_guard(x, i, look_up) &&
            (polarity == GUARDS_EITHER || is_negated(x, i, root) == (polarity == GUARDS_IF_FALSE)))
            return true;
    return false;
}

/* Whether a child of @parent other than @child guards the look-up. */
static bool is_guarded_in(
    const LintExpression *x, uint32_t parent, uint32_t child, const LookUp *look_up) {
    const CelNode *node = &x->tree->nodes[parent];
    Polarity polarity = node->kind == CEL_NODE_AND  ? GUARDS_IF_TRUE
                        : node->kind == CEL_NODE_OR ? GUARDS_IF_FALSE
                                                    : GUARDS_EITHER;
    uint32_t other = parent - 1;

    if (polarity == GUARDS_EITHER && node->kind != CEL_NODE_CONDITIONAL &&
        node->kind < CEL_NODE_ALL)
        return false;
    for (uint32_t n = node->n_children; n > 0; n--) {
        if (other != child && has_guard(x, other, look_up, polarity))
            return true;
        other -= x->tree->nodes[other].size;
    }
    return false;
}

static bool is_guarded(const LintExpression *x, const LookUp *look_up) {
    uint32_t child = look_up->node;

    for (uint32_t parent = x->parents[child]; parent != UINT32_MAX; parent = x->parents[parent]) {
        if (is_guarded_in(x, parent, child, look_up))
            return true;
        child = parent;
    }
    return false;
}

/* Follows names of cel.bind() to their values; returns other nodes unchanged. */
static uint32_t meaning_of(const LintExpression *x, uint32_t i) {
    while (x->tree->nodes[i].kind == CEL_NODE_IDENT && x->notes[i].ref == CEL_REF_LOCAL &&
           x->tree->nodes[x->notes[x->notes[i].binder].binder].kind == CEL_NODE_BIND)
        i = x->notes[i].binder - 1; /* the value comes before its name */
    return i;
}

/* The consequence of an error, for messages. */
static const char *consequence_of(LintRole role) {
    static const char *const texts[] = {
        [LINT_VARIABLE] = "and in every rule that uses it",
        [LINT_MATCH] = "and the policy does not apply",
        [LINT_FILTER] = "and the node is rejected",
        [LINT_UNRESOLVABLE] = "and the node is rejected as unresolvable",
        [LINT_SCORE] = "and the node scores 0",
        [LINT_MESSAGE] = "and there is no message",
        [LINT_ANNOTATION] = "and the annotation is left out",
    };

    return texts[role];
}

/* Whether a map may lack a key: maps of objects, except those with defaults (amounts). */
static bool is_partial(const LintExpression *x, uint32_t map) {
    const CelType *type = x->notes[map].type;
    uint8_t kind;

    map = meaning_of(x, map);
    kind = x->tree->nodes[map].kind;
    if (type->kind != CEL_T_MAP || cel_type_param(type, 1)->kind == CEL_T_DOUBLE)
        return false;
    if (lint_is_call(x->tree, map, "nodesByLabel"))
        return true;
    return kind == CEL_NODE_SELECT && x->notes[map].field != UINT32_MAX &&
           x->notes[map - 1].ref != CEL_REF_CONSTANT;
}

static Str or_on_error(const LintExpression *x) {
    return x->role == LINT_FILTER || x->role == LINT_UNRESOLVABLE || x->role == LINT_SCORE ||
                   x->role == LINT_ANNOTATION
               ? STR("; or set onError")
               : STR("");
}

/* The source text of a default for a missing entry. */
static const char *default_of(const LintExpression *x, uint32_t map, uint32_t look_up) {
    uint32_t parent = x->parents[look_up];

    if (cel_type_param(x->notes[map].type, 1)->kind != CEL_T_STRING)
        return "0";
    return parent != UINT32_MAX &&
                   (lint_is_call(x->tree, parent, "double") || lint_is_call(x->tree, parent, "int"))
               ? "'0'"
               : "''";
}

static LintHint suggest(
    const LintExpression *x, uint32_t map, const LookUp *look_up, bool is_resource) {
    const char *otherwise = default_of(x, map, look_up->node);
    Arena *arena = x->lint->scratch;
    Str text;

    if (is_resource)
        return LINT_HINT(arena_printf(
            arena, "node.allocatable[%.*s] is a number, and 0.0 there", STR_FMT(look_up->spelled)));
    text = arena_printf(arena, "%.*s[?%.*s].orValue(%s)", STR_FMT(look_up->from),
        STR_FMT(look_up->spelled), otherwise);
    return lint_instead(x, look_up->node, text,
        arena_printf(
            arena, "%.*s gives %s there%.*s", STR_FMT(text), otherwise, STR_FMT(or_on_error(x))));
}

static void warn_of_key(const LintExpression *x, uint32_t map, const LookUp *look_up) {
    const CelRecordType *record = NULL;
    Str field = lint_field(x, meaning_of(x, map), &record);
    Str object = record ? record->name : STR_NULL;
    bool is_pod = str_has_prefix(object, STR("NodePod")) || str_has_prefix(object, STR("Pod"));
    bool is_resource = str_is(field, "allocatable");
    LintHint hint = suggest(x, map, look_up, is_resource);

    if (look_up->key.ptr && (is_pod || str_has_prefix(object, STR("Node"))))
        lint_warn(x, look_up->node, hint, "on a %s without %s \"%.*s\" this is an error, %s",
            is_pod ? "pod" : "node",
            str_is(field, "labels")        ? "the label"
            : str_is(field, "annotations") ? "the annotation"
            : is_resource                  ? "the resource"
                                           : "the entry",
            STR_FMT(look_up->key), consequence_of(x->role));
    else
        lint_warn(x, look_up->node, hint, "where the key is missing this is an error, %s",
            consequence_of(x->role));
}

static void check_key(const LintExpression *x, uint32_t i) {
    LookUp look_up = {.node = i};
    uint32_t map = lint_look_up(x, i, &look_up.key);

    if (map == UINT32_MAX || !is_partial(x, map))
        return;
    /* The variable of a loop as key: probably it has only existing keys. */
    if (lint_is_call(x->tree, i, "_[_]") && x->notes[i - 1].ref == CEL_REF_LOCAL &&
        x->tree->nodes[x->notes[x->notes[i - 1].binder].binder].kind != CEL_NODE_BIND)
        return;
    look_up.from = lint_text(x, map);
    look_up.spelled = x->tree->nodes[i].kind == CEL_NODE_SELECT
                          ? arena_printf(x->lint->scratch, "'%.*s'", STR_FMT(look_up.key))
                          : lint_text(x, i - 1);
    if (!is_guarded(x, &look_up))
        warn_of_key(x, map, &look_up);
}

/* Whether node @i selects from `metrics` or `workload.metrics`, also through cel.bind(). */
static bool is_of_metrics(const LintExpression *x, uint32_t i) {
    const SchemaMetrics *metrics = &x->expression->scope->metrics;
    const CelType *from = x->tree->nodes[i].kind == CEL_NODE_SELECT ? x->notes[i - 1].type : NULL;

    return x->notes[i].field != UINT32_MAX && from && from->kind == CEL_T_RECORD &&
           (from->record == &metrics->type || from->record == &metrics->workload_type);
}

/* Whether node @i fails if a metric is absent, because it reads its value or its age; and the
 * metric. */
static bool needs_metric(const LintExpression *x, uint32_t i, LookUp *ret) {
    const SchemaMetrics *metrics = &x->expression->scope->metrics;
    uint32_t metric = schema_metric_of(metrics, &x->notes[i]);

    if (metric < metrics->type.n_fields)
        *ret = (LookUp){.node = i, .from = STR("metrics"), .key = metrics->fields[metric].name};
    else if (is_of_metrics(x, i))
        *ret = (LookUp){.node = i, .from = lint_text(x, i - 1), .key = x->tree->nodes[i].name};
    else
        return false;
    return true;
}

/* Whether an earlier node needs the same metric: one warning is enough. */
static bool is_reported(const LintExpression *x, const LookUp *look_up) {
    LookUp before;

    for (uint32_t i = 0; i < look_up->node; i++)
        if (needs_metric(x, i, &before) && str_eq(before.from, look_up->from) &&
            str_eq(before.key, look_up->key))
            return true;
    return false;
}

static void check_metric(const LintExpression *x, uint32_t i) {
    bool is_rule = x->role == LINT_FILTER || x->role == LINT_UNRESOLVABLE || x->role == LINT_SCORE;
    LookUp look_up;
    Str text;

    if (x->handling >= LINT_HANDLES_MISSING || !needs_metric(x, i, &look_up) ||
        is_guarded(x, &look_up) || is_reported(x, &look_up))
        return;
    text = arena_printf(x->lint->scratch, "%.*s.%.*s", STR_FMT(look_up.from), STR_FMT(look_up.key));
    lint_warn(x, i,
        LINT_HINT(arena_printf(x->lint->scratch, "%shas(%.*s) in the expression",
            !is_rule                ? ""
            : x->role == LINT_SCORE ? "onMissing: a number, or "
                                    : "onMissing: allow, or ",
            STR_FMT(text))),
        "where %.*s is absent, on every node if its source is down, this is an error, %s",
        STR_FMT(text), consequence_of(x->role));
}

/* Checks a field that may be absent. (The API server always sets creationTimestamp.) */
static void check_field(const LintExpression *x, uint32_t i) {
    LookUp look_up = {.node = i};
    const CelRecordType *record = NULL;

    look_up.key = lint_field(x, i, &record);
    if (!look_up.key.ptr || record->fields[x->notes[i].field].always ||
        str_is(look_up.key, "creationTimestamp") || is_of_metrics(x, i))
        return;
    look_up.from = lint_text(x, i - 1);
    if (!is_guarded(x, &look_up))
        lint_warn(x, i,
            LINT_HINT(arena_printf(x->lint->scratch, "has(%.*s) tests whether it is set%.*s",
                STR_FMT(lint_text(x, i)), STR_FMT(or_on_error(x)))),
            "where %.*s is not set this is an error, %s", STR_FMT(lint_text(x, i)),
            consequence_of(x->role));
}

void lint_look_ups(const LintExpression *x) {
    if (x->handling == LINT_HANDLES_ERRORS)
        return;
    for (uint32_t i = 0; i < x->tree->n_nodes; i++) {
        check_key(x, i);
        check_metric(x, i);
        if (x->tree->nodes[i].kind == CEL_NODE_SELECT)
            check_field(x, i);
    }
}
