#pragma once

/*
 * SlotRule: a filter with `publish: slots`.
 *
 *     filters: [{name: limit, maxPods: 4, publish: slots}]   # of the policy workspaces
 *
 * Nodes offer the limit as the extended resource berth.dev/slots.workspaces, and the policy's pods
 * request one of it (`berth config --admission`). kube-scheduler and autoscalers then count these
 * pods themselves. Pods that count and request none lower what the node offers.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "model/pod.h"
#include "model/selector.h"
#include "policy/reader.h"
#include "policy/shape.h"

#define SLOTS_PREFIX "berth.dev/slots."

typedef struct Policy Policy;

typedef struct SlotRule {
    Str resource;       /* SLOTS_PREFIX and the policy's name */
    int64_t limit;      /* pods on a node, at most */
    Selector selector;  /* the pods that count; and */
    StrList namespaces; /* their namespaces; empty: all */
    const YamlNode *at; /* the word slots */
} SlotRule;

/* What `publish` may be. */
extern const Shape publish_shape;

/* Reads `publish` of the filter @rule, whose kind is @kind (NULL: an expression). NULL: it cannot
 * be published, which was reported; or there is no memory. */
SlotRule *publish_read(YamlReader *reader, const YamlNode *rule, const RuleKind *kind);

/* Names the resources, after all of @policy has been read, and reports what is wrong with that. */
void publish_name(YamlReader *reader, Policy *policy);

/* How many slots @pod takes that kube-scheduler does not know of: 1 if it counts and does not
 * request the resource. */
int64_t slot_rule_takes(const SlotRule *rule, const Pod *pod);
