#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Deep enough for our call trees; what does not fit is dropped, oldest kept. */
#define ERROR_PLACES_MAX 12

typedef struct TracePlace {
    const char *file;
    const char *func;
    int line;
} TracePlace;

static _Thread_local struct {
    int code;
    size_t n_places;
    TracePlace places[ERROR_PLACES_MAX];
} trace;

static void add_place(const char *file, int line, const char *func) {
    if (trace.n_places < ERROR_PLACES_MAX)
        trace.places[trace.n_places++] = (TracePlace){.file = file, .func = func, .line = line};
}

int error_origin_at(int code, const char *file, int line, const char *func) {
    trace.code = code;
    trace.n_places = 0;
    add_place(file, line, func);
    return code;
}

int error_trace_at(int r, const char *file, int line, const char *func) {
    if (r < 0)
        add_place(file, line, func);
    return r;
}

int error_fold_at(int r, const char *file, int line, const char *func) {
    if (r > 0)
        return error_origin_at(-ENOTRECOVERABLE, file, line, func);
    return error_trace_at(r, file, line, func);
}

void error_describe(char *text, size_t size) {
    size_t used = 0;

    if (size == 0)
        return;
    text[0] = '\0';
    if (trace.n_places == 0)
        return;

    used = (size_t)snprintf(text, size, "%s", strerror(-trace.code));
    for (size_t i = 0; i < trace.n_places && used < size; i++) {
        const TracePlace *place = &trace.places[i];

        used += (size_t)snprintf(
            text + used, size - used, "; %s:%d %s", place->file, place->line, place->func);
    }
}
