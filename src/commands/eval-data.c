/* The pod, node, cluster and time of `berth eval`: as policies see them, with their types. */

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "cel/program.h"
#include "cel/report.h"
#include "cli/terminal.h"
#include "commands/eval-internal.h"
#include "input/workload.h"

#define NODES_SHOWN 3u

CelValue *eval_slot(EvalContext *context, EvalValues *values, uint32_t slot) {
    while (values->n <= slot)
        *VEC_PUSH(values, context->arena) = cel_absent();
    return &values->items[slot];
}

/* A name has one slash and is no file. */
static bool is_pod_name(const char *pod) {
    const char *slash = strchr(pod, '/');

    return slash && slash > pod && slash[1] && !strchr(slash + 1, '/') && access(pod, F_OK) < 0;
}

const char *eval_data_check(const EvalData *data) {
    if (data->node && !cluster_source_is_given(&data->cluster))
        return "--node names a node of --cluster FILE, --kubeconfig or --in-cluster";
    if (data->pod && is_pod_name(data->pod) && !cluster_source_is_given(&data->cluster))
        return "--pod NAMESPACE/NAME is a pod of --cluster FILE, --kubeconfig or --in-cluster; a "
               "pod in a file needs none";
    return cluster_source_check(&data->cluster);
}

static void bind(EvalContext *context, EvalValues *values, uint32_t slot, CelValue value) {
    if (value.kind == CEL_ABSENT)
        terminal_out_of_memory("the data", context->arena);
    *eval_slot(context, values, slot) = value;
}

static Str list_nodes(const EvalData *data, Arena *arena) {
    const NodeNames *names = snapshot_table(data->snapshot)->names;
    Str list = STR("");
    size_t n = 0;

    for (size_t row = 0; row < names->n_rows && n < NODES_SHOWN; row++)
        if (!str_is_empty(names->names[row]))
            list = arena_printf(arena, "%.*s%s%.*s", STR_FMT(list), n++ > 0 ? ", " : "",
                STR_FMT(names->names[row]));
    return names->n_nodes > n ? arena_printf(arena, "%.*s, …", STR_FMT(list)) : list;
}

static void load_node(const EvalData *data, EvalContext *context, EvalValues *values) {
    const NodeTable *table = snapshot_table(data->snapshot);
    uint32_t row = table_find(table, str_from_c(data->node));
    Str near;

    if (row < table->n_rows) {
        bind(context, values, context->schema->node_slot, schema_node(table, row, context->arena));
        return;
    }
    near = str_nearest(str_from_c(data->node), table->names->names, table->names->n_rows);
    if (near.len > 0)
        terminal_fail(
            "the cluster has no node \"%s\"; did you mean \"%.*s\"?", data->node, STR_FMT(near));
    terminal_fail("the cluster has no node \"%s\"; it has %.*s", data->node,
        STR_FMT(list_nodes(data, context->arena)));
}

/* The pod of a file that has exactly one pod or pod template. */
static Pod load_pod_file(const char *path, Arena *arena) {
    char error[OBJECTS_ERROR_MAX];
    WorkloadList list;
    int r = workloads_load(path, NULL, arena, &list, error);

    if (r != 0)
        terminal_fail_with(r, error);
    if (list.n != 1)
        terminal_exit(
            EXIT_FAILED, "%s has %zu pods and pod templates; --pod takes one", path, list.n);
    return list.items[0].pod;
}

static void load_pod(const EvalData *data, EvalContext *context, EvalValues *values) {
    Pod *pod = ARENA_NEW(context->arena, Pod);

    if (is_pod_name(data->pod))
        cluster_source_pod(&data->cluster, data->pod, context->arena, pod);
    else
        *pod = load_pod_file(data->pod, context->arena);
    if (data->snapshot) {
        Related *related = ARENA_NEW(context->arena, Related);

        if (related_objects_find(snapshot_related(data->snapshot), pod, context->arena, related) <
            0)
            terminal_out_of_memory("the pod", context->arena);
        pod->related = related;
    }
    bind(context, values, context->schema->pod_slot, schema_pod(pod, context->arena));
    bind(context, values, context->schema->namespace_slot, schema_namespace(pod, context->arena));
}

void eval_data_load(EvalData *data, EvalContext *context, EvalValues *values) {
    int64_t now_nsec = data->now_nsec ? data->now_nsec : clock_wall_nsec();

    bind(context, values, context->schema->now_slot, schema_now(now_nsec));
    if (cluster_source_is_given(&data->cluster)) {
        data->snapshot = cluster_source_load(&data->cluster, RELATED_ALL);
        bind(context, values, context->schema->cluster_slot,
            schema_cluster(snapshot_table(data->snapshot), context->arena));
    }
    if (data->node)
        load_node(data, context, values);
    if (data->pod)
        load_pod(data, context, values);
}

/* The option that gives the variable of slot @slot; STR_NULL: it is given. */
static Str find_missing(const EvalData *data, const EvalContext *context, uint32_t slot) {
    const Schema *schema = context->schema;

    if ((slot == schema->pod_slot || slot == schema->namespace_slot) && !data->pod)
        return STR("--pod FILE gives it, or --cluster FILE --pod NAMESPACE/NAME");
    if (slot == schema->cluster_slot && !cluster_source_is_given(&data->cluster))
        return STR("--cluster FILE gives it: the output of `kubectl get nodes,pods -A -o json`");
    if (slot != schema->node_slot || data->node)
        return STR_NULL;
    return cluster_source_is_given(&data->cluster)
               ? arena_printf(context->arena, "--node NAME chooses one: %.*s",
                     STR_FMT(list_nodes(data, context->arena)))
               : STR("--cluster FILE --node NAME gives one");
}

int eval_data_report(const EvalData *data, const EvalContext *context, Str file, Str source,
    const CelOptions *options, DiagList *diags) {
    DiagList others = DIAG_LIST_IN(context->arena);
    CelChecked *checked = NULL;
    uint64_t reported = 0;
    int r =
        cel_compile_tree(context->env, file, source, options, context->arena, &others, &checked);

    for (uint32_t i = 0; r == 0 && i < checked->tree->n_nodes; i++) {
        const CelNodeInfo *info = &checked->infos[i];
        const CelNode *node = &checked->tree->nodes[i];
        Str hint;

        if (info->ref != CEL_REF_VARIABLE || info->variable->slot >= 64 ||
            (reported >> info->variable->slot & 1))
            continue;
        hint = find_missing(data, context, info->variable->slot);
        if (str_is_empty(hint))
            continue;
        reported |= UINT64_C(1) << info->variable->slot;
        cel_report(diags, file, source, node->from, node->to,
            arena_printf(context->arena, "there is no %.*s to evaluate it for",
                STR_FMT(info->variable->name)),
            hint);
    }
    return r < 0 ? r : 0;
}
