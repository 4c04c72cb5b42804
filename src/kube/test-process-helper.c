#include "kube/process-helper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/test-folder.h"
#include "kube/access.h"

#define TIMEOUT_MSEC 30000

/* Each check runs in its own process, which exits with 0, because a process has only one helper. */
static int run_in_child(int (*check)(const char *folder), const char *folder) {
    pid_t pid = fork();
    int status;

    if (pid == 0)
        _exit(check(folder));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static bool start(const char *script) {
    static const char *const env[] = {"PATH=/usr/bin:/bin", "WORD=hello", NULL};
    const char *args[] = {"/bin/sh", "-c", script, NULL};

    return process_helper_start(&(ProcessOptions){.command = args[0], .args = args, .env = env}) ==
           0;
}

static int check_runs(const char *folder) {
    _cleanup_(buf_done) Buf first = BUF_INIT(64), second = BUF_INIT(64);
    ProcessResult result;

    (void)folder;
    if (process_helper_is_started() || !start("echo $WORD; echo no >&2; exit 3"))
        return 1;
    if (process_helper_run(TIMEOUT_MSEC, &first, &result) != 0 || result.end != PROCESS_EXITED ||
        result.code != 3 || strcmp(result.errors, "no\n") != 0)
        return 2;
    if (process_helper_run(TIMEOUT_MSEC, &second, &result) != 0 ||
        !str_eq(buf_str(&second), STR("hello\n")) || !str_eq(buf_str(&first), STR("hello\n")))
        return 3;
    return 0;
}

static int check_limits(const char *folder) {
    _cleanup_(buf_done) Buf out = BUF_INIT(2 * ACCESS_PLUGIN_OUTPUT_MAX);
    ProcessResult result;

    (void)folder;
    if (!start("[ \"$(ls /proc/self/fd | wc -l)\" -le 4 ] || exit 9; exec yes"))
        return 1;
    if (process_helper_run(TIMEOUT_MSEC, &out, &result) != 0 || result.end != PROCESS_TOO_LOUD)
        return 2;
    return out.len <= ACCESS_PLUGIN_OUTPUT_MAX ? 0 : 3;
}

static int check_time(const char *folder) {
    _cleanup_(buf_done) Buf out = BUF_INIT(64);
    ProcessResult result;

    (void)folder;
    if (!start("sleep 1000"))
        return 1;
    return process_helper_run(100, &out, &result) == 0 && result.end == PROCESS_TIMEOUT ? 0 : 2;
}

static int check_end(const char *folder) {
    _cleanup_(buf_done) Buf out = BUF_INIT(64);
    ProcessResult result;
    int64_t pid;

    (void)folder;
    if (!start("echo $PPID") || process_helper_run(TIMEOUT_MSEC, &out, &result) != 0 ||
        !str_to_int64(str_trim(buf_str(&out)), &pid))
        return 1;
    (void)kill((pid_t)pid, SIGKILL);
    return process_helper_run(TIMEOUT_MSEC, &out, &result) == -EPIPE ? 0 : 2;
}

static void test_helper_runs_and_limits_the_program(void **state) {
    (void)state;
    assert_int_equal(run_in_child(check_runs, NULL), 0);
    assert_int_equal(run_in_child(check_limits, NULL), 0);
    assert_int_equal(run_in_child(check_time, NULL), 0);
    assert_int_equal(run_in_child(check_end, NULL), 0);
}

/* Starts a program that writes to a FIFO; the process is killed while it runs. */
static int check_orphans(const char *folder) {
    char script[600];
    _cleanup_(buf_done) Buf out = BUF_INIT(64);
    ProcessResult result;

    (void)snprintf(script, sizeof(script), "exec >%s; echo x; exec sleep 1000", folder);
    if (start(script))
        (void)process_helper_run(TIMEOUT_MSEC * 10, &out, &result);
    return 1;
}

static void test_program_is_killed_with_its_user(void **state) {
    Folder folder;
    const char *fifo;
    char bytes[16];
    pid_t pid;
    int fd;

    (void)state;
    folder_init(&folder);
    fifo = folder_path(&folder, "fifo");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    pid = fork();
    if (pid == 0)
        _exit(check_orphans(fifo));
    fd = open(fifo, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(read(fd, bytes, sizeof(bytes)), 2);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(read(fd, bytes, sizeof(bytes)), 0); /* the program has ended */
    (void)close(fd);
    folder_done(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_helper_runs_and_limits_the_program),
        cmocka_unit_test(test_program_is_killed_with_its_user),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
