#pragma once

/*
 * Published filters: kube-scheduler and autoscalers, which do not call berth, find them at nodes.
 *
 *     filters:                                          # of the policy workspaces
 *       - {name: limit, maxPods: 4, publish: slots}
 *       - {name: ready, nodeReady: true, publish: label}
 *
 * slots: nodes offer the limit as the extended resource berth.dev/slots.workspaces, and the
 * policy's pods request one of it. Pods that count and request none lower what the node offers.
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

/* maxPods with one number for each node. */
typedef struct SlotRule {
    Str resource;       /* SLOTS_PREFIX and the policy's name; empty: not published */
    int64_t limit;      /* pods on a node, at most */
    Selector selector;  /* the pods that count; and */
    StrList namespaces; /* their namespaces; empty: all */
} SlotRule;

/* The values of `publish`. */
extern const Shape publish_shape;

/* Sets the limit of @filter, which was read from @rule, and how it is published, or reports why it
 * cannot be. The policy has its name, and the filters before this one. */
void publish_read(YamlReader *reader, const YamlNode *rule, Policy *policy, Filter *filter);

bool slot_rule_counts(const SlotRule *rule, const Pod *pod); /* whether @pod counts */

/* How many slots @pod takes that kube-scheduler does not know of: 1 if it counts and does not
 * request the resource. */
int64_t slot_rule_takes(const SlotRule *rule, const Pod *pod);

/* Whether @filter of a valid policy could be published as a label. */
bool publish_fits_label(const Filter *filter);

/* The slots that @policy publishes. NULL: none. */
const SlotRule *policy_slots(const Policy *policy);
