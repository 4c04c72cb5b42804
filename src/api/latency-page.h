#pragma once

/*
 * The page of /api/v1/latency: where the time of requests goes, as JSON.
 *
 * Threads: any.
 */

#include "base/buf.h"
#include "http/server.h"

typedef struct ApiContext ApiContext;

/* Room that the buffer of the page should have. */
#define LATENCY_PAGE_MAX ((size_t)8 * 1024 * 1024)

/* The status; JSON goes to @out, with an error as {"Error": text}. */
unsigned latency_page(ApiContext *api, const HttpRequest *request, Buf *out);
