#pragma once

/* The parts of a sandbox. Each returns 0 or more, or a negative errno: the kernel lacks it. */

#include "sandbox/sandbox.h"

/* The version of the kernel's interface. Needs no_new_privs, like the next one. */
int landlock_enter(SandboxPath *paths, size_t n_paths);

int seccomp_enter(void);
