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

/* Errors of the policies are printed on stderr, and the process ends, with @failed. @arena is for
 * the messages. */

/* Compiles files and folders (input/policies.h). Warnings are printed. @failed is EXIT_FAILED. */
Program *policy_files_load(const PolicyPaths *paths, Arena *arena);

/* Their texts, which are in @arena, if they can be compiled. */
void policy_files_read(
    const PolicyPaths *paths, int failed, Arena *arena, const PolicySource **ret, size_t *ret_n);

/* Compiles texts to which @settings were applied (input/policy-set.h). */
Program *policy_texts_compile(const PolicySource *policies, size_t n, const PolicySetting *settings,
    size_t n_settings, int failed, Arena *arena);
