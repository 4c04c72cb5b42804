#include "live/notices.h"

#include "base/log.h"

void notice_log(const MirrorNotice *notice) {
    const char *kind = mirror_kind_name(notice->kind);

    switch (notice->event) {
    case MIRROR_FOLLOWING:
        log_info("following the cluster",
            LOG_CSTR("server", notice->server),
            LOG_CSTR("access", notice->origin));
        break;
    case MIRROR_INSECURE:
        log_warn("THE CERTIFICATE OF THE API SERVER IS NOT VERIFIED: whoever answers in its "
                 "place is believed, and gets our credentials",
            LOG_CSTR("access", notice->origin));
        break;
    case MIRROR_CONNECTED:
        log_info("connected to the API server",
            LOG_CSTR("kind", kind),
            LOG_CSTR("server", notice->server));
        break;
    case MIRROR_LISTED:
        log_info("listed",
            LOG_CSTR("kind", kind),
            LOG_INT("objects", notice->n),
            LOG_INT("ms", notice->msec));
        break;
    case MIRROR_RELISTING:
        log_info("listing again", LOG_CSTR("kind", kind), LOG_CSTR("reason", notice->why));
        break;
    case MIRROR_LOST:
        log_warn("lost touch with the API server; what is known stays in force",
            LOG_CSTR("kind", kind),
            LOG_CSTR("server", notice->server),
            LOG_CSTR("error", notice->why),
            LOG_INT("retry_ms", notice->msec));
        break;
    case MIRROR_KNOWN:
        log_info("the cluster is known",
            LOG_INT("nodes", notice->n_nodes),
            LOG_INT("pods", notice->n_pods),
            LOG_INT("ms", notice->msec));
        break;
    case MIRROR_PASSED_OVER:
        log_warn("an object of the cluster is passed over",
            LOG_CSTR("kind", kind),
            LOG_STR("name", notice->name),
            LOG_CSTR("error", notice->why));
        break;
    case MIRROR_UNSEEN:
        log_warn(
            "pods that were bound have not been seen on their node", LOG_INT("pods", notice->n));
        break;
    case MIRROR_FORBIDDEN:
        log_warn("nodes cannot be marked for kube-scheduler: needs the right patch on nodes");
        break;
    case MIRROR_TAKEN:
        log_info("the lease is taken: this berth binds", LOG_CSTR("before", notice->why));
        break;
    case MIRROR_GIVEN_UP:
        log_info("the lease is given up: another berth may bind");
        break;
    case MIRROR_DEPRIVED:
        log_warn("the lease is lost: this berth does not bind", LOG_CSTR("error", notice->why));
        break;
    case MIRROR_ELSEWHERE:
        log_info("another berth holds the lease, and binds", LOG_CSTR("holder", notice->why));
        break;
    case MIRROR_NO_LEASE:
        log_warn(
            "the lease cannot be had: this berth does not bind", LOG_CSTR("error", notice->why));
        break;
    case MIRROR_NO_EVENTS:
        log_warn("Events cannot be written: needs the right create on events.events.k8s.io");
        break;
    case MIRROR_STUCK:
        log_error("the client cannot wait", LOG_CSTR("error", notice->why));
        break;
    }
}
