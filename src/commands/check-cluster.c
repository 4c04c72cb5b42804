/*
 * berth check --cluster: what is wrong with policies for one cluster: names that nothing in it has
 * (policy/lint.h), and rules that reject all of its nodes.
 *
 * A rule is tried with some pods of the cluster that its policy selects, and with a made-up one
 * that requests nothing. Rules that read metrics or the time are left out: their result changes.
 */

#include "base/vec.h"
#include "cli/command.h"
#include "cluster/snapshot.h"
#include "commands/check-internal.h"
#include "commands/explain-internal.h"
#include "input/objects.h"
#include "input/zones.h"
#include "policy/lint.h"
#include "schema/schema.h"

#define MEMORY_FOR "the rules for the cluster"
#define PODS_BUDGET ((size_t)1024 * 1024 * 1024)

/* Pods of the cluster that a policy is tried with; one is enough for most rules. */
#define SAMPLES_MAX 8u

typedef struct ClusterCheck {
    const Program *program;
    const View *view;
    VEC(const Pod *) pods;
    Arena *arena; /* for the pods */
    DiagList *diags;
    unsigned known_related, reported_related; /* RELATED_BIT()s */
} ClusterCheck;

/* A snapshot has the pods of its nodes; pending ones are only in the file. */
static int add_pending(void *context, const Object *object) {
    ClusterCheck *check = context;
    Pod *pod;
    int r;

    if (!str_is(object->kind, "Pod"))
        return 0;
    pod = ARENA_NEW(check->arena, Pod);
    r = object_decode(object, object->json, pod_decode, check->arena, pod);
    if (r == 0 && str_is_empty(pod->node_name) && !pod->is_terminal)
        (void)VEC_ADD(&check->pods, check->arena, pod);
    return r;
}

static void gather_pods(ClusterCheck *check, const char *path, const NodeTable *table) {
    char error[OBJECTS_ERROR_MAX];

    for (uint32_t row = 0; row < table->n_rows; row++) {
        const PodList *pods = table_chunk(table, row)->pods[table_slot(row)];

        for (uint32_t i = 0; pods && i < pods->n; i++)
            (void)VEC_ADD(&check->pods, check->arena, pods->items[i]);
    }
    (void)terminal_check(objects_each(path, NULL, add_pending, check, error), MEMORY_FOR, NULL);
}

/* The pods that one policy is tried with, and its rules that have rejected every node so far. */
typedef struct Trial {
    const Policy *policy;
    bool *is_suspect; /* by filter of the policy */
    Str *details;     /* by filter of the policy: why the first node failed */
    size_t n_suspects;
    size_t n_pods; /* tried pods that the policy applies to */
} Trial;

/* Whether the rule has the same result at any time. */
static bool is_lasting(const Filter *filter) {
    return !(filter->test.groups & SCHEMA_BIT(SCHEMA_NOW)) && filter->test.metrics == 0 &&
           filter->test.workload_metrics == 0;
}

static bool applies(const Explanation *explanation, const Policy *policy) {
    for (size_t i = 0; i < explanation->n_policies; i++)
        if (explanation->policies[i].policy == policy)
            return explanation->policies[i].fit == FIT_APPLIES;
    return false;
}

static void note_failures(const ClusterCheck *check, Trial *trial, const Explanation *explanation) {
    for (size_t i = 0; i < trial->policy->n_filters; i++) {
        const Filter *filter = &trial->policy->filters[i];
        const NodeExplanation *first = &explanation->nodes[0];
        size_t n_failing = 0;

        if (!trial->is_suspect[i])
            continue;
        while (n_failing < explanation->n_nodes &&
               explain_failed_rule(&explanation->nodes[n_failing], filter))
            n_failing++;
        if (n_failing < explanation->n_nodes) {
            trial->is_suspect[i] = false;
            trial->n_suspects--;
        } else if (!trial->details[i].ptr) {
            Str detail = explain_failed_rule(first, filter)->detail;

            trial->details[i] =
                detail.len > 0 ? arena_printf(check->diags->arena, "on %.*s: %.*s",
                                     STR_FMT(first->node), STR_FMT(detail))
                               : STR("`berth explain --cluster FILE --pod FILE --node NAME` shows "
                                     "the values");
        }
    }
}

static void try_pod(const ClusterCheck *check, Trial *trial, const Pod *pod) {
    _cleanup_(arena_freep) Arena *arena = terminal_arena(MEMORY_FOR, EXPLAIN_BUDGET);
    Explanation explanation;

    (void)terminal_check(
        extender_explain(check->view, 0, pod, arena, &explanation), MEMORY_FOR, arena);
    if (!applies(&explanation, trial->policy))
        return;
    trial->n_pods++;
    note_failures(check, trial, &explanation);
}

/* Adds @label to sorted @labels, whose array has room for it, or replaces the label of this key. */
static void add_label(Labels *labels, Label label) {
    Label *items = (Label *)(uintptr_t)labels->items; /* the caller's array */
    size_t at = labels->n;

    for (size_t i = 0; i < labels->n; i++) {
        if (str_eq(items[i].key, label.key)) {
            items[i] = label;
            return;
        }
    }
    while (at > 0 && str_cmp(items[at - 1].key, label.key) > 0) {
        items[at] = items[at - 1];
        at--;
    }
    items[at] = label;
    labels->n++;
}

/* A pod that the policy selects, and that requests nothing. */
static Pod make_pod(const Match *match, Arena *arena) {
    Labels all = {.items = ARENA_ARRAY(arena, Label, match->pod_selector.n)};

    for (size_t i = 0; i < match->pod_selector.n; i++) {
        const Requirement *one = &match->pod_selector.items[i];

        if (one->op == SELECTOR_IN || one->op == SELECTOR_EXISTS)
            add_label(&all, (Label){one->key, one->n_values > 0 ? one->values[0] : STR("x")});
    }
    return (Pod){.name = STR("made-up"),
        .namespace = match->namespaces.n > 0 ? match->namespaces.items[0] : STR("default"),
        .labels = all};
}

static void report(const ClusterCheck *check, const Trial *trial) {
    for (size_t i = 0; trial->n_pods > 0 && i < trial->policy->n_filters; i++) {
        const Filter *filter = &trial->policy->filters[i];

        if (trial->is_suspect[i])
            diag_add(check->diags, DIAG_WARNING, filter->test.place, trial->policy->source,
                arena_printf(check->diags->arena,
                    "the rule \"%.*s\" rejects every node of the cluster (%zu), for each pod that "
                    "was tried (%zu)",
                    STR_FMT(filter->name), check->view->table->names->n_nodes, trial->n_pods),
                trial->details[i]);
    }
}

static void try_policy(const ClusterCheck *check, const Policy *policy) {
    _cleanup_(arena_freep) Arena *arena = terminal_arena(MEMORY_FOR, PODS_BUDGET);
    Trial trial = {.policy = policy,
        .is_suspect = ARENA_ARRAY(arena, bool, policy->n_filters + 1),
        .details = ARENA_ARRAY(arena, Str, policy->n_filters + 1)};
    Pod pod = make_pod(&policy->match, arena);
    size_t n_tried = 0;

    for (size_t i = 0; i < policy->n_filters; i++)
        trial.n_suspects += trial.is_suspect[i] = is_lasting(&policy->filters[i]);
    if (trial.n_suspects > 0)
        try_pod(check, &trial, &pod);
    for (size_t i = 0; i < check->pods.n && n_tried < SAMPLES_MAX && trial.n_suspects > 0; i++) {
        if (!policy_selects(policy, check->pods.items[i]))
            continue;
        n_tried++;
        try_pod(check, &trial, check->pods.items[i]);
    }
    report(check, &trial);
}

/* Warns once about each related kind that @expression reads and the cluster lacks. */
static void check_related(void *context, const Policy *policy, const Expression *expression) {
    ClusterCheck *check = context;
    unsigned missing = schema_related(check->program->schema, expression->checked) &
                       ~(check->known_related | check->reported_related);

    for (unsigned i = 0; i < _RELATED_KINDS; i++) {
        const char *name = related_kind_name((RelatedKind)i);

        if (!(missing & RELATED_BIT(i)))
            continue;
        check->reported_related |= RELATED_BIT(i);
        diag_add(check->diags, DIAG_WARNING, expression->place, policy->source,
            arena_printf(check->diags->arena,
                "the cluster that is checked has no %s: the expression fails here", name),
            arena_printf(check->diags->arena,
                "a file from `kubectl get nodes,pods,%s -A -o json` has them; of an API server "
                "they need get, list and watch on %s",
                name, name));
    }
}

void cluster_check_run(const ClusterSource *cluster, Program *program, DiagList *diags) {
    _cleanup_(arena_freep) Arena *arena = terminal_arena(MEMORY_FOR, PODS_BUDGET);
    _cleanup_(zones_freep) Zones *zones = terminal_need(zones_new(), "the pods of the cluster");
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = cluster_source_load(cluster, program->related);
    const RelatedObjects *related = snapshot_related(snapshot);
    const ViewParts parts = {
        .snapshot = snapshot, .program = program, .zones = zones_finder(zones)};
    _cleanup_(view_unrefp) View *view = NULL;
    ClusterCheck check = {.program = program, .arena = arena, .diags = diags};

    if (snapshot_table(snapshot)->names->n_nodes == 0)
        terminal_exit(EXIT_FAILED, "the cluster has no nodes to check against");
    (void)terminal_check(view_new(&parts, /* before= */ NULL, &view), MEMORY_FOR, NULL);
    check.view = view;
    gather_pods(&check, cluster->file, view->table);
    for (unsigned i = 0; i < _RELATED_KINDS; i++)
        check.known_related |= related->kinds[i] ? RELATED_BIT(i) : 0;
    program_each_expression(program, check_related, &check);
    lint_cluster(program, view->table, check.pods.items, check.pods.n, diags);
    for (size_t i = 0; i < program->n_policies; i++)
        try_policy(&check, &program->policies[i]);
    diag_list_sort(diags, 0);
}
