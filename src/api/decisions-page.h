#pragma once

/*
 * The pages of /api/v1/decisions: what is remembered, as JSON.
 *
 * docs/api.md has parameters and fields; they are kept stable. Pages are bounded:
 * by `limit`, and before that by bytes; `next` says where to go on.
 *
 * Threads: any.
 */

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "history/decisions.h"

#define DECISIONS_LIMIT_DEFAULT 100
#define DECISIONS_LIMIT_MAX 1000
#define DECISION_NODES_DEFAULT 1000
#define DECISION_NODES_MAX 10000

/* Room that the buffer of a page should have: what one decision may take on top of the
 * bytes after which a page ends. */
#define DECISIONS_PAGE_MAX ((size_t)16 * 1024 * 1024)

/* The list, newest first, of those that @query selects. Returns the status: 200, or 400 with
 * {"Error": text}. @decisions NULL, none are kept: 404. */
unsigned decisions_list_page(Decisions *decisions, Str query, Arena *arena, Buf *out);

/* One of them with its nodes. 200, 400 or 404. */
unsigned decisions_one_page(Decisions *decisions, Str id, Str query, Arena *arena, Buf *out);
