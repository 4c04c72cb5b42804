#pragma once

/*
 * Sandbox: rights that a process gives up for good, so that a bug in a parser does less harm.
 *
 *   no_new_privs   a program that it starts gains no rights
 *   no core dumps  and no debugger of the same user: memory has keys and tokens
 *   seccomp        only the system calls that berth needs; it starts no program and no process
 *   landlock       only files below the given paths, and system files
 *
 * Parts that the kernel lacks are left out (containers in gVisor, qemu's user mode, Linux before
 * 5.13 for landlock): *ret lists both. A build with a sanitizer or for coverage has no sandbox:
 * LeakSanitizer stops its own threads with ptrace(), and gcov writes files at the end.
 *
 * A file may be replaced later, by a rename or through a symbolic link. So the folder of a file is
 * allowed, and the folders of the targets of its links.
 *
 * Threads: call it before others start. Landlock binds the caller and the threads that it starts.
 */

#include <stdbool.h>
#include <stddef.h>

#define SANDBOX_TEXT_MAX 256u

typedef struct SandboxPath {
    const char *path; /* file or folder; NULL and "-" are skipped */
    bool is_written;  /* the file is created or replaced; else it is read */
    bool is_refused;  /* set by sandbox_enter(): not allowed, because its folder is missing or the
                         root */
} SandboxPath;

/* Lists separated by commas: "no_new_privs, no core dumps, seccomp, landlock v3". */
typedef struct Sandbox {
    char active[SANDBOX_TEXT_MAX];
    char missing[SANDBOX_TEXT_MAX]; /* each with its reason; empty: none */
} Sandbox;

/* The state of a process without a sandbox. */
#define SANDBOX_OFF ((Sandbox){.missing = "off"})

void sandbox_enter(SandboxPath *paths, size_t n_paths, Sandbox *ret);
