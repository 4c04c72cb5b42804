#pragma once

/*
 * The page /api/v1/sources: metrics that policies read, their sources, coverage and errors.
 *
 * docs/api.md has the fields; they are kept stable. Metrics beyond MEASURING_SHOWN_MAX are
 * counted, not listed.
 *
 * Threads: any.
 */

#include <stdint.h>

#include "base/buf.h"
#include "extender/view.h"
#include "live/measuring.h"

/* Room that the buffer of the page should have. */
#define SOURCES_PAGE_MAX ((size_t)8 * 1024 * 1024)

typedef struct SourcesState {
    const View *view;
    const MeasuringStatus *status;
    int64_t now_nsec;    /* since 1970 */
    int64_t uptime_nsec; /* monotonic */
} SourcesState;

void sources_page(const SourcesState *state, Buf *out);
