/* Decodes containers, and sums the requests of a pod as kube-scheduler counts them. */

#include "model/pod-requests.h"

#include "model/pod-details.h"

/* Which amounts of a container are summed. */
typedef enum Stage {
    WANTED,    /* requests of the spec */
    ALLOCATED, /* allocatedResources of the status; else requests */
    IN_FORCE,  /* resources of the status; else as ALLOCATED */
    LARGEST,   /* of all these */
    LIMITS,    /* of the spec */
} Stage;

static void decode_port(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_MEMBER("name", TEXT, ContainerPort, name),
        JSON_MEMBER("protocol", TEXT, ContainerPort, protocol),
        JSON_MEMBER("hostIP", TEXT, ContainerPort, host_ip),
        JSON_MEMBER("containerPort", INT, ContainerPort, port),
        JSON_MEMBER("hostPort", INT, ContainerPort, host_port),
    };

    JSON_READ_KEYS(reader, arena, fields, target);
}

/* A limit without a request is the request. Usually the API server has set the request already. */
static void apply_limits(
    JsonReader *reader, Arena *arena, const AmountList *limits, AmountList *requests) {
    SCRATCH Amounts all;
    size_t n_missing = 0;

    requests->is_cut |= limits->is_cut;
    for (size_t i = 0; i < limits->n; i++)
        n_missing += !amount_list_find(requests, limits->items[i].name);
    if (n_missing == 0)
        return;
    amounts_clear(&all);
    amounts_put_list(&all, requests, AMOUNTS_ADD);
    for (size_t i = 0; i < limits->n; i++)
        if (!amount_list_find(requests, limits->items[i].name))
            amounts_put(&all, limits->items[i], AMOUNTS_SET);
    *requests = amount_list_keep(reader, arena, &all);
}

void pod_container_decode(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_MEMBER("name", TEXT, PodContainer, name),
        JSON_MEMBER("image", TEXT, PodContainer, image),
        JSON_LIST("ports", PodContainer, ports, n_ports, CONTAINER_PORTS_MAX, decode_port),
        JSON_LIST("env", PodContainer, env, n_env, CONTAINER_ENV_MAX, json_read_name_of),
        JSON_CUSTOM("resources", PodContainer, requests, resource_requirements_decode),
        JSON_MEMBER("restartPolicy", TEXT, PodContainer, restart_policy),
    };
    PodContainer *container = target;

    JSON_READ_KEYS(reader, arena, fields, container);
    apply_limits(reader, arena, &container->limits, &container->requests);
}

void status_resources_decode(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_CUSTOM("requests", StatusAmounts, in_force, amount_list_decode),
    };
    StatusAmounts *amounts = target;

    amounts->has_resources = json_peek(reader) != JSON_NULL;
    amounts->in_force = (AmountList){0};
    JSON_READ_KEYS(reader, arena, fields, amounts);
}

void container_status_decode(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_MEMBER("name", TEXT, ContainerStatus, name),
        JSON_CUSTOM("resources", ContainerStatus, amounts, status_resources_decode),
        JSON_CUSTOM("allocatedResources", ContainerStatus, amounts.allocated, amount_list_decode),
    };

    JSON_READ_KEYS(reader, arena, fields, target);
}

/* The first status of that name in either list: names are unique in a pod. NULL: none. */
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
static void add_largest(
    const PodContainer *container, const StatusAmounts *status, bool is_infeasible, Amounts *sum) {
    SCRATCH Amounts amounts;

    amounts_clear(&amounts);
    amounts_put_list(&amounts, &status->allocated, AMOUNTS_MAX);
    amounts_put_list(&amounts, &status->in_force, AMOUNTS_MAX);
    if (!is_infeasible)
        amounts_put_list(&amounts, &container->requests, AMOUNTS_MAX);
    amounts_put_list(sum, AMOUNTS_LIST(&amounts), AMOUNTS_ADD);
}

/* Adds a container to @sum. LARGEST ignores the status of an init container that ends. */
static void add_container(const PodRequests *requests, const PodContainer *container, bool is_init,
    Stage stage, Amounts *sum) {
    bool ends = is_init && !pod_container_is_sidecar(container);
    bool is_infeasible = requests->status.is_infeasible;
    const StatusAmounts *status = NULL;

    if (stage != WANTED && stage != LIMITS && requests->status.has_amounts)
        status = find_status(&requests->status, container->name);
    if (stage == LIMITS)
        amounts_put_list(sum, &container->limits, AMOUNTS_ADD);
    else if (stage == LARGEST && status && status->has_resources && !ends)
        add_largest(container, status, is_infeasible, sum);
    else if (stage == IN_FORCE && status && status->in_force.is_given)
        amounts_put_list(sum, &status->in_force, AMOUNTS_ADD);
    else if (stage <= IN_FORCE && status && status->allocated.is_given)
        amounts_put_list(sum, &status->allocated, AMOUNTS_ADD);
    else if (!((stage == ALLOCATED || stage == IN_FORCE) && is_infeasible))
        amounts_put_list(sum, &container->requests, AMOUNTS_ADD);
}

/* Sums containers: per resource, the larger of all that run together, sidecars included, and of an
 * init container together with the sidecars before it. */
static void add_containers(const PodRequests *requests, Stage stage, Amounts *ret) {
    const PodSpecRequests *spec = &requests->spec;
    SCRATCH Amounts sidecars, peak, now;

    amounts_clear(ret);
    amounts_clear(&sidecars);
    amounts_clear(&peak);
    for (size_t i = 0; i < spec->n_containers; i++)
        add_container(requests, &spec->containers[i], false, stage, ret);
    for (size_t i = 0; i < spec->n_init_containers; i++) {
        const PodContainer *container = &spec->init_containers[i];
        bool is_sidecar = pod_container_is_sidecar(container);

        amounts_clear(&now);
        add_container(requests, container, true, stage, is_sidecar ? &sidecars : &now);
        if (is_sidecar)
            continue;
        amounts_put_list(&now, AMOUNTS_LIST(&sidecars), AMOUNTS_ADD);
        amounts_put_list(&peak, AMOUNTS_LIST(&now), AMOUNTS_MAX);
    }
    amounts_put_list(ret, AMOUNTS_LIST(&sidecars), AMOUNTS_ADD);
    amounts_put_list(ret, AMOUNTS_LIST(&peak), AMOUNTS_MAX);
}

/* For RESIZE_BY_POD: the maximum of the requests of the spec and of the status; of the status,
 * amounts of the pod as a whole, or else the sums of its containers. */
static void max_of_sums(const PodRequests *requests, const Amounts *wanted, Amounts *total) {
    const PodStatusRequests *status = &requests->status;
    SCRATCH Amounts amounts;

    amounts_clear(total);
    if (!status->is_infeasible)
        amounts_put_list(total, AMOUNTS_LIST(wanted), AMOUNTS_MAX);
    if (status->pod.allocated.is_given && status->pod.in_force.is_given) {
        amounts_put_list(total, &status->pod.allocated, AMOUNTS_MAX);
        amounts_put_list(total, &status->pod.in_force, AMOUNTS_MAX);
    } else if (status->has_amounts) { /* else no status has amounts to add */
        for (Stage stage = ALLOCATED; stage <= IN_FORCE; stage++) {
            add_containers(requests, stage, &amounts);
            amounts_put_list(total, AMOUNTS_LIST(&amounts), AMOUNTS_MAX);
        }
    }
}

static bool is_hugepages(Str name) {
    return str_has_prefix(name, STR("hugepages-"));
}

bool pod_level_covers(Str name) {
    return str_eq(name, STR("cpu")) || str_eq(name, STR("memory")) || is_hugepages(name);
}

/* Sets the @items that a pod as a whole can have; with @only_missing, only if they are not set. */
static void set_covered(Amounts *amounts, const Amount *items, size_t n, bool only_missing) {
    for (size_t i = 0; i < n; i++)
        if (pod_level_covers(items[i].name) &&
            !(only_missing && amount_list_find(AMOUNTS_LIST(amounts), items[i].name)))
            amounts_put(amounts, items[i], AMOUNTS_SET);
}

/* The requests of the spec for the pod as a whole. If it has limits there, the API server completes
 * its requests: by the sum of its containers, else by the limit. Huge pages cannot be
 * overcommitted: for them it takes the limit. */
static void add_pod_level(const PodSpecRequests *spec, const Amounts *wanted, Amounts *ret) {
    const AmountList *limits = &spec->limits;

    amounts_clear(ret);
    ret->is_cut = spec->requests.is_cut || limits->is_cut;
    set_covered(ret, spec->requests.items, spec->requests.n, /* only_missing= */ false);
    for (size_t i = 0; limits->n > 0 && i < wanted->n; i++)
        if (!is_hugepages(wanted->items[i].name))
            set_covered(ret, &wanted->items[i], 1, /* only_missing= */ true);
    set_covered(ret, limits->items, limits->n, /* only_missing= */ true);
}

/* Replaces amounts of @total by those of the pod as a whole, if there are any. */
static void set_pod_level(const PodRequests *requests, const Amounts *wanted, Amounts *total) {
    const PodStatusRequests *status = &requests->status;
    SCRATCH Amounts amounts;

    add_pod_level(&requests->spec, wanted, &amounts);
    if (amounts.n > 0 && status->pod.has_resources) {
        if (status->is_infeasible)
            amounts.n = 0;
        amounts_put_list(&amounts, &status->pod.in_force, AMOUNTS_MAX);
        amounts_put_list(&amounts, &status->pod.allocated, AMOUNTS_MAX);
    }
    set_covered(total, amounts.items, amounts.n, /* only_missing= */ false);
    total->is_cut |= amounts.is_cut;
}

bool pod_requests_sum(
    PodRequests *requests, ResizeRule rule, JsonReader *reader, Arena *arena, Resources *ret) {
    PodStatusRequests *status = &requests->status;
    bool is_cut = requests->spec.is_cut || status->is_cut;
    SCRATCH Amounts wanted, total;

    if (json_error(reader))
        return !is_cut;
    status->has_amounts = have_amounts(status->containers, status->n_containers) ||
                          have_amounts(status->init_containers, status->n_init_containers);
    add_containers(requests, WANTED, &wanted);
    if (rule == RESIZE_BY_POD)
        max_of_sums(requests, &wanted, &total);
    else
        add_containers(requests, LARGEST, &total);
    set_pod_level(requests, &wanted, &total);
    amounts_put_list(&total, &requests->spec.overhead, AMOUNTS_ADD);
    if (amount_list_round(AMOUNTS_LIST(&total), arena, ret) < 0)
        json_fail(reader, JSON_E_MEMORY, "too many resources");
    return !(is_cut || wanted.is_cut || total.is_cut);
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

    add_containers(&requests, LIMITS, &total);
    set_covered(&total, details->limits.items, details->limits.n, /* only_missing= */ false);
    for (size_t i = 0; i < details->overhead.n; i++) {
        const Amount *limit =
            amount_list_find(AMOUNTS_LIST(&total), details->overhead.items[i].name);

        if (limit && limit->quantity.nano != 0)
            amounts_put(&total, details->overhead.items[i], AMOUNTS_ADD);
    }
    return amount_list_round(AMOUNTS_LIST(&total), arena, ret);
}
