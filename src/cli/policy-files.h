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

/* If these fail, they print the errors on stderr and end the process; with @failed if policies are
 * invalid. @arena is for messages. The caller unrefs programs. */

/* Compiles files and folders (input/policies.h). Warnings are printed. @failed is EXIT_FAILED. */
Program *policy_files_load(const PolicyPaths *paths, Arena *arena);

/* Reads the texts of policies, which must compile, into @arena. */
void policy_files_read(
    const PolicyPaths *paths, int failed, Arena *arena, const PolicySource **ret, size_t *ret_n);

/* Compiles texts to which @settings were applied (input/policy-set.h). */
Program *policy_texts_compile(const PolicySource *policies, size_t n, const PolicySetting *settings,
    size_t n_settings, int failed, Arena *arena);
