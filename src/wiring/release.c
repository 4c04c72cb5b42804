/* Which kube-scheduler releases read which format. */

#include "wiring/release.h"

#include <stdio.h>

#include "base/cleanup.h"

static const WiringRelease releases[] = {
    {WIRING_V1, STR("kubescheduler.config.k8s.io/v1"), 25, 0},
    {WIRING_V1, STR("kubescheduler.config.k8s.io/v1beta3"), 23, 28},
    {WIRING_V1, STR("kubescheduler.config.k8s.io/v1beta2"), 22, 27},
    {WIRING_V1, STR("kubescheduler.config.k8s.io/v1beta1"), 19, 22},
    {WIRING_V1, STR("kubescheduler.config.k8s.io/v1alpha2"), 18, 18},
    {WIRING_POLICY, STR("v1"), 16, 22},
    {WIRING_POLICY, STR("kubescheduler.config.k8s.io/v1"), 17, 22},
};

const WiringRelease *wiring_release_find(WiringFormat format, Str api_version) {
    for (size_t i = 0; i < ELEMENTS_OF(releases); i++)
        if (releases[i].format == format && str_eq(releases[i].api_version, api_version))
            return &releases[i];
    return NULL;
}

bool wiring_release_has(const WiringRelease *release, int minor) {
    return minor >= release->first && (release->last == 0 || minor <= release->last);
}

const char *wiring_release_print(
    const WiringRelease *release, char ret[static WIRING_RELEASE_TEXT_MAX]) {
    if (release->last == 0)
        (void)snprintf(ret, WIRING_RELEASE_TEXT_MAX, "1.%d and later", release->first);
    else if (release->last == release->first)
        (void)snprintf(ret, WIRING_RELEASE_TEXT_MAX, "1.%d", release->first);
    else
        (void)snprintf(ret, WIRING_RELEASE_TEXT_MAX, "1.%d to 1.%d", release->first, release->last);
    return ret;
}
