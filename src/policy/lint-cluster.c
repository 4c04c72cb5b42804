/*
 * Warns of names in a policy that no object of a cluster has: resources, labels and their values,
 * namespaces.
 *
 * Of built-in rules, the generated CEL is checked. Only conditions that can never hold with such a
 * name count: `labels[?'pool'].orValue('') == 'gpu'`, `'pool' in labels`, not their negations.
 */

#include "policy/lint-internal.h"

#define SCRATCH_BUDGET ((size_t)64 * 1024 * 1024)

typedef struct ClusterLint {
    Lint lint;
    const NodeTable *table;
    const Pod *const *pods;
    size_t n_pods;
} ClusterLint;

/* The objects whose labels a condition reads. */
typedef enum Labelled { LABELS_OF_NODES, LABELS_OF_PODS } Labelled;
static const char *const labelled_words[] = {"node", "pod"};

/* The nearer to @word of @best, which may be empty, and @other. */
static Str nearer(Str word, Str best, Str other) {
    Str both[] = {best, other};
    size_t from = str_is_empty(best);

    return str_nearest(word, both + from, 2 - from);
}

/* Whether an object has the label @key, with @value (NULL: any); if not, *ret_meant is the name
 * that was probably meant, or STR_NULL. */
static bool has_label(
    const ClusterLint *lint, Labelled whose, Str key, const Str *value, Str *ret_meant) {
    size_t n = whose == LABELS_OF_NODES ? lint->table->n_rows : lint->n_pods;
    Str meant = STR_NULL;

    for (size_t i = 0; i < n; i++) {
        const Labels *labels = whose == LABELS_OF_NODES ? table_labels(lint->table, (uint32_t)i)
                                                        : &lint->pods[i]->labels;
        const Str *found = labels_find(labels, key);

        if (found && (!value || str_eq(*found, *value)))
            return true;
        if (found)
            meant = nearer(*value, meant, *found);
        for (size_t k = 0; !value && k < labels->n; k++)
            meant = nearer(key, meant, labels->items[k].key);
    }
    *ret_meant = meant;
    return false;
}

static bool has_namespace(const ClusterLint *lint, Str name, Str *ret_meant) {
    *ret_meant = STR_NULL;
    for (size_t i = 0; i < lint->n_pods; i++) {
        if (str_eq(lint->pods[i]->namespace, name))
            return true;
        *ret_meant = nearer(name, *ret_meant, lint->pods[i]->namespace);
    }
    return false;
}

/* The first scalar with @text in or below @node, not before @begin; NULL: none. Recursion is
 * limited by YAML_DEPTH_MAX. */
static const YamlNode *find_scalar(const YamlNode *node, Str text, const Place *begin) {
    const YamlNode *found = NULL;

    for (size_t i = 0; !found && i < node->n; i++) {
        if (node->kind == YAML_MAPPING)
            found = find_scalar(node->pairs[i].key, text, begin);
        if (!found)
            found = find_scalar(yaml_child(node, i), text, begin);
    }
    if (!yaml_is_scalar(node))
        return found;
    return str_eq(node->text, text) &&
                   (node->place.line > begin->line ||
                       (node->place.line == begin->line && node->place.column >= begin->column))
               ? node
               : NULL;
}

static bool is_reported(const DiagList *diags, const Place *place, Str text) {
    for (size_t i = 0; i < diags->diags.n; i++) {
        const Diag *diag = &diags->diags.items[i];

        if (diag->place.line == place->line && diag->place.column == place->column &&
            str_eq(diag->place.file, place->file) && str_eq(diag->text, text))
            return true;
    }
    return false;
}

/* Warns at the first scalar @name of the policy file from @begin on. */
static void warn_in_file(
    const ClusterLint *lint, const Place *begin, Str name, Str meant, Str text) {
    const YamlNode *at = find_scalar(lint->lint.policy->document, name, begin);
    DiagList *diags = lint->lint.reader->diags;
    Place place = at ? at->place : *begin;

    if (is_reported(diags, &place, text))
        return;
    diag_add(diags, DIAG_WARNING, place, lint->lint.policy->source, text,
        meant.len > 0 ? arena_printf(lint->lint.scratch, "did you mean \"%.*s\"?", STR_FMT(meant))
                      : STR("right only if such a name is yet to come"));
    if (meant.len > 0 && at && at->is_plain)
        diag_fix(diags, place, meant);
}

/* Warns about @name, a literal or a selected key at node @i of the expression. */
static void warn_of(
    const ClusterLint *lint, const LintExpression *x, uint32_t i, Str name, Str meant, Str text) {
    Arena *arena = lint->lint.scratch;
    LintHint hint = LINT_HINT(STR("right only if such a name is yet to come"));

    if (x->expression->is_built_in) {
        warn_in_file(lint, &x->expression->place, name, meant, text);
        return;
    }
    if (meant.len > 0)
        hint.text = arena_printf(arena, "did you mean '%.*s'?", STR_FMT(meant));
    if (meant.len > 0 && x->tree->nodes[i].kind == CEL_NODE_LITERAL)
        hint = lint_instead(x, i, arena_printf(arena, "'%.*s'", STR_FMT(meant)), hint.text);
    lint_warn(x, i, hint, "%.*s", STR_FMT(text));
}

static void check_key(
    const ClusterLint *lint, const LintExpression *x, uint32_t i, Labelled whose, Str key) {
    Str meant;

    if (!has_label(lint, whose, key, NULL, &meant))
        warn_of(lint, x, i, key, meant,
            arena_printf(lint->lint.scratch, "no %s of the cluster has the label \"%.*s\"",
                labelled_words[whose], STR_FMT(key)));
}

/* Whether node @i is a map of labels, and of which objects. */
static bool is_labels(const LintExpression *x, uint32_t i, Labelled *ret) {
    const CelRecordType *record = NULL;
    Str field = lint_field(x, i, &record);

    if (!str_is(field, "labels") || str_is(record->name, "NamespaceMetadata"))
        return false;
    *ret = str_is(record->name, "NodeMetadata") ? LABELS_OF_NODES : LABELS_OF_PODS;
    return true;
}

/* Whether node @i is labels['key'], labels.key or labels[?'key'].orValue(''); returns the key and
 * its node. */
static bool is_label(
    const LintExpression *x, uint32_t i, Labelled *ret_whose, uint32_t *ret_key, Str *ret) {
    const CelNode *node = &x->tree->nodes[i];

    if (lint_is_call(x->tree, i, "orValue") && lint_string(x, i - 1).ptr &&
        lint_string(x, i - 1).len == 0) {
        i = lint_child(x->tree, i, 0);
        node = &x->tree->nodes[i];
    }
    if ((node->kind == CEL_NODE_SELECT || node->kind == CEL_NODE_OPT_SELECT) &&
        is_labels(x, i - 1, ret_whose)) {
        *ret_key = i;
        *ret = node->name;
        return true;
    }
    if ((!lint_is_call(x->tree, i, "_[_]") && !lint_is_call(x->tree, i, "_[?_]")) ||
        !lint_string(x, i - 1).ptr || !is_labels(x, lint_child(x->tree, i, 0), ret_whose))
        return false;
    *ret_key = i - 1;
    *ret = lint_string(x, i - 1);
    return true;
}

/* Whether node @i is inside any `!`. */
static bool is_negated(const LintExpression *x, uint32_t i) {
    for (; i != UINT32_MAX; i = x->parents[i])
        if (lint_is_call(x->tree, i, "!_"))
            return true;
    return false;
}

/* Checks label == 'value' and label in ['a', 'b']: node @literal is the value or the list. */
static void check_values(
    const ClusterLint *lint, const LintExpression *x, uint32_t label, uint32_t literal) {
    const CelNode *list = &x->tree->nodes[literal];
    bool is_list = list->kind == CEL_NODE_LIST;
    uint32_t n = is_list ? list->n_children : 1, key_at, first = UINT32_MAX;
    Str key, meant = STR_NULL, value = STR_NULL;
    Labelled whose;

    if (!is_label(x, label, &whose, &key_at, &key))
        return;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t at = is_list ? lint_child(x->tree, literal, k) : literal;
        Str other = lint_string(x, at), near;

        if (other.len == 0 || has_label(lint, whose, key, &other, &near))
            return;
        if (first == UINT32_MAX) {
            first = at;
            value = other;
            meant = near;
        }
    }
    if (!has_label(lint, whose, key, NULL, &(Str){0}))
        check_key(lint, x, key_at, whose, key);
    else if (first != UINT32_MAX)
        warn_of(lint, x, first, value, meant,
            arena_printf(lint->lint.scratch,
                "no %s of the cluster has the label \"%.*s\" with the value \"%.*s\"%s",
                labelled_words[whose], STR_FMT(key), STR_FMT(value),
                n > 1 ? ", or another of the list" : ""));
}

/* Checks a condition, or a function that takes the key of a label. */
static void check_call(const ClusterLint *lint, const LintExpression *x, uint32_t i) {
    const CelTree *tree = x->tree;
    uint32_t left, right;
    Labelled whose;

    if (tree->nodes[i].n_children != 2)
        return;
    left = lint_child(tree, i, 0);
    right = lint_child(tree, i, 1);
    if ((lint_is_call(tree, i, "domain") || lint_is_call(tree, i, "domains") ||
            lint_is_call(tree, i, "nodesByLabel")) &&
        lint_string(x, right).ptr) {
        check_key(lint, x, right, LABELS_OF_NODES, lint_string(x, right));
        return;
    }
    if (is_negated(x, i))
        return;
    if (lint_is_call(tree, i, "_==_")) {
        check_values(lint, x, left, right);
        check_values(lint, x, right, left);
    } else if (lint_is_call(tree, i, "@in") && is_labels(x, right, &whose) &&
               lint_string(x, left).ptr) {
        check_key(lint, x, left, whose, lint_string(x, left));
    } else if (lint_is_call(tree, i, "@in")) {
        check_values(lint, x, left, right);
    }
}

/* Checks node.free['example.com/foo'], not Kubernetes' own resources, which are always right. */
static void check_resource(const ClusterLint *lint, const LintExpression *x, uint32_t i) {
    const NodeTable *table = lint->table;
    Str key = STR_NULL;
    uint32_t map = lint_look_up(x, i, &key);

    if (map == UINT32_MAX || str_find(key, '/') == SIZE_MAX || !lint_is_amounts(x, map) ||
        table_find_resource(table, key) != SIZE_MAX)
        return;
    for (size_t k = 0; k < lint->n_pods; k++)
        if (resources_find(&lint->pods[k]->requests, key))
            return;
    warn_of(lint, x, x->tree->nodes[i].kind == CEL_NODE_SELECT ? i : i - 1, key,
        str_nearest(key, table->resources, table->n_resources),
        arena_printf(lint->lint.scratch,
            "no node of the cluster offers the resource \"%.*s\", and no pod requests it",
            STR_FMT(key)));
}

static void check_expression(void *context, const Policy *policy, const Expression *expression) {
    ClusterLint *lint = context;
    LintExpression x;

    if (expression->type == EXPRESSION_STRING) /* messages repeat names of conditions */
        return;
    lint->lint.policy = policy;
    lint->lint.reader->source = policy->source;
    if (lint_open(&lint->lint, expression, LINT_FILTER, &x))
        for (uint32_t i = 0; i < x.tree->n_nodes; i++) {
            if (x.tree->nodes[i].kind == CEL_NODE_CALL)
                check_call(lint, &x, i);
            check_resource(lint, &x, i);
        }
}

static bool is_met(const ClusterLint *lint, const Requirement *one) {
    for (size_t i = 0; i < lint->n_pods; i++)
        if (requirement_matches(one, labels_find(&lint->pods[i]->labels, one->key)))
            return true;
    return false;
}

static void check_requirement(const ClusterLint *lint, const Place *begin, const Requirement *one) {
    Str meant = STR_NULL, value = one->op == SELECTOR_IN ? one->values[0] : STR_NULL;
    bool has_key = has_label(lint, LABELS_OF_PODS, one->key, NULL, &meant);

    if (has_key && value.ptr)
        (void)has_label(lint, LABELS_OF_PODS, one->key, &value, &meant);
    if (has_key && value.ptr)
        warn_in_file(lint, begin, value, meant,
            arena_printf(lint->lint.scratch,
                "no pod of the cluster has the label \"%.*s\" with the value \"%.*s\": the policy "
                "applies to none",
                STR_FMT(one->key), STR_FMT(value)));
    else
        warn_in_file(lint, begin, one->key, meant,
            arena_printf(lint->lint.scratch,
                "no pod of the cluster meets the requirement on the label \"%.*s\": the policy "
                "applies to none",
                STR_FMT(one->key)));
}

static void check_match(const ClusterLint *lint) {
    const Match *match = &lint->lint.policy->match;
    const YamlNode *at =
        yaml_find(yaml_find(lint->lint.policy->document, STR("spec")), STR("match"));
    size_t n_before = lint->lint.reader->diags->n_warnings;
    bool is_any = false;
    Str meant;

    if (!at)
        return;
    for (size_t i = 0; i < match->namespaces.n; i++)
        if (!has_namespace(lint, match->namespaces.items[i], &meant))
            warn_in_file(lint, &at->place, match->namespaces.items[i], meant,
                arena_printf(lint->lint.scratch,
                    "no pod of the cluster is in the namespace \"%.*s\"",
                    STR_FMT(match->namespaces.items[i])));
    for (size_t i = 0; i < match->pod_selector.n; i++)
        if (!is_met(lint, &match->pod_selector.items[i]))
            check_requirement(lint, &at->place, &match->pod_selector.items[i]);
    for (size_t i = 0; i < lint->n_pods && !is_any; i++)
        is_any = policy_selects(lint->lint.policy, lint->pods[i]);
    if (lint->lint.reader->diags->n_warnings == n_before && !is_any)
        reader_warning(lint->lint.reader, at, STR("right only if such pods are yet to come"),
            "no pod of the cluster meets all of it: the policy applies to none");
}

void lint_cluster(const Program *program, const NodeTable *table, const Pod *const *pods,
    size_t n_pods, DiagList *diags) {
    _cleanup_(arena_freep) Arena *scratch = arena_new(SCRATCH_BUDGET);
    YamlReader reader = {.arena = scratch, .diags = diags};
    ClusterLint lint = {.lint = {.reader = &reader, .scratch = scratch},
        .table = table,
        .pods = pods,
        .n_pods = n_pods};

    if (!scratch)
        return;
    for (size_t i = 0; i < program->n_policies; i++) {
        lint.lint.policy = &program->policies[i];
        reader.source = lint.lint.policy->source;
        check_match(&lint);
    }
    program_each_expression(program, check_expression, &lint);
}
