/* The helper process, and requests to it over a socket pair, with one answer per request. */

#include "kube/process-helper.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/thread.h"
#include "kube/access.h"
#include "kube/secret.h"

#define HELPER_FD (STDERR_FILENO + 1)

typedef struct Answer {
    int r; /* result of process_run() */
    ProcessResult result;
    size_t n_out; /* bytes of output that follow */
} Answer;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t freed;
    bool is_busy; /* a request runs, without @lock held: a plugin may take long */
    int fd;       /* -1: not started */
} helper = {.lock = PTHREAD_MUTEX_INITIALIZER, .freed = PTHREAD_COND_INITIALIZER, .fd = -1};

/* Returns false if the other process has ended. */
static bool receive(int fd, void *to, size_t n) {
    char *at = to;

    while (n > 0) {
        ssize_t done = recv(fd, at, n, MSG_WAITALL);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        at += done;
        n -= (size_t)done;
    }
    return true;
}

static bool transmit(int fd, const void *from, size_t n) {
    const char *at = from;

    while (n > 0) {
        ssize_t done = send(fd, at, n, MSG_NOSIGNAL);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return false;
        at += done;
        n -= (size_t)done;
    }
    return true;
}

/* Closes all descriptors except @fd, so that log and sockets are closed when the daemon ends. */
static bool keep_only(int fd) {
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (null < 0)
        return false;
    for (int i = 0; i <= STDERR_FILENO; i++)
        if (dup2(null, i) < 0)
            return false;
    return (fd == HELPER_FD || dup2(fd, HELPER_FD) == HELPER_FD) &&
           fcntl(HELPER_FD, F_SETFD, FD_CLOEXEC) == 0 && close_range(HELPER_FD + 1, ~0U, 0) == 0;
}

static bool answer(const ProcessOptions *options) {
    _cleanup_(secret_buf_done) Buf out = BUF_INIT(ACCESS_PLUGIN_OUTPUT_MAX);
    Answer reply = {0};

    reply.r = process_run(options, &out, &reply.result);
    reply.n_out = buf_error(&out) ? 0 : out.len;
    return transmit(HELPER_FD, &reply, sizeof(reply)) &&
           transmit(HELPER_FD, buf_str(&out).ptr, reply.n_out);
}

static _Noreturn void run_helper(int fd, ProcessOptions options) {
    (void)prctl(PR_SET_NAME, "plugin-helper");
    (void)prctl(PR_SET_DUMPABLE, 0); /* its memory has credentials */
    options.peer_fd = HELPER_FD;
    if (keep_only(fd))
        while (receive(HELPER_FD, &options.timeout_msec, sizeof(options.timeout_msec)) &&
               answer(&options))
            ;
    _exit(0);
}

int process_helper_start(const ProcessOptions *options) {
    int fds[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
        return -errno;
    pid = fork();
    if (pid == 0)
        run_helper(fds[1], *options);
    (void)close(fds[1]);
    if (pid < 0) {
        (void)close(fds[0]);
        return -EAGAIN;
    }
    helper.fd = fds[0];
    return 0;
}

bool process_helper_is_started(void) {
    return helper.fd >= 0;
}

static bool receive_output(size_t n, Buf *out) {
    char bytes[4096];
    bool is_there = true;

    while (is_there && n > 0) {
        size_t part = n < sizeof(bytes) ? n : sizeof(bytes);

        is_there = receive(helper.fd, bytes, part);
        if (is_there)
            buf_append(out, str_of(bytes, part));
        n -= part;
    }
    explicit_bzero(bytes, sizeof(bytes));
    return is_there;
}

int process_helper_run(int timeout_msec, Buf *out, ProcessResult *ret) {
    Answer reply = {0};
    bool is_there;

    /* One request at a time: answers come in the order of requests. */
    pthread_mutex_lock(&helper.lock);
    while (helper.is_busy)
        (void)pthread_cond_wait(&helper.freed, &helper.lock);
    helper.is_busy = true;
    pthread_mutex_unlock(&helper.lock);
    is_there = transmit(helper.fd, &timeout_msec, sizeof(timeout_msec)) &&
               receive(helper.fd, &reply, sizeof(reply)) && receive_output(reply.n_out, out);
    pthread_mutex_lock(&helper.lock);
    helper.is_busy = false;
    (void)pthread_cond_signal(&helper.freed);
    pthread_mutex_unlock(&helper.lock);
    *ret = reply.result;
    return is_there ? reply.r : -EPIPE;
}
