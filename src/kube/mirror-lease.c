/*
 * Where several berths take turns: the lease is wanted while somebody asks or a job is under way,
 * and people hear of whose it is.
 */

#include <string.h>

#include "base/clock.h"
#include "kube/mirror-part.h"

/* Who asks again and again, and somebody else binds, is told of that now and then. */
static void say_elsewhere(Mirror *mirror, const LeaseStatus *lease) {
    const LeaseStatus *said = &mirror->lease_said;
    bool is_trouble = lease->error[0] != '\0';
    bool is_other = lease->holder[0] != '\0' && strcmp(lease->holder, said->holder) != 0;

    if (lease->is_held || !lease->is_wanted)
        return;
    if (is_trouble && (strcmp(lease->error, said->error) != 0 || !said->is_wanted) &&
        mirror_may_say(&mirror->lease_said_at))
        mirror_say(mirror, (MirrorNotice){.event = MIRROR_NO_LEASE, .why = lease->error});
    else if (is_other && !is_trouble && strcmp(lease->holder, mirror->options.identity) != 0)
        mirror_say(mirror, (MirrorNotice){.event = MIRROR_ELSEWHERE, .why = lease->holder});
}

static void on_lease_changed(void *context) {
    Mirror *mirror = context;
    const LeaseStatus *said = &mirror->lease_said;
    LeaseStatus lease;

    warrant_status(mirror->warrant, &lease);
    if (lease.is_held && !said->is_held)
        mirror_say(mirror, (MirrorNotice){.event = MIRROR_TAKEN, .why = said->holder});
    else if (!lease.is_held && said->is_held && lease.n_lost > said->n_lost)
        mirror_say(mirror,
            (MirrorNotice){
                .event = MIRROR_DEPRIVED, .why = lease.error[0] ? lease.error : lease.holder});
    else if (!lease.is_held && said->is_held)
        mirror_say(mirror, (MirrorNotice){.event = MIRROR_GIVEN_UP});
    else
        say_elsewhere(mirror, &lease);
    mirror->lease_said = lease;
}

bool mirror_make_warrant(Mirror *mirror) {
    if (!mirror->options.lease_name)
        return true;
    mirror->warrant = warrant_new(&(WarrantOptions){
        .client = mirror->client,
        .namespace = mirror->options.lease_namespace,
        .name = mirror->options.lease_name,
        .identity = mirror->options.identity,
        .pods = mirror->sides[MIRROR_PODS].reflector,
        .clock = clock_monotonic_nsec,
        .wall_clock = clock_wall_nsec,
        .context = mirror,
        .changed = on_lease_changed,
    });
    return mirror->warrant != NULL;
}

/* In the steady state both are set, and nothing is written. */
void mirror_note_asked(Mirror *mirror) {
    if (!mirror->warrant)
        return;
    if (!atomic_load_explicit(&mirror->is_asked, memory_order_relaxed))
        atomic_store(&mirror->is_asked, true);
    if (!atomic_load(&mirror->is_wanted))
        client_wake(mirror->client);
}

/* The flag that is set first is read last, so that a note is never between the two. Who has jobs
 * wants the lease, too: it is not given up while a Binding is under way. */
int64_t mirror_tend_lease(Mirror *mirror, int64_t now_nsec) {
    LeaseStatus lease;
    int64_t next_at;

    if (!mirror->warrant)
        return INT64_MAX;
    if (atomic_exchange(&mirror->is_asked, false) || !binder_is_idle(mirror->binder))
        warrant_want(mirror->warrant, now_nsec);
    next_at = warrant_tick(mirror->warrant, now_nsec);
    warrant_status(mirror->warrant, &lease);
    atomic_store(&mirror->is_wanted, lease.is_wanted);
    return !lease.is_wanted && atomic_load(&mirror->is_asked) ? now_nsec : next_at;
}

bool mirror_may_bind(void *context, char *error) {
    const Mirror *mirror = context;

    if (!mirror->warrant || warrant_is_good(mirror->warrant, clock_monotonic_nsec()))
        return true;
    if (error)
        warrant_explain(mirror->warrant, error, MIRROR_ERROR_MAX);
    return false;
}
