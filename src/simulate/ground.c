#include "simulate/ground.h"

#include <errno.h>
#include <stdlib.h>

#include "base/map.h"

/* --- the order of nodes ------------------------------------------------- */

/* The value of the first of both labels that there is. */
static Str either_label(const Labels *labels, Str first, Str second) {
    const Str *value = labels_find(labels, first);

    if (!value)
        value = labels_find(labels, second);
    return value ? *value : STR_NULL;
}

/* kube-scheduler keeps nodes by zone, and takes one of each in turn: zones in the order in which
 * the first node of each came. A zone is known by its region too; old labels go before new ones. */
static Str zone_of(const Node *node, Arena *arena) {
    Str region = either_label(&node->labels,
        STR("failure-domain.beta.kubernetes.io/region"),
        STR("topology.kubernetes.io/region"));
    Str zone = either_label(&node->labels,
        STR("failure-domain.beta.kubernetes.io/zone"),
        STR("topology.kubernetes.io/zone"));

    return arena_printf(arena, "%.*s\x1f%.*s", STR_FMT(region), STR_FMT(zone));
}

typedef struct Zoning {
    uint32_t *zone; /* by row */
    uint32_t *size; /* by zone */
    uint32_t n;
} Zoning;

static int find_zones(Ground *ground, Zoning *ret) {
    Map numbers = MAP_INIT_IN(ground->arena);

    ret->zone = ARENA_ARRAY(ground->arena, uint32_t, ground->n_rows);
    ret->size = ARENA_ARRAY(ground->arena, uint32_t, ground->n_rows + 1);
    if (!ret->zone || !ret->size)
        return -ENOMEM;
    for (uint32_t row = 0; row < ground->n_rows; row++) {
        const Node *node = table_node(ground->table, row);
        Str zone = node ? zone_of(node, ground->arena) : STR_NULL;
        uint32_t number;

        if (!node)
            continue;
        number = zone.ptr ? map_find(&numbers, zone) : 0;
        if (zone.ptr && number == MAP_NONE && map_add(&numbers, zone, number = ret->n++) < 0)
            return -ENOMEM;
        if (!zone.ptr)
            return -ENOMEM;
        ret->zone[row] = number;
        ret->size[number]++;
    }
    return 0;
}

/* The place of the k-th node of zone z: behind the first k of every zone, and behind the (k+1)-th
 * of those zones before it. Counted round by round. */
static int find_order(Ground *ground) {
    Zoning zoning = {0};
    uint32_t **rows, *at;
    int r = find_zones(ground, &zoning);

    if (r < 0)
        return r;
    rows = ARENA_ARRAY(ground->arena, uint32_t *, zoning.n + 1);
    at = ARENA_ARRAY(ground->arena, uint32_t, zoning.n + 1);
    ground->order = ARENA_ARRAY(ground->arena, uint32_t, ground->n_rows + 1);
    if (!rows || !at || !ground->order)
        return -ENOMEM;
    for (uint32_t z = 0; z < zoning.n; z++)
        if (!(rows[z] = ARENA_ARRAY(ground->arena, uint32_t, zoning.size[z])))
            return -ENOMEM;
    for (uint32_t row = 0; row < ground->n_rows; row++)
        if (table_node(ground->table, row))
            rows[zoning.zone[row]][at[zoning.zone[row]]++] = row;
    for (uint32_t round = 0, left = 1; left > 0; round++) {
        left = 0;
        for (uint32_t z = 0; z < zoning.n; z++)
            if (round < zoning.size[z]) {
                ground->order[ground->n_order++] = rows[z][round];
                left++;
            }
    }
    return 0;
}

/* --- making one ---------------------------------------------------------- */

static int make_columns(Ground *ground) {
    const NodeTable *table = ground->table;
    size_t n = ground->n_rows + 1;

    ground->offered = ARENA_ARRAY(ground->arena, int64_t *, ground->n_resources);
    ground->asked = ARENA_ARRAY(ground->arena, int64_t *, ground->n_resources);
    ground->soft_cpu = ARENA_ARRAY(ground->arena, int64_t, n);
    ground->soft_memory = ARENA_ARRAY(ground->arena, int64_t, n);
    ground->ports = ARENA_ARRAY(ground->arena, HostPorts, n);
    ground->n_own = ARENA_ARRAY(ground->arena, uint32_t, n);
    ground->was_used = ARENA_ARRAY(ground->arena, uint8_t, n);
    if (!ground->offered || !ground->asked || !ground->soft_cpu || !ground->soft_memory ||
        !ground->ports || !ground->n_own || !ground->was_used)
        return -ENOMEM;
    for (size_t i = 0; i < ground->n_resources; i++) {
        ground->offered[i] = ARENA_ARRAY(ground->arena, int64_t, n);
        ground->asked[i] = ARENA_ARRAY(ground->arena, int64_t, n);
        if (!ground->offered[i] || !ground->asked[i])
            return -ENOMEM;
        for (uint32_t row = 0; row < ground->n_rows; row++)
            ground->offered[i][row] = table_amount(table, row, i, AMOUNT_ALLOCATABLE);
    }
    return 0;
}

int ground_new(const NodeTable *table, Ground **ret) {
    _cleanup_(ground_freep) Ground *ground = calloc(1, sizeof(*ground));
    int r;

    if (!ground || !(ground->arena = arena_new(GROUND_BUDGET)))
        return -ENOMEM;
    ground->table = table;
    ground->n_rows = table->n_rows;
    ground->n_resources = table->n_resources;
    ground->pods = table_find_resource(table, STR("pods"));
    r = make_columns(ground);
    if (r == 0)
        r = find_order(ground);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(ground);
    return 0;
}

Ground *ground_free(Ground *ground) {
    if (!ground)
        return NULL;
    for (size_t row = 0; ground->ports && row < ground->n_rows; row++)
        free(ground->ports[row].items);
    arena_free(ground->arena);
    free(ground);
    return NULL;
}

/* --- pods --------------------------------------------------------------- */

Footprint footprint_of(const Want *want) {
    return (Footprint){
        .requests = &want->pod.requests,
        .soft_cpu = want->soft_cpu,
        .soft_memory = want->soft_memory,
        .ports = want->ports,
        .is_own =
            !str_is(want->pod.owner_kind, "DaemonSet") && !str_is(want->pod.owner_kind, "Node"),
    };
}

static int64_t add_up(int64_t a, int64_t b) {
    int64_t sum;

    if (__builtin_add_overflow(a, b, &sum))
        return b < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

/* Adds what the node of @row is and has to the sums (or, @sign -1, takes it away). */
static void count_use(Ground *ground, uint32_t row, int sign) {
    GroundUse *use = &ground->use;

    use->n_nodes += (size_t)sign;
    use->cpu_offered = add_up(use->cpu_offered, sign * ground->offered[TABLE_CPU][row]);
    use->cpu_asked = add_up(use->cpu_asked, sign * ground->asked[TABLE_CPU][row]);
}

static void change_amounts(Ground *ground, uint32_t row, const Footprint *footprint, int sign) {
    for (size_t i = 0; i < footprint->requests->n; i++) {
        const Resource *request = &footprint->requests->items[i];
        size_t column = table_find_resource(ground->table, request->name);

        if (column != SIZE_MAX && column != ground->pods)
            ground->asked[column][row] = add_up(ground->asked[column][row], sign * request->amount);
    }
    if (ground->pods != SIZE_MAX)
        ground->asked[ground->pods][row] += sign;
    ground->soft_cpu[row] = add_up(ground->soft_cpu[row], sign * footprint->soft_cpu);
    ground->soft_memory[row] = add_up(ground->soft_memory[row], sign * footprint->soft_memory);
}

/* Room is a power of two, so that it grows when the number is one. */
static int add_ports(HostPorts *ports, const HostPorts *more) {
    for (size_t i = 0; i < more->n; i++) {
        if ((ports->n & (ports->n - 1)) == 0) {
            size_t room = ports->n == 0 ? 1 : 2 * ports->n;
            HostPort *items = realloc(ports->items, room * sizeof(*items));

            if (!items)
                return -ENOMEM;
            ports->items = items;
        }
        ports->items[ports->n++] = more->items[i];
    }
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

int ground_add(Ground *ground, uint32_t row, const Footprint *footprint) {
    int r = add_ports(&ground->ports[row], &footprint->ports);

    if (r < 0)
        return r;
    if (ground->n_own[row] > 0)
        count_use(ground, row, -1);
    change_amounts(ground, row, footprint, 1);
    ground->n_own[row] += footprint->is_own;
    ground->was_used[row] |= footprint->is_own;
    if (ground->n_own[row] > 0)
        count_use(ground, row, 1);
    return 0;
}

void ground_remove(Ground *ground, uint32_t row, const Footprint *footprint) {
    remove_ports(&ground->ports[row], &footprint->ports);
    if (ground->n_own[row] > 0)
        count_use(ground, row, -1);
    change_amounts(ground, row, footprint, -1);
    ground->n_own[row] -= footprint->is_own;
    if (ground->n_own[row] > 0)
        count_use(ground, row, 1);
}

bool ground_is_open(const Ground *ground, uint32_t row) {
    static const Tolerations none;
    const Node *node = table_node(ground->table, row);

    return node && !node->is_unschedulable && tolerations_admit(&none, &node->taints);
}
