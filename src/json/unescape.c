/*
 * Decodes escapes of JSON strings.
 *
 * All functions here expect text that the reader has validated: each backslash is followed by a
 * valid letter, each \u by its digits, and surrogates are in pairs.
 */

#include "base/ascii.h"
#include "base/utf8.h"
#include "json/read.h"

static uint32_t hex4_value(const char *digits) {
    uint32_t value = 0;

    for (size_t i = 0; i < 4; i++)
        value = value << 4 | (uint32_t)ascii_hex_value(digits[i]);
    return value;
}

/* Decodes the \u escape, or pair of escapes, at the start of @escape. Returns its length. */
static size_t decode_unicode(const char *escape, uint32_t *ret) {
    uint32_t unit = hex4_value(escape + 2);

    if (unit < 0xd800 || unit > 0xdfff) {
        *ret = unit;
        return 6;
    }
    *ret = 0x10000 + ((unit - 0xd800) << 10) + (hex4_value(escape + 8) - 0xdc00);
    return 12;
}

static char short_escape(char letter) {
    static const char letters[] = "bfnrt", bytes[] = "\b\f\n\r\t";
    const char *found = memchr(letters, letter, sizeof(letters) - 1);

    return found ? bytes[found - letters] : letter; /* quote, backslash, slash */
}

/* Decodes the escape at the start of @escape into @out. Returns its length. */
static size_t decode_escape(const char *escape, char out[4], size_t *ret_n) {
    uint32_t c;
    size_t len;

    if (escape[1] != 'u') {
        out[0] = short_escape(escape[1]);
        *ret_n = 1;
        return 2;
    }
    len = decode_unicode(escape, &c);
    *ret_n = utf8_encode(c, out);
    return len;
}

Str json_unescape(Str raw, Arena *arena) {
    char *text = arena_alloc(arena, raw.len); /* decoded text is never longer */
    size_t len = 0;

    if (!text)
        return STR_NULL;
    while (raw.len > 0) {
        size_t plain = str_find(raw, '\\'), n;

        if (plain == SIZE_MAX)
            plain = raw.len;
        memcpy(text + len, raw.ptr, plain);
        len += plain;
        raw = str_skip(raw, plain);
        if (raw.len > 0) {
            char decoded[4];

            raw = str_skip(raw, decode_escape(raw.ptr, decoded, &n));
            memcpy(text + len, decoded, n);
            len += n;
        }
    }
    return str_of(text, len);
}

bool json_key_is_escaped(Str key, Str name) {
    while (key.len > 0) {
        char decoded[4] = {key.ptr[0]};
        size_t n = 1, used = 1;

        if (key.ptr[0] == '\\')
            used = decode_escape(key.ptr, decoded, &n);
        if (n > name.len || memcmp(decoded, name.ptr, n) != 0)
            return false;
        key = str_skip(key, used);
        name = str_skip(name, n);
    }
    return name.len == 0;
}
