#pragma once

/*
 * PolicySet: a value of a policy, changed by name.
 *
 *     POLICY.params.NAME      a parameter
 *     POLICY.RULE.FIELD       a field of a filter or score: weight, reason, maxPods, headroom.cpu
 *     POLICY.FIELD            a field of the policy itself: mode, narrow.to
 *
 * The value is found in the YAML tree, so its style does not matter. A changed text is written as
 * JSON, which is YAML: places in it are not those of the file.
 */

#include <stddef.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "policy/program.h"

#define POLICY_SET_ERROR_MAX 512u
#define POLICY_SETTINGS_MAX 64u

typedef struct PolicySetting {
    Str path;
    Str value; /* YAML: 0.9, "text", [a, b] */
} PolicySetting;

enum {
    _POLICY_SET_E_SUCCESS,
    POLICY_SET_E_UNKNOWN, /* no such name, or not a value: see the text */
};

/* "PATH=VALUE" apart. False: it has no '=' or no path. */
bool policy_setting_parse(Str text, PolicySetting *ret);

/* Applies @settings to the texts of @sources, into @ret, which has room for @n. Unchanged texts are
 * shared, others are in @arena. 0, POLICY_SET_E_UNKNOWN with @error (POLICY_SET_ERROR_MAX), or
 * -ENOMEM. */
int policy_set(const PolicySource *sources, size_t n, const PolicySetting *settings,
    size_t n_settings, Arena *arena, PolicySource *ret, char *error) MUST_CHECK;
