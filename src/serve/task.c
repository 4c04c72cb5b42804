/* A thread that calls one function when another thread requests it. */

#include "serve/task.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/thread.h"

struct Task {
    pthread_t thread;
    void (*run)(void *context, unsigned wanted);
    void *context;
    bool has_ended; /* joined, or never started; only for the stopping thread */

    pthread_mutex_t lock; /* protects the fields below */
    pthread_cond_t changed;
    unsigned wanted;
    bool is_running;
    bool is_stopped;
};

/* Called with the lock held; releases it during the call. */
static void call(Task *task) {
    unsigned wanted = task->wanted;

    task->wanted = 0;
    task->is_running = true;
    (void)pthread_mutex_unlock(&task->lock);
    task->run(task->context, wanted);
    (void)pthread_mutex_lock(&task->lock);
    task->is_running = false;
    (void)pthread_cond_broadcast(&task->changed);
}

static void *work(void *context) {
    Task *task = context;
    _unlock_ pthread_mutex_t *held = mutex_hold(&task->lock);

    while (!task->is_stopped) {
        if (task->wanted)
            call(task);
        else
            (void)pthread_cond_wait(&task->changed, &task->lock);
    }
    return NULL;
}

int task_new(
    const char *name, void (*run)(void *context, unsigned wanted), void *context, Task **ret) {
    Task *task = calloc(1, sizeof(*task));
    int r;

    if (!task)
        return -ENOMEM;
    task->run = run;
    task->context = context;
    (void)pthread_mutex_init(&task->lock, NULL);
    deadline_cond_init(&task->changed);
    r = thread_start(&task->thread, name, work, task);
    task->has_ended = r < 0;
    *ret = r < 0 ? task_free(task) : task;
    return r;
}

void task_request(Task *task, unsigned wanted) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&task->lock);

    task->wanted |= wanted;
    (void)pthread_cond_broadcast(&task->changed);
}

bool task_stop(Task *task, int64_t timeout_nsec) {
    struct timespec until = deadline_in(timeout_nsec);
    bool has_stopped;
    int r = 0;

    if (task->has_ended)
        return true;
    (void)pthread_mutex_lock(&task->lock);
    task->is_stopped = true;
    (void)pthread_cond_broadcast(&task->changed);
    while (task->is_running && r == 0)
        r = pthread_cond_timedwait(&task->changed, &task->lock, &until);
    has_stopped = !task->is_running;
    (void)pthread_mutex_unlock(&task->lock);
    if (has_stopped)
        task->has_ended = pthread_join(task->thread, NULL) == 0;
    return has_stopped;
}

Task *task_free(Task *task) {
    if (!task)
        return NULL;
    if (!task_stop(task, 0))
        (void)pthread_join(task->thread, NULL);
    (void)pthread_cond_destroy(&task->changed);
    (void)pthread_mutex_destroy(&task->lock);
    free(task);
    return NULL;
}
