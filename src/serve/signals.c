#include "serve/signals.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include <unistd.h>

static void set_of_interest(sigset_t *ret) {
    (void)sigemptyset(ret);
    (void)sigaddset(ret, SIGTERM);
    (void)sigaddset(ret, SIGINT);
    (void)sigaddset(ret, SIGHUP);
    (void)sigaddset(ret, SIGUSR2);
}

void signals_block(void) {
    sigset_t signals;

    set_of_interest(&signals);
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
}

int signals_open(void) {
    sigset_t signals;

    set_of_interest(&signals);
    return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

bool signals_read(int fd, SignalAction *ret) {
    struct signalfd_siginfo info;

    if (read(fd, &info, sizeof(info)) != sizeof(info))
        return false;
    switch (info.ssi_signo) {
    case SIGHUP:
        *ret = SIGNAL_RELOAD;
        break;
    case SIGUSR2:
        *ret = SIGNAL_DUMP;
        break;
    default:
        *ret = SIGNAL_END;
        break;
    }
    return true;
}
