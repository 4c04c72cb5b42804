/* Sums the requests of a pod as kube-scheduler counts them. */

#include "model/pod-requests.h"

#include "model/pod-details.h"

/* Which amounts of a container are meant. */
typedef enum Stage {
    WANTED,
    ALLOCATED,
    IN_FORCE,
    LARGEST,
    LIMITS, /* of the spec */
} Stage;

/* --- reading -------------------------------------------------------------- */

void pod_spec_resources_decode(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        {JSON_NAME("limits"), JSON_FIELD_CUSTOM, offsetof(PodSpecRequests, limits),
            amount_list_decode},
        {JSON_NAME("requests"), JSON_FIELD_CUSTOM, offsetof(PodSpecRequests, requests),
            amount_list_decode},
    };
    PodSpecRequests *spec = target;

    spec->requests = spec->limits = (AmountList){0};
    JSON_READ_KEYS(reader, arena, fields, spec);
}

bool pod_requests_decode_spec(PodRequests *requests, JsonReader *reader, Arena *arena, Str key) {
    static const JsonField fields[] = {POD_SPEC_REQUESTS(PodRequests, spec)};

    return json_read_key(reader, arena, fields, ELEMENTS_OF(fields), key, requests);
}

void status_resources_decode(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        {JSON_NAME("requests"), JSON_FIELD_CUSTOM, offsetof(StatusAmounts, in_force),
            amount_list_decode},
    };
    StatusAmounts *amounts = target;

    amounts->has_resources = json_peek(reader) != JSON_NULL;
    amounts->in_force = (AmountList){0};
    JSON_READ_KEYS(reader, arena, fields, amounts);
}

void container_status_decode(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        {JSON_NAME("name"), JSON_FIELD_TEXT, offsetof(ContainerStatus, name)},
        {JSON_NAME("resources"), JSON_FIELD_CUSTOM, offsetof(ContainerStatus, amounts),
            status_resources_decode},
        {JSON_NAME("allocatedResources"), JSON_FIELD_CUSTOM,
            offsetof(ContainerStatus, amounts.allocated), amount_list_decode},
    };

    JSON_READ_KEYS(reader, arena, fields, target);
}

bool pod_requests_decode_status(PodRequests *requests, JsonReader *reader, Arena *arena, Str key) {
    static const JsonField fields[] = {POD_STATUS_REQUESTS(PodRequests, status)};

    return json_read_key(reader, arena, fields, ELEMENTS_OF(fields), key, requests);
}

/* --- putting together ----------------------------------------------------- */

/* Names are unique over both kinds of containers, so both lists are searched; the first of that
 * name. NULL: none. */
static const StatusAmounts *find_status(const PodStatusRequests *statuses, Str name) {
    for (size_t i = 0; i < statuses->n_containers; i++)
        if (str_eq(statuses->containers[i].name, name))
            return &statuses->containers[i].amounts;
    for (size_t i = 0; i < statuses->n_init_containers; i++)
        if (str_eq(statuses->init_containers[i].name, name))
            return &statuses->init_containers[i].amounts;
    return NULL;
}

static bool have_amounts(const ContainerStatus *statuses, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (statuses[i].amounts.has_resources || statuses[i].amounts.allocated.is_given ||
            statuses[i].amounts.in_force.is_given)
            return true;
    return false;
}

/* The largest of spec and status. */
static bool add_largest(
    const PodContainer *container, const StatusAmounts *status, bool is_infeasible, Amounts *sum) {
    SCRATCH Amounts amounts;
    bool has_room;

    amounts.n = 0;
    has_room = amounts_put_list(&amounts, &status->allocated, AMOUNTS_MAX);
    has_room &= amounts_put_list(&amounts, &status->in_force, AMOUNTS_MAX);
    if (!is_infeasible)
        has_room &= amounts_put_list(&amounts, &container->requests, AMOUNTS_MAX);
    return amounts_put_all(sum, &amounts, AMOUNTS_ADD) && has_room;
}

/* Adds a container to @sum. The status of an init container that ends counts for nothing in
 * LARGEST. */
static bool add_container(const PodRequests *requests, const PodContainer *container, bool is_init,
    Stage stage, Amounts *sum) {
    bool ends = is_init && !pod_container_is_sidecar(container);
    bool is_infeasible = requests->status.is_infeasible;
    const StatusAmounts *status = NULL;

    if (stage == LIMITS)
        return amounts_put_list(sum, &container->limits, AMOUNTS_ADD);
    if (stage != WANTED && requests->status.has_amounts)
        status = find_status(&requests->status, container->name);
    if (stage == LARGEST && status && status->has_resources && !ends)
        return add_largest(container, status, is_infeasible, sum);
    if (stage == IN_FORCE && status && status->in_force.is_given)
        return amounts_put_list(sum, &status->in_force, AMOUNTS_ADD);
    if (stage <= IN_FORCE && status && status->allocated.is_given)
        return amounts_put_list(sum, &status->allocated, AMOUNTS_ADD);
    if ((stage == ALLOCATED || stage == IN_FORCE) && is_infeasible)
        return true;
    return amounts_put_list(sum, &container->requests, AMOUNTS_ADD);
}

/* The sum of containers. Init containers run one after the other, except that restartable ones keep
 * running; while one of those starts, no more is used than when all run. False: too many
 * resources. */
static bool add_containers(const PodRequests *requests, Stage stage, Amounts *ret) {
    const PodSpecRequests *spec = &requests->spec;
    SCRATCH Amounts sidecars, peak, now;
    bool has_room = true;

    ret->n = sidecars.n = peak.n = 0;
    for (size_t i = 0; i < spec->n_containers; i++)
        has_room &= add_container(requests, &spec->containers[i], false, stage, ret);
    for (size_t i = 0; i < spec->n_init_containers; i++) {
        const PodContainer *container = &spec->init_containers[i];
        bool is_sidecar = pod_container_is_sidecar(container);

        now.n = 0;
        has_room &= add_container(requests, container, true, stage, is_sidecar ? &sidecars : &now);
        if (is_sidecar)
            continue;
        has_room &= amounts_put_all(&now, &sidecars, AMOUNTS_ADD);
        has_room &= amounts_put_all(&peak, &now, AMOUNTS_MAX);
    }
    has_room &= amounts_put_all(ret, &sidecars, AMOUNTS_ADD);
    return amounts_put_all(ret, &peak, AMOUNTS_MAX) && has_room;
}

/* The status, by its containers or of the pod as a whole, where it is more. */
static bool max_status(const PodRequests *requests, Amounts *total) {
    const PodStatusRequests *status = &requests->status;
    SCRATCH Amounts amounts;
    bool has_room = true;

    if (status->pod.allocated.is_given && status->pod.in_force.is_given) {
        has_room &= amounts_put_list(total, &status->pod.allocated, AMOUNTS_MAX);
        return amounts_put_list(total, &status->pod.in_force, AMOUNTS_MAX) && has_room;
    }
    if (!status->has_amounts)
        return true; /* then every container is as wanted, or counts nothing */
    for (Stage stage = ALLOCATED; stage <= IN_FORCE; stage++) {
        has_room &= add_containers(requests, stage, &amounts);
        has_room &= amounts_put_all(total, &amounts, AMOUNTS_MAX);
    }
    return has_room;
}

/* RESIZE_BY_POD */
static bool max_of_sums(const PodRequests *requests, const Amounts *wanted, Amounts *total) {
    bool has_room = true;

    total->n = 0;
    if (!requests->status.is_infeasible)
        has_room &= amounts_put_all(total, wanted, AMOUNTS_MAX);
    return max_status(requests, total) && has_room;
}

static bool is_hugepages(Str name) {
    return str_has_prefix(name, STR("hugepages-"));
}

bool pod_level_covers(Str name) {
    return str_eq(name, STR("cpu")) || str_eq(name, STR("memory")) || is_hugepages(name);
}

static bool set_missing(Amounts *amounts, Amount amount) {
    return amounts_find(amounts, amount.name) || amounts_set(amounts, amount);
}

/* The requests of the spec for the pod as a whole. If it has a limit there, the API server
 * completes its requests: by what the containers want together, else by the limit; huge pages
 * cannot be overcommitted, so for them the limit stands. False: too many resources. */
static bool add_pod_level(const PodSpecRequests *spec, const Amounts *wanted, Amounts *ret) {
    const AmountList *limits = &spec->limits;
    bool has_room = !spec->requests.is_cut && !limits->is_cut;

    ret->n = 0;
    for (size_t i = 0; i < spec->requests.n; i++)
        if (pod_level_covers(spec->requests.items[i].name))
            has_room &= amounts_set(ret, spec->requests.items[i]);
    for (size_t i = 0; limits->n > 0 && i < wanted->n; i++)
        if (pod_level_covers(wanted->items[i].name) && !is_hugepages(wanted->items[i].name))
            has_room &= set_missing(ret, wanted->items[i]);
    for (size_t i = 0; i < limits->n; i++)
        if (pod_level_covers(limits->items[i].name))
            has_room &= set_missing(ret, limits->items[i]);
    return has_room;
}

/* Sets the amounts of the pod as a whole, where it has such. */
static bool set_pod_level(const PodRequests *requests, const Amounts *wanted, Amounts *total) {
    const PodStatusRequests *status = &requests->status;
    SCRATCH Amounts amounts;
    bool has_room = add_pod_level(&requests->spec, wanted, &amounts);

    if (amounts.n == 0)
        return has_room;
    if (status->pod.has_resources) {
        if (status->is_infeasible)
            amounts.n = 0;
        has_room &= amounts_put_list(&amounts, &status->pod.in_force, AMOUNTS_MAX);
        has_room &= amounts_put_list(&amounts, &status->pod.allocated, AMOUNTS_MAX);
    }
    for (size_t i = 0; i < amounts.n; i++)
        if (pod_level_covers(amounts.items[i].name))
            has_room &= amounts_set(total, amounts.items[i]);
    return has_room;
}

bool pod_requests_sum(
    PodRequests *requests, ResizeRule rule, JsonReader *reader, Arena *arena, Resources *ret) {
    PodStatusRequests *status = &requests->status;
    bool has_room = !requests->spec.is_cut && !status->is_cut;
    SCRATCH Amounts wanted, total;

    if (json_error(reader))
        return has_room;
    status->has_amounts = have_amounts(status->containers, status->n_containers) ||
                          have_amounts(status->init_containers, status->n_init_containers);
    has_room &= add_containers(requests, WANTED, &wanted);
    has_room &= rule == RESIZE_BY_POD ? max_of_sums(requests, &wanted, &total)
                                      : add_containers(requests, LARGEST, &total);
    has_room &= set_pod_level(requests, &wanted, &total);
    has_room &= amounts_put_list(&total, &requests->spec.overhead, AMOUNTS_ADD);
    if (amounts_round(&total, arena, ret) < 0)
        json_fail(reader, JSON_E_MEMORY, "too many resources");
    return has_room;
}

int pod_limits(const PodDetails *details, Arena *arena, Resources *ret) {
    const PodRequests requests = {
        .spec =
            {
                .containers = (PodContainer *)(uintptr_t)details->containers, /* not changed */
                .init_containers = (PodContainer *)(uintptr_t)details->init_containers,
                .n_containers = details->n_containers,
                .n_init_containers = details->n_init_containers,
            },
    };
    SCRATCH Amounts total;

    (void)add_containers(&requests, LIMITS, &total);
    for (size_t i = 0; i < details->limits.n; i++)
        if (pod_level_covers(details->limits.items[i].name))
            (void)amounts_set(&total, details->limits.items[i]);
    for (size_t i = 0; i < details->overhead.n; i++) {
        const Amount *limit = amounts_find(&total, details->overhead.items[i].name);

        if (limit && limit->quantity.nano != 0)
            (void)amounts_put(&total, &details->overhead.items[i], 1, AMOUNTS_ADD);
    }
    return amounts_round(&total, arena, ret);
}
