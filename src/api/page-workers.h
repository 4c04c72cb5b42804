#pragma once

/*
 * PageWorkers: two threads of low priority (nice 10) that make pages, so that the server's workers
 * need not.
 *
 * The request waits (server_defer()) while a page worker makes the page; the server's worker sends
 * it. At most one slow page is made at a time, so that what-ifs of some seconds do not block other
 * pages. When the queue is full, the client gets 503 with Retry-After. Threads: any.
 */

#include "http/server.h"

#define PAGE_WORKERS 2u
#define PAGE_QUEUE_MAX 64u
#define PAGE_SLOW_MAX 4u /* of these, slow ones: each may keep 4 MiB of request */

typedef struct PageWorkers PageWorkers;

/* @context is handed to every task. 0, or a negative errno. */
int page_workers_new(void *context, PageWorkers **ret) MUST_CHECK;
PageWorkers *page_workers_free(
    PageWorkers *workers); /* waits for tasks that are running. Takes NULL */
DEFINE_CLEANUP(PageWorkers *, page_workers_free)

/* Inside handle(): @task will answer @request; @tag is that of its HttpReply. False: the queue is
 * full, or no more requests may wait. */
bool page_workers_add(
    PageWorkers *workers, const HttpRequest *request, int tag, bool is_slow, HttpFill *task);
