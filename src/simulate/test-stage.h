#pragma once

/* A scenario from texts, and the parts of a run, for one test. YAML. */

#include "base/test-folder.h"
#include "simulate/ground.h"
#include "simulate/scenario.h"
#include "simulate/scheduler.h"

typedef struct Stage {
    Folder folder;
    Scenario *scenario;
    Ground *ground;
    Scheduler *scheduler;
} Stage;

static inline void write_file(
    Folder *folder, const char *name, const char *text, char path[static 600]) {
    (void)snprintf(path, 600, "%s", folder_write(folder, name, str_from_c(text)));
}

static inline void stage_load(
    Stage *stage, const char *cluster, const char *pods, const char *trace) {
    char cluster_path[600], pods_path[600], error[SCENARIO_ERROR_MAX];
    ScenarioFiles files = {.cluster = cluster_path};
    int r;

    *stage = (Stage){0};
    folder_init(&stage->folder);
    write_file(&stage->folder, "cluster.yaml", cluster, cluster_path);
    write_file(&stage->folder, "pods.yaml", pods ? pods : trace, pods_path);
    files.pods = pods ? pods_path : NULL;
    files.trace = pods ? NULL : pods_path;
    r = scenario_load(&files, &stage->scenario, error);
    if (r < 0)
        print_error("%s\n", error);
    assert_int_equal(r, 0);
}

/* With the pods of the cluster on their nodes, and no extender. */
static inline void stage_open(Stage *stage, const char *cluster, const char *pods) {
    SchedulerOptions options = {.weight = 1, .seed = 1};

    stage_load(stage, cluster, pods, NULL);
    assert_int_equal(ground_new(stage->scenario->table, &stage->ground), 0);
    for (size_t i = 0; i < stage->scenario->n_residents; i++) {
        const Resident *resident = &stage->scenario->residents[i];

        assert_int_equal(ground_add(stage->ground, resident->row, &resident->footprint), 0);
    }
    assert_int_equal(scheduler_new(&options, stage->ground, NULL, &stage->scheduler), 0);
}

static inline void stage_done(Stage *stage) {
    scheduler_free(stage->scheduler);
    ground_free(stage->ground);
    scenario_free(stage->scenario);
    folder_done(&stage->folder);
}
