#pragma once

/*
 * Clerk: threads that make pages, so that workers need not.
 *
 * On the listener of the verbs a page costs a worker nothing but handing it over: the request waits
 * (server_defer()), a clerk of low priority (nice 10) makes the page, the worker sends it. Two
 * clerks, so that a what-if of some seconds does not hold up the rest.
 *
 * A queue of CLERK_QUEUE_MAX; who finds it full is told to come again (503).
 *
 * Threads: any.
 */

#include "base/cleanup.h"
#include "serve/server.h"

#define CLERK_THREADS 2u
#define CLERK_QUEUE_MAX 64u

typedef struct Clerk Clerk;

/* Fills a reply as handle() would. */
typedef HttpFill ClerkTask;

/* @context is handed to every task. 0, or a negative errno. */
int clerk_new(void *context, Clerk **ret) MUST_CHECK;
Clerk *clerk_free(Clerk *clerk); /* waits for tasks that are running. Takes NULL */
DEFINE_CLEANUP(Clerk *, clerk_free)

/* Inside handle(): @task will answer @request. False: the queue is full, or no more can wait. */
bool clerk_take(Clerk *clerk, const HttpRequest *request, int tag, ClerkTask *task);
