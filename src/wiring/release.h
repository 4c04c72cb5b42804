#pragma once

/* Release: which kube-schedulers read which format. */

#include <stdbool.h>

#include "base/str.h"
#include "wiring/scheduler-config.h"

typedef struct WiringRelease {
    WiringFormat format;
    Str api_version;
    int first, last; /* 1.x; last 0: no last one yet */
} WiringRelease;

/* NULL: none reads extenders from that. */
const WiringRelease *wiring_release_find(WiringFormat format, Str api_version);

/* Whether kube-scheduler 1.@minor reads it. */
bool wiring_release_has(const WiringRelease *release, int minor);

/* "1.18", "1.23 to 1.28", "1.25 and later". */
#define WIRING_RELEASE_TEXT_MAX 32u
const char *wiring_release_print(
    const WiringRelease *release, char ret[static WIRING_RELEASE_TEXT_MAX]);
