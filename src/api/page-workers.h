#pragma once

/*
 * PageWorkers: threads that make pages, so that workers need not.
 *
 * A page costs a worker nothing but handing it over: the request waits (server_defer()), a page
 * worker of low priority (nice 10) makes the page, the worker sends it. There are two, and one at
 * most is at work on something that takes long, so that what-ifs of some seconds do not hold up the
 * rest.
 *
 * A queue of PAGE_QUEUE_MAX, of which PAGE_SLOW_MAX are for what takes long; who finds it full is
 * told to come again (503).
 *
 * Threads: any.
 */

#include "base/cleanup.h"
#include "http/server.h"

#define PAGE_WORKERS 2u
#define PAGE_QUEUE_MAX 64u
#define PAGE_SLOW_MAX 4u /* of these, that take long: they may keep 4 MiB each that was asked */

typedef struct PageWorkers PageWorkers;

/* Fills a reply as handle() would. */
typedef HttpFill PageTask;

/* @context is handed to every task. 0, or a negative errno. */
int page_workers_new(void *context, PageWorkers **ret) MUST_CHECK;
PageWorkers *page_workers_free(
    PageWorkers *workers); /* waits for tasks that are running. Takes NULL */
DEFINE_CLEANUP(PageWorkers *, page_workers_free)

typedef enum PagePace {
    PAGE_FAST,
    PAGE_SLOW, /* one at a time */
} PagePace;

/* Inside handle(): @task will answer @request. False: the queue is full, or no more can wait. */
bool page_workers_add(
    PageWorkers *workers, const HttpRequest *request, int tag, PagePace pace, PageTask *task);
