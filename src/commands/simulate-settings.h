#pragma once

/*
 * SimulateSettings: the options of `berth simulate`.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/command.h"
#include "commands/simulate-report.h"
#include "simulate/simulation-input.h"
#include "simulate/simulation-result.h"

/* In the order of the help. */
typedef enum SimulateForm {
    SIMULATE_TABLE,
    SIMULATE_JSON,
    SIMULATE_PLACEMENTS,
} SimulateForm;

typedef struct SimulateSettings {
    SimulationFiles files;
    const char *policies[SIMULATE_RUNS_MAX - 1];
    size_t n_policies;
    const char *metrics; /* a file; NULL: none */
    const char *chart;   /* a file; NULL: none is wanted */
    const char *shapes[SIMULATION_SHAPES_MAX];
    size_t n_shapes;
    bool has_no_baseline, all, follows;
    SimulateForm form;
    int64_t weight, percentage, seed;
    int64_t now_nsec; /* 0: the clock's */
    double until;     /* below 0: to its end */
} SimulateSettings;

extern const Option simulate_options[];

/* For struct Command. */
const char *simulate_settings_check(void *settings, const Arguments *arguments);
