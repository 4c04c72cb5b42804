#include "kube/frame.h"

#include <errno.h>

void frame_done(Frame *frame) {
    buf_done(&frame->half);
    frame->is_given = false;
}

/* The last document is over; one large document must not fatten the process. */
static void forget_given(Frame *frame) {
    if (!frame->is_given)
        return;
    if (frame->half.size > FRAME_KEEP_MAX)
        buf_done(&frame->half);
    else
        buf_reset(&frame->half);
    frame->is_given = false;
}

/* 0, FRAME_TOO_LARGE or -ENOMEM. */
static int keep(Frame *frame, Str piece) {
    buf_append(&frame->half, piece);
    if (buf_error(&frame->half) == -EFBIG)
        return FRAME_TOO_LARGE;
    return buf_error(&frame->half);
}

/* The line that ends at @end of @bytes, with what was kept of it. 0, or as keep(). */
static int take_line(Frame *frame, Str *bytes, size_t end, Str *ret) {
    Str line = str_take(*bytes, end);
    int r;

    *bytes = str_skip(*bytes, end + 1);
    if (frame->half.len == 0) {
        *ret = line;
        return line.len > frame->half.ceiling ? FRAME_TOO_LARGE : 0;
    }
    r = keep(frame, line);
    if (r != 0)
        return r;
    frame->is_given = true;
    *ret = buf_str(&frame->half);
    return 0;
}

int frame_next(Frame *frame, Str *bytes, Str *ret) {
    for (;;) {
        size_t end;
        int r;

        forget_given(frame);
        end = str_find(*bytes, '\n');
        if (end == SIZE_MAX) {
            Str rest = *bytes;

            *bytes = STR_NULL;
            return keep(frame, rest);
        }
        r = take_line(frame, bytes, end, ret);
        if (r != 0)
            return r;
        *ret = str_trim(*ret);
        if (!str_is_empty(*ret))
            return FRAME_DOCUMENT;
    }
}
