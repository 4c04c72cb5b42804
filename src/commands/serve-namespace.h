#pragma once

/* The namespace of the pod that berth runs in. */

#include <stdbool.h>

#define OWN_NAMESPACE_MAX 64u /* a DNS label and a NUL */

/* $POD_NAMESPACE; else, @is_in_cluster, that of the mounted service account. False: neither is
 * there, or it is no name of a namespace. */
bool own_namespace(bool is_in_cluster, char ret[static OWN_NAMESPACE_MAX]);
