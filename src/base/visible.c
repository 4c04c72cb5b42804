#include "base/visible.h"

#include <stdio.h>

#include "base/utf8.h"

/* @out NULL only measures. */
static size_t show(Buf *out, Str text) {
    size_t width = 0;

    while (text.len > 0) {
        char shown[8];
        uint32_t c;
        size_t n = utf8_decode(text, &c);
        Str part = str_take(text, n);
        size_t columns = 1;

        if (n == 0 || utf8_is_unsafe(c)) {
            c = n == 0 ? (unsigned char)text.ptr[0] : c;
            (void)snprintf(shown, sizeof(shown), n < 2 ? "\\x%02x" : "\\u%04x", c & 0xffff);
            part = c == '\t' ? STR(" ") : str_from_c(shown);
            columns = part.len;
        }
        if (out)
            buf_append(out, part);
        width += columns;
        text = str_skip(text, n > 0 ? n : 1);
    }
    return width;
}

size_t visible_append(Buf *out, Str text) {
    return show(out, text);
}

size_t visible_width(Str text) {
    return show(/* out= */ NULL, text);
}

void visible_append_padded(Buf *out, Str text, size_t width) {
    size_t used = visible_append(out, text);

    if (used < width)
        buf_append_repeat(out, ' ', width - used);
}
