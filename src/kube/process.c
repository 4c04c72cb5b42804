/* Runs a program with limits for time and output. */

#include "kube/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

/* The interval of checks whether it has ended: its pipes do not tell, as children may keep them
 * open. */
#define TICK_MSEC 20
#define READ_STEP ((size_t)4096)
#define READ_STEPS 256 /* at a time, so that endless output does not block the deadline */

enum { OUT, ERR, _PIPES };

typedef struct Process {
    pid_t pid;
    int pipes[_PIPES]; /* our ends; -1: closed */
    int status;
    Buf *out;
    ProcessResult *result;
    size_t n_errors;
} Process;

static void process_done(Process *process) {
    for (size_t i = 0; i < _PIPES; i++)
        if (process->pipes[i] >= 0)
            (void)close(process->pipes[i]);
}

static int spawn(const ProcessOptions *options, int out, int err, pid_t *ret) {
    const short flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | (short)POSIX_SPAWN_SETSID;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t all, none;
    int r;

    (void)sigfillset(&all);
    (void)sigemptyset(&none);
    (void)posix_spawnattr_init(&attributes); /* this and the next cannot fail */
    (void)posix_spawn_file_actions_init(&actions);
    r = posix_spawnattr_setsigdefault(&attributes, &all)
        ?: posix_spawnattr_setsigmask(&attributes, &none)
        ?: posix_spawnattr_setflags(&attributes, flags)
        ?: posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        ?: posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO)
        ?: posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO)
        ?: posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1)
        ?: posix_spawnp(ret, options->command, &actions, &attributes,
               (char *const *)(uintptr_t)options->args, (char *const *)(uintptr_t)options->env);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attributes);
    return -r;
}

/* Opens a pipe with descriptors above the standard ones, which would collide with dup2() in the
 * child. */
static int open_pipe(int ends[2]) {
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    for (size_t i = 0; i < 2; i++) {
        int higher = ends[i] > STDERR_FILENO ? ends[i] : fcntl(ends[i], F_DUPFD_CLOEXEC, 3);

        if (higher != ends[i])
            (void)close(ends[i]);
        ends[i] = higher;
    }
    if (ends[0] >= 0 && ends[1] >= 0 && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0)
        return 0;
    for (size_t i = 0; i < 2; i++)
        if (ends[i] >= 0)
            (void)close(ends[i]);
    return -EMFILE;
}

static int process_start(Process *process, const ProcessOptions *options) {
    int out[2], err[2], r;

    r = open_pipe(out);
    if (r < 0)
        return r;
    process->pipes[OUT] = out[0];
    r = open_pipe(err);
    if (r == 0) {
        process->pipes[ERR] = err[0];
        r = spawn(options, out[1], err[1], &process->pid);
        (void)close(err[1]);
    }
    (void)close(out[1]);
    return r;
}

/* Keeps the end of standard error, where programs print why they failed. */
static void keep_errors(Process *process, Str bytes) {
    char *errors = process->result->errors;
    size_t drop, room = PROCESS_STDERR_MAX - process->n_errors;

    if (bytes.len > PROCESS_STDERR_MAX)
        bytes = str_skip(bytes, bytes.len - PROCESS_STDERR_MAX);
    drop = bytes.len > room ? bytes.len - room : 0;
    memmove(errors, errors + drop, process->n_errors - drop);
    process->n_errors -= drop;
    for (size_t i = 0; i < bytes.len; i++)
        errors[process->n_errors + i] = bytes.ptr[i] == '\0' ? '?' : bytes.ptr[i];
    process->n_errors += bytes.len;
    errors[process->n_errors] = '\0';
}

/* Reads available bytes. False if standard output exceeds its limit. */
static bool drain(Process *process, size_t which) {
    char bytes[READ_STEP];
    bool fits = true;

    for (int i = 0; i < READ_STEPS && process->pipes[which] >= 0; i++) {
        ssize_t n = read(process->pipes[which], bytes, sizeof(bytes));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n <= 0) {
            (void)close(process->pipes[which]);
            process->pipes[which] = -1;
        } else if (which == ERR) {
            keep_errors(process, str_of(bytes, (size_t)n));
        } else {
            buf_append(process->out, str_of(bytes, (size_t)n));
            fits = buf_error(process->out) == 0;
            if (!fits)
                break;
        }
    }
    explicit_bzero(bytes, sizeof(bytes));
    return fits;
}

/* Whether it has ended. It stays a zombie until reap(), so that its PID is not reused. */
static bool has_ended(const Process *process) {
    siginfo_t info = {0};

    /* ECHILD: it has ended and SIGCHLD is ignored. */
    return waitid(P_PID, (id_t)process->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0
               ? errno == ECHILD
               : info.si_pid == process->pid;
}

static void reap(Process *process) {
    while (waitpid(process->pid, &process->status, 0) < 0)
        if (errno != EINTR) {
            process->status = 0; /* unknown: judge it by its output */
            return;
        }
}

/* Kills its process group, with its children. */
static void end_group(const Process *process) {
    const int64_t deadline = clock_monotonic_nsec() + PROCESS_GRACE_MSEC * NSEC_PER_MSEC;

    (void)kill(-process->pid, SIGTERM);
    while (!has_ended(process) && clock_monotonic_nsec() < deadline)
        (void)poll(NULL, 0, TICK_MSEC);
    (void)kill(-process->pid, SIGKILL);
}

/* Reads output until it ends, until @deadline, or until the peer of @peer_fd is closed. */
static ProcessEnd process_follow(Process *process, int64_t deadline, int peer_fd) {
    for (;;) {
        struct pollfd fds[] = {
            {.fd = process->pipes[OUT], .events = POLLIN},
            {.fd = process->pipes[ERR], .events = POLLIN},
            {.fd = peer_fd > 0 ? peer_fd : -1},
        };
        bool ended;

        (void)poll(fds, ELEMENTS_OF(fds), TICK_MSEC);
        ended = has_ended(process); /* before reading, so that all output is read */
        if (!drain(process, OUT))
            return PROCESS_TOO_LOUD;
        (void)drain(process, ERR);
        if (ended)
            return PROCESS_EXITED;
        if (clock_monotonic_nsec() >= deadline || (fds[_PIPES].revents & (POLLHUP | POLLERR)))
            return PROCESS_TIMEOUT;
    }
}

int process_run(const ProcessOptions *options, Buf *out, ProcessResult *ret) {
    _cleanup_(process_done) Process process = {.pipes = {-1, -1}, .out = out, .result = ret};
    int64_t deadline = clock_monotonic_nsec() + options->timeout_msec * NSEC_PER_MSEC;
    int r;

    *ret = (ProcessResult){0};
    r = process_start(&process, options);
    if (r < 0)
        return r;
    ret->end = process_follow(&process, deadline, options->peer_fd);
    if (ret->end != PROCESS_EXITED)
        end_group(&process);
    reap(&process);
    if (ret->end == PROCESS_EXITED && WIFSIGNALED(process.status))
        ret->end = PROCESS_SIGNALLED;
    ret->code = ret->end == PROCESS_SIGNALLED ? WTERMSIG(process.status)
                : ret->end == PROCESS_EXITED  ? WEXITSTATUS(process.status)
                                              : 0;
    return 0;
}
