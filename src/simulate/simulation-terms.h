#pragma once

/*
 * SimulationTerms: after all files are read, which pods the terms and spread constraints of others
 * select, and which pods use features that are not modelled.
 */

#include "scheduler/services.h"
#include "simulate/simulation-input.h"

typedef struct SimulationTerms {
    SimulationInput *input; /* whose terms have those of all pods */
    PodRequest *const *requests;
    size_t n_requests; /* of the arrivals */
    const Services *services;
    bool has_lost; /* there were too many terms */
    Arena *scratch;
} SimulationTerms;

/* Sets the kinds of pods, the spread constraints of requests, and the counts of what is not
 * modelled. 0, or -ENOMEM. */
int simulation_terms_find(SimulationTerms *terms) MUST_CHECK;
