#pragma once

/*
 * PageWorkers: two threads of low priority that make pages, so that the server's workers need not.
 *
 * The request waits (server_defer()) while a page worker makes the page; then the server's worker
 * sends it. Only one slow page is made at a time, so that what-ifs of some seconds do not block
 * other pages. When the queue is full, the client gets 503 with Retry-After. Threads: any.
 */

#include "http/server.h"

/* Nice value of threads that do not decide: decisions come first when processors are busy. */
#define LOW_PRIORITY_NICE 10

#define PAGE_WORKERS 2u
#define PAGE_QUEUE_MAX 64u
#define PAGE_SLOW_MAX 4u /* slow ones of these: each may keep a body of 4 MiB */

typedef struct PageWorkers PageWorkers;

/* Starts the threads. Every task gets @context. 0, or a negative errno. */
int page_workers_new(void *context, PageWorkers **ret) MUST_CHECK;
/* Runs the queued tasks first, but not of requests that have ended: free the servers before. Takes
 * NULL. */
PageWorkers *page_workers_free(PageWorkers *workers);
DEFINE_CLEANUP(PageWorkers *, page_workers_free)

/* Call it in handle(): @task will answer @request, with @tag for finished(). False: the queue is
 * full, or server_defer() failed. */
bool page_workers_add(
    PageWorkers *workers, const HttpRequest *request, int tag, bool is_slow, HttpFill *task);
