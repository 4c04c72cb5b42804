/* Splits a stream of bytes into lines, one JSON document each. */

#include "kube/document-splitter.h"

#include <errno.h>

void splitter_done(DocumentSplitter *splitter) {
    buf_done(&splitter->half);
    splitter->is_given = false;
}

/* 0, SPLITTER_TOO_LARGE or -ENOMEM. */
static int keep(DocumentSplitter *splitter, Str piece) {
    buf_append(&splitter->half, piece);
    if (buf_error(&splitter->half) == -EFBIG)
        return SPLITTER_TOO_LARGE;
    return buf_error(&splitter->half);
}

/* Takes the line that ends at @end of @bytes, after its kept start. 0, or as keep(). */
static int take_line(DocumentSplitter *splitter, Str *bytes, size_t end, Str *ret) {
    Str line = str_take(*bytes, end);
    int r;

    *bytes = str_skip(*bytes, end + 1);
    if (splitter->half.len == 0) {
        *ret = line;
        return line.len > splitter->half.ceiling ? SPLITTER_TOO_LARGE : 0;
    }
    r = keep(splitter, line);
    if (r != 0)
        return r;
    splitter->is_given = true;
    *ret = buf_str(&splitter->half);
    return 0;
}

int splitter_next(DocumentSplitter *splitter, Str *bytes, Str *ret) {
    for (;;) {
        size_t end;
        int r;

        /* The last document is no longer used; frees the memory of a large one. */
        if (splitter->is_given && splitter->half.size > SPLITTER_KEEP_MAX)
            buf_done(&splitter->half);
        else if (splitter->is_given)
            buf_reset(&splitter->half);
        splitter->is_given = false;
        end = str_find(*bytes, '\n');
        if (end == SIZE_MAX) {
            Str rest = *bytes;

            *bytes = STR_NULL;
            return keep(splitter, rest);
        }
        r = take_line(splitter, bytes, end, ret);
        if (r != 0)
            return r;
        *ret = str_trim(*ret);
        if (!str_is_empty(*ret))
            return SPLITTER_DOCUMENT;
    }
}
