/* Starts threads that get no signals. */

#include "base/thread.h"

#include <signal.h>

/* A thread inherits the signal mask of its creator. */
int thread_start(pthread_t *ret, const char *name, void *(*run)(void *), void *context) {
    sigset_t all, before;
    int r;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    r = pthread_create(ret, NULL, run, context);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (r != 0)
        return -r;
    (void)pthread_setname_np(*ret, name);
    return 0;
}
