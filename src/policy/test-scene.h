#pragma once

/*
 * TestScene: a cluster, policies and a pod for tests, written as short YAML.
 *
 *     policy: {filters: [...], scores: [...]}     # a spec; or policies: {NAME: SPEC, ...}
 *     now: 2026-01-02T03:04:05Z
 *     nodes:                                       # policy/short-objects.h
 *       a: {labels: {pool: x}, allocatable: {cpu: 4, memory: 8Gi}}
 *     pods:
 *       - {on: a, requests: {cpu: 1}}
 *     measured: {load: {a: 0.5}}                   # by metric, by node
 *     workloads: {podCpu: {default/Deployment/web: 1.5}}
 *     measuredAge: 10s
 *     pod: {namespace: team-a, name: p, uid: u, labels: {}, annotations: {}, requests: {},
 *           tolerations: [], images: [], nodeSelector: {}, nodeSelectorTerms: [],
 *           related: {namespace: {metadata: {labels: {}}}}}     # model/related.h
 *
 * Everything is read like real input: policies are compiled from text, nodes and pods are decoded
 * from JSON. A mistake in the test data ends the test program with a message.
 *
 * For cmocka tests and fuzzers.
 */

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "cluster/loads.h"
#include "cluster/snapshot.h"
#include "model/pod.h"
#include "policy/program.h"
#include "yaml/document.h"

#define SCENE_UPTIME (INT64_C(1000) * 1000 * 1000 * 1000 * 1000)

typedef struct TestScene {
    Arena *arena;
    const YamlNode *document;
    Program *program;
    Snapshot *snapshot; /* NULL: the scene has no nodes */
    Measurements *measurements;
    LoadsInput input;
    Loads loads;
    NodeTable table; /* the snapshot's with the loads, if the program has gauges */
    Pod pod;         /* empty if the scene has none */
    int64_t now;     /* nanoseconds since 1970; the monotonic clock shows SCENE_UPTIME */
} TestScene;

/* Parses the documents of @text, which must outlive them. */
YamlStream scene_parse(const char *file, Str text, Arena *arena);

/* Initializes the scene from a document, which may also have @extra keys. */
void scene_init(TestScene *scene, const YamlNode *document, const Str *extra, size_t n_extra);
void scene_init_text(TestScene *scene, const char *text);
void scene_done(TestScene *scene);

/* Each appends one node or pod as JSON. */
void scene_node_json(const YamlPair *node, Buf *out);
void scene_pod_json(const YamlNode *pod, Buf *out);

/* Ends the test program if @holds is false, for mistakes in test data. */
void scene_require(bool holds, Place place, const char *what);

/* Reads a file into @arena. */
Str scene_read(const char *path, Arena *arena);

/* Calls @visit for each file of @folder whose name ends in @suffix, in order. Returns their number.
 * Fails if there are none, because nothing would be tested. */
size_t scene_each(
    const char *folder, const char *suffix, void (*visit)(const char *path, void *), void *user);
