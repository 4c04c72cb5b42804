/* Nodes in the order of kube-scheduler, and amounts that change as pods are added and removed. */

#include "scheduler/cluster-state.h"

#include <errno.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/num.h"

static Str either_label(const Labels *labels, Str first, Str second) {
    const Str *value = labels_find(labels, first);

    if (!value)
        value = labels_find(labels, second);
    return value ? *value : STR_NULL;
}

/* kube-scheduler takes one node of each zone in turn, zones in the order of their first node.
 * Region and zone identify a zone; the old labels win over the new ones. */
static Str zone_of(const Node *node, Arena *arena) {
    Str region = either_label(&node->labels, STR("failure-domain.beta.kubernetes.io/region"),
        STR("topology.kubernetes.io/region"));
    Str zone = either_label(&node->labels, STR("failure-domain.beta.kubernetes.io/zone"),
        STR("topology.kubernetes.io/zone"));

    return arena_printf(arena, "%.*s\x1f%.*s", STR_FMT(region), STR_FMT(zone));
}

typedef struct ZoneNumbers {
    uint32_t *zone; /* by row */
    uint32_t *size; /* by zone */
    uint32_t n;
} ZoneNumbers;

/* 0, or -ENOMEM. */
static int number_zones(ClusterState *cluster, ZoneNumbers *ret) {
    Map numbers = MAP_INIT_IN(cluster->arena);

    ret->zone = ARENA_ARRAY(cluster->arena, uint32_t, cluster->n_rows + 1);
    ret->size = ARENA_ARRAY(cluster->arena, uint32_t, cluster->n_rows + 1);
    if (arena_has_failed(cluster->arena))
        return -ENOMEM;
    for (uint32_t row = 0; row < cluster->n_rows; row++) {
        const Node *node = table_node(cluster->table, row);
        Str zone = node ? zone_of(node, cluster->arena) : STR_NULL;
        uint32_t number;

        if (!node)
            continue;
        if (!zone.ptr)
            return -ENOMEM;
        number = map_find(&numbers, zone);
        if (number == MAP_NONE && map_add(&numbers, zone, number = ret->n++) < 0)
            return -ENOMEM;
        ret->zone[row] = number;
        ret->size[number]++;
    }
    return 0;
}

/* One node of each zone in turn: first the rows of each zone, then round by round. */
static int find_order(ClusterState *cluster) {
    ZoneNumbers zones = {0};
    uint32_t *rows, *start, *at;
    int r = number_zones(cluster, &zones);

    rows = ARENA_ARRAY(cluster->arena, uint32_t, cluster->n_rows + 1);
    start = ARENA_ARRAY(cluster->arena, uint32_t, zones.n + 1);
    at = ARENA_ARRAY(cluster->arena, uint32_t, zones.n + 1);
    cluster->order = ARENA_ARRAY(cluster->arena, uint32_t, cluster->n_rows + 1);
    if (r < 0 || arena_has_failed(cluster->arena))
        return -ENOMEM;
    for (uint32_t z = 0; z < zones.n; z++)
        start[z + 1] = start[z] + zones.size[z];
    for (uint32_t row = 0; row < cluster->n_rows; row++)
        if (table_node(cluster->table, row))
            rows[start[zones.zone[row]] + at[zones.zone[row]]++] = row;
    for (uint32_t round = 0; cluster->n_order < start[zones.n]; round++)
        for (uint32_t z = 0; z < zones.n; z++)
            if (round < zones.size[z])
                cluster->order[cluster->n_order++] = rows[start[z] + round];
    return 0;
}

static int make_columns(ClusterState *cluster) {
    Arena *arena = cluster->arena;
    size_t n = cluster->n_rows + 1;

    cluster->allocatable = ARENA_ARRAY(arena, int64_t *, cluster->n_resources);
    cluster->requested = ARENA_ARRAY(arena, int64_t *, cluster->n_resources);
    cluster->nonzero_cpu = ARENA_ARRAY(arena, int64_t, n);
    cluster->nonzero_memory = ARENA_ARRAY(arena, int64_t, n);
    cluster->ports = ARENA_ARRAY(arena, HostPorts, n);
    cluster->n_own = ARENA_ARRAY(arena, uint32_t, n);
    cluster->was_used = ARENA_ARRAY(arena, uint8_t, n);
    cluster->is_hidden = ARENA_ARRAY(arena, bool, n);
    for (size_t i = 0; !arena_has_failed(arena) && i < cluster->n_resources; i++) {
        cluster->allocatable[i] = ARENA_ARRAY(arena, int64_t, n);
        cluster->requested[i] = ARENA_ARRAY(arena, int64_t, n);
        for (uint32_t row = 0; cluster->allocatable[i] && row < cluster->n_rows; row++)
            cluster->allocatable[i][row] = table_amount(cluster->table, row, i, AMOUNT_ALLOCATABLE);
    }
    return arena_has_failed(arena) ? -ENOMEM : 0;
}

int cluster_state_new(const NodeTable *table, const TermIndex *index, ClusterState **ret) {
    _cleanup_(cluster_state_freep) ClusterState *cluster = calloc(1, sizeof(*cluster));
    int r;

    if (!cluster || !(cluster->arena = arena_new(CLUSTER_STATE_BUDGET)))
        return -ENOMEM;
    cluster->table = table;
    cluster->n_rows = table->n_rows;
    cluster->n_resources = table->n_resources;
    cluster->pods = table_find_resource(table, STR("pods"));
    r = make_columns(cluster);
    if (r == 0)
        r = find_order(cluster);
    if (r == 0 && index && index->keys.strings.n > 0)
        r = inter_pod_new(index, cluster->arena, &cluster->inter_pod);
    if (r == 0)
        *ret = TAKE_PTR(cluster);
    return r;
}

void cluster_state_hide(ClusterState *cluster, const uint32_t *rows, size_t n) {
    size_t n_left = 0;

    for (size_t i = 0; i < n; i++)
        cluster->is_hidden[rows[i]] = true;
    cluster->n_hidden += n;
    for (size_t i = 0; i < cluster->n_order; i++)
        if (!cluster->is_hidden[cluster->order[i]])
            cluster->order[n_left++] = cluster->order[i];
    cluster->n_order = n_left;
}

void cluster_state_show(ClusterState *cluster, uint32_t row) {
    cluster->is_hidden[row] = false;
    cluster->n_hidden--;
    cluster->order[cluster->n_order++] = row;
}

ClusterState *cluster_state_free(ClusterState *cluster) {
    if (!cluster)
        return NULL;
    arena_free(cluster->arena);
    free(cluster);
    return NULL;
}

Footprint footprint_of(const PodRequest *request) {
    return (Footprint){
        .requests = &request->pod.requests,
        .nonzero = request->nonzero,
        .ports = request->ports,
        .terms = request->terms,
        .is_own = !str_is(request->pod.owner_kind, "DaemonSet") &&
                  !str_is(request->pod.owner_kind, "Node"),
    };
}

static void change_amounts(
    ClusterState *cluster, uint32_t row, const Footprint *footprint, int sign) {
    cluster->n_used -= cluster->n_own[row] > 0;
    for (size_t i = 0; i < footprint->requests->n; i++) {
        const Resource *request = &footprint->requests->items[i];
        size_t column = table_find_resource(cluster->table, request->name);

        if (column != SIZE_MAX && column != cluster->pods)
            cluster->requested[column][row] =
                num_add_sat(cluster->requested[column][row], sign * request->amount);
    }
    if (cluster->pods != SIZE_MAX)
        cluster->requested[cluster->pods][row] += sign;
    cluster->nonzero_cpu[row] =
        num_add_sat(cluster->nonzero_cpu[row], sign * footprint->nonzero.cpu);
    cluster->nonzero_memory[row] =
        num_add_sat(cluster->nonzero_memory[row], sign * footprint->nonzero.memory);
    cluster->n_own[row] += (uint32_t)(sign * footprint->is_own);
    cluster->n_used += cluster->n_own[row] > 0;
}

static int add_ports(ClusterState *cluster, uint32_t row, const HostPorts *more) {
    for (size_t i = 0; i < more->n; i++)
        if (!VEC_ADD(&cluster->ports[row], cluster->arena, more->items[i]))
            return -ENOMEM;
    return 0;
}

static void remove_ports(HostPorts *ports, const HostPorts *gone) {
    for (size_t i = 0; i < gone->n; i++)
        for (size_t k = 0; k < ports->n; k++)
            if (ports->items[k].port == gone->items[i].port &&
                str_eq(ports->items[k].ip, gone->items[i].ip) &&
                str_eq(ports->items[k].protocol, gone->items[i].protocol)) {
                ports->items[k] = ports->items[--ports->n];
                break;
            }
}

int cluster_state_add(ClusterState *cluster, uint32_t row, const Footprint *footprint) {
    int r = add_ports(cluster, row, &footprint->ports);

    if (r == 0 && cluster->inter_pod)
        r = inter_pod_add(cluster->inter_pod, row, &footprint->terms);
    if (r < 0)
        return r;
    change_amounts(cluster, row, footprint, 1);
    cluster->was_used[row] |= footprint->is_own;
    return 0;
}

void cluster_state_remove(ClusterState *cluster, uint32_t row, const Footprint *footprint) {
    remove_ports(&cluster->ports[row], &footprint->ports);
    if (cluster->inter_pod)
        inter_pod_remove(cluster->inter_pod, row, &footprint->terms);
    change_amounts(cluster, row, footprint, -1);
}

void cluster_state_add_table_pods(ClusterState *cluster) {
    for (size_t i = 0; i < cluster->n_resources; i++)
        for (uint32_t row = 0; row < cluster->n_rows; row++)
            cluster->requested[i][row] = table_amount(cluster->table, row, i, AMOUNT_REQUESTED);
    memcpy(cluster->nonzero_cpu, cluster->requested[TABLE_CPU], cluster->n_rows * sizeof(int64_t));
    memcpy(cluster->nonzero_memory, cluster->requested[TABLE_MEMORY],
        cluster->n_rows * sizeof(int64_t));
}

int cluster_state_complete(ClusterState *cluster, uint32_t row, const Footprint *footprint) {
    const Resources *requests = footprint->requests;
    int r = add_ports(cluster, row, &footprint->ports);

    if (r == 0 && cluster->inter_pod)
        r = inter_pod_add(cluster->inter_pod, row, &footprint->terms);
    cluster->nonzero_cpu[row] = num_add_sat(
        cluster->nonzero_cpu[row], footprint->nonzero.cpu - resources_get(requests, STR("cpu")));
    cluster->nonzero_memory[row] = num_add_sat(cluster->nonzero_memory[row],
        footprint->nonzero.memory - resources_get(requests, STR("memory")));
    return r;
}

bool cluster_state_is_open(const ClusterState *cluster, uint32_t row) {
    static const Tolerations none;
    const Node *node = table_node(cluster->table, row);

    return node && !node->is_unschedulable && tolerations_admit(&none, &node->taints);
}
