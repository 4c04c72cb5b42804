/* Decodes containers: the fields that policies read, but their amounts. */

#include "model/pod-container.h"

#include "json/fields.h"

static void decode_port(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        {"name", JSON_FIELD_TEXT, offsetof(ContainerPort, name)},
        {"protocol", JSON_FIELD_TEXT, offsetof(ContainerPort, protocol)},
        {"hostIP", JSON_FIELD_TEXT, offsetof(ContainerPort, host_ip)},
        {"containerPort", JSON_FIELD_INT, offsetof(ContainerPort, port)},
        {"hostPort", JSON_FIELD_INT, offsetof(ContainerPort, host_port)},
    };

    JSON_READ_FIELDS(reader, arena, fields, target);
}

static void decode_variable(JsonReader *reader, Arena *arena, void *target) {
    json_string_member(reader, arena, STR("name"), target);
}

bool pod_container_decode(JsonReader *reader, Arena *arena, Str key, PodContainer *ret) {
    if (json_key_is(reader, key, STR("name")))
        json_string(reader, arena, &ret->name);
    else if (json_key_is(reader, key, STR("image")))
        json_string(reader, arena, &ret->image);
    else if (json_key_is(reader, key, STR("restartPolicy")))
        json_string(reader, arena, &ret->restart_policy);
    else if (json_key_is(reader, key, STR("ports")))
        JSON_READ_ITEMS(reader, arena, CONTAINER_PORTS_MAX, decode_port, ret->ports, &ret->n_ports);
    else if (json_key_is(reader, key, STR("env")))
        JSON_READ_ITEMS(reader, arena, CONTAINER_ENV_MAX, decode_variable, ret->env, &ret->n_env);
    else
        return false;
    return true;
}
