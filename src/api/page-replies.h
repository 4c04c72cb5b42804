#pragma once

/*
 * PageReplies: what is answered beside the verbs.
 *
 * Health, figures, pages as JSON and for people: read-only, made of what the parts of ApiContext
 * tell of themselves. Who may ask is a matter of the listener; this says what there is, and makes
 * it.
 *
 * A worker makes nothing of it but health, and on the listener of the pages /metrics: page workers
 * do (api/page-workers.h).
 *
 * Threads: any.
 */

#include <stdbool.h>

#include "api/context.h"
#include "api/routes.h"

/* Who reads a page. */
struct PageAccess {
    bool sees_reasons;  /* why a check of health failed; health itself is open to all */
    bool has_verbs;     /* of the listener: they are worth a line on "/" */
    bool has_dashboard; /* the same of the dashboard: it is shown here */
};

/* What @request asks for. */
Route page_route(const ApiContext *api, const HttpRequest *request);

/* Before the body is read, when it is known that the access may ask at all: path, method, body, and
 * where a browser comes from. False: @reply says why not. */
bool page_admit(
    const HttpRequest *request, const PageAccess *access, Route route, HttpReply *reply);

/* Makes the answer, unless it is a verb, which is 404 here. On a workers, or on a worker that
 * nobody waits for. */
void page_show(
    ApiContext *api, const HttpRequest *request, const PageAccess *access, HttpReply *reply);

/* Inside handle(): has @task, which calls page_show() with the ApiContext that are its context,
 * make the answer; or says to come again. */
void page_hand_over(
    ApiContext *api, const HttpRequest *request, Route route, PageTask *task, HttpReply *reply);

/* Inside handle(): @request listens to the event stream from now on, or is told to come again. */
void page_listen(ApiContext *api, const HttpRequest *request, HttpReply *reply);

/* {"Error": text}. */
void page_refuse(const HttpRequest *request, HttpReply *reply, unsigned status, Str text);

#define PAGE_MISADDRESSED                                                                          \
    "berth: on loopback without TLS pages are shown to who asks for localhost or an address, not " \
    "for another name: a browser could be led here; --pages-host NAME allows one"
