#pragma once

/*
 * PolicySet: changes a value of a policy by its name.
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
 * A value must exist, except for optional fields of rules and policies, and keys in brackets, which
 * are added.
 *
 * The value is replaced in the YAML tree, so its style does not matter, and everything else keeps
 * its place in the file. Errors in the new value have "--set PATH" as their file.
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

/* Applies @settings to @sources, into @ret, which has room for @n. Unchanged sources are shared;
 * changed ones have a tree, and a text written from it. Everything is in @arena, which must outlive
 * a program that is compiled from @ret. 0, POLICY_SET_E_UNKNOWN with @error (POLICY_SET_ERROR_MAX),
 * or -ENOMEM. */
int policy_set(const PolicySource *sources, size_t n, const PolicySetting *settings,
    size_t n_settings, Arena *arena, PolicySource *ret, char *error) MUST_CHECK;

/* Makes "PATH=VALUE" the source line of diagnostics about values of @settings. */
void policy_set_show(const PolicySetting *settings, size_t n_settings, DiagList *diags);

/* Appends @key to the path of a value, in brackets if it needs them. */
void policy_path_add(Buf *path, Str key);

/* A number of a policy that can be set: limits, amounts ("500m", "2Gi"), durations, weights. */
typedef struct PolicyNumber {
    Str path;
    Str policy, rule, field; /* an empty rule: a field of the policy itself */
    bool is_score;           /* the rule is a score */
    Str value;
    bool is_text; /* an amount or a duration, not a plain number */
} PolicyNumber;

typedef VEC(PolicyNumber) PolicyNumbers;

#define POLICY_NUMBERS_MAX 1000u

/* Finds the numbers of @sources, in their order; also the default weight of scores without one.
 * Texts that cannot be read have none. *ret lies in @arena. 0, or -ENOMEM. */
int policy_numbers(const PolicySource *sources, size_t n, Arena *arena, PolicyNumbers *ret)
    MUST_CHECK;
