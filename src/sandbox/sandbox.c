/* Enters the sandbox part by part, and notes which parts are active. */

#include "sandbox/sandbox.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "sandbox/sandbox-internal.h"

static void list_add(char list[static SANDBOX_TEXT_MAX], const char *text) {
    size_t len = strlen(list);

    (void)snprintf(list + len, SANDBOX_TEXT_MAX - len, "%s%s", len > 0 ? ", " : "", text);
}

/* @r: 0 or more, or a negative errno. */
static void note(Sandbox *sandbox, const char *part, int r) {
    char text[96];

    if (r < 0)
        (void)snprintf(text, sizeof(text), "%s (%s)", part, strerror(-r));
    list_add(r < 0 ? sandbox->missing : sandbox->active, r < 0 ? text : part);
}

/* The flag is enough. The limit only shows it to users; systemd may have locked it. */
static int refuse_core_dumps(void) {
    const struct rlimit none = {0};

    (void)setrlimit(RLIMIT_CORE, &none);
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : 0;
}

void sandbox_enter(SandboxPath *paths, size_t n_paths, Sandbox *ret) {
    char landlock[32] = "landlock";
    int r;

    *ret = (Sandbox){0};
    if (!SANDBOX_IS_BUILT) {
        list_add(ret->missing, "off in a build with a sanitizer or for coverage");
        return;
    }
    r = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
    note(ret, "no_new_privs", r);
    note(ret, "no core dumps", refuse_core_dumps());
    r = landlock_enter(paths, n_paths);
    if (r >= 0)
        (void)snprintf(landlock, sizeof(landlock), "landlock v%d", r);
    note(ret, landlock, r);
    note(ret, "seccomp", seccomp_enter()); /* last: it forbids the calls above */
}
