#pragma once

/* SimulateReport: what `berth simulate` has found out, and the ways to show it. */

#include "model/resources.h"
#include "simulate/simulation-input.h"
#include "simulate/simulation-result.h"

#define SIMULATE_RUNS_MAX 16u

typedef struct PolicyRun {
    Str name;                 /* "none": no policy */
    size_t n_unfed;           /* metrics that it reads and that nothing was measured for */
    SimulationResult *result; /* NULL: it did not come to that */
} PolicyRun;

typedef struct SimulateReport {
    SimulationInput *input;
    PolicyRun runs[SIMULATE_RUNS_MAX];
    size_t n; /* those that have an outcome */
    Resources shapes[SIMULATION_SHAPES_MAX];
    size_t n_shapes;
    uint64_t seed;
    int64_t weight;
    bool nominates;
    bool follows;
    bool all; /* with every pod */
    Arena *scratch;
} SimulateReport;

/* Both take memory from the report's arena, which has failed if there was not enough. */
void simulate_table(const SimulateReport *report, Buf *out);
void simulate_json(const SimulateReport *report, Buf *out);

/* One pod a line: its name, and its node under each policy. */
void simulate_placements(const SimulateReport *report, Buf *out);

/* Use over time, as SVG. */
void simulate_chart(const SimulateReport *report, Buf *out);

/* The name of a row's node; "-": none. */
static inline Str node_of_row(const SimulationInput *input, uint32_t row) {
    return row == NO_ROW ? STR("-") : input->table->names->names[row];
}

/* A size of pods: "cpu=2,memory=8Gi". */
void shape_print(const Resources *shape, Buf *out);
