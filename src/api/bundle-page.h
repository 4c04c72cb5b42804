#pragma once

/*
 * The page of /api/v1/bundle: policies, decisions and what they were made of, as a .tar.gz.
 *
 * Threads: any.
 */

#include "base/buf.h"
#include "http/server.h"

typedef struct ApiContext ApiContext;

/* Room that the buffer of the page should have. */
#define BUNDLE_PAGE_MAX ((size_t)64 * 1024 * 1024)

/* 200 and the archive; else the status, and JSON of {"Error": text} in @out. */
unsigned bundle_page(ApiContext *api, const HttpRequest *request, Buf *out);
