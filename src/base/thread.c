/* Threads that get no signals, and waiting for them by the monotonic clock. */

#include "base/thread.h"

#include <signal.h>

#include "base/nsec.h"

#define THREAD_NAME_MAX 16

/* A thread inherits the signal mask and the name of its creator, so these are set for a moment: to
 * name another thread libc would write a file of /proc, which the sandbox forbids. */
int thread_start(pthread_t *ret, const char *name, void *(*run)(void *), void *context) {
    char own_name[THREAD_NAME_MAX] = "";
    sigset_t all, before;
    int r;

    (void)sigfillset(&all);
    (void)pthread_getname_np(pthread_self(), own_name, sizeof(own_name));
    (void)pthread_setname_np(pthread_self(), name);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    r = pthread_create(ret, NULL, run, context);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_setname_np(pthread_self(), own_name);
    return -r;
}

void thread_join(pthread_t thread) {
    (void)pthread_join(thread, NULL);
}

void deadline_cond_init(pthread_cond_t *cond) {
    pthread_condattr_t attributes;

    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}

/* Not clock_monotonic_nsec(): in tests with a simulated clock, threads wait by the real one. */
struct timespec deadline_in(int64_t nsec) {
    struct timespec at;

    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    nsec += at.tv_nsec;
    at.tv_sec += nsec / NSEC_PER_SEC;
    at.tv_nsec = nsec % NSEC_PER_SEC;
    return at;
}
