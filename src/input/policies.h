#pragma once

/*
 * Policies: policy files from disk to a program.
 *
 * A path is a file, or a folder whose *.yaml and *.yml files are read in the
 * order of their names; hidden entries are skipped, so that a mounted
 * ConfigMap (whose "..data" holds everything again) is read once.
 */

#include "policy/program.h"

#define POLICIES_FILES_MAX 256u

enum {
    _POLICIES_E_SUCCESS,
    POLICIES_E_INVALID,    /* at least one policy is wrong */
    POLICIES_E_UNREADABLE, /* at least one path cannot be read */
};

/* Reads and compiles the policies at @paths. 0; one of the above with errors in @diags; or -ENOMEM.
 * Texts of @diags live in its own arena. */
int policies_load(const char *const *paths, size_t n_paths, DiagList *diags, Program **ret);

/* The same; on 0 also returns the texts it was compiled from, in their order. They are in @arena,
 * which should have a budget of POLICIES_BUDGET. */
#define POLICIES_BUDGET ((size_t)256 * 1024 * 1024)
int policies_load_texts(const char *const *paths, size_t n_paths, Arena *arena, DiagList *diags,
    Program **ret, const PolicySource **ret_sources, size_t *ret_n);

/* Collects policies. The caller sets @arena and @diags and zeroes the rest. */
typedef struct PolicyFiles {
    Arena *arena;    /* owns names and texts */
    DiagList *diags; /* errors, also of files that cannot be read */
    size_t n_files;
    VEC(PolicySource) sources; /* in order; callers may add their own */
    bool is_unreadable;        /* a path could not be read */
} PolicyFiles;

/* Adds the policies of one path. 0, or -ENOMEM. */
int policies_add(PolicyFiles *files, const char *path) MUST_CHECK;

/* Compiles texts, and checks their time zones. 0, POLICIES_E_INVALID or -ENOMEM. */
int policies_compile(const PolicySource *sources, size_t n, DiagList *diags, Program **ret);
