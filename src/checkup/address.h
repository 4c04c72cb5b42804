#pragma once

/* Address: what the URL of a berth says of the way to it. */

#include <stdbool.h>

#include "base/str.h"

/* By the scheme alone, as kube-scheduler takes it. */
bool address_is_https(Str url);
bool address_is_http(Str url);

/* localhost, 127.0.0.0/8, ::1. */
bool address_is_loopback(Str url);

/* NAME.NAMESPACE.svc, with or without a domain after it: known to a cluster's DNS only. */
bool address_is_service(Str url);
