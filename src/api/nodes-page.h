#pragma once

/*
 * The page of /api/v1/nodes: is the cluster lopsided, as JSON.
 *
 * Threads: any.
 */

#include "base/buf.h"
#include "http/server.h"

typedef struct ApiContext ApiContext;

/* Room that the buffer of the page should have. */
#define NODES_PAGE_MAX ((size_t)32 * 1024 * 1024)

/* The status; JSON goes to @out, with an error as {"Error": text}. */
unsigned nodes_page(ApiContext *api, const HttpRequest *request, Buf *out);
