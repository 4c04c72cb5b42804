#include "kube/message.h"

#include <assert.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "base/visible.h"

#define RAW_MAX 4096u

void message_setv(char *text, size_t size, const char *format, va_list arguments) {
    _cleanup_(buf_done) Buf shown = BUF_INIT(8 * RAW_MAX);
    char raw[RAW_MAX];
    size_t len;

    assert(size > 0);
    (void)vsnprintf(raw, sizeof(raw), format, arguments);

    (void)visible_append(&shown, str_from_c(raw));
    len = shown.len < size ? shown.len : size - 1;
    if (buf_error(&shown))
        len = 0;
    if (len < shown.len)
        len = utf8_valid_length(str_of(shown.data, len));
    if (len > 0)
        memcpy(text, shown.data, len);
    text[len] = '\0';
}

void message_set(char *text, size_t size, const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    message_setv(text, size, format, arguments);
    va_end(arguments);
}
