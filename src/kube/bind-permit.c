/* Whether this berth may bind: it holds the lease and has listed all pods since it took it. */

#include "kube/bind-permit.h"

#include <assert.h>
#include <stdlib.h>

#include "base/message.h"
#include "kube/binding.h"

static_assert(LEASE_RENEW_SEC + BINDING_POST_SEC <= LEASE_DURATION_SEC,
    "a Binding is over before another berth may bind");

struct BindPermit {
    BindPermitOptions options;
    Lease *lease;
    uint64_t term;     /* of the lease, for which pods have been, or are being, listed */
    int64_t listed_by; /* that list was begun at this time, or later */
};

BindPermit *bind_permit_new(const BindPermitOptions *options) {
    BindPermit *permit = calloc(1, sizeof(*permit));

    if (!permit)
        return NULL;
    permit->options = *options;
    permit->lease = lease_new(&options->lease);
    return permit->lease ? permit : bind_permit_free(permit);
}

BindPermit *bind_permit_free(BindPermit *permit) {
    if (!permit)
        return NULL;
    lease_free(permit->lease);
    free(permit);
    return NULL;
}

void bind_permit_request(BindPermit *permit, int64_t now_nsec) {
    lease_want(permit->lease, now_nsec);
}

bool bind_permit_is_valid(const BindPermit *permit, int64_t now_nsec) {
    return lease_is_held(permit->lease, now_nsec) && permit->term == lease_term(permit->lease) &&
           reflector_figures(permit->options.pods)->listed_at_nsec >= permit->listed_by;
}

void bind_permit_explain(const BindPermit *permit, char *text, size_t size) {
    const LeaseOptions *options = &permit->options.lease;
    LeaseStatus status;

    lease_status(permit->lease, &status);
    if (status.is_held)
        message_set(text, size,
            "this berth has taken the lease %s/%s, and is still listing the pods that were bound "
            "before",
            options->namespace, options->name);
    else if (status.error[0] != '\0')
        message_set(text, size, "cannot take the lease %s/%s, whose holder binds: %s",
            options->namespace, options->name, status.error);
    else if (status.holder[0] != '\0' && strcmp(status.holder, options->identity) != 0)
        message_set(text, size, "%s holds the lease %s/%s and binds; this is %s", status.holder,
            options->namespace, options->name, options->identity);
    else
        message_set(text, size, "did not get the lease %s/%s, whose holder binds, in time",
            options->namespace, options->name);
}

int64_t bind_permit_tick(BindPermit *permit, int64_t now_nsec) {
    int64_t next_at = lease_tick(permit->lease, now_nsec);

    if (permit->term != lease_term(permit->lease)) {
        permit->term = lease_term(permit->lease);
        permit->listed_by = permit->options.lease.clock();
        reflector_list_again(permit->options.pods);
    }
    return next_at;
}

bool bind_permit_release(BindPermit *permit) {
    return lease_release(permit->lease);
}

void bind_permit_status(const BindPermit *permit, LeaseStatus *ret) {
    lease_status(permit->lease, ret);
}
