#pragma once

/* SimulateReport: the results of `berth simulate`, and the functions that print them. */

#include "cli/terminal.h"
#include "model/resources.h"
#include "simulate/simulation-input.h"
#include "simulate/simulation-result.h"

#define SIMULATE_RUNS_MAX 16u

typedef struct SimulateSettings {
    SimulationFiles files;
    const char *policies[SIMULATE_RUNS_MAX - 1];
    size_t n_policies;
    const char *metrics; /* a file; NULL: none */
    const char *shapes[SIMULATION_SHAPES_MAX];
    size_t n_shapes;
    bool has_no_baseline, all, follows;
    OutputForm form;
    int64_t weight, percentage, seed;
    bool nominates;
    int64_t now_nsec; /* 0: now */
    double until;     /* seconds; below 0: when all is done */
} SimulateSettings;

typedef struct PolicyRun {
    Str name;                 /* "none": no policy */
    size_t n_unfed;           /* metrics that it reads and that have no values */
    SimulationResult *result; /* NULL: not run */
} PolicyRun;

typedef struct SimulateReport {
    const SimulateSettings *settings;
    SimulationInput *input;
    PolicyRun runs[SIMULATE_RUNS_MAX];
    size_t n; /* runs that have a result */
    Resources shapes[SIMULATION_SHAPES_MAX];
    size_t n_shapes;
    Arena *scratch;
} SimulateReport;

/* Both take memory from the report's arena. */
void simulate_table(const SimulateReport *report, Buf *out);
void simulate_json(const SimulateReport *report, Buf *out);

/* The name of a row's node; "-": none. */
static inline Str node_of_row(const SimulationInput *input, uint32_t row) {
    return row == NO_ROW ? STR("-") : input->table->names->names[row];
}

/* Prints "cpu=2,memory=8Gi". */
void shape_print(const Resources *shape, Buf *out);
