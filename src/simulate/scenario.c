/*
 * Three readers of files, and what follows from all of them together: which pods are lifted, who
 * comes when, and what of it is not modelled.
 */

#include "simulate/scenario.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/map.h"
#include "base/vec.h"
#include "cluster/pool.h"
#include "cluster/store.h"
#include "input/objects.h"
#include "simulate/trace.h"

#define SCRATCH_BUDGET ((size_t)64 * 1024 * 1024)

typedef struct Draft {
    const ScenarioFiles *files;
    const char *path; /* the file that is read */
    char *error;
    Scenario *scenario;
    Store *nodes;
    Arena *scratch; /* of one object */
    VEC(Resident) residents;
    VEC(Arrival) arrivals;
} Draft;

static int complain(Draft *draft, const char *path, const char *what) {
    (void)snprintf(draft->error, SCENARIO_ERROR_MAX, "%s: %s", path, what);
    return -EINVAL;
}

/* --- pods that come ----------------------------------------------------- */

static int add_arrival(Draft *draft, const Want *want, Str name, double at, double lifetime) {
    Arrival *arrival;

    if (draft->arrivals.n >= SCENARIO_PODS_MAX)
        return complain(draft, draft->path, "more than 1,000,000 pods");
    arrival = VEC_PUSH(&draft->arrivals, draft->scenario->arena);
    if (!arrival)
        return -ENOMEM;
    *arrival = (Arrival){
        .want = want,
        .name = name,
        .at = at,
        .lifetime = lifetime,
        .was_on = NO_ROW,
    };
    for (unsigned i = 0; i < _BEYOND_MAX; i++)
        draft->scenario->n_beyond[i] += want->beyond >> i & 1;
    draft->scenario->n_any_beyond += want->beyond != 0;
    return 0;
}

/* The pod's strings point into the text, which is gone after this: so it is kept. */
static int keep_want(Draft *draft, Str object, const Want **ret) {
    Arena *arena = draft->scenario->arena;
    Want *want = ARENA_NEW(arena, Want);
    Str text = arena_copy(arena, object);
    JsonReader reader;

    if (!want || !text.ptr)
        return -ENOMEM;
    json_reader_init(&reader, text);
    want_decode(&reader, arena, want);
    *ret = want;
    if (json_error(&reader) == JSON_OK)
        return 0;
    if (json_error(&reader) == JSON_E_MEMORY)
        return -ENOMEM;
    (void)snprintf(draft->error,
        SCENARIO_ERROR_MAX,
        "%s: pod \"%.*s\": %s",
        draft->path,
        STR_FMT(want->pod.name),
        reader.error_text);
    return -EINVAL;
}

static int visit_pod(void *context, Str kind, Str object) {
    Draft *draft = context;
    const Want *want = NULL;
    int r;

    if (!str_is(kind, "Pod"))
        return 0;
    r = keep_want(draft, object, &want);
    if (r == 0 && !want->pod.is_terminal)
        r = add_arrival(draft, want, want->pod.name, /* at= */ 0, INFINITY);
    return r;
}

static int visit_trace(void *context, const TraceLine *line) {
    Draft *draft = context;
    const Want *want = NULL;
    int r = keep_want(draft, line->pod, &want);
    Str name = str_is_empty(line->name) && want ? want->pod.name : line->name;

    for (int64_t i = 0; r == 0 && i < line->count; i++) {
        Str own = line->count == 1 && !str_is_empty(name)
                      ? arena_copy(draft->scenario->arena, name)
                      : arena_printf(draft->scenario->arena,
                            "%.*s.%lld",
                            STR_FMT(str_is_empty(name) ? STR("pod") : name),
                            (long long)i + 1);

        r = own.ptr ? add_arrival(draft, want, own, line->at, line->lifetime) : -ENOMEM;
    }
    return r;
}

/* --- the cluster -------------------------------------------------------- */

static int add_node(Draft *draft, Str object) {
    JsonReader reader;
    Node node;
    int r;

    json_reader_init(&reader, object);
    node_decode(&reader, draft->scratch, &node);
    if (json_error(&reader) != JSON_OK)
        return complain(draft, draft->path, reader.error_text);
    if (store_find_node(draft->nodes, node.name))
        return complain(draft, draft->path, "there are two nodes of one name");
    r = store_apply_node(draft->nodes, &node);
    return r == STORE_FULL ? complain(draft, draft->path, "more than 50,000 nodes") : error_fold(r);
}

static int copy_ports(const HostPorts *from, Arena *arena, HostPorts *ret) {
    *ret = (HostPorts){.items = ARENA_ARRAY(arena, HostPort, from->n), .n = from->n};
    if (!ret->items)
        return -ENOMEM;
    for (size_t i = 0; i < from->n; i++) {
        HostPort *port = &ret->items[i];

        *port = from->items[i];
        port->ip = arena_copy(arena, port->ip);
        port->protocol = arena_copy(arena, port->protocol);
        if (!port->ip.ptr || !port->protocol.ptr)
            return -ENOMEM;
    }
    return 0;
}

/* What it counts for is kept with its record: @want is gone after this. */
static int add_resident(Draft *draft, const Want *want) {
    Footprint footprint = footprint_of(want);
    const Pod *pod;
    Resident *resident;
    int r = copy_ports(&want->ports, draft->scenario->arena, &footprint.ports);

    if (r < 0)
        return r;
    resident = VEC_PUSH(&draft->residents, draft->scenario->arena);
    pod = resident ? pod_record_new(draft->scenario->pool, &want->pod) : NULL;
    if (!pod)
        return -ENOMEM;
    footprint.requests = &pod->requests;
    *resident = (Resident){.pod = pod, .footprint = footprint};
    return 0;
}

/* A pod that waits comes first, when that was asked for. */
static int add_waiting(Draft *draft, Str object) {
    if (draft->files->with_pending)
        return visit_pod(draft, STR("Pod"), object);
    draft->scenario->n_left_pending++;
    return 0;
}

static int visit_cluster(void *context, Str kind, Str object) {
    Draft *draft = context;
    JsonReader reader;
    Want want;
    int r = 0;

    arena_reset(draft->scratch);
    if (str_is(kind, "Node"))
        return add_node(draft, object);
    if (!str_is(kind, "Pod"))
        return 0;
    json_reader_init(&reader, object);
    want_decode(&reader, draft->scratch, &want);
    if (json_error(&reader) == JSON_E_MEMORY)
        return -ENOMEM;
    if (json_error(&reader) != JSON_OK)
        return complain(draft, draft->path, reader.error_text);
    if (!want.pod.is_terminal)
        r = str_is_empty(want.pod.node_name) ? add_waiting(draft, object)
                                             : add_resident(draft, &want);
    return r;
}

static int read_cluster(Draft *draft) {
    int r;

    draft->path = draft->files->cluster;
    r = objects_each(draft->path, visit_cluster, draft, draft->error);
    if (r == 0)
        r = store_publish(draft->nodes, &draft->scenario->snapshot);
    if (r < 0)
        return r;
    draft->scenario->table = snapshot_table(draft->scenario->snapshot);
    if (draft->scenario->table->names->n_nodes == 0)
        return complain(
            draft, draft->path, "holds no Node; make it with: kubectl get nodes,pods -A -o json");
    return 0;
}

/* --- all together ------------------------------------------------------- */

/* Pods without a node that there is are of no account. */
static void settle_residents(Draft *draft) {
    Scenario *scenario = draft->scenario;
    size_t n = 0;

    for (size_t i = 0; i < draft->residents.n; i++) {
        Resident *resident = &draft->residents.items[i];

        resident->row = table_find(scenario->table, resident->pod->node_name);
        if (resident->row == scenario->table->n_rows) {
            pod_record_unref(resident->pod);
            scenario->n_homeless++;
        } else {
            draft->residents.items[n++] = *resident;
        }
    }
    scenario->residents = draft->residents.items;
    scenario->n_residents = n;
    draft->residents.n = 0;
}

static Str full_name(Arena *arena, Str namespace, Str name) {
    return arena_printf(arena, "%.*s/%.*s", STR_FMT(namespace), STR_FMT(name));
}

/* Every pod needs a name of its own. In a trace one may come again and again: then it gets its
 * number behind its name. */
static int name_arrivals(Draft *draft, Map *names) {
    Arena *arena = draft->scenario->arena;

    for (size_t i = 0; i < draft->arrivals.n; i++) {
        Arrival *arrival = &draft->arrivals.items[i];
        Str name = full_name(arena, arrival->want->pod.namespace, arrival->name);
        bool is_taken = name.ptr && map_find(names, name) != MAP_NONE;

        if (is_taken && !draft->files->trace) {
            (void)snprintf(draft->error,
                SCENARIO_ERROR_MAX,
                "%s: there are two pods named \"%.*s\"",
                draft->path,
                STR_FMT(name));
            return -EINVAL;
        }
        if (is_taken || str_is_empty(arrival->name)) {
            arrival->name = arena_printf(arena, "%.*s.n%zu", STR_FMT(arrival->name), i + 1);
            name = full_name(arena, arrival->want->pod.namespace, arrival->name);
        }
        if (!arrival->name.ptr || !name.ptr || map_add(names, name, (uint32_t)i) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int lift_residents(Draft *draft, const Map *names) {
    Scenario *scenario = draft->scenario;

    for (size_t i = 0; i < scenario->n_residents; i++) {
        Resident *resident = &scenario->residents[i];
        Str name;
        uint32_t arrival;

        arena_reset(draft->scratch);
        name = full_name(draft->scratch, resident->pod->namespace, resident->pod->name);
        if (!name.ptr)
            return -ENOMEM;
        arrival = map_find(names, name);
        if (arrival == MAP_NONE)
            continue;
        resident->is_lifted = true;
        scenario->n_lifted++;
        draft->arrivals.items[arrival].was_on = resident->row;
    }
    return 0;
}

static int compare_arrivals(const void *a, const void *b) {
    const Arrival *x = a, *y = b;

    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    if (x->want->pod.priority != y->want->pod.priority)
        return x->want->pod.priority > y->want->pod.priority ? -1 : 1;
    return 0;
}

static int compare_bound(const void *a, const void *b) {
    const Arrival *x = a, *y = b;

    if (x->want->pod.scheduled_at == y->want->pod.scheduled_at)
        return 0;
    return x->want->pod.scheduled_at < y->want->pod.scheduled_at ? -1 : 1;
}

/* Merging keeps what is equal in its order, which qsort() does not promise. */
static int sort_arrivals(
    Arrival *items, size_t n, int (*compare)(const void *a, const void *b), Arena *arena) {
    Arrival *other = ARENA_RAW(arena, Arrival, n);

    if (!other)
        return -ENOMEM;
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t from = 0; from < n; from += 2 * width) {
            size_t middle = from + width < n ? from + width : n;
            size_t end = middle + width < n ? middle + width : n;
            size_t a = from, b = middle;

            for (size_t k = from; k < end; k++) {
                bool takes_a = a < middle && (b == end || compare(&items[a], &items[b]) <= 0);

                other[k] = takes_a ? items[a++] : items[b++];
            }
        }
        memcpy(items, other, n * sizeof(*items));
    }
    return 0;
}

static int settle_arrivals(Draft *draft) {
    Scenario *scenario = draft->scenario;
    int r = 0;

    for (size_t i = 0; i < draft->arrivals.n; i++) {
        Str node = draft->arrivals.items[i].want->pod.node_name;
        uint32_t row = table_find(scenario->table, node);

        if (!str_is_empty(node) && row != scenario->table->n_rows)
            draft->arrivals.items[i].was_on = row;
    }
    if (draft->files->trace)
        r = sort_arrivals(
            draft->arrivals.items, draft->arrivals.n, compare_arrivals, scenario->arena);
    else if (draft->files->by_schedule)
        r = sort_arrivals(draft->arrivals.items, draft->arrivals.n, compare_bound, scenario->arena);
    if (r < 0)
        return r;
    scenario->is_timed = draft->files->trace || draft->files->every > 0;
    for (size_t i = 0; i < draft->arrivals.n; i++) {
        Arrival *arrival = &draft->arrivals.items[i];

        if (!draft->files->trace)
            arrival->at = draft->files->every * (double)i;
        scenario->has_lifetimes |= isfinite(arrival->lifetime);
        scenario->has_stayers |= !isfinite(arrival->lifetime);
        scenario->last_at = arrival->at > scenario->last_at ? arrival->at : scenario->last_at;
    }
    scenario->arrivals = draft->arrivals.items;
    scenario->n_arrivals = draft->arrivals.n;
    return 0;
}

static int read_pods(Draft *draft) {
    int r = 0;

    if (draft->files->pods) {
        draft->path = draft->files->pods;
        r = objects_each(draft->path, visit_pod, draft, draft->error);
    }
    if (r == 0 && draft->files->trace) {
        draft->path = draft->files->trace;
        r = trace_each(draft->path, visit_trace, draft, draft->error);
    }
    if (r == 0 && draft->arrivals.n == 0)
        return complain(draft, draft->path, "holds no Pod to place");
    return r;
}

static int load(Draft *draft) {
    _cleanup_(map_done) Map names = MAP_INIT;
    int r = read_cluster(draft);

    if (r == 0)
        r = read_pods(draft);
    if (r == 0)
        settle_residents(draft);
    if (r == 0)
        r = name_arrivals(draft, &names);
    if (r == 0)
        r = lift_residents(draft, &names);
    return r == 0 ? settle_arrivals(draft) : r;
}

int scenario_load(const ScenarioFiles *files, Scenario **ret, char *error) {
    _cleanup_(scenario_freep) Scenario *scenario = calloc(1, sizeof(*scenario));
    _cleanup_(store_freep) Store *nodes = store_new();
    _cleanup_(arena_freep) Arena *scratch = arena_new(SCRATCH_BUDGET);
    Draft draft = {
        .files = files,
        .error = error,
        .scenario = scenario,
        .nodes = nodes,
        .scratch = scratch,
    };
    int r = -ENOMEM;

    error[0] = '\0';
    if (scenario) {
        scenario->arena = arena_new(SCENARIO_BUDGET);
        scenario->pool = pool_new();
    }
    if (scenario && scenario->arena && scenario->pool && nodes && scratch)
        r = load(&draft);
    for (size_t i = 0; i < draft.residents.n; i++) /* that nobody has taken over */
        pod_record_unref(draft.residents.items[i].pod);
    if (r < 0 && (error[0] == '\0' || r == -ENOMEM))
        (void)snprintf(error, SCENARIO_ERROR_MAX, "out of memory");
    if (r < 0)
        return r;
    *ret = TAKE_PTR(scenario);
    return 0;
}

Scenario *scenario_free(Scenario *scenario) {
    if (!scenario)
        return NULL;
    for (size_t i = 0; i < scenario->n_residents; i++)
        pod_record_unref(scenario->residents[i].pod);
    snapshot_unref(scenario->snapshot);
    pool_free(scenario->pool);
    arena_free(scenario->arena);
    free(scenario);
    return NULL;
}

static int compare_amounts(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

int64_t scenario_quantile(const Scenario *scenario, Str resource, double quantile, Arena *scratch) {
    int64_t *amounts = ARENA_ARRAY(scratch, int64_t, scenario->n_arrivals);
    size_t n = 0, at;

    for (size_t i = 0; amounts && i < scenario->n_arrivals; i++) {
        int64_t amount = resources_get(&scenario->arrivals[i].want->pod.requests, resource);

        if (amount > 0)
            amounts[n++] = amount;
    }
    if (n == 0)
        return 0;
    qsort(amounts, n, sizeof(*amounts), compare_amounts);
    at = (size_t)ceil(quantile * (double)n);
    return amounts[at == 0 ? 0 : at - 1 < n ? at - 1 : n - 1];
}
