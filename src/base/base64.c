/* Base64, strict and loose. */

#include "base/base64.h"

#define PAD '='

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* The value of one letter, or -1. */
static int value_of(char c) {
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Appends the bytes of four letters, of which the last @n_missing are padding or absent. */
static void append_group(uint32_t group, unsigned n_missing, Buf *out) {
    const char bytes[3] = {(char)(group >> 16), (char)(group >> 8), (char)group};

    buf_append(out, str_of(bytes, 3 - n_missing));
}

static bool decode(Str text, bool is_loose, Buf *out) {
    uint32_t group = 0;
    unsigned n_letters = 0, n_pads = 0;

    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        int value = value_of(c);

        if (c == '\n' || c == '\r')
            continue;
        if (c == PAD ? n_letters < 2 : value < 0 || n_pads > 0)
            return false;
        n_pads += c == PAD;
        group = group << 6 | (c == PAD ? 0 : (uint32_t)value);
        if (++n_letters < 4)
            continue;
        if (!is_loose && (group & ((1u << 8 * n_pads) - 1)) != 0) /* bits that padding hides */
            return false;
        append_group(group, n_pads, out);
        n_letters = 0;
        group = 0;
    }
    if (n_letters == 0)
        return true;
    if (!is_loose || n_letters == 1 || n_pads > 0)
        return false;
    append_group(group << 6 * (4 - n_letters), 4 - n_letters, out);
    return true;
}

bool base64_decode(Str text, Buf *out) {
    return decode(text, false, out);
}

bool base64_decode_loose(Str text, Buf *out) {
    return decode(text, true, out);
}

void base64_encode(Str bytes, Buf *out) {
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t n = bytes.len - i < 3 ? bytes.len - i : 3;
        uint32_t group = (uint32_t)(unsigned char)bytes.ptr[i] << 16;

        if (n > 1)
            group |= (uint32_t)(unsigned char)bytes.ptr[i + 1] << 8;
        if (n > 2)
            group |= (unsigned char)bytes.ptr[i + 2];
        for (unsigned k = 0; k < 4; k++)
            buf_append_char(out, k <= n ? letters[group >> (18 - 6 * k) & 63] : PAD);
    }
}
