/* Decodes containers: the fields that policies read, but their amounts. */

#include "model/pod-container.h"

#include "base/vec.h"

typedef VEC(ContainerPort) PortVec;
typedef VEC(Str) NameVec;

static void decode_port(JsonReader *reader, Arena *arena, ContainerPort *ret) {
    Str key;

    *ret = (ContainerPort){0};
    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("name")))
            json_string(reader, arena, &ret->name);
        else if (json_key_is(reader, key, STR("protocol")))
            json_string(reader, arena, &ret->protocol);
        else if (json_key_is(reader, key, STR("hostIP")))
            json_string(reader, arena, &ret->host_ip);
        else if (json_key_is(reader, key, STR("containerPort")))
            json_int64(reader, &ret->port);
        else if (json_key_is(reader, key, STR("hostPort")))
            json_int64(reader, &ret->host_port);
        else
            json_skip(reader, NULL);
    }
}

static void decode_ports(JsonReader *reader, Arena *arena, PodContainer *ret) {
    PortVec ports = {0};

    json_array(reader);
    while (json_element(reader)) {
        ContainerPort *port = ports.n < CONTAINER_PORTS_MAX ? VEC_PUSH(&ports, arena) : NULL;

        if (port)
            decode_port(reader, arena, port);
        else if (ports.n == CONTAINER_PORTS_MAX)
            json_skip(reader, NULL);
        else
            json_fail(reader, JSON_E_MEMORY, "too many ports");
    }
    ret->ports = ports.items;
    ret->n_ports = ports.n;
}

static void decode_env(JsonReader *reader, Arena *arena, PodContainer *ret) {
    NameVec names = {0};

    json_array(reader);
    while (json_element(reader)) {
        Str *name = names.n < CONTAINER_ENV_MAX ? VEC_PUSH(&names, arena) : NULL;

        if (name) {
            *name = STR_NULL;
            json_string_member(reader, arena, STR("name"), name);
        } else if (names.n == CONTAINER_ENV_MAX) {
            json_skip(reader, NULL);
        } else {
            json_fail(reader, JSON_E_MEMORY, "too many environment variables");
        }
    }
    ret->env = names.items;
    ret->n_env = names.n;
}

bool pod_container_decode(JsonReader *reader, Arena *arena, Str key, PodContainer *ret) {
    if (json_key_is(reader, key, STR("name")))
        json_string(reader, arena, &ret->name);
    else if (json_key_is(reader, key, STR("image")))
        json_string(reader, arena, &ret->image);
    else if (json_key_is(reader, key, STR("restartPolicy")))
        json_string(reader, arena, &ret->restart_policy);
    else if (json_key_is(reader, key, STR("ports")))
        decode_ports(reader, arena, ret);
    else if (json_key_is(reader, key, STR("env")))
        decode_env(reader, arena, ret);
    else
        return false;
    return true;
}
