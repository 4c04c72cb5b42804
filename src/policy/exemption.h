#pragma once

/*
 * Exemption: pods that no policy is for.
 *
 * What keeps a cluster going must not wait for the policies of the cluster: an operator names such
 * pods when berth is started, and berth's own are always among them, so that no policy can keep
 * berth from being scheduled. Written "NAMESPACE", all pods of it, or "NAMESPACE/KEY=VALUE", those
 * with that label.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "model/pod.h"

#define EXEMPTIONS_MAX 64u

/* The label of berth's own pods. */
#define EXEMPTION_OWN "app.kubernetes.io/name=berth"

typedef struct Exemption {
    Str text; /* as it was written; the others point into it */
    Str namespace;
    Str key, value; /* key empty: all pods of the namespace */
} Exemption;

typedef struct Exemptions {
    const Exemption *items;
    size_t n;
} Exemptions;

/* False when @text is neither of the two forms, or no namespace, key or value of Kubernetes. */
bool exemption_parse(Str text, Exemption *ret);

/* Whether @pod is one of those. @exemptions may be NULL: none are. */
bool exemptions_cover(const Exemptions *exemptions, const Pod *pod);
