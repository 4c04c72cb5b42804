#include "kube/message.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "base/visible.h"

#define RAW_MAX 4096u

void message_set(char *text, size_t size, const char *format, ...) {
    _cleanup_(buf_done) Buf shown = BUF_INIT(8 * RAW_MAX);
    char raw[RAW_MAX];
    va_list arguments;
    size_t len;

    assert(size > 0);
    va_start(arguments, format);
    (void)vsnprintf(raw, sizeof(raw), format, arguments);
    va_end(arguments);

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
