/* Makes and exchanges the view in force. */

#include "live/current.h"

#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"

View *current_view(Current *current) {
    View *view;

    (void)pthread_mutex_lock(&current->lock);
    view = view_ref(current->view);
    (void)pthread_mutex_unlock(&current->lock);
    return view;
}

static void exchange(Current *current, View *view) {
    View *old;

    (void)pthread_mutex_lock(&current->lock);
    old = current->view;
    current->view = view;
    (void)pthread_mutex_unlock(&current->lock);
    view_unref(old);
}

/* The new part of a new view; NULL: unchanged. */
typedef struct ViewChange {
    Snapshot *snapshot;
    Program *program;           /* with the measurements of its own gauges, which may be none */
    Measurements *measurements; /* of the gauges of the program in force, but for the above */
} ViewChange;

static int make_view(Current *current, const View *before, const ViewChange *change, View **ret) {
    bool is_measured_anew = change->program || change->measurements;
    ViewParts parts = {
        .snapshot = change->snapshot ? change->snapshot : before->snapshot,
        .program = change->program ? change->program : before->program,
        .zones = before->zones,
        .exemptions = before->exemptions,
        .measurements = is_measured_anew ? change->measurements : before->measurements,
        .now_nsec = clock_wall_nsec(),
        .uptime_nsec = clock_monotonic_nsec(),
    };
    int r = view_new(&parts, before, ret);

    if (r < 0)
        return r;
    (*ret)->awaits_cluster = !(*ret)->snapshot && current->may_await_cluster;
    (*ret)->generation = before->generation + (change->snapshot ? 1 : 0);
    return 0;
}

/* With publish_lock: only its holder exchanges the view. */
static int change_view(Current *current, const ViewChange *change) {
    _cleanup_(view_unrefp) View *before = view_ref(current->view);
    View *view = NULL;
    int r = make_view(current, before, change, &view);

    if (r < 0)
        return r;
    exchange(current, view);
    if (current->changed)
        current->changed(current->context, before, current->view);
    return 0;
}

int current_set_snapshot(Current *current, Snapshot *snapshot) {
    int r;

    (void)pthread_mutex_lock(&current->publish_lock);
    r = change_view(current, &(ViewChange){.snapshot = snapshot});
    (void)pthread_mutex_unlock(&current->publish_lock);
    return r;
}

int current_set_measured(Current *current, Measurements *measurements) {
    int r = 0;

    (void)pthread_mutex_lock(&current->publish_lock);
    if (measurements->owner == current->owner)
        r = change_view(current, &(ViewChange){.measurements = measurements});
    (void)pthread_mutex_unlock(&current->publish_lock);
    return r;
}

int current_refresh(Current *current, int64_t now_nsec) {
    _cleanup_(view_unrefp) View *view = current_view(current);
    int r = 0;

    if (now_nsec < view->loads.until_nsec &&
        !loads_clock_was_set(&view->loads, clock_wall_nsec(), clock_monotonic_nsec()))
        return 0;
    (void)pthread_mutex_lock(&current->publish_lock);
    if (current->view == view) /* else another thread was faster */
        r = change_view(current, &(ViewChange){0});
    (void)pthread_mutex_unlock(&current->publish_lock);
    return r;
}

/* --- the program ----------------------------------------------------------------------------- */

/* The gauges of the program in force, once more: those of another could not take their place. Under
 * another owner: measurements for the other one may still arrive. */
static void follow_again(Current *current, uint64_t owner) {
    _cleanup_(measurements_unrefp) Measurements *measurements = NULL;
    char error[POLLER_ERROR_MAX];

    current->owner = owner;
    if (measuring_follow(current->measuring, current->view->program, owner, &measurements, error,
            sizeof(error)) < 0)
        log_error("nothing is measured until policies are loaded again", LOG_CSTR("error", error));
}

/* The poller waits for the lock with its new measurements, so none is lost between following the
 * gauges and using them. */
static int set_program(Current *current, Program *program, char *error, size_t size) {
    _cleanup_(measurements_unrefp) Measurements *measurements = NULL;
    uint64_t owner = current->owner + 1;
    int r = measuring_follow(current->measuring, program, owner, &measurements, error, size);

    if (r < 0)
        return r;
    r = change_view(current, &(ViewChange){.program = program, .measurements = measurements});
    if (r < 0) {
        (void)snprintf(error, size, "out of memory");
        follow_again(current, owner + 1);
        return r;
    }
    current->owner = owner;
    return 0;
}

int current_set_program(Current *current, Program *program, char *error, size_t size) {
    int r;

    (void)pthread_mutex_lock(&current->publish_lock);
    r = set_program(current, program, error, size);
    (void)pthread_mutex_unlock(&current->publish_lock);
    return r;
}

/* --- begin and end -------------------------------------------------------------------------- */

int current_begin(Current *current, Snapshot *snapshot, Program *program, const CelZones *zones) {
    ViewParts parts = {
        .snapshot = snapshot,
        .program = program,
        .zones = zones,
        .exemptions = current->exemptions,
        .now_nsec = clock_wall_nsec(),
        .uptime_nsec = clock_monotonic_nsec(),
    };
    int r = view_new(&parts, /* before= */ NULL, &current->view);

    if (r < 0)
        return r;
    current->view->awaits_cluster = !snapshot && current->may_await_cluster;
    current->view->generation = snapshot ? 1 : 0;
    return 0;
}

void current_done(Current *current) {
    current->view = view_unref(current->view);
    (void)pthread_mutex_destroy(&current->lock);
    (void)pthread_mutex_destroy(&current->publish_lock);
}
