#pragma once

/*
 * Exemption: pods that no policy applies to.
 *
 * Pods that keep a cluster going must not depend on its policies. The operator names them when
 * berth is started; berth's own pods are always exempt, so that no policy can keep berth from being
 * scheduled. "NAMESPACE" names all pods of it, "NAMESPACE/KEY=VALUE" those with that label.
 */

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

/* False when @text has neither form, or a part of it is not valid in Kubernetes. */
bool exemption_parse(Str text, Exemption *ret);

/* Whether @pod is exempt. @exemptions may be NULL: none is. */
bool exemptions_cover(const Exemptions *exemptions, const Pod *pod);
