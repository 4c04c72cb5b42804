#pragma once

/* A scenario from YAML texts, and the parts of a run, for one test. */

#include "base/test-folder.h"
#include "scheduler/cluster-state.h"
#include "scheduler/scheduler.h"
#include "simulate/simulation-input.h"

typedef struct TestSimulation {
    Folder folder;
    SimulationInput *input;
    ClusterState *cluster;
    Scheduler *scheduler;
} TestSimulation;

static inline void write_file(
    Folder *folder, const char *name, const char *text, char path[static 600]) {
    (void)snprintf(path, 600, "%s", folder_write(folder, name, str_from_c(text)));
}

static inline void test_simulation_load(
    TestSimulation *simulation, const char *cluster, const char *pods, const char *trace) {
    char cluster_path[600], pods_path[600], error[SIMULATION_ERROR_MAX];
    SimulationFiles files = {.cluster = cluster_path};
    int r;

    *simulation = (TestSimulation){0};
    folder_init(&simulation->folder);
    write_file(&simulation->folder, "cluster.yaml", cluster, cluster_path);
    write_file(&simulation->folder, "pods.yaml", pods ? pods : trace, pods_path);
    files.pods = pods ? pods_path : NULL;
    files.trace = pods ? NULL : pods_path;
    r = simulation_input_load(&files, &simulation->input, error);
    if (r < 0)
        print_error("%s\n", error);
    assert_int_equal(r, 0);
}

/* With the pods of the cluster on their nodes, and no extender. */
static inline void test_simulation_open(
    TestSimulation *simulation, const char *cluster, const char *pods) {
    SchedulerOptions options = {.weight = 1, .seed = 1};

    test_simulation_load(simulation, cluster, pods, NULL);
    assert_int_equal(
        cluster_state_new(simulation->input->table, simulation->input->terms, &simulation->cluster),
        0);
    for (size_t i = 0; i < simulation->input->n_existing; i++) {
        const ExistingPod *existing = &simulation->input->existing[i];

        assert_int_equal(
            cluster_state_add(simulation->cluster, existing->row, &existing->footprint), 0);
    }
    assert_int_equal(scheduler_new(&options, simulation->cluster, (SchedulerExtender){0},
                         &simulation->scheduler),
        0);
}

static inline void test_simulation_done(TestSimulation *simulation) {
    scheduler_free(simulation->scheduler);
    cluster_state_free(simulation->cluster);
    simulation_input_free(simulation->input);
    folder_done(&simulation->folder);
}
