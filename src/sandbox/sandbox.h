#pragma once

/*
 * Sandbox: rights that a process gives up for good, so that a fault in a parser is worth less.
 *
 *   no_new_privs   a program that is started gains no rights
 *   no core dumps  nor a debugger of the same user: memory holds keys and tokens
 *   seccomp        only the system calls that berth needs; it starts no program and no process
 *   landlock       only files below the given paths, and the system's own
 *
 * Parts that the kernel lacks are left out (containers in gVisor, qemu's user mode, Linux before
 * 5.13 for landlock): *ret has both lists. A build with a sanitizer or for coverage has none of it:
 * LeakSanitizer stops its own threads with ptrace(), and gcov writes files at the end.
 *
 * Files that a path names may be replaced later, also by a rename or through a symbolic link: the
 * folder of a file is allowed, and the folders of the links' targets.
 *
 * Threads: before others are started. Landlock binds the caller and the threads it starts.
 */

#include <stdbool.h>
#include <stddef.h>

#define SANDBOX_TEXT_MAX 256u

typedef struct SandboxPath {
    const char *path; /* file or folder; NULL and "-" are skipped */
    bool is_written;  /* a file that is made or replaced; else it is read */
    bool is_refused;  /* set by sandbox_enter(): its folder is missing, or is the root folder */
} SandboxPath;

/* Lists with commas: "no_new_privs, no core dumps, seccomp, landlock v3". */
typedef struct Sandbox {
    char active[SANDBOX_TEXT_MAX];
    char missing[SANDBOX_TEXT_MAX]; /* each with its reason; empty: nothing */
} Sandbox;

/* The state of a process without one. */
#define SANDBOX_OFF ((Sandbox){.missing = "off"})

void sandbox_enter(SandboxPath *paths, size_t n_paths, Sandbox *ret);
