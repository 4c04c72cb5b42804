/* The state of a round: the model of kube-scheduler over a view, with all of its pods. */

#include "scheduler/placement-plan.h"

#include <errno.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/vec.h"
#include "cluster/object-text.h"
#include "model/pod-parts.h"
#include "scheduler/services.h"
#include "scheduler/view-verbs.h"

#define SCRATCH_BUDGET ((size_t)256 * 1024 * 1024)
#define POD_TEXT_MAX ((size_t)4 * 1024 * 1024)

const ClusterNeeds placement_plan_needs = {
    .node_details = true,
    .pods = {.fields = POD_BIT(POD_CONTAINERS) | POD_BIT(POD_CONTAINER_AMOUNTS) |
                       POD_BIT(POD_CONTAINER_PORTS) | POD_BIT(POD_AMOUNTS) | POD_BIT(POD_AFFINITY)},
};

/* The footprint that the pods of one workload share. */
typedef struct SharedFootprint {
    const Pod *pod; /* one of these pods; borrowed */
    Footprint footprint;
} SharedFootprint;

struct PlacementPlan {
    View *view;
    NodeSet node_set; /* the view's, with the pods that were placed */
    ViewVerbs verbs;
    Arena *arena;
    Arena *tables;  /* of the node set */
    Arena *scratch; /* for one pod, or one judge */
    PlannedPod *pods;
    size_t n;
    TermIndex *terms;
    Map footprint_numbers; /* by the pointers that records share */
    VEC(SharedFootprint) footprints;
    Services services;
    bool knows_services;
    ClusterState *cluster;
    Scheduler *scheduler;
};

PlacementPlan *placement_plan_free(PlacementPlan *plan) {
    if (!plan)
        return NULL;
    scheduler_free(plan->scheduler);
    cluster_state_free(plan->cluster);
    term_index_free(plan->terms);
    arena_free(plan->arena);
    arena_free(plan->tables);
    arena_free(plan->scratch);
    view_unref(plan->view);
    free(plan);
    return NULL;
}

const PlannedPod *placement_plan_pod(const PlacementPlan *plan, size_t i) {
    return &plan->pods[i];
}

/* Writes the pod as JSON and decodes that as a PodRequest. If this fails, the pod counts with its
 * requests only. */
static int make_footprint(PlacementPlan *plan, const Pod *pod, SharedFootprint *ret) {
    _cleanup_(buf_done) Buf text = BUF_INIT(POD_TEXT_MAX);
    JsonWriter writer = JSON_WRITER(&text);
    Footprint *footprint = &ret->footprint;
    PodRequest request;
    JsonReader reader;

    ret->pod = pod;
    *footprint = (Footprint){
        .nonzero = {.cpu = resources_get(&pod->requests, STR("cpu")),
            .memory = resources_get(&pod->requests, STR("memory"))},
        .is_own = true,
    };
    object_write_pod(&writer, pod, pod->node_name);
    if (!buf_error(&text)) {
        json_reader_init(&reader, arena_copy(plan->arena, buf_str(&text)));
        pod_request_decode(&reader, plan->arena, &request);
        if (json_error(&reader) == JSON_OK)
            *footprint = footprint_of(&request);
    }
    footprint->requests = &pod->requests;
    term_index_add(plan->terms, pod, &footprint->terms);
    return arena_has_failed(plan->arena) ? -ENOMEM : 0;
}

/* Sets the number of the footprint of @pod. Records that share details and requests also share
 * labels and owner, and so the footprint. */
static int find_footprint(PlacementPlan *plan, const Pod *pod, uint32_t *ret) {
    const uintptr_t parts[] = {
        (uintptr_t)pod->details, (uintptr_t)pod->requests.items, pod->is_terminating};
    const Str key = str_of((const char *)parts, sizeof(parts));
    SharedFootprint *shared;
    Str kept;
    int r;

    *ret = map_find(&plan->footprint_numbers, key);
    if (*ret != MAP_NONE)
        return 0;
    *ret = (uint32_t)plan->footprints.n;
    kept = arena_copy(plan->arena, key);
    shared = VEC_PUSH(&plan->footprints, plan->arena);
    r = kept.ptr && shared ? make_footprint(plan, pod, shared) : -ENOMEM;
    return r < 0 ? r : map_add(&plan->footprint_numbers, kept, *ret);
}

static int read_services(PlacementPlan *plan) {
    const RelatedSet *set = snapshot_related(plan->view->snapshot)->kinds[RELATED_SERVICES];
    const RelatedObject **objects = set ? related_set_list(set) : NULL;

    plan->services = SERVICES_IN(plan->arena);
    plan->knows_services = objects;
    if (set && !objects)
        return -ENOMEM;
    for (size_t i = 0; set && i < related_set_size(set); i++) {
        JsonReader reader;

        json_reader_init(&reader, objects[i]->text);
        services_add(&plan->services, &reader);
        if (json_error(&reader) != JSON_OK)
            plan->knows_services = false;
    }
    free(objects);
    return 0;
}

/* Calls @visit for each pod that counts on a node, nominated ones too. 0, or its error. */
static int each_pod(
    PlacementPlan *plan, int (*visit)(PlacementPlan *plan, const Pod *pod, uint32_t row)) {
    const NodeTable *table = plan->view->table;
    int r = 0;

    for (uint32_t row = 0; r == 0 && row < table->n_rows; row++) {
        const PodList *pods = table_chunk(table, row)->pods[table_slot(row)];

        for (uint32_t i = 0; r == 0 && pods && i < pods->n; i++)
            r = visit(plan, pods->items[i], row);
    }
    return r;
}

static int note_footprint(PlacementPlan *plan, const Pod *pod, uint32_t row) {
    return find_footprint(plan, pod, &(uint32_t){0});
}

static int add_terms(PlacementPlan *plan, PodRequest *request) {
    Labels services;

    arena_reset(plan->scratch);
    if (services_find(&plan->services, &request->pod, plan->scratch, &services) < 0)
        return -ENOMEM;
    term_index_add(plan->terms, &request->pod, &request->terms);
    term_index_add_spread(plan->terms, &request->pod, &services, &request->terms);
    return 0;
}

/* Volumes are limited by CSINodes and StorageClasses, which berth does not watch; without Services
 * it is not known which pods kube-scheduler spreads. */
static bool is_modelled(const PlacementPlan *plan, const PodRequest *request) {
    const PodDetails *details = request->pod.details;

    for (size_t i = 0; i < details->n_volumes; i++)
        if (!str_is_empty(details->volumes[i].claim_name))
            return false;
    return request->unmodelled == 0 && details->n_scheduling_gates == 0 &&
           (plan->knows_services || request->terms.n_spread > 0 || request->pod.labels.n == 0);
}

/* Leaves a pod that cannot be decoded as not modelled. */
static int read_pod(PlacementPlan *plan, Str text, PlannedPod *pod) {
    JsonReader reader;
    int r;

    json_reader_init(&reader, text);
    pod_request_decode(&reader, plan->arena, &pod->request);
    if (json_error(&reader) != JSON_OK)
        return json_error(&reader) == JSON_E_MEMORY ? -ENOMEM : 0;
    r = add_terms(plan, &pod->request);
    pod->is_modelled = r == 0 && is_modelled(plan, &pod->request);
    return r;
}

/* Finds which terms select the pods: those on nodes and those to be placed. */
static int classify_pods(PlacementPlan *plan) {
    for (size_t i = 0; i < plan->footprints.n; i++) {
        SharedFootprint *shared = &plan->footprints.items[i];

        term_index_classify(plan->terms, shared->pod, &shared->footprint.terms);
    }
    for (size_t i = 0; i < plan->n; i++)
        if (plan->pods[i].is_modelled)
            term_index_classify(
                plan->terms, &plan->pods[i].request.pod, &plan->pods[i].request.terms);
    for (size_t i = 0; i < plan->n; i++)
        plan->pods[i].is_modelled &= !plan->terms->has_lost && !term_index_is_unsure(plan->terms,
                                                                   &plan->pods[i].request.terms);
    return term_index_error(plan->terms);
}

static int complete_pod(PlacementPlan *plan, const Pod *pod, uint32_t row) {
    uint32_t number;
    int r = find_footprint(plan, pod, &number);

    return r < 0 ? r
                 : cluster_state_complete(
                       plan->cluster, row, &plan->footprints.items[number].footprint);
}

/* Pods of lower priority count too: berth nominated most of them, and they are tried earlier. */
static int add_nominated(PlacementPlan *plan) {
    const NodeTable *table = plan->view->table;
    PodChange *changes = ARENA_ARRAY(plan->arena, PodChange, table->n_nominated + 1);
    size_t n = 0;
    int r = changes ? 0 : -ENOMEM;

    for (size_t i = 0; r == 0 && i < table->n_nominated; i++) {
        const Pod *pod = table->nominated[i];
        uint32_t row = table_find(table, pod->nominated_node_name), number;

        if (row == table->n_rows)
            continue;
        r = find_footprint(plan, pod, &number);
        if (r == 0)
            r = cluster_state_add(plan->cluster, row, &plan->footprints.items[number].footprint);
        changes[n++] = (PodChange){.row = row, .add = pod};
    }
    return r == 0 && n > 0 ? view_change(plan->view, /* time= */ NULL, changes, n, plan->tables,
                                 &plan->node_set)
                           : r;
}

static int find_terms(PlacementPlan *plan, const Str *pods) {
    const NodeTable *table = plan->view->table;
    int r = read_services(plan);

    if (r == 0)
        r = each_pod(plan, note_footprint);
    for (size_t i = 0; r == 0 && i < table->n_nominated; i++)
        r = note_footprint(plan, table->nominated[i], 0);
    for (size_t i = 0; r == 0 && i < plan->n; i++)
        r = read_pod(plan, pods[i], &plan->pods[i]);
    if (r < 0)
        return r;
    term_index_settle(plan->terms, table, snapshot_related(plan->view->snapshot));
    return classify_pods(plan);
}

static int fill_cluster(PlacementPlan *plan) {
    int r = cluster_state_new(plan->view->table, plan->terms, &plan->cluster);

    if (r < 0)
        return r;
    cluster_state_add_table_pods(plan->cluster);
    r = each_pod(plan, complete_pod);
    return r < 0 ? r : add_nominated(plan);
}

static int make_input(void *context, const Pod *pod, int64_t now_nsec, const uint32_t *rows,
    size_t n, Arena *arena, JudgeInput *ret) {
    const PlacementPlan *plan = context;
    const RequestTime time = {.now_nsec = now_nsec, .scratch = plan->scratch};

    *ret = view_judge_input(plan->view, &time, &plan->node_set, pod, rows, n, arena);
    return 0;
}

int placement_plan_new(
    View *view, const Str *pods, size_t n, int64_t weight, Images *images, PlacementPlan **ret) {
    _cleanup_(placement_plan_freep) PlacementPlan *plan = calloc(1, sizeof(*plan));
    const SchedulerOptions options = {.weight = weight,
        .percentage = 100,
        .seed = view->generation + 1,
        .plugins = {.images = images}};
    int r;

    if (!plan)
        return -ENOMEM;
    plan->view = view_ref(view);
    plan->node_set = (NodeSet){.table = view->table, .facts = &view->facts};
    plan->verbs = (ViewVerbs){.program = view->program, .make_input = make_input, .context = plan};
    plan->arena = arena_new(PLACEMENT_PLAN_BUDGET);
    plan->tables = arena_new(PLACEMENT_PLAN_BUDGET);
    plan->scratch = arena_new(SCRATCH_BUDGET);
    plan->terms = term_index_new();
    if (!plan->arena || !plan->tables || !plan->scratch || !plan->terms)
        return -ENOMEM;
    plan->footprint_numbers = MAP_INIT_IN(plan->arena);
    plan->pods = ARENA_ARRAY(plan->arena, PlannedPod, n + 1);
    plan->n = n;
    r = plan->pods ? find_terms(plan, pods) : -ENOMEM;
    if (r == 0)
        r = fill_cluster(plan);
    if (r == 0)
        r = scheduler_new(&options, plan->cluster, view_verbs(&plan->verbs), &plan->scheduler);
    if (r == 0)
        *ret = TAKE_PTR(plan);
    return r;
}

int placement_plan_choose(PlacementPlan *plan, size_t i, int64_t now_nsec, Choice *ret) {
    const PodRequest *request = &plan->pods[i].request;
    Footprint footprint = footprint_of(request);
    int r = scheduler_choose(plan->scheduler, request, now_nsec, NO_ROW, ret);
    PodChange change = {.row = ret->row, .add = &request->pod};

    if (r < 0 || ret->row == NO_ROW)
        return r < 0 ? r : 0;
    r = cluster_state_add(plan->cluster, ret->row, &footprint);
    return r < 0 ? r
                 : view_change(
                       plan->view, /* time= */ NULL, &change, 1, plan->tables, &plan->node_set);
}
