/* Containers, volumes and claims of pods, as values. */

#include "schema/schema-internal.h"

#include "schema/amounts.h"

#define IMAGE_BYTES 512 /* for the cost */

/* --- amounts ------------------------------------------------------------------------------- */

/* NULL: out of memory. */
static const Resources *round_amounts(CelRun *run, const AmountList *list) {
    Resources *resources = cel_alloc(run, sizeof(*resources));

    return resources && amount_list_round(list, run->arena, resources) == 0 ? resources : NULL;
}

static CelValue numbers(CelRun *run, const AmountList *list) {
    const Resources *resources = round_amounts(run, list);

    return resources ? schema_plain_amounts_of(run, resources) : cel_no_memory(run);
}

CelValue schema_quantity_list(CelRun *run, const AmountList *list) {
    const Resources *resources = round_amounts(run, list);

    return resources ? schema_quantities_of(run, resources) : cel_no_memory(run);
}

typedef struct Requirements {
    const AmountList *requests, *limits;
} Requirements;

typedef struct RequirementsValue {
    ItemValue value;
    Requirements lists;
} RequirementsValue;

GET_ITEM(Requirements, requirements_requests, schema_quantity_list(run, item->requests))
GET_ITEM(Requirements, requirements_limits, schema_quantity_list(run, item->limits))

#define QUANTITIES VALUE(schema_quantities_type, RESOURCES_MAX)
#define REQUIREMENTS(X)                                                                            \
    X("requests", QUANTITIES, requirements_requests,                                               \
        "as quantities, with the limits of resources that have no request")                        \
    X("limits", QUANTITIES, requirements_limits, "as quantities")
SCHEMA_RECORD(schema_requirements, "ResourceRequirements", REQUIREMENTS);

CelValue schema_resources_of(CelRun *run, const AmountList *requests, const AmountList *limits) {
    RequirementsValue *made = cel_alloc(run, sizeof(*made));

    if (!made)
        return cel_no_memory(run);
    *made = (RequirementsValue){
        .value = {.head = {.type = &schema_requirements.type}, .item = &made->lists},
        .lists = {.requests = requests, .limits = limits}};
    return cel_record(&made->value.head);
}

/* --- parts of a container ------------------------------------------------------------------ */

GET_ITEM(ContainerPort, port_name, schema_text(item->name))
GET_ITEM(ContainerPort, port_number, cel_int(item->port))
GET_ITEM(ContainerPort, port_host, cel_int(item->host_port))
GET_ITEM(ContainerPort, port_protocol,
    schema_text(str_is_empty(item->protocol) ? STR("TCP") : item->protocol))
GET_ITEM(ContainerPort, port_host_ip, schema_text(item->host_ip))

#define PORT(X)                                                                                    \
    X("name", TEXT(WORD_MAX_BYTES), port_name, "its name; may be empty")                           \
    X("containerPort", INT, port_number, "the port in the container")                              \
    X("hostPort", INT, port_host, "the port of the node; 0: none")                                 \
    X("protocol", TEXT(WORD_MAX_BYTES), port_protocol, "TCP, UDP or SCTP")                         \
    X("hostIP", TEXT(WORD_MAX_BYTES), port_host_ip, "the address of the node; empty: every one")
SCHEMA_RECORD(schema_container_port, "ContainerPort", PORT);

GET_ITEM(Str, env_name, schema_text(*item))

#define ENV(X)                                                                                     \
    X("name", TEXT(NAME_MAX_BYTES), env_name, "its name")                                          \
    REFUSED(X, "value", "values of environment variables may be secrets: berth never reads them")
SCHEMA_RECORD(schema_env_var, "EnvVar", ENV);

SCHEMA_LIST_TYPE(ports_type, &schema_container_port.of);
SCHEMA_LIST_TYPE(env_type, &schema_env_var.of);

/* --- containers ---------------------------------------------------------------------------- */

static CelValue ports(CelRun *run, const PodContainer *of) {
    return schema_items(run, &schema_container_port, of->ports, of->n_ports, sizeof(*of->ports));
}

static CelValue env(CelRun *run, const PodContainer *of) {
    return schema_items(run, &schema_env_var, of->env, of->n_env, sizeof(*of->env));
}

GET_ITEM(PodContainer, container_name, schema_text(item->name))
GET_ITEM(PodContainer, container_image, schema_text(item->image))
GET_ITEM(PodContainer, container_restart_policy, schema_text(item->restart_policy))
GET_ITEM(
    PodContainer, container_resources, schema_resources_of(run, &item->requests, &item->limits))
GET_ITEM(PodContainer, container_requests, numbers(run, &item->requests))
GET_ITEM(PodContainer, container_limits, numbers(run, &item->limits))
GET_ITEM(PodContainer, container_ports, ports(run, item))
GET_ITEM(PodContainer, container_env, env(run, item))

#define AMOUNTS VALUE(schema_amounts_type, RESOURCES_MAX)
#define CONTAINER(X)                                                                               \
    X("name", TEXT(WORD_MAX_BYTES), container_name, "its name", OF_POD(POD_CONTAINER_NAMES))       \
    X("image", TEXT(IMAGE_BYTES), container_image, "its image, as the pod names it",               \
        OF_POD(POD_CONTAINER_NAMES))                                                               \
    X("restartPolicy", TEXT(WORD_MAX_BYTES), container_restart_policy,                             \
        "Always: an init container that goes on running (a sidecar); mostly empty")                \
    X("resources", VALUE(schema_requirements.of, 0), container_resources,                          \
        "its requests and limits, as quantities", OF_POD(POD_CONTAINER_AMOUNTS))                   \
    X("requests", AMOUNTS, container_requests,                                                     \
        "its requests as numbers, with the limits of resources that have no request: cpu in "      \
        "cores, 0.0 for others",                                                                   \
        OF_POD(POD_CONTAINER_AMOUNTS))                                                             \
    X("limits", AMOUNTS, container_limits, "its limits as numbers; 0.0: it has none",              \
        OF_POD(POD_CONTAINER_AMOUNTS))                                                             \
    X("ports", VALUE(ports_type, CONTAINER_PORTS_MAX), container_ports, "its ports",               \
        OF_POD(POD_CONTAINER_PORTS))                                                               \
    X("env", VALUE(env_type, CONTAINER_ENV_MAX), container_env,                                    \
        "names of its environment variables; those of envFrom are not known",                      \
        OF_POD(POD_CONTAINER_ENV))
SCHEMA_RECORD(schema_container, "Container", CONTAINER);

/* --- volumes, claims and gates ------------------------------------------------------------- */

GET_ITEM(PodVolume, volume_name, schema_text(item->name))
GET_ITEM(PodVolume, volume_kind, schema_text(item->kind))
GET_ITEM(PodVolume, volume_claim, schema_text(item->claim_name))
GET_ITEM(PodVolume, volume_class, schema_text(item->storage_class))

#define VOLUME(X)                                                                                  \
    X("name", TEXT(WORD_MAX_BYTES), volume_name, "its name")                                       \
    X("kind", TEXT(WORD_MAX_BYTES), volume_kind,                                                   \
        "its type as the API names the field: persistentVolumeClaim, ephemeral, emptyDir, "        \
        "hostPath, configMap, …")                                                                  \
    X("claimName", TEXT(NAME_MAX_BYTES), volume_claim,                                             \
        "the PersistentVolumeClaim of a persistentVolumeClaim or ephemeral volume; else empty")    \
    X("storageClassName", TEXT(NAME_MAX_BYTES), volume_class,                                      \
        "the storage class in the template of an ephemeral volume; empty: none, or another type")
SCHEMA_RECORD(schema_volume, "Volume", VOLUME);

GET_ITEM(PodResourceClaim, claim_name, schema_text(item->name))
GET_ITEM(PodResourceClaim, claim_of, schema_text(item->claim_name))
GET_ITEM(PodResourceClaim, claim_template, schema_text(item->template_name))

#define CLAIM(X)                                                                                   \
    X("name", TEXT(WORD_MAX_BYTES), claim_name, "its name in the pod")                             \
    X("resourceClaimName", TEXT(NAME_MAX_BYTES), claim_of,                                         \
        "the ResourceClaim; empty if a template makes one")                                        \
    X("resourceClaimTemplateName", TEXT(NAME_MAX_BYTES), claim_template,                           \
        "the ResourceClaimTemplate; may be empty")
SCHEMA_RECORD(schema_resource_claim, "PodResourceClaim", CLAIM);

GET_ITEM(Str, gate_name, schema_text(*item))

#define GATE(X) X("name", TEXT(KEY_MAX_BYTES), gate_name, "its name")
SCHEMA_RECORD(schema_scheduling_gate, "PodSchedulingGate", GATE);
