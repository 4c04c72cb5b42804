#pragma once

/*
 * PolicyFiles: the policies that a command was given, as a program.
 *
 * Each returns 0; or an exit code, after telling on stderr what is wrong with them, or complaining
 * as @who. @arena is for the messages.
 */

#include <stddef.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "policy/program.h"

/* Of files and folders (input/policies.h). Warnings are told, too. */
int policy_files_load(const char *const *paths, size_t n_paths, const char *who, Arena *arena,
    Program **ret) MUST_CHECK;

/* Their texts, which are in @arena, if they can be compiled. */
int policy_files_read(const char *const *paths, size_t n_paths, const char *who, Arena *arena,
    const PolicySource **ret, size_t *ret_n) MUST_CHECK;

/* Of texts that were read before, and warned of then. */
int policy_texts_compile(const PolicySource *policies, size_t n, const char *who, Arena *arena,
    Program **ret) MUST_CHECK;
