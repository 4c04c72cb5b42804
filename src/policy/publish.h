#pragma once

/*
 * Published filters: written to nodes, where kube-scheduler and autoscalers see them without
 * calling berth.
 *
 *     filters:                                          # of the policy workspaces
 *       - {name: limit, maxPods: 4, publish: slots}
 *       - {name: ready, nodeReady: true, publish: label}
 *
 * slots: nodes offer the limit as the extended resource berth.dev/slots.workspaces, and the
 * policy's pods request one of it. A pod that counts toward the limit but does not request the
 * resource lowers what its node offers.
 *
 * label: nodes that the filter rejects have the label closed.berth.dev/workspaces, and the policy's
 * pods require a node without it.
 *
 * `berth config --admission` writes policies that change new pods accordingly.
 */

#include "model/pod.h"
#include "policy/reader.h"

#define SLOTS_PREFIX "berth.dev/slots."
#define CLOSED_PREFIX "closed.berth.dev/"

typedef struct Policy Policy;
typedef struct Filter Filter;

/* A maxPods rule whose limit is one number for each node. */
typedef struct SlotRule {
    Str resource;       /* SLOTS_PREFIX and the policy's name; empty: not published */
    int64_t limit;      /* most pods on a node */
    Selector selector;  /* the pods that count */
    StrList namespaces; /* their namespaces; empty: all */
} SlotRule;

/* The values of `publish`. */
extern const Shape publish_shape;

/* Sets the limit of @filter, read from @rule, and how it is published. Reports an error if it
 * cannot be published. The policy must have its name and all filters before this one. */
void publish_read(YamlReader *reader, const YamlNode *rule, Policy *policy, Filter *filter);

bool slot_rule_counts(const SlotRule *rule, const Pod *pod); /* whether @pod counts */

/* Returns how many slots @pod takes without kube-scheduler knowing: 1 if it counts but does not
 * request the resource, else 0. */
int64_t slot_rule_takes(const SlotRule *rule, const Pod *pod);

/* Whether @filter, of a valid policy, could be published as a label. */
bool publish_fits_label(const Filter *filter);

/* Returns the rule that @policy publishes as slots; NULL: none. */
const SlotRule *policy_slots(const Policy *policy);
