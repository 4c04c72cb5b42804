/* UTF-8, one code point at a time. */

#include "base/utf8.h"

size_t utf8_decode(Str text, uint32_t *ret) {
    /* By length of the sequence: value bits of the lead byte, and the least code point allowed. */
    static const unsigned char lead_mask[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *bytes = (const unsigned char *)text.ptr;
    unsigned char lead = bytes[0];
    size_t n = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    uint32_t c = lead & lead_mask[n];

    if (n == 1) {
        *ret = c;
        return 1;
    }
    if (lead < 0xc2 || lead > 0xf4 || n > text.len)
        return 0;
    for (size_t i = 1; i < n; i++) {
        if (utf8_is_start(text.ptr[i]))
            return 0;
        c = c << 6 | (bytes[i] & 0x3f);
    }
    if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return 0;
    *ret = c;
    return n;
}

size_t utf8_encode(uint32_t c, char out[4]) {
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

bool utf8_is_unsafe(uint32_t c) {
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == 0x200e ||
           c == 0x200f || c == 0x061c || (c >= 0x202a && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

size_t utf8_count(Str text) {
    size_t n = 0;

    for (size_t i = 0; i < text.len; i++)
        n += utf8_is_start(text.ptr[i]);
    return n;
}

size_t utf8_valid_length(Str text) {
    size_t at = 0;

    while (at < text.len) {
        uint32_t c;
        size_t n = utf8_decode(str_skip(text, at), &c);

        if (n == 0)
            break;
        at += n;
    }
    return at;
}

Str utf8_take(Str text, size_t max) {
    size_t len = max;

    if (text.len <= max)
        return text;
    while (len > 0 && max - len < 3 && !utf8_is_start(text.ptr[len])) /* invalid text: no further */
        len--;
    return str_take(text, len);
}

void utf8_append_valid(Buf *out, Str bytes) {
    while (bytes.len > 0) {
        size_t n = utf8_valid_length(bytes);

        buf_append(out, str_take(bytes, n));
        if (n < bytes.len)
            buf_append(out, STR("\xef\xbf\xbd")); /* U+FFFD, the replacement character */
        bytes = str_skip(bytes, n + 1);
    }
}
