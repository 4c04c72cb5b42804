/* Ranges of Kubernetes releases, the share of an extender's weight, and kinds of addresses. */

#include <stdio.h>

#include "base/origin.h"
#include "wiring/scheduler-config.h"

bool wiring_release_has(const WiringRelease *release, int minor) {
    return minor >= release->first && (release->last == 0 || minor <= release->last);
}

const char *wiring_release_print(
    const WiringRelease *release, char ret[static WIRING_RELEASE_TEXT_MAX]) {
    if (release->last == 0)
        (void)snprintf(ret, WIRING_RELEASE_TEXT_MAX, "1.%d and later", release->first);
    else if (release->last == release->first)
        (void)snprintf(ret, WIRING_RELEASE_TEXT_MAX, "1.%d", release->first);
    else
        (void)snprintf(ret, WIRING_RELEASE_TEXT_MAX, "1.%d to 1.%d", release->first, release->last);
    return ret;
}

/* kube-scheduler's default plugins have weights of 12 together, and 100 points each. */
#define OWN_POINTS 1200.0
#define POINTS_PER_WEIGHT 100.0

double wiring_weight_share(int64_t weight) {
    double points = weight > 0 ? POINTS_PER_WEIGHT * (double)weight : 0;

    return points / (points + OWN_POINTS);
}

bool wiring_is_same_server(Str url, Str url_prefix) {
    Origin a, b;

    if (!origin_parse(url, &a) || !origin_parse(url_prefix, &b) || a.is_tls != b.is_tls ||
        a.port != b.port)
        return false;
    return str_eq_nocase(a.host, b.host) || (origin_is_loopback(&a) && origin_is_loopback(&b));
}

bool address_is_https(Str url) {
    bool is_tls;

    return origin_cut_scheme(&url, &is_tls) && is_tls;
}

bool address_is_http(Str url) {
    bool is_tls;

    return origin_cut_scheme(&url, &is_tls) && !is_tls;
}

bool address_is_loopback(Str url) {
    Origin origin;

    return origin_parse(url, &origin) && origin_is_loopback(&origin);
}

bool address_is_service(Str url) {
    Origin origin;
    Str part;

    if (!origin_parse(url, &origin))
        return false;
    for (size_t i = 0; str_split(&origin.host, '.', &part); i++)
        if (i == 2 && str_eq_nocase(part, STR("svc")))
            return true;
    return false;
}
