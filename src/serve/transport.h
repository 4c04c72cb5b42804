#pragma once

/*
 * Transport: what may be spoken in the clear, and where.
 *
 * Verbs steer pods and tokens open doors: on an address that others can reach they need TLS, or
 * somebody who says that they do not (--insecure-http), which is told loudly.
 */

#include "base/cleanup.h"
#include "serve/daemon.h"

/* 0; or -EPERM with a message for a person in @error (DAEMON_ERROR_MAX). */
int transport_check(const DaemonOptions *options, char *error) MUST_CHECK;
