/*
 * System calls that a running berth needs, by libseccomp, in two filters. The first allows what is
 * listed; the rest fails with ENOSYS, to which libc answers with an older call, so that a newer
 * libc still works. The second lets calls that only an intruder would use fail with EPERM, and has
 * them in the kernel's log (audit, type 1326). Of two errors the newer filter's counts.
 *
 * Names that the processor or the installed libseccomp does not know are skipped.
 */

#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sandbox/sandbox-internal.h"

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

/* Calls that are allowed with some arguments only. */
static int add_conditions(scmp_filter_ctx filter) {
    const struct {
        int call;
        struct scmp_arg_cmp argument;
    } rules[] = {
        {SCMP_SYS(socket), SCMP_A0(SCMP_CMP_EQ, AF_INET)},
        {SCMP_SYS(socket), SCMP_A0(SCMP_CMP_EQ, AF_INET6)},
        /* getaddrinfo() looks at the addresses of this host and may call a local resolver. */
        {SCMP_SYS(socket), SCMP_A0(SCMP_CMP_EQ, AF_UNIX)},
        {SCMP_SYS(socket), SCMP_A0(SCMP_CMP_EQ, AF_NETLINK)},
        {SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_EQ, FIONBIO)},
        {SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_EQ, FIONREAD)},
        {SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_EQ, TCGETS)},
        {SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_EQ, TIOCGWINSZ)},
        /* Threads, but no processes. libc falls back to clone() from clone3(), whose flags a filter
         * cannot read: that one is not listed. */
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
    (void)seccomp_attr_set(filter, SCMP_FLTATR_API_SYSRAWRC, 1); /* errors are the kernel's own */
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
    (void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, 0); /* it is set, and prctl() is gone */
    (void)seccomp_attr_set(
        filter, SCMP_FLTATR_CTL_LOG, 1); /* a kernel that cannot filters anyway */
    r = add_names(filter, SCMP_ACT_ERRNO(EPERM), forbidden, ELEMENTS_OF(forbidden))
            ?: seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                   SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0))
            ?: seccomp_load(filter);
    seccomp_release(filter);
    return r;
}

/* The first one refuses those calls, too: the second changes the error, and logs them. */
int seccomp_enter(void) {
    int r = load_allowed();

    if (r == 0)
        (void)load_forbidden();
    return r;
}
