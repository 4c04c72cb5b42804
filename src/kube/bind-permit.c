/* Whether this berth may bind: it holds the lease and has listed all pods since it took it. */

#include "kube/bind-permit.h"

#include <assert.h>

#include "base/message.h"
#include "kube/binding.h"

static_assert(LEASE_RENEW_SEC + BINDING_POST_SEC <= LEASE_DURATION_SEC,
    "a Binding is over before another berth may bind");

bool bind_permit_is_valid(const BindPermit *permit, int64_t now_nsec) {
    return !permit->lease ||
           (lease_is_held(permit->lease, now_nsec) && permit->term == lease_term(permit->lease) &&
               reflector_figures(permit->pods)->listed_at_nsec >= permit->listed_by);
}

void bind_permit_explain(const BindPermit *permit, char *text, size_t size) {
    const LeaseOptions *options = &permit->options;
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
        permit->listed_by = permit->options.clock();
        reflector_list_again(permit->pods);
    }
    return next_at;
}
