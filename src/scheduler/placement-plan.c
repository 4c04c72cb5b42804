/* The state of a round: the model of kube-scheduler over a view, with all of its pods. */

#include "scheduler/placement-plan.h"

#include <errno.h>
#include <stdlib.h>

#include "scheduler/footprints.h"
#include "scheduler/planned-view.h"
#include "scheduler/services.h"

const ClusterNeeds placement_plan_needs = {
    .node_details = true, .pods = {.fields = FOOTPRINT_PARTS}};

struct PlacementPlan {
    View *view;
    Arena *arena, *scratch;
    PlannedPod *pods;
    size_t n;
    TermIndex *terms;
    Footprints footprints;
    Services services;
    bool knows_services;
    ClusterState *cluster;
    PlannedView *planned;
    Scheduler *scheduler;
};

PlacementPlan *placement_plan_free(PlacementPlan *plan) {
    if (!plan)
        return NULL;
    scheduler_free(plan->scheduler);
    planned_view_free(plan->planned);
    cluster_state_free(plan->cluster);
    term_index_free(plan->terms);
    arena_free(plan->arena);
    arena_free(plan->scratch);
    view_unref(plan->view);
    free(plan);
    return NULL;
}

const PlannedPod *placement_plan_pod(const PlacementPlan *plan, size_t i) {
    return &plan->pods[i];
}

/* --- terms -------------------------------------------------------------------------------- */

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

static int find_footprint(PlacementPlan *plan, const Pod *pod, uint32_t row) {
    uint32_t number;

    return footprints_find(&plan->footprints, pod, &number);
}

/* 0; 1: there are too many terms; or -ENOMEM. */
static int add_terms(PlacementPlan *plan, PodRequest *request) {
    Labels services;
    int r = term_index_add(plan->terms, &request->pod, &request->terms);

    arena_reset(plan->scratch);
    if (r == 0)
        r = services_find(&plan->services, &request->pod, plan->scratch, &services);
    if (r == 0)
        r = term_index_add_spread(plan->terms, &request->pod, &services, &request->terms);
    return r;
}

/* --- pods to be placed -------------------------------------------------------------------- */

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

/* A pod that cannot be read is not modelled. */
static int read_pod(PlacementPlan *plan, Str text, PlannedPod *pod) {
    JsonReader reader;
    int r;

    json_reader_init(&reader, text);
    pod_request_decode(&reader, plan->arena, &pod->request);
    if (json_error(&reader) != JSON_OK)
        return json_error(&reader) == JSON_E_MEMORY ? -ENOMEM : 0;
    r = add_terms(plan, &pod->request);
    plan->footprints.has_lost |= r == 1;
    pod->is_modelled = r == 0 && is_modelled(plan, &pod->request);
    return r < 0 ? r : 0;
}

static int classify_pods(PlacementPlan *plan) {
    for (size_t i = 0; i < plan->n; i++) {
        PodRequest *request = &plan->pods[i].request;
        int r = plan->pods[i].is_modelled
                    ? term_index_classify(plan->terms, &request->pod, &request->terms)
                    : 0;

        if (r < 0)
            return r;
        plan->pods[i].is_modelled &= r == 0 && !plan->footprints.has_lost &&
                                     !term_index_is_unsure(plan->terms, &request->terms);
    }
    return 0;
}

/* --- the cluster -------------------------------------------------------------------------- */

static int complete_pod(PlacementPlan *plan, const Pod *pod, uint32_t row) {
    uint32_t number;
    int r = footprints_find(&plan->footprints, pod, &number);

    return r < 0 ? r
                 : cluster_state_complete(
                       plan->cluster, row, footprints_at(&plan->footprints, number));
}

static int add_pod(PlacementPlan *plan, uint32_t row, const Pod *pod, const Footprint *footprint) {
    PodChange change = {.row = row, .add = pod};
    int r = cluster_state_add(plan->cluster, row, footprint);

    return r < 0 ? r : planned_view_add(plan->planned, &change, 1);
}

/* Those of lower priority count as well: mostly they are ours, and ahead in the queue. */
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
        r = footprints_find(&plan->footprints, pod, &number);
        if (r == 0)
            r = cluster_state_add(plan->cluster, row, footprints_at(&plan->footprints, number));
        changes[n++] = (PodChange){.row = row, .add = pod};
    }
    return r == 0 && n > 0 ? planned_view_add(plan->planned, changes, n) : r;
}

static int find_terms(PlacementPlan *plan, const Str *pods) {
    const NodeTable *table = plan->view->table;
    int r = read_services(plan);

    if (r == 0)
        r = each_pod(plan, find_footprint);
    for (size_t i = 0; r == 0 && i < table->n_nominated; i++)
        r = find_footprint(plan, table->nominated[i], 0);
    for (size_t i = 0; r == 0 && i < plan->n; i++)
        r = read_pod(plan, pods[i], &plan->pods[i]);
    if (r == 0)
        r = term_index_settle(plan->terms, table, snapshot_related(plan->view->snapshot));
    if (r == 0)
        r = footprints_classify(&plan->footprints);
    return r < 0 ? r : classify_pods(plan);
}

static int fill_cluster(PlacementPlan *plan) {
    int r = cluster_state_new(plan->view->table, &plan->cluster);

    if (r == 0)
        r = cluster_state_set_terms(plan->cluster, plan->terms);
    if (r < 0)
        return r;
    cluster_state_add_table_pods(plan->cluster);
    r = each_pod(plan, complete_pod);
    if (r == 0)
        r = planned_view_new(plan->view, &plan->planned);
    return r < 0 ? r : add_nominated(plan);
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
    plan->arena = arena_new(PLACEMENT_PLAN_BUDGET);
    plan->scratch = arena_new(PLACEMENT_PLAN_BUDGET);
    plan->terms = term_index_new();
    if (!plan->arena || !plan->scratch || !plan->terms)
        return -ENOMEM;
    plan->footprints = FOOTPRINTS_IN(plan->arena, plan->terms);
    plan->pods = ARENA_ARRAY(plan->arena, PlannedPod, n + 1);
    plan->n = n;
    r = plan->pods ? find_terms(plan, pods) : -ENOMEM;
    if (r == 0)
        r = fill_cluster(plan);
    if (r == 0)
        r = scheduler_new(
            &options, plan->cluster, planned_view_verbs(plan->planned), &plan->scheduler);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(plan);
    return 0;
}

int placement_plan_choose(PlacementPlan *plan, size_t i, int64_t now_nsec, Choice *ret) {
    const PodRequest *request = &plan->pods[i].request;
    Footprint footprint = footprint_of(request);
    int r = scheduler_choose(plan->scheduler, request, now_nsec, NO_ROW, ret);

    if (r < 0 || ret->row == NO_ROW)
        return r < 0 ? r : 0;
    return add_pod(plan, ret->row, &request->pod, &footprint);
}
