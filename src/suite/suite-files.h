#pragma once

/*
 * SuiteFiles: the test files that a user names.
 *
 * A file may have any name. A folder stands for all files NAME.test.yaml and NAME.test.yml in it
 * and below it, but not in hidden folders or behind links to folders. Other paths are patterns
 * (glob(7)), for programs that start berth without a shell.
 */

#include "base/vec.h"

#define SUITE_FILES_MAX 10000u
#define SUITE_FILES_ERROR_MAX 512u

typedef struct SuiteFiles {
    VEC(const char *) paths;
} SuiteFiles;

/* Finds the files, in the order of @paths, then of names, in @arena. 0; or a negative errno with a
 * message in @error (SUITE_FILES_ERROR_MAX), also for a path without a file. */
int suite_files_find(const char *const *paths, size_t n, Arena *arena, SuiteFiles *ret, char *error)
    MUST_CHECK;
