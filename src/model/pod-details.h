#pragma once

/*
 * PodDetails: the fields of a Pod that only matter while it is placed. A cluster keeps none of them
 * (cluster/record.h).
 */

#include "model/amounts.h"
#include "model/labels.h"
#include "model/node-affinity.h"
#include "model/pod-affinity.h"
#include "model/pod-requests.h"
#include "model/resources.h"

/* Per pod; beyond that the rest is left out. */
#define POD_VOLUMES_MAX 256u
#define POD_RESOURCE_CLAIMS_MAX 64u
#define POD_SCHEDULING_GATES_MAX 64u
#define POD_OWNERS_MAX 16u

typedef struct PodOwner {
    Str api_version, kind, name, uid;
    bool is_controller, blocks_deletion;
} PodOwner;

typedef struct PodVolume {
    Str name;
    Str kind;          /* "persistentVolumeClaim", "emptyDir"; empty: none is given */
    Str claim_name;    /* of a persistentVolumeClaim; POD-VOLUME for an ephemeral volume */
    Str storage_class; /* in the template of an ephemeral volume */
} PodVolume;

typedef struct PodResourceClaim {
    Str name, claim_name, template_name;
} PodResourceClaim;

typedef struct PodDetails {
    Labels annotations;
    Labels node_selector;
    NodeTerms required_terms;                         /* of its node affinity */
    const PodContainer *containers, *init_containers; /* POD_CONTAINERS_MAX of each at most */
    size_t n_containers, n_init_containers;
    Str priority_class_name, runtime_class_name, preemption_policy, service_account_name;
    bool host_network;
    bool has_status_amounts;               /* its requests depend on its status, too */
    AmountList requests, limits, overhead; /* of the pod as a whole */
    const Str *scheduling_gates;           /* names */
    PodVolume *volumes;                    /* without the service account's own token */
    const PodResourceClaim *resource_claims;
    const PodAffinity *affinity; /* as written; NULL: none */
    const SpreadConstraint *spread;
    const PodOwner *owners; /* all of them */
    size_t n_scheduling_gates, n_volumes, n_resource_claims, n_affinity, n_spread, n_owners;
} PodDetails;

/* Reads spec.volumes into PodDetails, and a resource claim into a PodResourceClaim. Errors are the
 * reader's. */
JsonRead pod_volumes_decode, pod_resource_claim_decode;

/* The limits of the pod, as k8s.io/component-helpers v0.37.2 has them: the larger of (all
 * containers and sidecars) and (the peak while init containers run); limits of the pod as a whole
 * replace those of containers; overhead is added to resources that have a limit. A container
 * without a limit counts as 0. 0, or -ENOMEM. */
int pod_limits(const PodDetails *details, Arena *arena, Resources *ret) MUST_CHECK;

/* "Guaranteed", "Burstable" or "BestEffort", as the API server computes it from the spec. */
Str pod_qos_class(const PodDetails *details);
