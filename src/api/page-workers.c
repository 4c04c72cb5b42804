/* Two threads of low priority that make pages, with a bounded queue. */

#include "api/page-workers.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "base/thread.h"

typedef struct Job {
    HttpPending *pending;
    HttpFill *task;
    bool is_slow;
} Job;

struct PageWorkers {
    void *context;
    pthread_t threads[PAGE_WORKERS];
    unsigned n_threads;

    pthread_mutex_t lock; /* protects the fields below */
    pthread_cond_t more;
    Job jobs[PAGE_QUEUE_MAX]; /* oldest first */
    size_t n;
    bool is_slow; /* a thread makes a slow page */
    bool is_over;
};

/* Called with the lock held. Takes the first request that may start; false: there is none. */
static bool take_job(PageWorkers *workers, Job *ret) {
    size_t i = 0;

    while (i < workers->n && workers->is_slow && workers->jobs[i].is_slow)
        i++;
    if (i == workers->n)
        return false;
    *ret = workers->jobs[i];
    workers->is_slow |= ret->is_slow;
    workers->n--;
    memmove(&workers->jobs[i], &workers->jobs[i + 1], (workers->n - i) * sizeof(Job));
    return true;
}

/* Waits for a request. False: the end has come, and the queue is empty. */
static bool next_job(PageWorkers *workers, Job *ret) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&workers->lock);
    bool is_one;

    while (!(is_one = take_job(workers, ret)) && !(workers->is_over && workers->n == 0))
        (void)pthread_cond_wait(&workers->more, &workers->lock);
    return is_one;
}

static void end_job(PageWorkers *workers, const Job *job) {
    if (job->is_slow) {
        _unlock_ pthread_mutex_t *held = mutex_hold(&workers->lock);

        workers->is_slow = false;
        (void)pthread_cond_broadcast(&workers->more);
    }
}

static void *work(void *context) {
    PageWorkers *workers = context;
    Job job;

    if (setpriority(PRIO_PROCESS, (id_t)gettid(), LOW_PRIORITY_NICE) < 0)
        log_debug("cannot lower the priority of page workers", LOG_CSTR("error", strerror(errno)));
    while (next_job(workers, &job)) {
        (void)server_answer(job.pending, job.task, workers->context);
        end_job(workers, &job);
    }
    return NULL;
}

int page_workers_new(void *context, PageWorkers **ret) {
    _cleanup_(page_workers_freep) PageWorkers *workers = calloc(1, sizeof(*workers));
    int r;

    if (!workers)
        return -ENOMEM;
    workers->context = context;
    (void)pthread_mutex_init(&workers->lock, NULL);
    (void)pthread_cond_init(&workers->more, NULL);
    for (; workers->n_threads < PAGE_WORKERS; workers->n_threads++) {
        r = thread_start(&workers->threads[workers->n_threads], "page-worker", work, workers);
        if (r < 0)
            return r;
    }
    *ret = TAKE_PTR(workers);
    return 0;
}

/* First answers the queued requests, which is quick after the end of the server. */
PageWorkers *page_workers_free(PageWorkers *workers) {
    if (!workers)
        return NULL;
    (void)pthread_mutex_lock(&workers->lock);
    workers->is_over = true;
    (void)pthread_cond_broadcast(&workers->more);
    (void)pthread_mutex_unlock(&workers->lock);
    for (unsigned i = 0; i < workers->n_threads; i++)
        (void)pthread_join(workers->threads[i], NULL);
    (void)pthread_cond_destroy(&workers->more);
    (void)pthread_mutex_destroy(&workers->lock);
    free(workers);
    return NULL;
}

/* Called with the lock held. */
static bool has_place(const PageWorkers *workers, bool is_slow) {
    size_t n_slow = 0;

    if (workers->is_over || workers->n == PAGE_QUEUE_MAX)
        return false;
    for (size_t i = 0; i < workers->n; i++)
        n_slow += workers->jobs[i].is_slow;
    return !is_slow || n_slow < PAGE_SLOW_MAX;
}

/* Defers the request only if the queue has room: a deferred request must be answered. */
bool page_workers_add(
    PageWorkers *workers, const HttpRequest *request, int tag, bool is_slow, HttpFill *task) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&workers->lock);
    HttpPending *pending = has_place(workers, is_slow) ? server_defer(request, tag) : NULL;

    if (!pending)
        return false;
    workers->jobs[workers->n++] = (Job){.pending = pending, .task = task, .is_slow = is_slow};
    (void)pthread_cond_broadcast(&workers->more);
    return true;
}
