/* Enters the sandbox part by part, and records the active parts. A part returns 0 or more; or a
 * negative errno if the kernel lacks it. */

#include "sandbox/sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

/* --- landlock --------------------------------------------------------------------------------- */

/*
 * Files that may be opened, by Landlock: below the paths that the caller names, and those that
 * libc, GnuTLS and libcurl read: host names, certificate authorities, time zones, modules.
 */

/* newer than the headers of Debian 12 */
#define ACCESS_TRUNCATE (UINT64_C(1) << 14)
#define ACCESS_IOCTL_DEV (UINT64_C(1) << 15)

#define ACCESS_ALL_V1 ((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1)
#define ACCESS_READ ((uint64_t)(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR))
/* To put a new file in the place of an old one. */
#define ACCESS_WRITE                                                                               \
    ((uint64_t)(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG |                      \
                LANDLOCK_ACCESS_FS_REMOVE_FILE | ACCESS_TRUNCATE))
#define ACCESS_OF_FILES                                                                            \
    ((uint64_t)(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | ACCESS_TRUNCATE))

#define LINKS_MAX 16 /* chained links that are followed */

typedef struct Rules {
    int fd;
    uint64_t handled; /* access rights that this kernel knows */
} Rules;

/* /proc is for berth's own metrics; Landlock hides memory and files of other processes in it. */
static const char *const system_paths[] = {
    "/usr",
    "/lib",
    "/lib64",
    "/etc/ca-certificates",
    "/etc/gai.conf",
    "/etc/gnutls",
    "/etc/host.conf",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/etc/pki",
    "/etc/protocols",
    "/etc/services",
    "/etc/ssl",
    "/etc/zoneinfo",
    "/proc",
    "/sys/devices/system/cpu",
};

/* DHCP clients and administrators replace these files. */
static const char *const replaced_paths[] = {"/etc/hosts", "/etc/resolv.conf"};

/* Allows @path and everything below. False: it does not exist. */
static bool allow(const Rules *rules, const char *path, uint64_t access) {
    struct landlock_path_beneath_attr rule = {.allowed_access = access & rules->handled};
    struct stat status;
    int fd = open(path, O_PATH | O_CLOEXEC);

    if (fd < 0)
        return false;
    if (fstat(fd, &status) == 0 && !S_ISDIR(status.st_mode))
        rule.allowed_access &= ACCESS_OF_FILES;
    rule.parent_fd = fd;
    if (rule.allowed_access != 0)
        (void)syscall(SYS_landlock_add_rule, rules->fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    (void)close(fd);
    return true;
}

/* Writes the folder of @path. */
static void folder_of(const char *path, char ret[static PATH_MAX]) {
    const char *slash = strrchr(path, '/');
    size_t len = slash ? (size_t)(slash - path) : 0;

    if (!slash)
        (void)snprintf(ret, PATH_MAX, ".");
    else
        (void)snprintf(ret, PATH_MAX, "%.*s", len > 0 ? (int)len : 1, path);
}

static bool is_root(const char *path) {
    struct stat root, status;

    return stat("/", &root) == 0 && stat(path, &status) == 0 && root.st_ino == status.st_ino &&
           root.st_dev == status.st_dev;
}

/* A mounted file, for example of a container: no rename can replace it. */
static bool is_mounted_file(const char *path) {
    struct statx status;

    return statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &status) == 0 &&
           !S_ISDIR(status.stx_mode) && (status.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

/* Allows the folder of a file, which may be replaced; but never the whole file system. */
static bool allow_replaced(const Rules *rules, const char *path, uint64_t access) {
    char folder[PATH_MAX];
    struct stat status;
    bool is_folder = stat(path, &status) == 0 && S_ISDIR(status.st_mode);

    folder_of(path, folder);
    if (is_folder || is_mounted_file(path) || is_root(folder))
        return !is_root(path) && allow(rules, path, access);
    return allow(rules, folder, access);
}

/* If the first @len bytes of @path are a symbolic link: its target, and @path through that. */
static bool follow(
    const char *path, size_t len, char target[static PATH_MAX], char ret_path[static PATH_MAX]) {
    char link[PATH_MAX], folder[PATH_MAX], text[PATH_MAX];
    ssize_t n;

    (void)snprintf(link, sizeof(link), "%.*s", (int)len, path);
    n = readlink(link, text, sizeof(text) - 1);
    if (n <= 0)
        return false;
    text[n] = '\0';
    folder_of(link, folder);
    if (text[0] == '/')
        folder[0] = '\0';
    return snprintf(target, PATH_MAX, "%s%s%s", folder, folder[0] ? "/" : "", text) < PATH_MAX &&
           snprintf(ret_path, PATH_MAX, "%s%s", target, path + len) < PATH_MAX;
}

/* Allows the folders of the targets of links on the way to @path: a link may be replaced by one
 * whose target is beside the old one (volumes of Kubernetes, git-sync, certbot). */
static bool allow_links(const Rules *rules, const char *path, uint64_t access, int depth) {
    char target[PATH_MAX], folder[PATH_MAX], next[PATH_MAX];
    bool is_there = allow_replaced(rules, path, access);

    for (size_t i = 1; depth < LINKS_MAX && path[i - 1]; i++) {
        if ((path[i] && path[i] != '/') || !follow(path, i, target, next))
            continue;
        folder_of(target, folder);
        if (!is_root(folder))
            (void)allow(rules, folder, access);
        return allow_links(rules, next, access, depth + 1);
    }
    return is_there;
}

/* The same for links in a folder. */
static void allow_links_in(const Rules *rules, const char *folder, uint64_t access) {
    DIR *entries = opendir(folder);
    struct dirent *entry;
    char path[PATH_MAX];

    if (!entries)
        return;
    while ((entry = readdir(entries)))
        if (entry->d_type == DT_LNK && entry->d_name[0] != '.' &&
            snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) < PATH_MAX)
            (void)allow_links(rules, path, access, 0);
    (void)closedir(entries);
}

/* Returns the version of the kernel's interface. */
static int landlock_enter(SandboxPath *paths, size_t n_paths) {
    struct landlock_ruleset_attr attributes = {0};
    int abi, r;
    Rules rules;

    abi = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (abi < 0)
        return -errno;
    rules.handled = attributes.handled_access_fs =
        ACCESS_ALL_V1 | (abi >= 2 ? LANDLOCK_ACCESS_FS_REFER : 0) |
        (abi >= 3 ? ACCESS_TRUNCATE : 0) | (abi >= 5 ? ACCESS_IOCTL_DEV : 0);
    rules.fd = (int)syscall(
        SYS_landlock_create_ruleset, &attributes, sizeof(attributes.handled_access_fs), 0);
    if (rules.fd < 0)
        return -errno;
    for (size_t i = 0; i < ELEMENTS_OF(system_paths); i++)
        (void)allow(&rules, system_paths[i], ACCESS_READ);
    for (size_t i = 0; i < ELEMENTS_OF(replaced_paths); i++)
        (void)allow_links(&rules, replaced_paths[i], ACCESS_READ, 0);
    for (size_t i = 0; i < n_paths; i++) {
        const char *path = paths[i].path;
        uint64_t access = paths[i].is_written ? ACCESS_WRITE : ACCESS_READ;

        if (!path || path[0] == '\0' || strcmp(path, "-") == 0)
            continue;
        paths[i].is_refused = !allow_links(&rules, path, access, 0);
        if (!paths[i].is_written)
            allow_links_in(&rules, path, access);
    }
    r = syscall(SYS_landlock_restrict_self, rules.fd, 0) < 0 ? -errno : abi;
    (void)close(rules.fd);
    return r;
}

/* --- seccomp ---------------------------------------------------------------------------------- */

/*
 * System calls that a running berth needs, by libseccomp, in two filters. The first allows the
 * listed calls; others fail with ENOSYS, so that a newer libc falls back to an older call. In the
 * second, calls that only an intruder would use fail with EPERM, and are logged by the kernel
 * (audit, type 1326). If both filters return errors, the newer one counts.
 *
 * Skips names that the processor or the installed libseccomp does not know.
 */

/* clang-format off */
static const char *const allowed[] = {
    /* files: opened only where Landlock allows it */
    "access", "faccessat", "faccessat2", "open", "openat", "stat", "lstat", "fstat", "newfstatat", "statx",
    "statfs", "fstatfs", "readlink", "readlinkat", "getcwd", "getdents64", "lseek", "fadvise64", "fcntl", "dup",
    "dup2", "dup3", "close", "close_range", "ftruncate", "fsync", "fdatasync", "memfd_create", "pipe", "pipe2",
    "read", "readv", "pread64", "preadv", "preadv2", "write", "writev", "pwrite64", "pwritev", "pwritev2",
    /* the dump: a new file that replaces an old one */
    "unlink", "unlinkat", "rename", "renameat", "renameat2",
    /* connections */
    "socketpair", "bind", "listen", "accept", "accept4", "connect", "shutdown", "getsockname", "getpeername",
    "getsockopt", "setsockopt", "sendto", "sendmsg", "sendmmsg", "recvfrom", "recvmsg", "recvmmsg",
    "poll", "ppoll", "select", "pselect6", "epoll_create", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait",
    "epoll_pwait2", "eventfd2", "signalfd4",
    /* memory */
    "brk", "mmap", "munmap", "mremap", "mprotect", "madvise", "membarrier", "mlock", "munlock",
    /* threads and signals */
    "exit", "exit_group", "futex", "futex_waitv", "futex_wait", "futex_wake", "futex_requeue", "set_robust_list",
    "get_robust_list", "set_tid_address", "rseq", "sched_yield", "sched_getaffinity", "getcpu", "getpriority",
    "setpriority", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigtimedwait", "sigaltstack",
    "restart_syscall", "gettid",
    /* time */
    "clock_gettime", "clock_getres", "clock_nanosleep", "gettimeofday", "nanosleep", "time",
    /* about itself */
    "getpid", "getppid", "getuid", "geteuid", "getgid", "getegid", "getresuid", "getresgid", "getrandom", "getrlimit",
    "getrusage", "prlimit64", "setrlimit", "sysinfo", "times", "uname",
    "seccomp", /* for the second filter, which forbids it */
};

static const char *const forbidden[] = {
    "execve", "execveat", "fork", "vfork", "kill", "tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo",
    "pidfd_open", "pidfd_getfd", "pidfd_send_signal", "ptrace", "process_vm_readv", "process_vm_writev", "kcmp",
    "setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid", "setfsuid", "setfsgid", "setgroups",
    "capset", "setsid", "setpgid", "personality", "unshare", "setns", "chroot", "pivot_root",
    "mount", "umount2", "move_mount", "mount_setattr", "open_tree", "fsopen", "fsconfig", "fsmount", "fspick",
    "chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat", "mknod", "mknodat",
    "mkdir", "mkdirat", "rmdir", "link", "linkat", "symlink", "symlinkat", "truncate", "setxattr", "lsetxattr",
    "fsetxattr", "open_by_handle_at", "name_to_handle_at",
    "bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register",
    "add_key", "request_key", "keyctl", "init_module", "finit_module", "delete_module", "kexec_load",
    "kexec_file_load", "reboot", "swapon", "swapoff", "acct", "syslog", "quotactl", "sethostname", "setdomainname",
    "settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "iopl", "ioperm", "modify_ldt", "vhangup",
    "seccomp",
};
/* clang-format on */

static int add_names(
    scmp_filter_ctx filter, uint32_t action, const char *const *names, size_t n_names) {
    int r = 0;

    for (size_t i = 0; r == 0 && i < n_names; i++) {
        int number = seccomp_syscall_resolve_name(names[i]);

        r = number == __NR_SCMP_ERROR ? 0 : seccomp_rule_add(filter, action, number, 0);
    }
    return r;
}

/* Calls that are allowed only with some arguments. */
static int add_conditions(scmp_filter_ctx filter) {
    const struct {
        int call;
        struct scmp_arg_cmp argument;
    } rules[] = {
        {SCMP_SYS(socket), SCMP_A0(SCMP_CMP_EQ, AF_INET)},
        {SCMP_SYS(socket), SCMP_A0(SCMP_CMP_EQ, AF_INET6)},
        /* getaddrinfo() reads the addresses of this host, and may call a local resolver. */
        {SCMP_SYS(socket), SCMP_A0(SCMP_CMP_EQ, AF_UNIX)},
        {SCMP_SYS(socket), SCMP_A0(SCMP_CMP_EQ, AF_NETLINK)},
        {SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_EQ, FIONBIO)},
        {SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_EQ, FIONREAD)},
        {SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_EQ, TCGETS)},
        {SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_EQ, TIOCGWINSZ)},
        /* Threads, but no processes. clone3() is not listed, because a filter cannot read its
         * flags: libc falls back to clone(). */
        {SCMP_SYS(clone), SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD)},
        {SCMP_SYS(prctl), SCMP_A0(SCMP_CMP_EQ, PR_GET_NAME)}, /* of threads */
        {SCMP_SYS(prctl), SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME)},
        {SCMP_SYS(tgkill), SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid())}, /* abort() */
    };
    int r = 0;

    for (size_t i = 0; r == 0 && i < ELEMENTS_OF(rules); i++)
        r = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, rules[i].call, 1, &rules[i].argument);
    return r;
}

static int load_allowed(void) {
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
    int r;

    if (!filter)
        return -ENOMEM;
    (void)seccomp_attr_set(filter, SCMP_FLTATR_API_SYSRAWRC, 1); /* return the kernel's errors */
    r = add_names(filter, SCMP_ACT_ALLOW, allowed, ELEMENTS_OF(allowed))
            ?: add_conditions(filter)
            ?: seccomp_load(filter);
    seccomp_release(filter);
    return r;
}

static int load_forbidden(void) {
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    int r;

    if (!filter)
        return -ENOMEM;
    (void)seccomp_attr_set(
        filter, SCMP_FLTATR_CTL_NNP, 0); /* it is set, and prctl() is forbidden now */
    (void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_LOG, 1); /* optional: old kernels do not log */
    r = add_names(filter, SCMP_ACT_ERRNO(EPERM), forbidden, ELEMENTS_OF(forbidden))
            ?: seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                   SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0))
            ?: seccomp_load(filter);
    seccomp_release(filter);
    return r;
}

/* The first filter refuses these calls, too; the second changes the error, and logs them. */
static int seccomp_enter(void) {
    int r = load_allowed();

    if (r == 0)
        (void)load_forbidden();
    return r;
}

/* --- all parts -------------------------------------------------------------------------------- */

static void list_add(char list[static SANDBOX_TEXT_MAX], const char *text) {
    size_t len = strlen(list);

    (void)snprintf(list + len, SANDBOX_TEXT_MAX - len, "%s%s", len > 0 ? ", " : "", text);
}

/* @r: 0 or more: active; or a negative errno. */
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
