#pragma once

/*
 * ShortObjects: nodes and pods that a user wrote down for a test, as Kubernetes' JSON.
 *
 *     nodes:
 *       a: {labels: {pool: x}, annotations: {}, allocatable: {cpu: 4, memory: 8Gi}, created: TIME}
 *       b: {ready: false, cordoned: true, taints: [{key: gpu, effect: NoSchedule}]}
 *       c: {conditions: {DiskPressure: "True"}, images: [nginx:1, [two:1, "two@sha256:x"]]}
 *     pods:
 *       - {on: a, requests: {cpu: 1}, labels: {app: x}, phase: Running, owner: UID, created: TIME,
 *         ownerKind: DaemonSet, scheduled: TIME, deleted: TIME}
 *
 * Only the fields that rules read, without the levels that Kubernetes has around them. Nodes are
 * ready unless they say otherwise; ready: absent leaves the condition out. The requests of a pod
 * are those of its first container. The owner is its controller: a ReplicaSet, if ownerKind names
 * no other kind. A pod's field `spec` has further fields of its spec, as Kubernetes has them.
 */

#include "yaml/reader.h"

/* Each appends one object to @out. False: it has mistakes, which were reported. @node: its name and
 * fields. */
bool short_node_json(YamlReader *reader, const YamlPair *node, Buf *out);
bool short_pod_json(YamlReader *reader, const YamlNode *pod, Buf *out);
