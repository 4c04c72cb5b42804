/* Numbers about an extender and its address. */

#include "base/origin.h"
#include "wiring/scheduler-config.h"

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
