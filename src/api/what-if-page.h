#pragma once

/*
 * The page of /api/v1/what-if: decisions that were made, made again with other policies, as JSON.
 *
 * Threads: any.
 */

#include <stdbool.h>

#include "base/buf.h"
#include "http/server.h"

typedef struct ApiContext ApiContext;

/* What a body may have: so many bytes of JSON or YAML. No form of another site can send one of
 * these types without asking first. */
#define WHAT_IF_BODY_MAX ((size_t)4 * 1024 * 1024)
bool what_if_takes(Str content_type);

/* Room that the buffer of the page should have. */
#define WHAT_IF_PAGE_MAX ((size_t)32 * 1024 * 1024)

/* How long decisions are made again; what is not reached by then is left out (whole: false). */
#define WHAT_IF_PAGE_SEC 5

/* The body of @request has the policies. The status; JSON goes to @out, with an error as {"Error":
 * text}. */
unsigned what_if_page(ApiContext *api, const HttpRequest *request, Buf *out);
