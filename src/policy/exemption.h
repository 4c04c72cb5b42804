#pragma once

/*
 * Exemption: pods that no policy applies to.
 *
 * Pods that the cluster needs to work must not depend on its policies. The operator names them at
 * the start of berth; berth's own pods are always exempt, so that no policy can prevent their
 * scheduling. "NAMESPACE" names all its pods, "NAMESPACE/KEY=VALUE" those with that label.
 */

#include "model/pod.h"

#define EXEMPTIONS_MAX 64u

/* The label of berth's own pods. */
#define EXEMPTION_OWN "app.kubernetes.io/name=berth"

typedef struct Exemption {
    Str text; /* as written, borrowed; the members below are slices of it */
    Str namespace;
    Str key, value; /* key empty: all pods of the namespace */
} Exemption;

typedef struct Exemptions {
    const Exemption *items;
    size_t n;
} Exemptions;

/* False if @text has neither form, or a part is invalid in Kubernetes. */
bool exemption_parse(Str text, Exemption *ret);

/* Whether @pod is exempt. @exemptions may be NULL: false. */
bool exemptions_cover(const Exemptions *exemptions, const Pod *pod);
