/*
 * A stream cut anywhere gives the same documents.
 *
 * The first byte of the input is the length of the pieces, the second the size limit of a document.
 * The documents must equal the lines that a simple loop finds. Functions that read a document never
 * read outside of it.
 */

#include <stdlib.h>

#include "base/fuzz.h"
#include "kube/api-objects.h"
#include "kube/document-splitter.h"

/* A copy of exact size, so that the sanitizer notices reads beyond its end. */
static char *copy_of(Str text) {
    char *copy = malloc(text.len > 0 ? text.len : 1);

    require(copy);
    if (text.len > 0)
        memcpy(copy, text.ptr, text.len);
    return copy;
}

static void read_all(Str document, Arena *arena) {
    char *copy = copy_of(document);
    ApiStatus status;
    ObjectMeta meta;
    ListPage page;
    WatchEvent event;

    document.ptr = copy;
    arena_reset(arena);
    if (event_read(document, &event)) {
        require(
            event.object.ptr >= copy && event.object.ptr + event.object.len <= copy + document.len);
        require(event.object.ptr[0] == '{');
        if (object_meta_read(event.object, arena, true, &meta))
            require(meta.version.len > 0);
        (void)api_status_read(event.object, arena, &status);
    }
    if (list_page_read(document, arena, &page))
        require(page.version.len > 0 && page.items.len > 0);
    free(copy);
}

/* The next line that is not empty, found by a simple loop; false if there is none, or it is longer
 * than @max. */
static bool next_line(Str *rest, size_t max, Str *ret) {
    for (;;) {
        size_t end = str_find(*rest, '\n');

        if (end == SIZE_MAX || end > max)
            return false;
        *ret = str_trim(str_take(*rest, end));
        *rest = str_skip(*rest, end + 1);
        if (ret->len > 0)
            return true;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static Arena *arena;
    DocumentSplitter splitter;
    Str stream, rest, document, line;
    size_t piece;
    int r = 0;

    if (size < 2 || size > 65536)
        return 0;
    if (!arena)
        arena = arena_new((size_t)1 << 20);
    require(arena);
    stream = rest = str_of((const char *)data + 2, size - 2);
    piece = 1u + data[0];
    splitter = SPLITTER_INIT(1u + (size_t)data[1] * 16);
    while (stream.len > 0 && r == 0) {
        Str bytes = str_take(stream, piece);
        char *copy = copy_of(bytes);

        stream = str_skip(stream, piece);
        bytes.ptr = copy;
        while ((r = splitter_next(&splitter, &bytes, &document)) == SPLITTER_DOCUMENT) {
            require(next_line(&rest, splitter.half.ceiling, &line));
            require(str_eq(document, line));
            read_all(document, arena);
        }
        require(splitter.half.len <= splitter.half.ceiling);
        free(copy);
    }
    require(r == 0 || r == SPLITTER_TOO_LARGE);
    require(!next_line(&rest, splitter.half.ceiling, &line));
    splitter_done(&splitter);
    return 0;
}
