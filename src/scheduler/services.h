#pragma once

/*
 * Services: the selectors of Services, by namespace. kube-scheduler spreads the pods that a Service
 * selects, if they have no constraints of their own (PodTopologySpread's defaults).
 */

#include "base/intern.h"
#include "model/pod.h"
#include "json/read.h"

#define SERVICES_MAX 200000u /* more are an error */

/* The selectors of one namespace. */
typedef VEC(Labels) NamespaceServices;

typedef struct Services {
    Arena *arena; /* memory of everything below */
    Intern namespaces;
    VEC(NamespaceServices) groups; /* by number of the namespace - 1 */
    size_t n;                      /* also those without a selector */
} Services;

#define SERVICES_IN(where) ((Services){.arena = (where), .namespaces = INTERN_INIT_IN(where)})

/* Reads a Service object. Errors are the reader's. */
void services_add(Services *services, JsonReader *reader);

/* Sets all labels of @pod by which any Service selects it; none if no Service does. The array is in
 * @arena. 0, or -ENOMEM. */
int services_find(const Services *services, const Pod *pod, Arena *arena, Labels *ret) MUST_CHECK;
