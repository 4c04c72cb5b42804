#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/test-folder.h"

/* A sandbox cannot be left. So each case runs in a child process, whose exit status is the number
 * of the first failed line. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            _exit(__LINE__ & 0xff ? __LINE__ & 0xff : 1);                                          \
    } while (0)

#define FAILS(call, error) ((call) < 0 && errno == (error))

typedef struct Place {
    Folder folder;
    char allowed[600], outside[600], link[600];
} Place;

static void run_in_child(const char *name, void (*check)(Place *place), Place *place) {
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        check(place);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("%s: line %d, signal %d", name, WEXITSTATUS(status), WTERMSIG(status));
}

static bool is_active(const Sandbox *sandbox, const char *part) {
    return strstr(sandbox->active, part) != NULL;
}

static void enter(Place *place, Sandbox *ret) {
    SandboxPath paths[] = {
        {.path = place->allowed},
        {.path = place->link},
        {.path = "-"},
        {.path = NULL},
        {.path = "/no/such/folder/file"},
    };

    sandbox_enter(paths, ELEMENTS_OF(paths), ret);
    CHECK(!is_active(ret, "landlock") || paths[4].is_refused);
    CHECK(!paths[0].is_refused && !paths[2].is_refused);
}

static int try_open(const char *path, int flags) {
    int fd = open(path, flags | O_CLOEXEC, 0600);

    if (fd >= 0)
        (void)close(fd);
    return fd;
}

static bool read_status(const char *field) {
    char line[256];
    FILE *file = fopen("/proc/self/status", "re");
    bool is_there = false;

    while (file && fgets(line, sizeof(line), file))
        is_there |= strncmp(line, field, strlen(field)) == 0;
    if (file)
        (void)fclose(file);
    return is_there;
}

/* --- the cases --- */

static void check_rights(Place *place) {
    struct rlimit limit;
    Sandbox sandbox;

    enter(place, &sandbox);
    CHECK(sandbox.active[0] || sandbox.missing[0]);
    if (!sandbox.active[0]) /* built with a sanitizer */
        return;
    CHECK(is_active(&sandbox, "no_new_privs") && read_status("NoNewPrivs:\t1"));
    CHECK(is_active(&sandbox, "no core dumps"));
    CHECK(getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_cur == 0 && limit.rlim_max == 0);
    CHECK(!is_active(&sandbox, "seccomp") || read_status("Seccomp:\t2"));
}

static void check_programs(Place *place) {
    char program[] = "/bin/true";
    char *const arguments[] = {program, NULL};
    Sandbox sandbox;

    enter(place, &sandbox);
    if (!is_active(&sandbox, "seccomp"))
        return;
    CHECK(FAILS(execv(program, arguments), EPERM));
    CHECK(FAILS(fork(), EPERM));
    CHECK(FAILS(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL), EPERM));
    CHECK(FAILS(kill(getppid(), 0), EPERM));
    CHECK(FAILS(setuid(getuid()), EPERM));
    CHECK(FAILS(chmod(place->allowed, 0777), EPERM));
    CHECK(FAILS(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), ENOSYS));
    CHECK(FAILS(socket(AF_PACKET, SOCK_RAW, 0), ENOSYS));
    CHECK(FAILS(syscall(100000), ENOSYS)); /* unknown, as of a newer kernel */
}

static void *touch(void *context) {
    return FAILS(fork(), EPERM) ? context : NULL;
}

static void check_work(Place *place) {
    pthread_t thread;
    Sandbox sandbox;
    void *result = NULL;
    int fd;

    enter(place, &sandbox);
    if (!is_active(&sandbox, "seccomp"))
        return;
    CHECK(pthread_create(&thread, NULL, touch, place) == 0);
    CHECK(pthread_join(thread, &result) == 0 && result == place);
    CHECK((fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) >= 0 && close(fd) == 0);
}

static void check_files(Place *place) {
    char path[700];
    Sandbox sandbox;

    enter(place, &sandbox);
    if (!is_active(&sandbox, "landlock"))
        return;
    CHECK(FAILS(try_open(place->outside, O_RDONLY), EACCES));
    CHECK(FAILS(try_open(place->allowed, O_WRONLY), EACCES));
    CHECK(try_open(place->allowed, O_RDONLY) >= 0);
    CHECK(try_open(place->link, O_RDONLY) >= 0);
    CHECK(try_open("/proc/self/statm", O_RDONLY) >= 0);
    (void)snprintf(path, sizeof(path), "%s.new", place->allowed);
    CHECK(FAILS(try_open(path, O_WRONLY | O_CREAT), EACCES));
}

/* The parent replaces the files after the child has entered the sandbox. */
static void check_replaced(Place *place) {
    char old[700], new[700], byte = 0;
    Sandbox sandbox;
    int ours[2], theirs[2];
    pid_t pid;

    CHECK(pipe(ours) == 0 && pipe(theirs) == 0);
    pid = fork();
    CHECK(pid >= 0);
    if (pid > 0) {
        int status;

        CHECK(read(ours[0], &byte, 1) == 1);
        (void)snprintf(new, sizeof(new), "%s.tmp", place->allowed);
        CHECK(link(place->outside, new) == 0 && rename(new, place->allowed) == 0);
        /* current -> rev-1 becomes current -> rev-2 */
        (void)snprintf(new, sizeof(new), "%s/current.tmp", place->folder.path);
        (void)snprintf(old, sizeof(old), "%s/current", place->folder.path);
        CHECK(symlink("rev/2", new) == 0 && rename(new, old) == 0);
        CHECK(write(theirs[1], &byte, 1) == 1);
        CHECK(waitpid(pid, &status, 0) == pid);
        _exit(WEXITSTATUS(status));
    }
    enter(place, &sandbox);
    CHECK(write(ours[1], &byte, 1) == 1 && read(theirs[0], &byte, 1) == 1);
    CHECK(try_open(place->allowed, O_RDONLY) >= 0);
    CHECK(try_open(place->link, O_RDONLY) >= 0);
}

static void check_written(Place *place) {
    char path[700], other[700];
    SandboxPath paths[] = {{.path = path, .is_written = true}};
    Sandbox sandbox;

    (void)snprintf(path, sizeof(path), "%s/in/dump", place->folder.path);
    (void)snprintf(other, sizeof(other), "%s/in/dump.new", place->folder.path);
    sandbox_enter(paths, 1, &sandbox);
    CHECK(try_open(other, O_WRONLY | O_CREAT | O_EXCL) >= 0 && rename(other, path) == 0);
    CHECK(try_open(other, O_WRONLY | O_CREAT | O_EXCL) >= 0 && rename(other, path) == 0);
    CHECK(!is_active(&sandbox, "landlock") || FAILS(try_open(place->outside, O_WRONLY), EACCES));
}

static void make_folder(Place *place, const char *name) {
    assert_int_equal(mkdir(folder_path(&place->folder, name), 0700), 0);
}

static void test_sandbox(void **state) {
    static const struct {
        const char *name;
        void (*check)(Place *place);
    } cases[] = {
        {"rights are given up", check_rights},
        {"programs and processes are refused", check_programs},
        {"threads and sockets work", check_work},
        {"other files are refused", check_files},
        {"files that are replaced stay readable", check_replaced},
        {"a file that is written can be replaced", check_written},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Place place;

        folder_init(&place.folder);
        make_folder(&place, "in");
        make_folder(&place, "rev");
        make_folder(&place, "rev/1");
        make_folder(&place, "rev/2");
        (void)folder_write(&place.folder, "rev/1/policy", STR("a"));
        (void)folder_write(&place.folder, "rev/2/policy", STR("b"));
        assert_int_equal(symlink("rev/1", folder_path(&place.folder, "current")), 0);
        (void)snprintf(place.link, sizeof(place.link), "%s/current/policy", place.folder.path);
        (void)snprintf(place.allowed, sizeof(place.allowed), "%s",
            folder_write(&place.folder, "in/file", STR("text")));
        (void)snprintf(place.outside, sizeof(place.outside), "%s",
            folder_write(&place.folder, "outside", STR("secret")));
        run_in_child(cases[i].name, cases[i].check, &place);
        folder_done(&place.folder);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sandbox)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
