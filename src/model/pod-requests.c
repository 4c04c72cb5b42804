/* Sums the requests of a pod as kube-scheduler counts them. */

#include "model/pod-requests.h"

/* Amounts are 2 KB, of which a pod uses 100 bytes, and no more than is filled is read. Zeroing
 * each (-ftrivial-auto-var-init) would be 7 % of the time it takes to read a pod. */
#if __has_attribute(uninitialized)
#define SCRATCH __attribute__((uninitialized))
#else
#define SCRATCH
#endif

/* Which of the three amounts of a container is meant. */
typedef enum Stage {
    WANTED,
    ALLOCATED,
    IN_FORCE,
    LARGEST,
} Stage;

/* --- lists ---------------------------------------------------------------- */

static AmountList list_keep(JsonReader *reader, Arena *arena, const Amounts *amounts, bool is_cut) {
    AmountList list = {.is_given = true, .is_cut = is_cut};
    Amount *items;

    if (amounts->n == 0)
        return list;
    items = ARENA_RAW(arena, Amount, amounts->n);
    if (!items) {
        json_fail(reader, JSON_E_MEMORY, "too many resources");
        return list;
    }
    memcpy(items, amounts->items, amounts->n * sizeof(*items));
    list.items = items;
    list.n = amounts->n;
    return list;
}

static AmountList list_decode(JsonReader *reader, Arena *arena) {
    SCRATCH Amounts amounts;
    bool is_cut;

    if (json_null(reader))
        return (AmountList){0};
    is_cut = !amounts_decode(reader, arena, &amounts);
    return list_keep(reader, arena, &amounts, is_cut);
}

/* False: something was left out, here or when the list was read. */
static bool put_list(Amounts *amounts, const AmountList *list, AmountsRule rule) {
    return amounts_put(amounts, list->items, list->n, rule) && !list->is_cut;
}

static bool put_all(Amounts *amounts, const Amounts *other, AmountsRule rule) {
    return amounts_put(amounts, other->items, other->n, rule);
}

/* --- reading the spec ----------------------------------------------------- */

/* @ret_limits may be NULL: not wanted. */
static void decode_requirements(
    JsonReader *reader, Arena *arena, AmountList *ret_requests, AmountList *ret_limits) {
    Str key;

    *ret_requests = (AmountList){0};
    if (ret_limits)
        *ret_limits = (AmountList){0};
    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("requests")))
            *ret_requests = list_decode(reader, arena);
        else if (ret_limits && json_key_is(reader, key, STR("limits")))
            *ret_limits = list_decode(reader, arena);
        else
            json_skip(reader, NULL);
    }
}

/* A limit without a request is the request. The API server has seen to that already, so that
 * there is mostly nothing to do. */
static void apply_limits(
    JsonReader *reader, Arena *arena, const AmountList *limits, AmountList *requests) {
    SCRATCH Amounts all;
    size_t n_missing = 0;
    bool has_room;

    requests->is_cut |= limits->is_cut;
    for (size_t i = 0; i < limits->n; i++)
        n_missing += !amount_list_find(requests, limits->items[i].name);
    if (n_missing == 0)
        return;
    all.n = 0;
    has_room = put_list(&all, requests, AMOUNTS_ADD);
    for (size_t i = 0; i < limits->n; i++)
        if (!amount_list_find(requests, limits->items[i].name))
            has_room &= amounts_set(&all, limits->items[i]);
    *requests = list_keep(reader, arena, &all, !has_room);
}

static void decode_container(JsonReader *reader, Arena *arena, PodContainer *ret) {
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("resources")))
            decode_requirements(reader, arena, &ret->requests, &ret->limits);
        else if (!pod_container_decode(reader, arena, key, ret))
            json_skip(reader, NULL);
    }
    apply_limits(reader, arena, &ret->limits, &ret->requests);
}

/* Memory for the element after @n others; NULL: it was skipped, or an error of the
 * reader. */
static void *make_element(JsonReader *reader, Arena *arena, size_t n, size_t size, bool *is_cut) {
    void *element = NULL;

    if (n >= POD_CONTAINERS_MAX) {
        json_skip(reader, NULL);
        *is_cut = true;
    } else if (!(element = arena_zalloc(arena, 1, size))) {
        json_fail(reader, JSON_E_MEMORY, "too many containers");
    }
    return element;
}

/* @end: where the list hangs, first its head. */
static void decode_containers(JsonReader *reader, Arena *arena, bool *is_cut, Container **end) {
    *end = NULL;
    json_array(reader);
    for (size_t n = 0; json_element(reader); n++) {
        Container *container = make_element(reader, arena, n, sizeof(*container), is_cut);

        if (!container)
            continue;
        decode_container(reader, arena, &container->of);
        *end = container;
        end = &container->next;
    }
}

bool pod_requests_decode_spec(PodRequests *requests, JsonReader *reader, Arena *arena, Str key) {
    PodSpecRequests *spec = &requests->spec;

    if (json_key_is(reader, key, STR("containers")))
        decode_containers(reader, arena, &spec->is_cut, &spec->containers);
    else if (json_key_is(reader, key, STR("initContainers")))
        decode_containers(reader, arena, &spec->is_cut, &spec->init_containers);
    else if (json_key_is(reader, key, STR("resources")))
        decode_requirements(reader, arena, &spec->requests, &spec->limits);
    else if (json_key_is(reader, key, STR("overhead")))
        spec->overhead = list_decode(reader, arena);
    else
        return false;
    return true;
}

/* --- reading the status --------------------------------------------------- */

static void decode_container_status(JsonReader *reader, Arena *arena, ContainerStatus *ret) {
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("name")))
            json_string(reader, arena, &ret->name);
        else if (json_key_is(reader, key, STR("resources"))) {
            ret->has_resources = json_peek(reader) != JSON_NULL;
            decode_requirements(reader, arena, &ret->in_force, NULL);
        } else if (json_key_is(reader, key, STR("allocatedResources")))
            ret->allocated = list_decode(reader, arena);
        else
            json_skip(reader, NULL);
    }
}

static void decode_container_statuses(
    JsonReader *reader, Arena *arena, PodStatusRequests *all, ContainerStatus **end) {
    *end = NULL;
    json_array(reader);
    for (size_t n = 0; json_element(reader); n++) {
        ContainerStatus *status = make_element(reader, arena, n, sizeof(*status), &all->is_cut);

        if (!status)
            continue;
        decode_container_status(reader, arena, status);
        all->has_amounts |=
            status->has_resources || status->allocated.is_given || status->in_force.is_given;
        *end = status;
        end = &status->next;
    }
}

static void decode_status_resources(JsonReader *reader, Arena *arena, PodStatusRequests *status) {
    status->has_resources = json_peek(reader) != JSON_NULL;
    decode_requirements(reader, arena, &status->in_force, NULL);
}

bool pod_requests_decode_status(PodRequests *requests, JsonReader *reader, Arena *arena, Str key) {
    PodStatusRequests *status = &requests->status;

    if (json_key_is(reader, key, STR("containerStatuses")))
        decode_container_statuses(reader, arena, status, &status->containers);
    else if (json_key_is(reader, key, STR("initContainerStatuses")))
        decode_container_statuses(reader, arena, status, &status->init_containers);
    else if (json_key_is(reader, key, STR("resources")))
        decode_status_resources(reader, arena, status);
    else if (json_key_is(reader, key, STR("allocatedResources")))
        status->allocated = list_decode(reader, arena);
    else
        return false;
    return true;
}

/* --- putting together ----------------------------------------------------- */

static const ContainerStatus *find_named(const ContainerStatus *status, Str name) {
    while (status && !str_eq(status->name, name))
        status = status->next;
    return status;
}

/* Names are unique over both kinds of containers, so both lists are searched. */
static void find_statuses(const PodStatusRequests *statuses, Container *container) {
    for (; container; container = container->next) {
        container->status = find_named(statuses->containers, container->of.name);
        if (!container->status)
            container->status = find_named(statuses->init_containers, container->of.name);
    }
}

static const AmountList *choose(const Container *container, Stage stage, bool is_infeasible) {
    static const AmountList nothing;
    const ContainerStatus *status = container->status;

    if (stage == LARGEST)
        return container->largest.is_given ? &container->largest : &container->of.requests;
    if (stage == IN_FORCE && status && status->in_force.is_given)
        return &status->in_force;
    if (stage != WANTED && status && status->allocated.is_given)
        return &status->allocated;
    return stage != WANTED && is_infeasible ? &nothing : &container->of.requests;
}

/* They run one after the other, except that restartable ones keep running; while one of those
 * starts, no more is used than when all run. */
static bool add_init_container(
    const Container *container, const AmountList *list, Amounts *sidecars, Amounts *peak) {
    SCRATCH Amounts now;
    bool has_room;

    if (pod_container_is_sidecar(&container->of))
        return put_list(sidecars, list, AMOUNTS_ADD);
    now.n = 0;
    has_room = put_list(&now, list, AMOUNTS_ADD);
    has_room &= put_all(&now, sidecars, AMOUNTS_ADD);
    return put_all(peak, &now, AMOUNTS_MAX) && has_room;
}

/* The sum of containers. False: too many resources. */
static bool add_containers(const PodRequests *requests, Stage stage, Amounts *ret) {
    bool is_infeasible = requests->status.is_infeasible, has_room = true;
    const Container *container;
    SCRATCH Amounts sidecars, peak;

    ret->n = sidecars.n = peak.n = 0;
    for (container = requests->spec.containers; container; container = container->next)
        has_room &= put_list(ret, choose(container, stage, is_infeasible), AMOUNTS_ADD);
    for (container = requests->spec.init_containers; container; container = container->next)
        has_room &= add_init_container(
            container, choose(container, stage, is_infeasible), &sidecars, &peak);
    has_room &= put_all(ret, &sidecars, AMOUNTS_ADD);
    return put_all(ret, &peak, AMOUNTS_MAX) && has_room;
}

/* The status, by its containers or of the pod as a whole, where it is more. */
static bool max_status(PodRequests *requests, Amounts *total) {
    const PodStatusRequests *status = &requests->status;
    SCRATCH Amounts amounts;
    bool has_room = true;

    if (status->allocated.is_given && status->in_force.is_given) {
        has_room &= put_list(total, &status->allocated, AMOUNTS_MAX);
        return put_list(total, &status->in_force, AMOUNTS_MAX) && has_room;
    }
    if (!status->has_amounts)
        return true; /* then every container is as wanted, or counts nothing */
    find_statuses(status, requests->spec.containers);
    find_statuses(status, requests->spec.init_containers);
    for (Stage stage = ALLOCATED; stage <= IN_FORCE; stage++) {
        has_room &= add_containers(requests, stage, &amounts);
        has_room &= put_all(total, &amounts, AMOUNTS_MAX);
    }
    return has_room;
}

/* Sets the largest amounts of each container whose status has resources. */
static void find_largest(
    JsonReader *reader, Arena *arena, const PodStatusRequests *status, Container *container) {
    for (; container; container = container->next) {
        SCRATCH Amounts amounts;
        bool has_room;

        if (!container->status || !container->status->has_resources)
            continue;
        amounts.n = 0;
        has_room = put_list(&amounts, &container->status->allocated, AMOUNTS_MAX);
        has_room &= put_list(&amounts, &container->status->in_force, AMOUNTS_MAX);
        if (!status->is_infeasible)
            has_room &= put_list(&amounts, &container->of.requests, AMOUNTS_MAX);
        container->largest = list_keep(reader, arena, &amounts, !has_room);
    }
}

/* RESIZE_BY_CONTAINER. The status of an init container that ends does not count. */
static bool add_largest(PodRequests *requests, JsonReader *reader, Arena *arena, Amounts *total) {
    const PodStatusRequests *status = &requests->status;
    PodSpecRequests *spec = &requests->spec;

    if (status->has_amounts) {
        find_statuses(status, spec->containers);
        find_statuses(status, spec->init_containers);
        for (Container *container = spec->init_containers; container; container = container->next)
            if (!pod_container_is_sidecar(&container->of))
                container->status = NULL;
        find_largest(reader, arena, status, spec->containers);
        find_largest(reader, arena, status, spec->init_containers);
    }
    return add_containers(requests, LARGEST, total);
}

/* RESIZE_BY_POD */
static bool max_of_sums(PodRequests *requests, const Amounts *wanted, Amounts *total) {
    bool has_room = true;

    total->n = 0;
    if (!requests->status.is_infeasible)
        has_room &= put_all(total, wanted, AMOUNTS_MAX);
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
    if (status->has_resources) {
        if (status->is_infeasible)
            amounts.n = 0;
        has_room &= put_list(&amounts, &status->in_force, AMOUNTS_MAX);
        has_room &= put_list(&amounts, &status->allocated, AMOUNTS_MAX);
    }
    for (size_t i = 0; i < amounts.n; i++)
        if (pod_level_covers(amounts.items[i].name))
            has_room &= amounts_set(total, amounts.items[i]);
    return has_room;
}

bool pod_requests_sum(
    PodRequests *requests, ResizeRule rule, JsonReader *reader, Arena *arena, Resources *ret) {
    bool has_room = !requests->spec.is_cut && !requests->status.is_cut;
    SCRATCH Amounts wanted, total;

    if (json_error(reader))
        return has_room;
    has_room &= add_containers(requests, WANTED, &wanted);
    has_room &= rule == RESIZE_BY_POD ? max_of_sums(requests, &wanted, &total)
                                      : add_largest(requests, reader, arena, &total);
    has_room &= set_pod_level(requests, &wanted, &total);
    has_room &= put_list(&total, &requests->spec.overhead, AMOUNTS_ADD);
    if (amounts_round(&total, arena, ret) < 0)
        json_fail(reader, JSON_E_MEMORY, "too many resources");
    return has_room;
}
