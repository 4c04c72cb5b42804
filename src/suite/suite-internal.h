#pragma once

/* Shared by the files of this folder: a suite while it runs. */

#include "cluster/measurement.h"
#include "cluster/store.h"
#include "extender/explain.h"
#include "policy/reader.h"
#include "suite/suite.h"

#define SUITE_UPTIME_NSEC (INT64_C(1000) * 1000 * 1000 * 1000 * 1000) /* of the monotonic clock */

/* The inputs of a case; each may be NULL. */
typedef struct SuiteScene {
    const YamlNode *policies;
    const YamlNode *cluster, *nodes, *pods, *objects;
    const YamlNode *metrics, *workloads, *age;
    const YamlNode *now;
    const YamlNode *pod;
} SuiteScene;

typedef struct SuiteCluster {
    Store *store; /* also has pending pods */
    Snapshot *snapshot;
} SuiteCluster;

typedef struct SuiteRun {
    const char *path;
    Str folder; /* of the path, with its slash; empty: the current one */
    const Zones *zones;
    Arena *arena;
    Arena *scratch; /* for one object or one value */
    YamlReader reader;
    SuiteVisit visit;
    void *context;
    Program *program; /* of the case that runs */
    Program *file_program;
    const YamlNode *document;
    SuiteScene scene; /* of the file */
    SuiteCluster cluster;
    bool is_scene_wrong; /* the file's scene has a mistake: report it once */
} SuiteRun;

/* --- suite-scene.c. Each returns 0; SUITE_E_INVALID after reporting mistakes; or -ENOMEM. ----- */

/* @path from the folder of the test file, unless it begins with "/". ptr NULL: out of memory. */
Str suite_path(const SuiteRun *run, Str path);

/* suite_cluster_done() releases *ret, also after an error. */
int suite_cluster_build(SuiteRun *run, const SuiteScene *scene, SuiteCluster *ret) MUST_CHECK;
void suite_cluster_done(SuiteCluster *cluster);

/* The pod is in @arena, or in the cluster's store. */
int suite_pod(SuiteRun *run, const SuiteScene *scene, const SuiteCluster *cluster, Arena *arena,
    Pod *ret) MUST_CHECK;
int suite_now(SuiteRun *run, const SuiteScene *scene, int64_t *ret_nsec) MUST_CHECK;
int suite_measure(SuiteRun *run, const SuiteScene *scene, const SuiteCluster *cluster,
    int64_t now_nsec, Measurements **ret) MUST_CHECK;

/* --- suite-check.c ---------------------------------------------------------------------------- */

/* Compares @expect with @explanation: failures go to @ret, mistakes are reported. 0, or -ENOMEM. */
int suite_check(SuiteRun *run, const YamlNode *expect, const Explanation *explanation,
    SuiteCase *ret) MUST_CHECK;
