/* Checks a policy: its variables, its match, its rules. Expressions are checked by lint-*.c. */

#include "policy/lint.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "policy/lint-internal.h"

/* Memory for one expression: 10 KiB of text have some thousand nodes. */
#define SCRATCH_BUDGET ((size_t)4 * 1024 * 1024)

Str lint_text(const LintExpression *x, uint32_t i) {
    return cel_tree_text(x->tree, i);
}

Str lint_string(const LintExpression *x, uint32_t i) {
    const CelNode *node = &x->tree->nodes[i];

    return node->kind == CEL_NODE_LITERAL && node->literal.kind == CEL_STRING
               ? cel_str(node->literal)
               : STR_NULL;
}

uint32_t lint_child(const CelTree *tree, uint32_t i, uint32_t k) {
    uint32_t child = i - 1;

    for (uint32_t n = tree->nodes[i].n_children; n > k + 1; n--)
        child -= tree->nodes[child].size;
    return child;
}

bool lint_is_call(const CelTree *tree, uint32_t i, const char *name) {
    return tree->nodes[i].kind == CEL_NODE_CALL && str_is(tree->nodes[i].name, name);
}

uint32_t lint_look_up(const LintExpression *x, uint32_t i, Str *ret_key) {
    const CelNode *node = &x->tree->nodes[i];

    *ret_key = STR_NULL;
    if (node->kind == CEL_NODE_SELECT && x->notes[i].ref == CEL_REF_NONE &&
        x->notes[i - 1].type->kind == CEL_T_MAP) {
        *ret_key = node->name;
        return i - 1;
    }
    if (!lint_is_call(x->tree, i, "_[_]"))
        return UINT32_MAX;
    *ret_key = lint_string(x, i - 1);
    return lint_child(x->tree, i, 0);
}

Str lint_field(const LintExpression *x, uint32_t i, const CelRecordType **ret_record) {
    const CelNodeInfo *note = &x->notes[i];

    if (x->tree->nodes[i].kind != CEL_NODE_SELECT || note->field == UINT32_MAX ||
        note->ref != CEL_REF_NONE || x->notes[i - 1].type->kind != CEL_T_RECORD)
        return STR_NULL;
    if (ret_record)
        *ret_record = x->notes[i - 1].type->record;
    return x->notes[i - 1].type->record->fields[note->field].name;
}

void lint_report(
    const LintExpression *x, DiagLevel level, uint32_t i, LintHint hint, const char *format, ...) {
    const CelNode *node = &x->tree->nodes[i];
    ExpressionFinding finding = {
        .level = level, .from = node->from, .to = node->to, .hint = hint.text, .fix = hint.fix};
    char text[512];
    va_list arguments;
    int len;

    va_start(arguments, format);
    len = vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (len < 0)
        return;
    finding.text = str_from_c(text);
    expression_report(x->lint->reader, x->expression, &finding);
}

LintHint lint_instead(const LintExpression *x, uint32_t i, Str text, Str hint) {
    const CelNode *node = &x->tree->nodes[i];

    return (LintHint){.text = hint, .fix = {node->from, node->to, text}};
}

/* --- one expression -------------------------------------------------------------------------- */

bool lint_open(Lint *lint, const Expression *expression, LintRole role, LintExpression *ret) {
    const CelTree *tree = expression->checked->tree;

    arena_reset(lint->scratch);
    *ret = (LintExpression){
        .lint = lint,
        .expression = expression,
        .tree = tree,
        .notes = expression->checked->infos,
        .role = role,
        .parents = ARENA_RAW(lint->scratch, uint32_t, tree->n_nodes),
        .ranges = ARENA_RAW(lint->scratch, NumberRange, tree->n_nodes),
    };
    for (uint32_t i = 0; ret->parents && i < tree->n_nodes; i++) {
        uint32_t child = i - 1;

        ret->parents[i] = UINT32_MAX;
        for (uint32_t n = tree->nodes[i].n_children; n > 0; n--) {
            ret->parents[child] = i;
            child -= tree->nodes[child].size;
        }
    }
    return ret->parents && ret->ranges;
}

/* Marks the params that it uses. Returns whether it uses any, itself or through variables. */
static bool note_params(Lint *lint, const Expression *expression) {
    const CelChecked *checked = expression->checked;
    const CelRecordType *params = &expression->scope->params_type;
    bool found = (expression->variables & lint->with_params) != 0;

    for (uint32_t i = 0; i < checked->tree->n_nodes; i++) {
        const CelNodeInfo *note = &checked->infos[i];
        bool is_selected;

        if (note->ref != CEL_REF_CONSTANT || note->type->kind != CEL_T_RECORD ||
            note->type->record != params)
            continue;
        found = true;
        is_selected =
            i + 1 < checked->tree->n_nodes && checked->tree->nodes[i + 1].kind == CEL_NODE_SELECT;
        for (uint32_t k = 0; k < params->n_fields; k++) /* one field, or the whole record */
            lint->used_params[k] |= !is_selected || checked->infos[i + 1].field == k;
    }
    return found;
}

/* Checks an expression that a user wrote. */
static void check_expression(
    Lint *lint, const Expression *expression, LintRole role, LintHandling handling) {
    LintExpression x;

    (void)note_params(lint, expression);
    lint->used_variables |= expression->variables;
    if (handling < LINT_HANDLES_ERRORS)
        lint->unhandled_errors |= expression->variables;
    if (handling < LINT_HANDLES_MISSING)
        lint->unhandled_missing |= expression->variables;
    if (expression->is_built_in || !lint_open(lint, expression, role, &x))
        return;
    x.handling = handling;
    lint_look_ups(&x);
    lint_words(&x);
}

/* Warns of a constant condition, unless it uses a parameter as a switch. */
static void check_constant(Lint *lint, const Expression *expression, Str hint_if_true,
    Str text_if_true, Str hint_if_false, Str text_if_false) {
    if (expression->is_built_in || expression->constant.kind != CEL_BOOL ||
        note_params(lint, expression))
        return;
    if (expression->constant.boolean)
        expression_warn(lint->reader, expression, hint_if_true, text_if_true);
    else
        expression_warn(lint->reader, expression, hint_if_false, text_if_false);
}

/* --- match ------------------------------------------------------------------------------------ */

/* Whether no other requirement on the same key excludes @one. */
static bool can_be_met(const Selector *selector, const Requirement *one) {
    bool wants_one = one->op == SELECTOR_IN || one->op == SELECTOR_EXISTS;

    for (size_t i = 0; i < selector->n; i++)
        if (wants_one && selector->items[i].op == SELECTOR_ABSENT &&
            str_eq(selector->items[i].key, one->key))
            return false;
    return true;
}

/* Whether a value of @one meets all other requirements on the same key. */
static bool has_value(const Selector *selector, const Requirement *one) {
    for (size_t v = 0; v < one->n_values; v++) {
        bool is_met = true;

        for (size_t i = 0; i < selector->n && is_met; i++)
            if (str_eq(selector->items[i].key, one->key))
                is_met = requirement_matches(&selector->items[i], &one->values[v]);
        if (is_met)
            return true;
    }
    return false;
}

static void check_selector(Lint *lint, const YamlNode *at, const Selector *selector) {
    for (size_t i = 0; i < selector->n; i++) {
        const Requirement *one = &selector->items[i];

        if (can_be_met(selector, one) && (one->op != SELECTOR_IN || has_value(selector, one)))
            continue;
        reader_warning(lint->reader, at, STR("all requirements must hold together"),
            "no pod can meet podSelector's requirements on the label \"%.*s\": the policy never "
            "applies",
            STR_FMT(one->key));
        return;
    }
}

static void check_match(Lint *lint) {
    const Match *match = &lint->policy->match;
    const YamlNode *at = yaml_find(yaml_find(lint->spec, STR("match")), STR("podSelector"));

    if (at)
        check_selector(lint, at, &match->pod_selector);
    if (!expression_is_given(&match->expression))
        return;
    check_expression(lint, &match->expression, LINT_MATCH, LINT_HANDLES_NOTHING);
    check_constant(lint, &match->expression, STR("leave it out"), STR("this is true for every pod"),
        STR("mode: Observe tests a policy without effect"),
        STR("this is never true: the policy never applies"));
}

/* --- rules ------------------------------------------------------------------------------- */

static LintHandling handling_of(const YamlNode *rule) {
    return yaml_find(rule, STR("onError"))     ? LINT_HANDLES_ERRORS
           : yaml_find(rule, STR("onMissing")) ? LINT_HANDLES_MISSING
                                               : LINT_HANDLES_NOTHING;
}

static void check_on_missing(Lint *lint, const YamlNode *rule, const Expression *missing) {
    const YamlNode *given = yaml_find(rule, STR("onMissing"));

    if (given && !expression_is_given(missing))
        reader_warning(lint->reader, given, STR("leave it out; onError is for other errors"),
            "onMissing has no effect: the rule reads no metric");
}

/* Warns of limits that no node can meet: maxPods: 0 (the pod itself counts), headroom: {cpu:
 * 100%}. */
static void check_limit(Lint *lint, const RuleKind *kind, const YamlNode *value) {
    const YamlNode *limit = value->kind == YAML_MAPPING ? yaml_find(value, STR("limit")) : value;

    if ((kind == &kind_max_pods || kind == &kind_max_fresh_pods) && limit->integer == 0)
        reader_warning(lint->reader, limit,
            STR("1 allows the pod itself and no other; mode: Observe tests a policy without "
                "effect"),
            "no node can meet a limit of 0: every pod that counts is rejected everywhere");
    for (size_t i = 0; kind == &kind_headroom && i < value->n; i++)
        if (str_is(value->pairs[i].value->text, "100%"))
            reader_warning(lint->reader, value->pairs[i].value, STR("less than 100%, or an amount"),
                "no node can keep all of its %.*s free: every pod that requests it is rejected "
                "everywhere",
                STR_FMT(value->pairs[i].key->text));
}

static void check_filter(Lint *lint, const YamlNode *rule, const Filter *filter) {
    LintRole role = filter->is_unresolvable ? LINT_UNRESOLVABLE : LINT_FILTER;
    LintHandling handling = handling_of(rule);

    check_expression(lint, &filter->test, role, handling);
    if (filter->kind && expression_is_given(&filter->missing) && handling == LINT_HANDLES_NOTHING)
        /* A metric may be absent; lint-look-up.c checks expressions of users. */
        reader_warning(lint->reader, yaml_find(rule, filter->kind->field),
            STR("onMissing: allow; or onMissing: reject, if this is intended"),
            "where the metric is absent, on every node if its source is down, the node is "
            "rejected");
    check_on_missing(lint, rule, &filter->missing);
    if (filter->kind)
        check_limit(lint, filter->kind, yaml_find(rule, filter->kind->field));
    if (expression_is_given(&filter->message))
        check_expression(lint, &filter->message, LINT_MESSAGE, LINT_HANDLES_MISSING);
    lint_reason(lint, yaml_find(rule, STR("reason")));
    check_constant(lint, &filter->test, STR("leave the filter out"),
        STR("this is always true: every node passes"),
        STR("a filter must be true for nodes that pass"),
        STR("this is never true: every node is rejected"));
}

static void check_score(Lint *lint, const YamlNode *rule, const Score *score) {
    LintExpression x;

    check_expression(lint, &score->value, LINT_SCORE, handling_of(rule));
    check_on_missing(lint, rule, &score->missing);
    if (score->value.is_built_in)
        return;
    /* Equal scores for all nodes do not change their order. */
    if (!(score->value.groups & SCHEMA_BIT(SCHEMA_NODE)) && !note_params(lint, &score->value))
        expression_warn(lint->reader, &score->value,
            score->normalize != NORMALIZE_NONE
                ? STR("normalize makes equal values 100, or 0: leave the score out")
                : STR("leave the score out: it has no effect"),
            STR("this does not read the node: all nodes get the same score"));
    if (lint_open(lint, &score->value, LINT_SCORE, &x))
        lint_score(&x, score);
}

static void check_annotations(Lint *lint) {
    const YamlNode *all = yaml_find(yaml_find(lint->spec, STR("bind")), STR("annotations"));

    for (size_t i = 0; i < lint->policy->n_bind_annotations; i++) {
        const BindAnnotation *annotation = &lint->policy->bind_annotations[i];

        if (expression_is_given(&annotation->expression))
            check_expression(
                lint, &annotation->expression, LINT_ANNOTATION, handling_of(all->pairs[i].value));
    }
}

/* --- params and variables ---------------------------------------------------------------- */

/* Runs before the rules: collects facts about variables. */
static void note_variables(Lint *lint) {
    const Scope *scope = lint->policy->scope;

    for (uint32_t i = 0; i < scope->variables_type.n_fields; i++) {
        const Expression *expression = &scope->variables[i].expression;
        LintExpression x;

        lint->variable_ranges[i] = (NumberRange){-INFINITY, INFINITY};
        if (note_params(lint, expression))
            lint->with_params |= UINT64_C(1) << i;
        if (lint_open(lint, expression, LINT_VARIABLE, &x))
            lint->variable_ranges[i] = lint_range(&x);
    }
}

/* Runs after the rules, when the uses of variables are known. */
static void check_variables(Lint *lint) {
    const Scope *scope = lint->policy->scope;
    const YamlNode *variables = yaml_find(lint->spec, STR("variables"));

    for (uint32_t i = 0; i < scope->variables_type.n_fields; i++) {
        const Expression *expression = &scope->variables[i].expression;

        if (lint->used_variables >> i & 1)
            check_expression(lint, expression, LINT_VARIABLE, /* the least handling of all uses */
                lint->unhandled_missing >> i & 1  ? LINT_HANDLES_NOTHING
                : lint->unhandled_errors >> i & 1 ? LINT_HANDLES_MISSING
                                                  : LINT_HANDLES_ERRORS);
        else
            reader_warning(lint->reader, yaml_find(variables->items[i], STR("name")), STR_NULL,
                "no rule uses the variable \"%.*s\"", STR_FMT(scope->variables[i].name));
    }
}

static void check_params(Lint *lint) {
    const YamlNode *params = yaml_find(lint->spec, STR("params"));

    for (uint32_t i = 0; i < lint->policy->scope->params_type.n_fields; i++)
        if (!lint->used_params[i])
            reader_warning(lint->reader, params->pairs[i].key, STR_NULL,
                "no expression uses the parameter \"%.*s\"", STR_FMT(params->pairs[i].key->text));
}

void lint_policy(YamlReader *reader, const YamlNode *document, const Policy *policy) {
    bool used_params[SCOPE_PARAMS_MAX] = {0};
    NumberRange variable_ranges[SCOPE_VARIABLES_MAX];
    _cleanup_(arena_freep) Arena *scratch = arena_new(SCRATCH_BUDGET);
    Lint lint = {
        .reader = reader,
        .spec = yaml_find(document, STR("spec")),
        .policy = policy,
        .scratch = scratch,
        .used_params = used_params,
        .variable_ranges = variable_ranges,
    };

    const YamlNode *filters = yaml_find(lint.spec, STR("filters"));
    const YamlNode *scores = yaml_find(lint.spec, STR("scores"));

    if (!scratch || !policy->scope)
        return;
    note_variables(&lint);
    check_match(&lint);
    for (size_t i = 0; i < policy->n_filters; i++)
        check_filter(&lint, filters->items[i], &policy->filters[i]);
    for (size_t i = 0; i < policy->n_scores; i++)
        check_score(&lint, scores->items[i], &policy->scores[i]);
    check_annotations(&lint);
    check_variables(&lint);
    check_params(&lint);
}
