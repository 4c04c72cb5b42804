#include "api/clerk.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"

/* What the kernel calls a nice value: decisions go first when processors are short. */
#define CLERK_NICE 10

typedef struct Job {
    HttpPending *pending;
    ClerkTask *task;
    ClerkPace pace;
} Job;

struct Clerk {
    void *context;
    pthread_t threads[CLERK_THREADS];
    unsigned n_threads;

    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t more;
    Job jobs[CLERK_QUEUE_MAX]; /* the first to come first */
    size_t n;
    bool is_slow; /* somebody is at work on what takes long */
    bool is_over;
};

/* With the lock held: takes the first that may be begun. False: there is none. */
static bool take_job(Clerk *clerk, Job *ret) {
    size_t i = 0;

    while (i < clerk->n && clerk->is_slow && clerk->jobs[i].pace == CLERK_SLOW)
        i++;
    if (i == clerk->n)
        return false;
    *ret = clerk->jobs[i];
    clerk->is_slow |= ret->pace == CLERK_SLOW;
    clerk->n--;
    memmove(&clerk->jobs[i], &clerk->jobs[i + 1], (clerk->n - i) * sizeof(Job));
    return true;
}

/* Waits for one. False: there will be none any more. */
static bool next_job(Clerk *clerk, Job *ret) {
    bool is_one;

    (void)pthread_mutex_lock(&clerk->mutex);
    while (!(is_one = take_job(clerk, ret)) && !(clerk->is_over && clerk->n == 0))
        (void)pthread_cond_wait(&clerk->more, &clerk->mutex);
    (void)pthread_mutex_unlock(&clerk->mutex);
    return is_one;
}

static void end_job(Clerk *clerk, const Job *job) {
    if (job->pace != CLERK_SLOW)
        return;
    (void)pthread_mutex_lock(&clerk->mutex);
    clerk->is_slow = false;
    (void)pthread_cond_broadcast(&clerk->more);
    (void)pthread_mutex_unlock(&clerk->mutex);
}

static void *work(void *context) {
    Clerk *clerk = context;
    Job job;

    (void)pthread_setname_np(pthread_self(), "clerk");
    if (setpriority(PRIO_PROCESS, (id_t)gettid(), CLERK_NICE) < 0)
        log_debug("clerks are not nice", LOG_CSTR("error", strerror(errno)));
    while (next_job(clerk, &job)) {
        (void)server_answer(job.pending, job.task, clerk->context);
        end_job(clerk, &job);
    }
    return NULL;
}

int clerk_new(void *context, Clerk **ret) {
    _cleanup_(clerk_freep) Clerk *clerk = calloc(1, sizeof(*clerk));
    int r;

    if (!clerk)
        return -ENOMEM;
    clerk->context = context;
    (void)pthread_mutex_init(&clerk->mutex, NULL);
    (void)pthread_cond_init(&clerk->more, NULL);
    for (; clerk->n_threads < CLERK_THREADS; clerk->n_threads++) {
        r = pthread_create(&clerk->threads[clerk->n_threads], NULL, work, clerk);
        if (r != 0)
            return -r;
    }
    *ret = TAKE_PTR(clerk);
    return 0;
}

/* What is left in the queue is answered, which is quick when the server has ended. */
Clerk *clerk_free(Clerk *clerk) {
    if (!clerk)
        return NULL;
    (void)pthread_mutex_lock(&clerk->mutex);
    clerk->is_over = true;
    (void)pthread_cond_broadcast(&clerk->more);
    (void)pthread_mutex_unlock(&clerk->mutex);
    for (unsigned i = 0; i < clerk->n_threads; i++)
        (void)pthread_join(clerk->threads[i], NULL);
    (void)pthread_cond_destroy(&clerk->more);
    (void)pthread_mutex_destroy(&clerk->mutex);
    free(clerk);
    return NULL;
}

/* With the lock held. */
static bool has_place(const Clerk *clerk, ClerkPace pace) {
    size_t n_slow = 0;

    if (clerk->is_over || clerk->n == CLERK_QUEUE_MAX)
        return false;
    for (size_t i = 0; i < clerk->n; i++)
        n_slow += clerk->jobs[i].pace == CLERK_SLOW;
    return pace != CLERK_SLOW || n_slow < CLERK_SLOW_MAX;
}

/* The place in the queue comes first: what has been put off must be answered. */
bool clerk_take(
    Clerk *clerk, const HttpRequest *request, int tag, ClerkPace pace, ClerkTask *task) {
    HttpPending *pending = NULL;

    (void)pthread_mutex_lock(&clerk->mutex);
    if (has_place(clerk, pace))
        pending = server_defer(request, tag);
    if (pending) {
        clerk->jobs[clerk->n++] = (Job){.pending = pending, .task = task, .pace = pace};
        (void)pthread_cond_broadcast(&clerk->more);
    }
    (void)pthread_mutex_unlock(&clerk->mutex);
    return pending != NULL;
}
