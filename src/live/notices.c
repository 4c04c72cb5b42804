/* Log lines for what the watcher of the cluster reports. */

#include "live/notices.h"

#include "base/log.h"

void notice_log(const WatcherNotice *notice) {
    const char *kind = watcher_kind_name(notice->kind);

    switch (notice->event) {
    case WATCHER_FOLLOWING:
        log_info("following the cluster", LOG_CSTR("server", notice->server),
            LOG_CSTR("access", notice->origin));
        break;
    case WATCHER_INSECURE:
        log_warn("THE CERTIFICATE OF THE API SERVER IS NOT VERIFIED: whoever answers in its "
                 "place is believed, and gets our credentials",
            LOG_CSTR("access", notice->origin));
        break;
    case WATCHER_CONNECTED:
        log_info("connected to the API server", LOG_CSTR("kind", kind),
            LOG_CSTR("server", notice->server));
        break;
    case WATCHER_LISTED:
        log_info("listed", LOG_CSTR("kind", kind), LOG_INT("objects", notice->n),
            LOG_INT("ms", notice->msec));
        break;
    case WATCHER_RELISTING:
        log_info("listing again", LOG_CSTR("kind", kind), LOG_CSTR("reason", notice->why));
        break;
    case WATCHER_LOST:
        log_warn("lost touch with the API server; what is known stays in force",
            LOG_CSTR("kind", kind), LOG_CSTR("server", notice->server),
            LOG_CSTR("error", notice->why), LOG_INT("retry_ms", notice->msec));
        break;
    case WATCHER_SYNCED:
        log_info("the cluster is known", LOG_INT("nodes", notice->n_nodes),
            LOG_INT("pods", notice->n_pods), LOG_INT("ms", notice->msec));
        break;
    case WATCHER_OBJECT_SKIPPED:
        log_warn("an object of the cluster is passed over", LOG_CSTR("kind", kind),
            LOG_STR("name", notice->name), LOG_CSTR("error", notice->why));
        break;
    case WATCHER_ASSUMED_EXPIRED:
        log_warn(
            "pods that were bound have not been seen on their node", LOG_INT("pods", notice->n));
        break;
    case WATCHER_MARKS_FORBIDDEN:
        log_warn("nodes cannot be marked for kube-scheduler: needs the right patch on nodes");
        break;
    case WATCHER_LEASE_TAKEN:
        log_info("the lease is taken: this berth binds", LOG_CSTR("before", notice->why));
        break;
    case WATCHER_LEASE_RELEASED:
        log_info("the lease is given up: another berth may bind");
        break;
    case WATCHER_LEASE_LOST:
        log_warn("the lease is lost: this berth does not bind", LOG_CSTR("error", notice->why));
        break;
    case WATCHER_LEASE_HELD_ELSEWHERE:
        log_info("another berth holds the lease, and binds", LOG_CSTR("holder", notice->why));
        break;
    case WATCHER_LEASE_FAILED:
        log_warn(
            "the lease cannot be had: this berth does not bind", LOG_CSTR("error", notice->why));
        break;
    case WATCHER_EVENTS_FORBIDDEN:
        log_warn("Events cannot be written: needs the right create on events.events.k8s.io");
        break;
    case WATCHER_WAIT_FAILED:
        log_error("the client cannot wait", LOG_CSTR("error", notice->why));
        break;
    }
}
