/*
 * Reads the files of a simulation; then finds which pods are rescheduled, and the order of
 * arrivals.
 */

#include "simulate/simulation-input.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/double.h"
#include "base/error.h"
#include "base/map.h"
#include "base/vec.h"
#include "cluster/record-pool.h"
#include "cluster/store.h"
#include "input/objects.h"
#include "input/workload.h"
#include "scheduler/forecast.h"
#include "scheduler/services.h"
#include "simulate/trace.h"

#define SCRATCH_BUDGET ((size_t)64 * 1024 * 1024)
#define POD_TEXT_MAX ((size_t)16 * 1024 * 1024)

#define POOL_PRICE STR("berth.dev/price-per-hour")
#define POOL_MAX STR("berth.dev/max-nodes")
#define HOSTNAME STR("kubernetes.io/hostname")

typedef struct Draft {
    const SimulationFiles *files;
    const char *path; /* the file that is read */
    char *error;
    SimulationInput *input;
    Store *nodes;
    Arena *scratch; /* for one object */
    VEC(ExistingPod) existing;
    VEC(Arrival) arrivals;
    VEC(PodRequest *) requests; /* of the arrivals */
    Services services;
    Node pool_node; /* of the file of a pool */
    size_t n_pool_nodes;
} Draft;

static int set_error(Draft *draft, const char *what) {
    (void)snprintf(draft->error, SIMULATION_ERROR_MAX, "%s: %s", draft->path, what);
    return -EINVAL;
}

/* --- arrivals ----------------------------------------------------------- */

static int add_arrival(
    Draft *draft, const PodRequest *request, Str name, double at, double lifetime) {
    const Arrival arrival = {
        .request = request,
        .name = name,
        .at = at,
        .lifetime = lifetime,
        .current_row = NO_ROW,
    };

    if (draft->arrivals.n >= SIMULATION_PODS_MAX)
        return set_error(draft, "more than 1,000,000 pods");
    return VEC_ADD(&draft->arrivals, draft->input->arena, arrival) ? 0 : -ENOMEM;
}

/* @object: the one that @text is a part of, to report its place in the file; NULL: not known. */
static int decode_request(
    Draft *draft, const Object *object, Str text, Arena *arena, PodRequest *ret) {
    JsonReader reader;

    json_reader_init(&reader, text);
    pod_request_decode(&reader, arena, ret);
    if (str_is_empty(ret->pod.namespace))
        ret->pod.namespace = STR("default");
    if (json_error(&reader) == JSON_OK)
        return 0;
    if (object)
        return object_failed(object, &reader);
    if (json_error(&reader) == JSON_E_MEMORY)
        return -ENOMEM;
    (void)snprintf(draft->error, SIMULATION_ERROR_MAX, "%s: pod \"%.*s\": %s", draft->path,
        STR_FMT(ret->pod.name), reader.error_text);
    return -EINVAL;
}

/* Keeps the text: the pod's strings point into it. */
static int keep_request(Draft *draft, Str object, const PodRequest **ret) {
    Arena *arena = draft->input->arena;
    PodRequest *request = ARENA_NEW(arena, PodRequest);
    Str text = arena_copy(arena, object);
    int r;

    if (!request || !text.ptr || !VEC_ADD(&draft->requests, arena, request))
        return -ENOMEM;
    r = decode_request(draft, NULL, text, arena, request);
    if (r == 0)
        term_index_add(draft->input->terms, &request->pod, &request->terms);
    *ret = request;
    return r;
}

/* "NAME.3", for one of several pods. */
static Str number_name(Draft *draft, Str name, int64_t number) {
    return arena_printf(draft->input->arena, "%.*s.%lld",
        STR_FMT(str_is_empty(name) ? STR("pod") : name), (long long)number + 1);
}

/* --- workloads ---------------------------------------------------------- */

static int keep_workload_pod(Draft *draft, const WorkloadObject *workload, int64_t number, Str node,
    const PodRequest **ret) {
    _cleanup_(buf_done) Buf text = BUF_INIT(POD_TEXT_MAX);

    workload_write_pod(workload, number, node, &text);
    return buf_error(&text) ? -ENOMEM : keep_request(draft, buf_str(&text), ret);
}

static bool is_of_pool(const Draft *draft, uint32_t row) {
    const AutoscalePool *pool = &draft->input->autoscale_pool;

    for (size_t i = 0; i < pool->n; i++)
        if (pool->rows[i] == row)
            return true;
    return false;
}

/* Adds a pod for each node that the DaemonSet is for; not for nodes that an autoscaler adds. */
static int add_daemon_pods(Draft *draft, const WorkloadObject *workload) {
    const NodeTable *table = draft->input->table;
    const PodRequest *any = NULL;
    int r = keep_workload_pod(draft, workload, 0, STR_NULL, &any);

    for (uint32_t row = 0; r == 0 && row < table->n_rows; row++) {
        const Node *node = table_node(table, row);
        const PodRequest *request = NULL;
        Str name;

        if (!node || is_of_pool(draft, row) || !forecast_allows(any, node))
            continue;
        name = arena_printf(
            draft->input->arena, "%.*s.%.*s", STR_FMT(workload->name), STR_FMT(node->name));
        r = keep_workload_pod(draft, workload, 0, node->name, &request);
        if (r == 0)
            r = add_arrival(draft, request, name, /* at= */ 0, INFINITY);
    }
    return r;
}

/* Pods that differ only in the name made here share a request. */
static int add_replicas(Draft *draft, const WorkloadObject *workload) {
    const PodRequest *request = NULL;
    int r = 0;

    for (int64_t i = 0; r == 0 && i < workload->n_pods; i++) {
        Str name;

        if (!request || workload->has_numbered_names)
            r = keep_workload_pod(draft, workload, i, STR_NULL, &request);
        if (r < 0)
            return r;
        name = workload->has_numbered_names ? request->pod.name
                                            : number_name(draft, workload->name, i);
        r = add_arrival(draft, request, name, /* at= */ 0, INFINITY);
    }
    return r;
}

static int add_pod(Draft *draft, Str object) {
    const PodRequest *request = NULL;
    int r = keep_request(draft, object, &request);

    if (r == 0 && !request->pod.is_terminal)
        r = add_arrival(draft, request, request->pod.name, /* at= */ 0, INFINITY);
    return r;
}

static int add_service(Draft *draft, const Object *object) {
    JsonReader reader;

    json_reader_init(&reader, object->json);
    services_add(&draft->services, &reader);
    return json_error(&reader) == JSON_OK ? 0 : object_failed(object, &reader);
}

/* Objects without pods are skipped, except Services. */
static int visit_workload(void *context, const Object *object) {
    Draft *draft = context;
    WorkloadObject workload;
    PodRequest request;
    int r;

    if (str_is(object->kind, "Service"))
        return add_service(draft, object);
    arena_reset(draft->scratch);
    r = workload_read(object, draft->scratch, &workload);
    if (r != 0)
        return r == WORKLOAD_E_OTHER ? 0 : r;
    r = decode_request(draft, object, workload.template, draft->scratch, &request);
    if (r < 0)
        return r;
    if (str_is(object->kind, "Pod"))
        return add_pod(draft, object->json);
    return workload.is_per_node ? add_daemon_pods(draft, &workload)
                                : add_replicas(draft, &workload);
}

static int visit_trace(void *context, const TraceLine *line) {
    Draft *draft = context;
    const PodRequest *request = NULL;
    int r = keep_request(draft, line->pod, &request);
    Str name = str_is_empty(line->name) && request ? request->pod.name : line->name;

    for (int64_t i = 0; r == 0 && i < line->count; i++)
        r = add_arrival(draft, request,
            line->count == 1 && !str_is_empty(name) ? arena_copy(draft->input->arena, name)
                                                    : number_name(draft, name, i),
            line->at, line->lifetime);
    return r;
}

/* --- the cluster -------------------------------------------------------- */

static int add_node(Draft *draft, const Object *object) {
    Node node;
    int r = object_decode(object, object->json, node_decode, draft->scratch, &node);

    if (r < 0)
        return r;
    if (store_find_node(draft->nodes, node.name))
        return set_error(draft, "there are two nodes of one name");
    r = store_apply_node(draft->nodes, &node);
    return r == STORE_FULL ? set_error(draft, "more than 50,000 nodes") : error_fold(r);
}

/* Copies the needed parts: @request is temporary. */
static int add_existing(Draft *draft, const PodRequest *request) {
    Arena *arena = draft->input->arena;
    ExistingPod *existing = VEC_PUSH(&draft->existing, arena);
    const Pod *pod =
        existing ? pod_record_new(draft->input->pool, &request->pod, &pod_parts_all) : NULL;

    if (!pod)
        return -ENOMEM;
    *existing = (ExistingPod){.pod = pod, .footprint = footprint_of(request)};
    existing->footprint.requests = &pod->requests;
    term_index_add(draft->input->terms, &request->pod, &existing->footprint.terms);
    return host_ports_find(pod->details, arena, &existing->footprint.ports) ? 0 : -ENOMEM;
}

static int visit_cluster(void *context, const Object *object) {
    Draft *draft = context;
    PodRequest request;
    int r;

    arena_reset(draft->scratch);
    if (str_is(object->kind, "Node"))
        return add_node(draft, object);
    if (str_is(object->kind, "Service"))
        return add_service(draft, object);
    if (!str_is(object->kind, "Pod"))
        return object_add_related(draft->nodes, object, draft->scratch);
    r = decode_request(draft, object, object->json, draft->scratch, &request);
    if (r < 0 || request.pod.is_terminal)
        return r;
    if (!str_is_empty(request.pod.node_name))
        return add_existing(draft, &request);
    if (draft->files->with_pending)
        return add_pod(draft, object->json);
    draft->input->n_left_pending++;
    return 0;
}

/* --- the pool of an autoscaler ------------------------------------------ */

static int visit_pool(void *context, const Object *object) {
    Draft *draft = context;

    if (!str_is(object->kind, "Node"))
        return set_error(draft, "expected one Node, as from kubectl get node NAME -o yaml");
    if (draft->n_pool_nodes++ > 0)
        return set_error(draft, "there are several Nodes; expected one");
    return object_decode(object, object->json, node_decode, draft->input->arena, &draft->pool_node);
}

/* Reads a number from an annotation; *@ret stays if there is none. */
static bool read_number(const Node *node, Str key, double max, double *ret) {
    const Str *text = labels_find(&node->annotations, key);
    bool overflow;

    return !text || (double_parse(*text, ret, &overflow) && *ret >= 0 && *ret <= max);
}

static Str pool_node_name(Draft *draft, size_t number) {
    return arena_printf(
        draft->input->arena, "%.*s-%zu", STR_FMT(draft->pool_node.name), number + 1);
}

/* A new node is ready, has no history, and has a name and hostname of its own. */
static int add_pool_node(Draft *draft, size_t number) {
    static const Condition ready[] = {{.type = STR("Ready"), .status = STR("True")}};
    Label *labels = ARENA_ARRAY(draft->input->arena, Label, draft->pool_node.labels.n + 1);
    Node node = draft->pool_node;
    int r;

    node.name = pool_node_name(draft, number);
    if (!labels || !node.name.ptr)
        return -ENOMEM;
    for (size_t i = 0; i < node.labels.n; i++) {
        labels[i] = node.labels.items[i];
        if (str_eq(labels[i].key, HOSTNAME))
            labels[i].value = node.name;
    }
    node.labels.items = labels;
    node.uid = STR_NULL;
    node.created_at = 0;
    node.is_ready = true;
    node.is_unschedulable = false;
    node.conditions = ready;
    node.n_conditions = ELEMENTS_OF(ready);
    node.n_addresses = 0;
    if (store_find_node(draft->nodes, node.name))
        return set_error(draft, "the cluster has nodes of that name; change the Node's name");
    r = store_apply_node(draft->nodes, &node);
    return r == STORE_FULL ? set_error(draft, "more than 50,000 nodes, with those of the cluster")
                           : error_fold(r);
}

/* Adds the nodes of the pool to those of the cluster. */
static int read_pool(Draft *draft) {
    AutoscalePool *ret = &draft->input->autoscale_pool;
    double max = AUTOSCALE_POOL_DEFAULT;
    int r;

    draft->path = draft->files->pool;
    r = objects_each(draft->path, NULL, visit_pool, draft, draft->error);
    if (r < 0)
        return r;
    if (draft->n_pool_nodes == 0)
        return set_error(draft, "expected one Node, as from kubectl get node NAME -o yaml");
    if (!read_number(&draft->pool_node, POOL_PRICE, 1e9, &ret->price))
        return set_error(draft, "berth.dev/price-per-hour is a number, 0 or more");
    if (!read_number(&draft->pool_node, POOL_MAX, AUTOSCALE_POOL_MAX, &max) || max < 1)
        return set_error(draft, "berth.dev/max-nodes is 1 to 10000");
    if (draft->pool_node.allocatable.n == 0)
        return set_error(draft, "the Node has no status.allocatable");
    ret->name = draft->pool_node.name;
    for (ret->n = 0; r == 0 && ret->n < (size_t)max; ret->n++)
        r = add_pool_node(draft, ret->n);
    return r;
}

static int find_pool_rows(Draft *draft) {
    AutoscalePool *pool = &draft->input->autoscale_pool;

    pool->rows = ARENA_ARRAY(draft->input->arena, uint32_t, pool->n + 1);
    for (size_t i = 0; pool->rows && i < pool->n; i++)
        pool->rows[i] = table_find(draft->input->table, pool_node_name(draft, i));
    return arena_has_failed(draft->input->arena) ? -ENOMEM : 0;
}

static int read_cluster(Draft *draft) {
    int r;

    draft->path = draft->files->cluster;
    r = objects_each(draft->path, NULL, visit_cluster, draft, draft->error);
    if (r == 0 && draft->files->pool)
        r = read_pool(draft);
    if (r == 0)
        r = store_publish(draft->nodes, &draft->input->snapshot);
    if (r < 0)
        return r;
    draft->path = draft->files->cluster;
    draft->input->table = snapshot_table(draft->input->snapshot);
    r = find_pool_rows(draft);
    if (r < 0)
        return r;
    if (draft->input->table->names->n_nodes == 0)
        return set_error(
            draft, "contains no Node; make it with: kubectl get nodes,pods -A -o json");
    return 0;
}

/* --- terms -------------------------------------------------------------- */

/* Finds which pods the terms and spread constraints of others select. */
static int find_kinds(Draft *draft) {
    SimulationInput *input = draft->input;

    for (size_t i = 0; i < draft->requests.n; i++) {
        PodRequest *request = draft->requests.items[i];
        Labels services;

        arena_reset(draft->scratch);
        if (services_find(&draft->services, &request->pod, draft->scratch, &services) < 0)
            return -ENOMEM;
        term_index_add_spread(input->terms, &request->pod, &services, &request->terms);
    }
    term_index_settle(input->terms, input->table, snapshot_related(input->snapshot));
    for (size_t i = 0; i < input->n_existing; i++)
        term_index_classify(
            input->terms, input->existing[i].pod, &input->existing[i].footprint.terms);
    for (size_t i = 0; i < draft->requests.n; i++)
        term_index_classify(
            input->terms, &draft->requests.items[i]->pod, &draft->requests.items[i]->terms);
    return term_index_error(input->terms);
}

/* Finds the pod's claims. Unbound and ReadWriteOncePod claims are not modelled. 0, or -ENOMEM. */
static int find_claims(const Draft *draft, PodRequest *request) {
    const RelatedObjects *objects = snapshot_related(draft->input->snapshot);
    const PodDetails *details = request->pod.details;
    Related related = {0};
    size_t n = 0;

    for (size_t i = 0; i < details->n_volumes; i++)
        n += !str_is_empty(details->volumes[i].claim_name);
    if (n == 0)
        return 0;
    if (related_objects_find(objects, &request->pod, draft->input->arena, &related) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < related.n_claims; i++) {
        const VolumeClaim *claim = &related.claims[i];

        if (claim->volume.is_limited)
            request->unmodelled |= 1u << UNMODELLED_VOLUME_LIMITS;
        if (!str_is_empty(claim->volume.name) &&
            !str_is_one_of(STR("ReadWriteOncePod"), claim->access_modes, claim->n_access_modes))
            n--;
    }
    if (n > 0)
        request->unmodelled |= 1u << UNMODELLED_VOLUMES;
    else
        request->claims = related.claims;
    request->n_claims = n > 0 ? 0 : related.n_claims;
    return 0;
}

static void find_unmodelled(const Draft *draft) {
    SimulationInput *input = draft->input;

    for (size_t i = 0; i < draft->requests.n; i++) {
        PodRequest *request = draft->requests.items[i];

        if (input->terms->has_lost)
            request->unmodelled |= 1u << UNMODELLED_TERMS;
        if (term_index_is_unsure(input->terms, &request->terms))
            request->unmodelled |= 1u << UNMODELLED_NAMESPACES;
        input->lacks_services |=
            draft->services.n == 0 && request->terms.n_spread == 0 && request->pod.labels.n > 0;
    }
    for (size_t i = 0; i < input->n_arrivals; i++) {
        uint32_t unmodelled = input->arrivals[i].request->unmodelled;

        for (unsigned k = 0; k < UNMODELLED_MAX; k++)
            input->n_unmodelled[k] += unmodelled >> k & 1;
        input->n_any_unmodelled += unmodelled != 0;
    }
}

/* Finds kinds, claims, and which pods use features that are not modelled. */
static int find_terms(Draft *draft) {
    int r = find_kinds(draft);

    for (size_t i = 0; r >= 0 && i < draft->requests.n; i++)
        r = find_claims(draft, draft->requests.items[i]);
    if (r == 0)
        find_unmodelled(draft);
    return r;
}

/* --- all together ------------------------------------------------------- */

/* Drops pods on unknown nodes. */
static void settle_existing(Draft *draft) {
    SimulationInput *input = draft->input;
    size_t n = 0;

    for (size_t i = 0; i < draft->existing.n; i++) {
        ExistingPod *existing = &draft->existing.items[i];

        existing->row = table_find(input->table, existing->pod->node_name);
        if (existing->row == input->table->n_rows) {
            pod_record_unref(existing->pod);
            input->n_without_node++;
        } else {
            draft->existing.items[n++] = *existing;
        }
    }
    input->existing = draft->existing.items;
    input->n_existing = n;
    draft->existing.n = 0;
}

static Str full_name(Arena *arena, Str namespace, Str name) {
    return arena_printf(arena, "%.*s/%.*s", STR_FMT(namespace), STR_FMT(name));
}

/* Names must be unique; a name that was made here gets a number appended. */
static int name_arrivals(Draft *draft, Map *names) {
    Arena *arena = draft->input->arena;

    for (size_t i = 0; i < draft->arrivals.n; i++) {
        Arrival *arrival = &draft->arrivals.items[i];
        Str name = full_name(arena, arrival->request->pod.namespace, arrival->name);
        bool is_taken = map_find(names, name) != MAP_NONE;
        bool is_made = !str_eq(arrival->name, arrival->request->pod.name);

        if (is_taken && !draft->files->trace && !is_made) {
            (void)snprintf(draft->error, SIMULATION_ERROR_MAX,
                "%s: there are two pods named \"%.*s\"", draft->path, STR_FMT(name));
            return -EINVAL;
        }
        if (is_taken || str_is_empty(arrival->name)) {
            arrival->name = arena_printf(arena, "%.*s.n%zu", STR_FMT(arrival->name), i + 1);
            name = full_name(arena, arrival->request->pod.namespace, arrival->name);
        }
        if (arena_has_failed(arena) || map_add(names, name, (uint32_t)i) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int find_rescheduled(Draft *draft, const Map *names) {
    SimulationInput *input = draft->input;

    for (size_t i = 0; i < input->n_existing; i++) {
        ExistingPod *existing = &input->existing[i];
        Str name;
        uint32_t arrival;

        arena_reset(draft->scratch);
        name = full_name(draft->scratch, existing->pod->namespace, existing->pod->name);
        if (!name.ptr)
            return -ENOMEM;
        arrival = map_find(names, name);
        if (arrival == MAP_NONE)
            continue;
        existing->is_rescheduled = true;
        input->n_rescheduled++;
        draft->arrivals.items[arrival].current_row = existing->row;
    }
    return 0;
}

/* Arrivals are numbered as they were read: qsort() is not stable. */
static int compare_arrivals(const void *a, const void *b) {
    const Arrival *x = a, *y = b;

    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    if (x->request->pod.priority != y->request->pod.priority)
        return x->request->pod.priority > y->request->pod.priority ? -1 : 1;
    return x->number < y->number ? -1 : 1;
}

static int compare_bound(const void *a, const void *b) {
    const Arrival *x = a, *y = b;
    int64_t x_at = x->request->pod.scheduled_at, y_at = y->request->pod.scheduled_at;

    if (x_at != y_at)
        return x_at < y_at ? -1 : 1;
    return x->number < y->number ? -1 : 1;
}

static void settle_arrivals(Draft *draft) {
    SimulationInput *input = draft->input;
    const char *trace = draft->files->trace;

    input->arrivals = draft->arrivals.items;
    input->n_arrivals = draft->arrivals.n;
    for (size_t i = 0; i < input->n_arrivals; i++) {
        Str node = input->arrivals[i].request->pod.node_name;
        uint32_t row = table_find(input->table, node);

        input->arrivals[i].number = i;
        if (!str_is_empty(node) && row != input->table->n_rows)
            input->arrivals[i].current_row = row;
    }
    if (trace || draft->files->by_schedule)
        qsort(input->arrivals, input->n_arrivals, sizeof(Arrival),
            trace ? compare_arrivals : compare_bound);
    input->is_timed = trace || draft->files->every > 0;
    for (size_t i = 0; i < input->n_arrivals; i++) {
        Arrival *arrival = &input->arrivals[i];

        arrival->uid = arena_printf(input->arena, "simulated-%zu", i);
        if (!trace)
            arrival->at = draft->files->every * (double)i;
        input->has_lifetimes |= isfinite(arrival->lifetime);
        input->has_endless |= !isfinite(arrival->lifetime);
        input->last_at = arrival->at > input->last_at ? arrival->at : input->last_at;
    }
}

static int read_pods(Draft *draft) {
    int r = 0;

    if (draft->files->pods) {
        draft->path = draft->files->pods;
        r = objects_each(draft->path, NULL, visit_workload, draft, draft->error);
    }
    if (r == 0 && draft->files->trace) {
        draft->path = draft->files->trace;
        r = trace_each(draft->path, visit_trace, draft, draft->error);
    }
    if (r == 0 && draft->arrivals.n == 0)
        return set_error(draft,
            "contains no pod to place: no Pod, and no Deployment, Job or other object with pods");
    return r;
}

static int load(Draft *draft) {
    _cleanup_(map_done) Map names = MAP_INIT;
    int r = read_cluster(draft) ?: read_pods(draft);

    if (r < 0)
        return r;
    settle_existing(draft);
    r = name_arrivals(draft, &names) ?: find_rescheduled(draft, &names);
    if (r < 0)
        return r;
    settle_arrivals(draft);
    r = find_terms(draft);
    return r == 0 && arena_has_failed(draft->input->arena) ? -ENOMEM : r;
}

int simulation_input_load(const SimulationFiles *files, SimulationInput **ret, char *error) {
    _cleanup_(simulation_input_freep) SimulationInput *input = calloc(1, sizeof(*input));
    _cleanup_(store_freep) Store *nodes = store_new();
    _cleanup_(arena_freep) Arena *scratch = arena_new(SCRATCH_BUDGET);
    Draft draft = {
        .files = files,
        .error = error,
        .input = input,
        .nodes = nodes,
        .scratch = scratch,
    };
    int r = -ENOMEM;

    error[0] = '\0';
    if (input) {
        input->arena = arena_new(SIMULATION_BUDGET);
        draft.services = SERVICES_IN(input->arena);
        input->pool = record_pool_new();
        input->terms = term_index_new();
    }
    if (input && input->arena && input->pool && input->terms && nodes && scratch)
        r = load(&draft);
    for (size_t i = 0; i < draft.existing.n; i++) /* after an error */
        pod_record_unref(draft.existing.items[i].pod);
    if (r < 0 && (error[0] == '\0' || r == -ENOMEM))
        (void)snprintf(error, SIMULATION_ERROR_MAX, "out of memory for the simulated cluster");
    if (r == 0)
        *ret = TAKE_PTR(input);
    return r;
}

SimulationInput *simulation_input_free(SimulationInput *input) {
    if (!input)
        return NULL;
    for (size_t i = 0; i < input->n_existing; i++)
        pod_record_unref(input->existing[i].pod);
    term_index_free(input->terms);
    snapshot_unref(input->snapshot);
    record_pool_free(input->pool);
    arena_free(input->arena);
    free(input);
    return NULL;
}

static int compare_amounts(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

int64_t simulation_input_quantile(
    const SimulationInput *input, Str resource, double quantile, Arena *scratch) {
    int64_t *amounts = ARENA_ARRAY(scratch, int64_t, input->n_arrivals);
    size_t n = 0, at;

    for (size_t i = 0; amounts && i < input->n_arrivals; i++) {
        int64_t amount = resources_get(&input->arrivals[i].request->pod.requests, resource);

        if (amount > 0)
            amounts[n++] = amount;
    }
    if (n == 0)
        return 0;
    qsort(amounts, n, sizeof(*amounts), compare_amounts);
    at = (size_t)ceil(quantile * (double)n);
    return amounts[at == 0 ? 0 : at - 1 < n ? at - 1 : n - 1];
}
