/* Decodes containers: the fields that policies read. */

#include "model/pod-container.h"

static void decode_port(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        {JSON_NAME("name"), JSON_FIELD_TEXT, offsetof(ContainerPort, name)},
        {JSON_NAME("protocol"), JSON_FIELD_TEXT, offsetof(ContainerPort, protocol)},
        {JSON_NAME("hostIP"), JSON_FIELD_TEXT, offsetof(ContainerPort, host_ip)},
        {JSON_NAME("containerPort"), JSON_FIELD_INT, offsetof(ContainerPort, port)},
        {JSON_NAME("hostPort"), JSON_FIELD_INT, offsetof(ContainerPort, host_port)},
    };

    JSON_READ_KEYS(reader, arena, fields, target);
}

static void decode_resources(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        {JSON_NAME("limits"), JSON_FIELD_CUSTOM, offsetof(PodContainer, limits),
            amount_list_decode},
        {JSON_NAME("requests"), JSON_FIELD_CUSTOM, offsetof(PodContainer, requests),
            amount_list_decode},
    };
    PodContainer *container = target;

    container->requests = container->limits = (AmountList){0};
    JSON_READ_KEYS(reader, arena, fields, container);
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
    has_room = amounts_put_list(&all, requests, AMOUNTS_ADD);
    for (size_t i = 0; i < limits->n; i++)
        if (!amount_list_find(requests, limits->items[i].name))
            has_room &= amounts_set(&all, limits->items[i]);
    *requests = amount_list_keep(reader, arena, &all, !has_room);
}

void pod_container_decode(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        {JSON_NAME("name"), JSON_FIELD_TEXT, offsetof(PodContainer, name)},
        {JSON_NAME("image"), JSON_FIELD_TEXT, offsetof(PodContainer, image)},
        JSON_LIST("ports", PodContainer, ports, n_ports, CONTAINER_PORTS_MAX, decode_port),
        JSON_LIST("env", PodContainer, env, n_env, CONTAINER_ENV_MAX, json_read_name_of),
        {JSON_NAME("resources"), JSON_FIELD_CUSTOM, 0, decode_resources},
        {JSON_NAME("restartPolicy"), JSON_FIELD_TEXT, offsetof(PodContainer, restart_policy)},
    };
    PodContainer *container = target;

    JSON_READ_KEYS(reader, arena, fields, container);
    apply_limits(reader, arena, &container->limits, &container->requests);
}
