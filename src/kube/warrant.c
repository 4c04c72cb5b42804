#include "kube/warrant.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "kube/binding.h"
#include "kube/message.h"

static_assert(LEASE_RENEW_SEC + BINDING_POST_SEC <= LEASE_DURATION_SEC,
    "a Binding is over before somebody else may bind");

struct Warrant {
    WarrantOptions options;
    Lease *lease;
    uint64_t term;     /* of the lease, for which pods have been, or are being, listed */
    int64_t listed_by; /* that list was begun at this time, or later */
};

Warrant *warrant_new(const WarrantOptions *options) {
    Warrant *warrant = calloc(1, sizeof(*warrant));

    if (!warrant)
        return NULL;
    warrant->options = *options;
    warrant->lease = lease_new(&(LeaseOptions){
        .client = options->client,
        .namespace = options->namespace,
        .name = options->name,
        .identity = options->identity,
        .clock = options->clock,
        .wall_clock = options->wall_clock,
        .context = options->context,
        .changed = options->changed,
    });
    return warrant->lease ? warrant : warrant_free(warrant);
}

Warrant *warrant_free(Warrant *warrant) {
    if (!warrant)
        return NULL;
    lease_free(warrant->lease);
    free(warrant);
    return NULL;
}

void warrant_want(Warrant *warrant, int64_t now_nsec) {
    lease_want(warrant->lease, now_nsec);
}

bool warrant_is_good(const Warrant *warrant, int64_t now_nsec) {
    return lease_is_held(warrant->lease, now_nsec) && warrant->term == lease_term(warrant->lease) &&
           reflector_figures(warrant->options.pods)->listed_at_nsec >= warrant->listed_by;
}

void warrant_explain(const Warrant *warrant, char *text, size_t size) {
    const WarrantOptions *options = &warrant->options;
    LeaseStatus status;

    lease_status(warrant->lease, &status);
    if (status.is_held)
        message_set(text,
            size,
            "this berth has taken the lease %s/%s, and is still finding out what was bound before",
            options->namespace,
            options->name);
    else if (status.error[0] != '\0')
        message_set(text,
            size,
            "the lease %s/%s, which says who binds, cannot be had: %s",
            options->namespace,
            options->name,
            status.error);
    else if (status.holder[0] != '\0' && strcmp(status.holder, options->identity) != 0)
        message_set(text,
            size,
            "%s holds the lease %s/%s and binds; this is %s",
            status.holder,
            options->namespace,
            options->name,
            options->identity);
    else
        message_set(text,
            size,
            "the lease %s/%s, which says who binds, has not been had in time",
            options->namespace,
            options->name);
}

int64_t warrant_tick(Warrant *warrant, int64_t now_nsec) {
    int64_t next_at = lease_tick(warrant->lease, now_nsec);

    if (warrant->term != lease_term(warrant->lease)) {
        warrant->term = lease_term(warrant->lease);
        warrant->listed_by = warrant->options.clock();
        reflector_list_again(warrant->options.pods);
    }
    return next_at;
}

bool warrant_release(Warrant *warrant) {
    return lease_release(warrant->lease);
}

void warrant_status(const Warrant *warrant, LeaseStatus *ret) {
    lease_status(warrant->lease, ret);
}
