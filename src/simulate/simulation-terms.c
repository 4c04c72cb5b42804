/* Terms of the pods of a simulation, and the features that are not modelled. */

#include "simulate/simulation-terms.h"

#include <errno.h>

/* All return 0; 1: there were too many terms; or -ENOMEM. */
static int add_spread(const SimulationTerms *terms, PodRequest *request) {
    Labels services;
    int r;

    arena_reset(terms->scratch);
    r = services_find(terms->services, &request->pod, terms->scratch, &services);
    if (r < 0)
        return r;
    return term_index_add_spread(terms->input->terms, &request->pod, &services, &request->terms);
}

static int find_kinds(SimulationTerms *terms) {
    SimulationInput *input = terms->input;
    int r = 0;

    for (size_t i = 0; r >= 0 && i < terms->n_requests; i++) {
        r = add_spread(terms, terms->requests[i]);
        terms->has_lost |= r == 1;
    }
    if (r >= 0)
        r = term_index_settle(input->terms, input->table, snapshot_related(input->snapshot));
    for (size_t i = 0; r >= 0 && i < input->n_existing; i++) {
        ExistingPod *existing = &input->existing[i];

        r = term_index_classify(input->terms, existing->pod, &existing->footprint.terms);
        terms->has_lost |= r == 1;
    }
    for (size_t i = 0; r >= 0 && i < terms->n_requests; i++) {
        PodRequest *request = terms->requests[i];

        r = term_index_classify(input->terms, &request->pod, &request->terms);
        terms->has_lost |= r == 1;
    }
    return r;
}

/* Claims that are not bound, and those of one pod only, are not modelled. 0, or -ENOMEM. */
static int find_claims(const SimulationTerms *terms, PodRequest *request) {
    const RelatedObjects *objects = snapshot_related(terms->input->snapshot);
    const PodDetails *details = request->pod.details;
    Related related = {0};
    size_t n = 0;

    for (size_t i = 0; i < details->n_volumes; i++)
        n += !str_is_empty(details->volumes[i].claim_name);
    if (n == 0)
        return 0;
    if (related_objects_find(objects, &request->pod, terms->input->arena, &related) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < related.n_claims; i++) {
        const VolumeClaim *claim = &related.claims[i];

        if (claim->volume.is_limited)
            request->unmodelled |= 1u << UNMODELLED_VOLUME_LIMITS;
        if (!str_is_empty(claim->volume.name) &&
            !str_is_one_of(STR("ReadWriteOncePod"), claim->access_modes, claim->n_access_modes))
            n--;
    }
    if (n > 0)
        request->unmodelled |= 1u << UNMODELLED_VOLUMES;
    else
        request->claims = related.claims;
    request->n_claims = n > 0 ? 0 : related.n_claims;
    return 0;
}

static void find_unmodelled(const SimulationTerms *terms) {
    SimulationInput *input = terms->input;

    for (size_t i = 0; i < terms->n_requests; i++) {
        PodRequest *request = terms->requests[i];

        if (terms->has_lost)
            request->unmodelled |= 1u << UNMODELLED_TERMS;
        if (term_index_is_unsure(input->terms, &request->terms))
            request->unmodelled |= 1u << UNMODELLED_NAMESPACES;
        input->lacks_services |=
            terms->services->n == 0 && request->terms.n_spread == 0 && request->pod.labels.n > 0;
    }
    for (size_t i = 0; i < input->n_arrivals; i++) {
        uint32_t unmodelled = input->arrivals[i].request->unmodelled;

        for (unsigned k = 0; k < UNMODELLED_MAX; k++)
            input->n_unmodelled[k] += unmodelled >> k & 1;
        input->n_any_unmodelled += unmodelled != 0;
    }
}

int simulation_terms_find(SimulationTerms *terms) {
    int r = find_kinds(terms);

    for (size_t i = 0; r >= 0 && i < terms->n_requests; i++)
        r = find_claims(terms, terms->requests[i]);
    if (r < 0)
        return r;
    find_unmodelled(terms);
    return 0;
}
