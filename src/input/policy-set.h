#pragma once

/*
 * PolicySet: a value of a policy, changed by its name.
 *
 *     POLICY.params.NAME      a parameter
 *     POLICY.RULE.FIELD       a field of a filter or score: weight, reason, maxPods.limit
 *     POLICY.FIELD            a field of the policy itself: mode, narrow.to
 *
 *     gpu.params.maxLoad                          keys are joined by dots
 *     gpu.devices.headroom["nvidia.com/gpu"]      a key with dots, in brackets and quotes
 *     gpu.metrics[0].interval                     an item of a list, from 0
 *
 * A key with dots that exists is also found without brackets, as are names of policies and rules.
 *
 * A value has to be there, but for fields of rules and policies that may be left out, and keys in
 * brackets, which are added.
 *
 * The value is replaced in the YAML tree, so its style does not matter, and everything else keeps
 * its place in the file. Places in the new value have "--set PATH" as their file.
 */

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

/* Splits "PATH=VALUE". Returns false if it has no '=' or no path. */
bool policy_setting_parse(Str text, PolicySetting *ret);

/* Applies @settings to @sources, into @ret, which has room for @n. Unchanged ones are shared;
 * others have a tree, and their text is that of the changed policies. All of it is in @arena, which
 * must outlive a program that is compiled from them. 0, POLICY_SET_E_UNKNOWN with @error
 * (POLICY_SET_ERROR_MAX), or -ENOMEM. */
int policy_set(const PolicySource *sources, size_t n, const PolicySetting *settings,
    size_t n_settings, Arena *arena, PolicySource *ret, char *error) MUST_CHECK;

/* Shows the settings as the source lines of diagnostics that are about their values. */
void policy_set_show(const PolicySetting *settings, size_t n_settings, DiagList *diags);

/* Appends @key to the name of a value, in brackets where it needs them. */
void policy_path_add(Buf *path, Str key);

/* A number of a policy that can be set: limits, amounts ("500m", "2Gi"), durations, weights. */
typedef struct PolicyNumber {
    Str path;
    Str policy, rule, field; /* rule: empty: of the policy itself */
    bool is_score;           /* the rule is one */
    Str value;
    bool is_text; /* an amount or a duration, no plain number */
} PolicyNumber;

typedef VEC(PolicyNumber) PolicyNumbers;

#define POLICY_NUMBERS_MAX 1000u

/* Finds the numbers of @sources, in their order; also the weight of a score that does not state it.
 * Texts that cannot be read have none. 0, or -ENOMEM. */
int policy_numbers(const PolicySource *sources, size_t n, Arena *arena, PolicyNumbers *ret)
    MUST_CHECK;
