/* Prints the rules of a program: as CEL, with their costs, and whether they work where nothing
 * calls berth. */

#include <inttypes.h>

#include "base/vec.h"
#include "base/visible.h"
#include "commands/check-internal.h"
#include "commands/counting-rules.h"

static void write_message(JsonWriter *writer, const Diag *diag) {
    const DiagFix *fix = &diag->fix;

    json_write(writer,
        "{level: %s, file: %.*s, line: %zu, column: %zu, width: %zu, text: %.*s, hint?: %.*s",
        diag->level == DIAG_ERROR ? "error" : "warning", STR_FMT(diag->place.file),
        diag->place.line, diag->place.column, diag->place.width, STR_FMT(diag->text),
        STR_FMT(diag->hint));
    if (fix->text.ptr)
        json_write(writer, "fix: {line: %zu, column: %zu, width: %zu, text: %.*s}", fix->place.line,
            fix->place.column, fix->place.width, STR_FMT(fix->text));
    json_write_end_object(writer);
}

typedef struct Row {
    const Policy *policy;
    const char *type;
    Str name;
    const RuleKind *kind;
    const Expression *expression, *message;
    uint32_t root;
    Exactness exactness;
} Row;

typedef VEC(Row) Rows;

static Rows rows_of(const Policy *policy, Arena *arena) {
    const Match *match = &policy->match;
    Rows rows = {0};

    if (expression_is_given(&match->namespace_test))
        (void)VEC_ADD(&rows, arena,
            (Row){policy, "match", STR("namespaceSelector"), NULL, &match->namespace_test, NULL,
                match->namespace_root, EXACT_NOTHING});
    if (expression_is_given(&match->expression))
        (void)VEC_ADD(&rows, arena,
            (Row){policy, "match", STR_NULL, NULL, &match->expression, NULL, match->root,
                EXACT_NOTHING});
    for (size_t i = 0; i < policy->n_filters; i++) {
        const Filter *filter = &policy->filters[i];

        (void)VEC_ADD(&rows, arena,
            (Row){policy, "filter", filter->name, filter->kind, &filter->test, &filter->message,
                filter->root, exactness_of(filter, BIND_UNKNOWN)});
    }
    for (size_t i = 0; i < policy->n_scores; i++) {
        const Score *score = &policy->scores[i];

        (void)VEC_ADD(&rows, arena,
            (Row){policy, "score", score->name, score->kind, &score->value, NULL, score->root,
                EXACT_NOTHING});
    }
    return rows;
}

static const char *time_of(const Program *program, const Row *row) {
    switch (plan_frequency(program->plan, row->root)) {
    case PLAN_ONCE:
        return row->expression->groups ? "once a request" : "constant";
    case PLAN_PRECOMPUTED:
        return "when a node changes";
    default:
        return "for pod and node";
    }
}

/* Whether part of it is computed for one node at a time, by the scalar machine. */
static bool is_slow(const Program *program, const Row *row) {
    uint32_t node;

    return plan_falls_back(program->plan, row->root, &node);
}

static Str kind_of(const Row *row) {
    return row->kind ? row->kind->field : STR("expression");
}

static void write_rule(const Program *program, const Row *row, JsonWriter *writer) {
    json_write(writer, "{policy: %.*s, type: %s, rule: %.*s, kind: %.*s, expression: %.*s",
        STR_FMT(row->policy->name), row->type, STR_FMT(row->name), STR_FMT(kind_of(row)),
        STR_FMT(str_trim(row->expression->text)));
    if (row->message && expression_is_given(row->message))
        json_write(writer, "message: %.*s", STR_FMT(str_trim(row->message->text)));
    json_write(writer, "computed: %s, oneNodeAtATime: %i, maxCost: %zu", time_of(program, row),
        is_slow(program, row), row->expression->cost.max);
    if (row->exactness != EXACT_NOTHING) {
        json_member_object(writer, "counting");
        counting_rules_write(row->exactness, writer);
        json_write_end_object(writer);
    }
    json_write_end_object(writer);
}

/* Whether a rule has an effect where nothing calls berth: the default scheduler of a managed
 * control plane, to which no extender can be added (docs/managed.md). Published filters have one:
 * nodes show them. */

#define MANAGED_COLUMNS 26u
#define WORKS_COLUMNS 7u
#define SECOND_SCHEDULER "a second scheduler, which calls berth (docs/install.md)"

typedef struct Managed {
    const Policy *policy;
    Str rule; /* or the part of the policy that does not work: "(match)" */
    bool works;
    const char *text;    /* why, for users */
    const char *instead; /* what to write instead; NULL: it works */
} Managed;

typedef VEC(Managed) ManagedRules;

/* A feature of Kubernetes that replaces a built-in rule. */
typedef struct Replacement {
    const RuleKind *kind;
    const char *instead;
} Replacement;

static const Replacement replacements[] = {
    {&kind_tolerations, "nothing: kube-scheduler compares taints and tolerations itself"},
    {&kind_dedicated, "a taint on the nodes; a toleration and node affinity in their pods"},
    {&kind_node_age_range, "a taint that new nodes have until they are old enough"},
    {&kind_headroom, "an expression of the node alone (node.free.cpu > 1.0), with publish: label"},
    {&kind_pool_headroom, "pods of low priority that request the headroom"},
    {&kind_max_pods, "podAntiAffinity or topologySpreadConstraints in the pods"},
    {&kind_pod_affinity, "affinity.podAffinity in the pods"},
    {&kind_pod_anti_affinity, "affinity.podAntiAffinity in the pods"},
    {&kind_topology_spread, "topologySpreadConstraints in the pods"},
    {&kind_spread, "nothing: kube-scheduler prefers nodes with free resources itself"},
    {&kind_balance, "nothing: kube-scheduler prefers balanced nodes itself"},
    {&kind_image_locality, "nothing: kube-scheduler prefers nodes with the image itself"},
    {&kind_node_label_preference, "preferred node affinity in the pods"},
    {&kind_label_order, "preferred node affinity in the pods"},
    {&kind_pod_spread, "topologySpreadConstraints with ScheduleAnyway in the pods"},
    {&kind_pod_pack, "preferred podAffinity in the pods"},
};

static const char *find_replacement(const RuleKind *kind) {
    for (size_t i = 0; kind && i < ELEMENTS_OF(replacements); i++)
        if (replacements[i].kind == kind)
            return replacements[i].instead;
    return SECOND_SCHEDULER;
}

static Managed managed_filter(const Filter *filter) {
    bool is_published = filter->slots || filter->is_label;
    Managed result = {.policy = filter->policy,
        .rule = filter->name,
        .text = "it is not published, and nothing calls berth"};

    if (is_published && filter->policy->is_observed) {
        result.text = "policies in mode Observe publish nothing";
        result.instead = "mode: Enforce";
    } else if (is_published) {
        result.works = true;
        result.text = filter->slots         ? "published as slots: the limit holds in a burst"
                      : filter->counts_pods ? "published as a label: a burst can exceed the limit"
                                            : "published as a label";
    } else if (filter->limit)
        result.instead = policy_slots(filter->policy) ? "publish: slots, in a policy of its own"
                                                      : "publish: slots";
    else if (publish_fits_label(filter))
        result.instead = "publish: label";
    else {
        result.text = "it reads more than the node, so it cannot be published";
        result.instead = find_replacement(filter->kind);
    }
    return result;
}

/* Every filter and score of @program, and the other parts of policies that do not work. */
static ManagedRules managed_rules(const Program *program, Arena *arena) {
    ManagedRules rules = {0};

    for (size_t i = 0; i < program->n_policies; i++) {
        const Policy *policy = &program->policies[i];
        const Managed parts[] = {
            {policy, STR("(match)"), !expression_is_given(&policy->match.expression),
                "admission selects pods by labels and namespaces only",
                "podSelector, namespaces or namespaceSelector"},
            {policy, STR("(narrow)"), policy->narrow_to == 0, "nothing calls berth for nodes",
                "leave it out"},
            {policy, STR("(bind)"), policy->n_bind_annotations == 0,
                "kube-scheduler binds, not berth", "leave it out"},
        };

        for (size_t j = 0; j < ELEMENTS_OF(parts); j++)
            if (!parts[j].works)
                (void)VEC_ADD(&rules, arena, parts[j]);
        for (size_t j = 0; j < policy->n_filters; j++)
            (void)VEC_ADD(&rules, arena, managed_filter(&policy->filters[j]));
        for (size_t j = 0; j < policy->n_scores; j++)
            (void)VEC_ADD(&rules, arena,
                (Managed){policy, policy->scores[j].name, false,
                    "scores cannot be published, and nothing calls berth",
                    find_replacement(policy->scores[j].kind)});
    }
    return rules;
}

static void print_managed(const Managed *rule, Buf *out) {
    size_t width = visible_width(rule->policy->name) + 1;

    visible_print(out, "{}/", rule->policy->name);
    visible_append_padded(out, rule->rule, width < MANAGED_COLUMNS ? MANAGED_COLUMNS - width : 0);
    buf_printf(out, " %-*s%s\n", (int)WORKS_COLUMNS, rule->works ? "yes" : "no", rule->text);
    if (rule->instead)
        buf_printf(
            out, "%*sinstead: %s\n", (int)(MANAGED_COLUMNS + WORKS_COLUMNS + 1), "", rule->instead);
}

bool check_print_managed(const Program *program, Arena *arena, Buf *out) {
    ManagedRules rules = managed_rules(program, arena);
    bool work = true;

    buf_printf(out, "%-*s %-*s%s\n", (int)MANAGED_COLUMNS, "RULE", (int)WORKS_COLUMNS, "WORKS",
        "ON A MANAGED CONTROL PLANE");
    for (size_t i = 0; i < rules.n; i++) {
        print_managed(&rules.items[i], out);
        work &= rules.items[i].works;
    }
    return work;
}

static bool write_managed(const Program *program, Arena *arena, JsonWriter *writer) {
    ManagedRules rules = managed_rules(program, arena);
    bool work = true;

    json_member_array(writer, "managed");
    for (size_t i = 0; i < rules.n; i++) {
        const Managed *rule = &rules.items[i];

        json_write(writer, "{policy: %.*s, rule: %.*s, works: %i, text: %s, instead?: %s}",
            STR_FMT(rule->policy->name), STR_FMT(rule->rule), rule->works, rule->text,
            rule->instead);
        work &= rule->works;
    }
    json_write_end_array(writer);
    return work;
}

void check_print_json(const DiagList *diags, const Program *program, bool *ret_works, Buf *out) {
    JsonWriter writer = {.out = out, .indent = 2};

    json_write(&writer, "{ok: %i, errors: %zu, warnings: %zu, messages: [", program != NULL,
        diags->n_errors, diags->n_warnings);
    for (size_t i = 0; i < diags->diags.n; i++)
        write_message(&writer, &diags->diags.items[i]);
    json_write(&writer, "], rules: [");
    for (size_t i = 0; program && i < program->n_policies; i++) {
        Rows rows = rows_of(&program->policies[i], diags->arena);

        for (size_t k = 0; k < rows.n; k++)
            write_rule(program, &rows.items[k], &writer);
    }
    json_write_end_array(&writer);
    if (program && ret_works)
        *ret_works = write_managed(program, diags->arena, &writer);
    json_write(&writer, "}\n");
}

#define NAME_COLUMNS 32u /* or more, if a name is longer */
#define KIND_COLUMNS 20u
#define TIME_COLUMNS 20u

static Str name_in_table(const Row *row) {
    return strcmp(row->type, "match") == 0 ? STR("(match)") : row->name;
}

static void print_cost(const Program *program, const Row *row, size_t columns, Buf *out) {
    bool is_selector = str_is(row->name, "namespaceSelector") && strcmp(row->type, "match") == 0;

    visible_print(out, "{}/", row->policy->name);
    visible_append_padded(out, name_in_table(row), columns - visible_width(row->policy->name) - 1);
    visible_append_padded(out, is_selector ? row->name : kind_of(row), KIND_COLUMNS);
    visible_append_padded(out, str_from_c(time_of(program, row)), TIME_COLUMNS);
    buf_printf(out, "%10" PRIu64 "%s\n", row->expression->cost.max,
        is_slow(program, row) ? "  in part one node at a time" : "");
}

void check_print_costs(const Program *program, Arena *arena, Buf *out) {
    size_t columns = NAME_COLUMNS;

    for (size_t i = 0; i < program->n_policies; i++) {
        const Policy *policy = &program->policies[i];
        Rows rows = rows_of(policy, arena);
        size_t widest = strlen("(match)");

        for (size_t k = 0; k < rows.n; k++) {
            size_t width = visible_width(name_in_table(&rows.items[k]));

            widest = width > widest ? width : widest;
        }
        widest += visible_width(policy->name) + 2; /* '/', and a space */
        columns = widest > columns ? widest : columns;
    }
    visible_append_padded(out, STR("RULE"), columns);
    visible_append_padded(out, STR("KIND"), KIND_COLUMNS);
    visible_append_padded(out, STR("COMPUTED"), TIME_COLUMNS);
    buf_append(out, STR("      COST\n"));
    for (size_t i = 0; i < program->n_policies; i++) {
        Rows rows = rows_of(&program->policies[i], arena);

        for (size_t k = 0; k < rows.n; k++)
            print_cost(program, &rows.items[k], columns, out);
    }
}

/* Prints a comment with the policy and rule, then the expression. */
static void print_text(const Row *row, const char *what, const Expression *expression, Buf *out) {
    if (!expression || !expression_is_given(expression))
        return;
    buf_printf(out, "// %.*s: %s%s%.*s", STR_FMT(row->policy->name), what,
        row->name.len > 0 ? " " : "", STR_FMT(row->name));
    if (row->kind)
        buf_printf(out, " (%.*s)", STR_FMT(row->kind->field));
    buf_printf(out, "\n%.*s\n\n", STR_FMT(str_trim(expression->text)));
}

void check_print_cel(const Program *program, bool messages, Arena *arena, Buf *out) {
    for (size_t i = 0; i < program->n_policies; i++) {
        const Policy *policy = &program->policies[i];
        Rows rows = rows_of(policy, arena);

        for (size_t j = 0; j < policy->scope->variables_type.n_fields; j++) {
            const Variable *variable = &policy->scope->variables[j];

            print_text(&(Row){.policy = policy, .name = variable->name}, "variable",
                &variable->expression, out);
        }
        for (size_t j = 0; j < rows.n; j++) {
            print_text(&rows.items[j], rows.items[j].type, rows.items[j].expression, out);
            if (messages)
                print_text(&rows.items[j], "message of", rows.items[j].message, out);
        }
    }
}
