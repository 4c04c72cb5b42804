/* Containers, volumes and claims of pods, as values. */

#include "schema/schema-internal.h"

#include "schema/amounts.h"

#define IMAGE_BYTES 512 /* size of an image's name for the cost of expressions */

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

#define QUANTITIES VALUE(schema_quantities_type, RESOURCES_MAX)
#define REQUIREMENTS(X)                                                                            \
    X(requests, QUANTITIES, schema_quantity_list(run, item->requests),                             \
        "as quantities, with the limits of resources that have no request")                        \
    X(limits, QUANTITIES, schema_quantity_list(run, item->limits), "as quantities")
SCHEMA_RECORD(schema_requirements, "ResourceRequirements", ITEM(Requirements), REQUIREMENTS);

CelValue schema_resources_of(CelRun *run, const AmountList *requests, const AmountList *limits) {
    RequirementsValue *made = cel_alloc(run, sizeof(*made));

    if (!made)
        return cel_no_memory(run);
    *made = (RequirementsValue){
        .value = {.head = {.type = &schema_requirements.type}, .item = &made->lists},
        .lists = {.requests = requests, .limits = limits}};
    return cel_record(&made->value.head);
}

#define PORT(X)                                                                                    \
    X(name, WORD(item->name), "its name; may be empty")                                            \
    X(containerPort, NUMBER(item->port), "the port in the container")                              \
    X(hostPort, NUMBER(item->host_port), "the port of the node; 0: none")                          \
    X(protocol, WORD(str_is_empty(item->protocol) ? STR("TCP") : item->protocol),                  \
        "TCP, UDP or SCTP")                                                                        \
    X(hostIP, WORD(item->host_ip), "the address of the node; empty: every one")
SCHEMA_RECORD(schema_container_port, "ContainerPort", ITEM(ContainerPort), PORT);

#define ENV(X)                                                                                     \
    X(name, NAME(*item), "its name")                                                               \
    REFUSED(X, value, "values of environment variables may be secrets: berth never reads them")
SCHEMA_RECORD(schema_env_var, "EnvVar", ITEM(Str), ENV);

SCHEMA_LIST_TYPE(ports_type, &schema_container_port.of);
SCHEMA_LIST_TYPE(env_type, &schema_env_var.of);

#define AMOUNTS VALUE(schema_amounts_type, RESOURCES_MAX)
#define CONTAINER(X)                                                                               \
    X(name, WORD(item->name), "its name", OF_POD(POD_CONTAINER_NAMES))                             \
    X(image, TEXT(IMAGE_BYTES), schema_text(item->image), "its image, as the pod names it",        \
        OF_POD(POD_CONTAINER_NAMES))                                                               \
    X(restartPolicy, WORD(item->restart_policy),                                                   \
        "Always: an init container that goes on running (a sidecar); mostly empty")                \
    X(resources, VALUE(schema_requirements.of, 0),                                                 \
        schema_resources_of(run, &item->requests, &item->limits),                                  \
        "its requests and limits, as quantities", OF_POD(POD_CONTAINER_AMOUNTS))                   \
    X(requests, AMOUNTS, numbers(run, &item->requests),                                            \
        "its requests as numbers, with the limits of resources that have no request: cpu in "      \
        "cores, 0.0 for others",                                                                   \
        OF_POD(POD_CONTAINER_AMOUNTS))                                                             \
    X(limits, AMOUNTS, numbers(run, &item->limits), "its limits as numbers; 0.0: it has none",     \
        OF_POD(POD_CONTAINER_AMOUNTS))                                                             \
    X(ports, VALUE(ports_type, CONTAINER_PORTS_MAX),                                               \
        ITEMS(schema_container_port, item->ports, item->n_ports), "its ports",                     \
        OF_POD(POD_CONTAINER_PORTS))                                                               \
    X(env, VALUE(env_type, CONTAINER_ENV_MAX), ITEMS(schema_env_var, item->env, item->n_env),      \
        "names of its environment variables; those of envFrom are not known",                      \
        OF_POD(POD_CONTAINER_ENV))
SCHEMA_RECORD(schema_container, "Container", ITEM(PodContainer), CONTAINER);

#define VOLUME(X)                                                                                  \
    X(name, WORD(item->name), "its name")                                                          \
    X(kind, WORD(item->kind),                                                                      \
        "its type as the API names the field: persistentVolumeClaim, ephemeral, emptyDir, "        \
        "hostPath, configMap, …")                                                                  \
    X(claimName, NAME(item->claim_name),                                                           \
        "the PersistentVolumeClaim of a persistentVolumeClaim or ephemeral volume; else empty")    \
    X(storageClassName, NAME(item->storage_class),                                                 \
        "the storage class in the template of an ephemeral volume; empty: none, or another type")
SCHEMA_RECORD(schema_volume, "Volume", ITEM(PodVolume), VOLUME);

#define CLAIM(X)                                                                                   \
    X(name, WORD(item->name), "its name in the pod")                                               \
    X(resourceClaimName, NAME(item->claim_name),                                                   \
        "the ResourceClaim; empty if a template makes one")                                        \
    X(resourceClaimTemplateName, NAME(item->template_name),                                        \
        "the ResourceClaimTemplate; may be empty")
SCHEMA_RECORD(schema_resource_claim, "PodResourceClaim", ITEM(PodResourceClaim), CLAIM);

#define GATE(X) X(name, KEY(*item), "its name")
SCHEMA_RECORD(schema_scheduling_gate, "PodSchedulingGate", ITEM(Str), GATE);
