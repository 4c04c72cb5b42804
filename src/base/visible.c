/* Text from outside, escaped for a terminal. */

#include "base/visible.h"

#include <stdio.h>

#include "base/utf8.h"

/* One character as it is shown. */
typedef struct VisibleChar {
    char escape[8];
    Str text; /* may be in @escape */
    size_t columns;
    size_t n; /* bytes of the text that it stands for */
} VisibleChar;

static void show_next(Str text, VisibleChar *ret) {
    uint32_t c;
    size_t n = utf8_decode(text, &c);

    *ret = (VisibleChar){.text = str_take(text, n), .columns = 1, .n = n > 0 ? n : 1};
    if (n > 0 && !utf8_is_unsafe(c))
        return;
    c = n == 0 ? (unsigned char)text.ptr[0] : c;
    (void)snprintf(ret->escape, sizeof(ret->escape), n < 2 ? "\\x%02x" : "\\u%04x", c & 0xffff);
    ret->text = c == '\t' ? STR(" ") : str_from_c(ret->escape);
    ret->columns = ret->text.len;
}

size_t visible_append(Buf *out, Str text) {
    size_t width = 0;
    VisibleChar shown;

    for (; text.len > 0; text = str_skip(text, shown.n)) {
        show_next(text, &shown);
        if (out)
            buf_append(out, shown.text);
        width += shown.columns;
    }
    return width;
}

size_t visible_width(Str text) {
    return visible_append(/* out= */ NULL, text);
}

Str visible_take(Str text, size_t width) {
    size_t len = 0;
    VisibleChar shown;

    while (len < text.len) {
        show_next(str_skip(text, len), &shown);
        if (shown.columns > width)
            break;
        width -= shown.columns;
        len += shown.n;
    }
    return str_take(text, len);
}

void visible_append_padded(Buf *out, Str text, size_t width) {
    size_t used = visible_append(out, text);

    if (used < width)
        buf_append_repeat(out, ' ', width - used);
}

size_t visible_append_words(Buf *out, Str text, size_t at, size_t indent, size_t width) {
    bool is_first = true;
    Str word;

    while (str_split(&text, ' ', &word)) {
        if (str_is_empty(word))
            continue;
        if (!is_first && at + 1 + visible_width(word) > width) {
            buf_append_char(out, '\n');
            buf_append_repeat(out, ' ', indent);
            at = indent;
        } else if (!is_first) {
            buf_append_char(out, ' ');
            at++;
        }
        at += visible_append(out, word);
        is_first = false;
    }
    return at;
}

void visible_print_list(Buf *out, const char *format, const Str *arguments) {
    const char *place;

    while ((place = strstr(format, "{}"))) {
        buf_append(out, str_of(format, (size_t)(place - format)));
        (void)visible_append(out, *arguments++);
        format = place + 2;
    }
    buf_append(out, str_from_c(format));
}
