#pragma once

/* PolicyFiles: the policies that a command was given with --policy, as a program. */

#include "cli/option.h"
#include "input/policy-set.h"
#include "policy/program.h"

#define POLICY_PATHS_MAX 16u

/* Files and folders. */
typedef struct PolicyPaths {
    const char *items[POLICY_PATHS_MAX];
    size_t n;
} PolicyPaths;

/* The row --policy of an option table whose settings of type @type hold PolicyPaths at @member. */
#define POLICY_PATHS_OPTION(type, member, ...)                                                     \
    {                                                                                              \
        "policy", OPTION_LIST, .argument = "FILE-OR-DIR",                                          \
                               OPTION_LIST_AT(type, member.items, member.n),                       \
                               .complete = COMPLETE_FILES, __VA_ARGS__                             \
    }

/* Each of these returns 0; or an exit code, after printing the errors of the policies on stderr, or
 * complaining. @arena is for the messages. */

/* Of files and folders (input/policies.h). Warnings are printed. */
int policy_files_load(const PolicyPaths *paths, Arena *arena, Program **ret) MUST_CHECK;

/* Their texts, which are in @arena, if they can be compiled. */
int policy_files_read(
    const PolicyPaths *paths, Arena *arena, const PolicySource **ret, size_t *ret_n) MUST_CHECK;

/* Of texts that were read before, to which @settings were applied (input/policy-set.h). */
int policy_texts_compile(const PolicySource *policies, size_t n, const PolicySetting *settings,
    size_t n_settings, Arena *arena, Program **ret) MUST_CHECK;
