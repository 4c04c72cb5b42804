#pragma once

/*
 * Clerk: threads that make pages, so that workers need not.
 *
 * A page costs a worker nothing but handing it over: the request waits (server_defer()), a clerk of
 * low priority (nice 10) makes the page, the worker sends it. There are two, and one at most is at
 * work on something that takes long, so that what-ifs of some seconds do not hold up the rest.
 *
 * A queue of CLERK_QUEUE_MAX, of which CLERK_SLOW_MAX are for what takes long; who finds it full is
 * told to come again (503).
 *
 * Threads: any.
 */

#include "base/cleanup.h"
#include "http/server.h"

#define CLERK_THREADS 2u
#define CLERK_QUEUE_MAX 64u
#define CLERK_SLOW_MAX 4u /* of these, that take long: they may keep 4 MiB each that was asked */

typedef struct Clerk Clerk;

/* Fills a reply as handle() would. */
typedef HttpFill ClerkTask;

/* @context is handed to every task. 0, or a negative errno. */
int clerk_new(void *context, Clerk **ret) MUST_CHECK;
Clerk *clerk_free(Clerk *clerk); /* waits for tasks that are running. Takes NULL */
DEFINE_CLEANUP(Clerk *, clerk_free)

typedef enum ClerkPace {
    CLERK_QUICK,
    CLERK_SLOW, /* one at a time */
} ClerkPace;

/* Inside handle(): @task will answer @request. False: the queue is full, or no more can wait. */
bool clerk_take(Clerk *clerk, const HttpRequest *request, int tag, ClerkPace pace, ClerkTask *task);
