#pragma once

/*
 * Names of resources that a policy may use.
 *
 * Names without a domain are Kubernetes' own: it refuses pods that request others. So such a name
 * is a mistake in every cluster. Names with a domain (nvidia.com/gpu) are anybody's.
 */

#include "base/str.h"

/* Whether a pod could request it. */
bool resource_name_is_possible(Str name);

/* The name that was most likely meant; STR_NULL: none. */
Str resource_name_meant(Str name);
