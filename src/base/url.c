/* Escapes text for URLs. */

#include "base/url.h"

#include "base/ascii.h"

static bool is_plain(char c) {
    return ascii_is_alnum(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

void url_escape(Buf *out, Str text) {
    static const char digits[] = "0123456789ABCDEF";

    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];

        if (is_plain(text.ptr[i]))
            buf_append_char(out, text.ptr[i]);
        else
            buf_append(out, str_of((const char[]){'%', digits[c >> 4], digits[c & 15]}, 3));
    }
}

const char *url_text(Buf *out) {
    char *end = buf_reserve(out, 0);

    if (!end)
        return NULL;
    *end = '\0'; /* a Buf has one byte to spare for it */
    return out->data;
}
