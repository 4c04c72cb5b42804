/* Prints the rules of a program: as CEL, with their costs, whether they work where nothing calls
 * berth. */

#include <inttypes.h>

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

/* Calls @use for each rule of @policy. */
typedef void UseRule(void *context, const Row *row);

static void each_rule(const Policy *policy, UseRule *use, void *context) {
    const Match *match = &policy->match;

    if (expression_is_given(&match->namespace_test))
        use(context, &(Row){.policy = policy,
                         .type = "match",
                         .name = STR("namespaceSelector"),
                         .expression = &match->namespace_test,
                         .root = match->namespace_root});
    if (expression_is_given(&match->expression))
        use(context, &(Row){.policy = policy,
                         .type = "match",
                         .expression = &match->expression,
                         .root = match->root});
    for (size_t i = 0; i < policy->n_filters; i++) {
        const Filter *filter = &policy->filters[i];

        use(context, &(Row){policy, "filter", filter->name, filter->kind, &filter->test,
                         &filter->message, filter->root, exactness_of(filter, BIND_UNKNOWN)});
    }
    for (size_t i = 0; i < policy->n_scores; i++) {
        const Score *score = &policy->scores[i];

        use(context, &(Row){.policy = policy,
                         .type = "score",
                         .name = score->name,
                         .kind = score->kind,
                         .expression = &score->value,
                         .root = score->root});
    }
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

/* The rules of a program while they are written. */
typedef struct RuleWriter {
    const Program *program;
    JsonWriter *writer;
} RuleWriter;

static void write_rule(void *context, const Row *row) {
    const Program *program = ((RuleWriter *)context)->program;
    JsonWriter *writer = ((RuleWriter *)context)->writer;

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
 * control plane, to which no extender can be added (docs/managed.md). Published filters have: nodes
 * show them. */

#define MANAGED_COLUMNS 26u
#define WORKS_COLUMNS 7u
#define SECOND_SCHEDULER "a second scheduler, which calls berth (docs/install.md)"

typedef struct Managed {
    bool works;
    const char *text;    /* why, for users */
    const char *instead; /* what to write instead; NULL: it works */
} Managed;

/* What Kubernetes itself has instead of a built-in rule. */
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
    Managed result = {.text = "it is not published, and nothing asks berth"};

    if ((filter->slots || filter->is_label) && filter->policy->is_observed)
        return (Managed){
            .text = "policies in mode Observe publish nothing", .instead = "mode: Enforce"};
    if (filter->slots || filter->is_label)
        return (Managed){.works = true,
            .text = filter->slots         ? "published as slots: the limit holds in a burst"
                    : filter->counts_pods ? "published as a label: a burst can exceed the limit"
                                          : "published as a label"};
    if (filter->limit)
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

typedef void UseManaged(void *context, const Policy *policy, Str rule, const Managed *managed);

/* Parts of a policy that are no rules; none of them works. */
static bool each_part(const Policy *policy, UseManaged *use, void *context) {
    const struct {
        bool is_given;
        Str name;
        Managed managed;
    } parts[] = {
        {expression_is_given(&policy->match.expression), STR("(match)"),
            {.text = "admission selects pods by labels and namespaces only",
                .instead = "podSelector, namespaces or namespaceSelector"}},
        {policy->narrow_to > 0, STR("(narrow)"),
            {.text = "nothing asks berth for nodes", .instead = "leave it out"}},
        {policy->n_bind_annotations > 0, STR("(bind)"),
            {.text = "kube-scheduler binds, not berth", .instead = "leave it out"}},
    };
    bool is_any = false;

    for (size_t i = 0; i < ELEMENTS_OF(parts); i++) {
        if (parts[i].is_given)
            use(context, policy, parts[i].name, &parts[i].managed);
        is_any |= parts[i].is_given;
    }
    return is_any;
}

/* Calls @use for each rule of @program, and each part that does not work. Whether all work. */
static bool each_managed(const Program *program, UseManaged *use, void *context) {
    bool works = true;

    for (size_t i = 0; i < program->n_policies; i++) {
        const Policy *policy = &program->policies[i];

        works &= !each_part(policy, use, context) && policy->n_scores == 0;
        for (size_t j = 0; j < policy->n_filters; j++) {
            Managed managed = managed_filter(&policy->filters[j]);

            use(context, policy, policy->filters[j].name, &managed);
            works &= managed.works;
        }
        for (size_t j = 0; j < policy->n_scores; j++)
            use(context, policy, policy->scores[j].name,
                &(Managed){.text = "scores cannot be published, and nothing asks berth",
                    .instead = find_replacement(policy->scores[j].kind)});
    }
    return works;
}

static void print_managed(void *context, const Policy *policy, Str rule, const Managed *managed) {
    size_t width = visible_width(policy->name) + 1;
    Buf *out = context;

    visible_print(out, "{}/", policy->name);
    visible_append_padded(out, rule, width < MANAGED_COLUMNS ? MANAGED_COLUMNS - width : 0);
    buf_printf(out, " %-*s%s\n", (int)WORKS_COLUMNS, managed->works ? "yes" : "no", managed->text);
    if (managed->instead)
        buf_printf(out, "%*sinstead: %s\n", (int)(MANAGED_COLUMNS + WORKS_COLUMNS + 1), "",
            managed->instead);
}

bool check_print_managed(const Program *program, Buf *out) {
    buf_printf(out, "%-*s %-*s%s\n", (int)MANAGED_COLUMNS, "RULE", (int)WORKS_COLUMNS, "WORKS",
        "ON A MANAGED CONTROL PLANE");
    return each_managed(program, print_managed, out);
}

static void write_managed(void *context, const Policy *policy, Str rule, const Managed *managed) {
    JsonWriter *writer = context;

    json_write(writer, "{policy: %.*s, rule: %.*s, works: %i, text: %s", STR_FMT(policy->name),
        STR_FMT(rule), managed->works, managed->text);
    if (managed->instead)
        json_write_member(writer, STR("instead"), str_from_c(managed->instead));
    json_write_end_object(writer);
}

void check_print_json(const DiagList *diags, const Program *program, bool *ret_works, Buf *out) {
    JsonWriter writer = {.out = out, .indent = 2};

    json_write(&writer, "{ok: %i, errors: %zu, warnings: %zu, messages: [", program != NULL,
        diags->n_errors, diags->n_warnings);
    for (size_t i = 0; i < diags->diags.n; i++)
        write_message(&writer, &diags->diags.items[i]);
    json_write(&writer, "], rules: [");
    for (size_t i = 0; program && i < program->n_policies; i++)
        each_rule(&program->policies[i], write_rule, &(RuleWriter){program, &writer});
    json_write_end_array(&writer);
    if (program && ret_works) {
        json_member_array(&writer, "managed");
        *ret_works = each_managed(program, write_managed, &writer);
        json_write_end_array(&writer);
    }
    json_write(&writer, "}\n");
}

#define NAME_COLUMNS 32u /* or more, if a name is longer */
#define KIND_COLUMNS 20u
#define TIME_COLUMNS 20u

/* The table of costs while it is measured or printed. */
typedef struct Costs {
    const Program *program;
    size_t columns; /* of the names */
    Buf *out;
} Costs;

static Str name_in_table(const Row *row) {
    return strcmp(row->type, "match") == 0 ? STR("(match)") : row->name;
}

static void measure_cost(void *context, const Row *row) {
    size_t *columns = &((Costs *)context)->columns;
    size_t width = visible_width(row->policy->name) + visible_width(name_in_table(row)) + 2;

    *columns = width > *columns ? width : *columns; /* '/', and a space */
}

static void print_cost(void *context, const Row *row) {
    const Costs *costs = context;
    bool is_selector = str_is(row->name, "namespaceSelector") && strcmp(row->type, "match") == 0;

    visible_print(costs->out, "{}/", row->policy->name);
    visible_append_padded(
        costs->out, name_in_table(row), costs->columns - visible_width(row->policy->name) - 1);
    visible_append_padded(costs->out, is_selector ? row->name : kind_of(row), KIND_COLUMNS);
    visible_append_padded(costs->out, str_from_c(time_of(costs->program, row)), TIME_COLUMNS);
    buf_printf(costs->out, "%10" PRIu64 "%s\n", row->expression->cost.max,
        is_slow(costs->program, row) ? "  in part one node at a time" : "");
}

void check_print_costs(const Program *program, Buf *out) {
    Costs costs = {.program = program, .columns = NAME_COLUMNS, .out = out};

    for (size_t i = 0; i < program->n_policies; i++) {
        measure_cost(&costs, &(Row){.policy = &program->policies[i], .type = "match"});
        each_rule(&program->policies[i], measure_cost, &costs);
    }
    visible_append_padded(out, STR("RULE"), costs.columns);
    visible_append_padded(out, STR("KIND"), KIND_COLUMNS);
    visible_append_padded(out, STR("COMPUTED"), TIME_COLUMNS);
    buf_append(out, STR("      COST\n"));
    for (size_t i = 0; i < program->n_policies; i++)
        each_rule(&program->policies[i], print_cost, &costs);
}

typedef struct CelText {
    bool has_messages;
    Buf *out;
} CelText;

/* A comment with the policy and rule, then the expression. */
static void print_text(
    const Row *row, const char *what, const Expression *expression, const CelText *text) {
    if (!expression || !expression_is_given(expression))
        return;
    buf_printf(text->out, "// %.*s: %s%s%.*s", STR_FMT(row->policy->name), what,
        row->name.len > 0 ? " " : "", STR_FMT(row->name));
    if (row->kind)
        buf_printf(text->out, " (%.*s)", STR_FMT(row->kind->field));
    buf_append_char(text->out, '\n');
    buf_append(text->out, str_trim(expression->text));
    buf_append(text->out, STR("\n\n"));
}

static void print_cel(void *context, const Row *row) {
    const CelText *text = context;

    print_text(row, row->type, row->expression, text);
    if (text->has_messages)
        print_text(row, "message of", row->message, text);
}

void check_print_cel(const Program *program, bool messages, Buf *out) {
    CelText text = {.has_messages = messages, .out = out};

    for (size_t i = 0; i < program->n_policies; i++) {
        const Policy *policy = &program->policies[i];

        for (size_t j = 0; j < policy->scope->variables_type.n_fields; j++) {
            const Variable *variable = &policy->scope->variables[j];

            print_text(&(Row){.policy = policy, .name = variable->name}, "variable",
                &variable->expression, &text);
        }
        each_rule(policy, print_cel, &text);
    }
}
