/* Bytes that grow up to a ceiling; the first failure sticks. */

#include "base/buf.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define BUF_FIRST 256u

void buf_done(Buf *buf) {
    free(buf->data);
    *buf = BUF_INIT(buf->ceiling);
}

void buf_reset(Buf *buf) {
    buf->len = 0;
    buf->error = 0;
}

static char *fail(Buf *buf, int error) {
    buf->error = error;
    return NULL;
}

char *buf_reserve(Buf *buf, size_t more) {
    size_t need, size;
    char *data;

    if (buf->error)
        return NULL;
    if (buf->data && more <= buf->size - buf->len)
        return buf->data + buf->len;
    if (more > buf->ceiling || buf->len > buf->ceiling - more)
        return fail(buf, -EFBIG);

    need = buf->len + more;
    size = buf->size < BUF_FIRST ? BUF_FIRST : buf->size;
    while (size < need)
        size = size > SIZE_MAX / 2 ? need : size * 2;
    if (size > buf->ceiling)
        size = buf->ceiling;
    data = realloc(buf->data, size + 1); /* 1 more for a NUL, which the ceiling does not count */
    if (!data)
        return fail(buf, -ENOMEM);
    buf->data = data;
    buf->size = size;
    return data + buf->len;
}

void buf_append(Buf *buf, Str str) {
    char *at;

    if (str.len == 0)
        return;
    at = buf_reserve(buf, str.len);
    if (!at)
        return;
    memcpy(at, str.ptr, str.len);
    buf->len += str.len;
}

void buf_append_char(Buf *buf, char c) {
    buf_append(buf, str_of(&c, 1));
}

void buf_append_int(Buf *buf, int64_t value) {
    char digits[24];
    size_t at = sizeof(digits);
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (value < 0)
        digits[--at] = '-';
    buf_append(buf, str_of(digits + at, sizeof(digits) - at));
}

void buf_printf(Buf *buf, const char *format, ...) {
    va_list arguments;
    char *at;
    int len;

    va_start(arguments, format);
    len = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (len < 0) {
        (void)fail(buf, -EINVAL);
        return;
    }
    at = buf_reserve(buf, (size_t)len);
    if (!at)
        return;
    va_start(arguments, format);
    (void)vsnprintf(at, (size_t)len + 1, format, arguments);
    va_end(arguments);
    buf->len += (size_t)len;
}

void buf_append_grouped(Buf *buf, uint64_t value) {
    char digits[24];
    int len = snprintf(digits, sizeof(digits), "%" PRIu64, value);

    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            buf_append_char(buf, ',');
        buf_append_char(buf, digits[i]);
    }
}

/* The index of the value with whose name @text begins; @n: none. */
static size_t find_value(Str text, const BufValue *values, size_t n) {
    size_t i = 0;

    while (i < n && (values[i].name.len == 0 || values[i].name.ptr[0] != text.ptr[0] ||
                        !str_has_prefix(text, values[i].name)))
        i++;
    return i;
}

void buf_append_template(Buf *buf, Str text, const BufValue *values, size_t n) {
    while (text.len > 0) {
        size_t plain = 0, i = n;

        while (plain < text.len && (i = find_value(str_skip(text, plain), values, n)) == n)
            plain++;
        buf_append(buf, str_take(text, plain));
        text = str_skip(text, plain);
        if (i == n)
            continue;
        buf_append(buf, values[i].text);
        text = str_skip(text, values[i].name.len);
    }
}

void buf_append_repeat(Buf *buf, char c, size_t count) {
    char *at;

    if (count == 0)
        return;
    at = buf_reserve(buf, count);
    if (!at)
        return;
    memset(at, c, count);
    buf->len += count;
}

char *buf_take(Buf *buf) {
    char *data = buf_reserve(buf, 0);

    if (!data)
        return NULL;
    *data = '\0';
    data = buf->data;
    *buf = BUF_INIT(buf->ceiling);
    return data;
}
