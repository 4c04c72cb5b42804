/* Messages for users in arrays of a fixed size, with text from outside escaped. */

#include "base/message.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "base/utf8.h"
#include "base/visible.h"

#define RAW_MAX 4096u

void message_setv(char *text, size_t size, const char *format, va_list arguments) {
    Message message = message_begin(text, size);
    _cleanup_(buf_done) Buf shown = BUF_INIT(8 * RAW_MAX);
    char raw[RAW_MAX];

    assert(size > 0);
    (void)vsnprintf(raw, sizeof(raw), format, arguments);
    (void)visible_append(&shown, str_from_c(raw));
    if (!buf_error(&shown))
        message_add(&message, "%.*s", STR_FMT(buf_str(&shown)));
}

void message_set(char *text, size_t size, const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    message_setv(text, size, format, arguments);
    va_end(arguments);
}

int message_no_memory(char *text, size_t size, const char *what, const Arena *arena) {
    size_t limit = arena ? arena_limit_reached(arena) : 0;

    if (limit >= 1 << 20)
        message_set(text, size, "%s needs more than %zu MiB of memory, which is the limit", what,
            limit >> 20);
    else if (limit > 0)
        message_set(text, size, "%s needs more than %zu KiB of memory, which is the limit", what,
            limit >> 10);
    else
        message_set(text, size, "out of memory for %s", what);
    return -ENOMEM;
}

int message_failed(char *text, size_t size, const char *what, int r, const Arena *arena) {
    if (r == -ENOMEM)
        return message_no_memory(text, size, what, arena);
    message_set(text, size, "internal error (code %d) at %s; please report it", -r, what);
    return r;
}

Message message_begin(char *text, size_t size) {
    text[0] = '\0';
    return (Message){.text = text, .size = size};
}

/* vsnprintf() may have cut inside a character. */
void message_add(Message *message, const char *format, ...) {
    size_t left = message->size - message->len;
    va_list arguments;
    int n;

    va_start(arguments, format);
    n = vsnprintf(message->text + message->len, left, format, arguments);
    va_end(arguments);
    if (n > 0 && (size_t)n < left) {
        message->len += (size_t)n;
        return;
    }
    message->len += strlen(message->text + message->len);
    message->len = utf8_valid_length(str_of(message->text, message->len));
    message->text[message->len] = '\0';
}

void message_show(Message *message, Str text, size_t max) {
    _cleanup_(buf_done) Buf out = BUF_INIT(RAW_MAX);
    Str shown = visible_take(utf8_take(text, max), max);

    (void)visible_append(&out, shown);
    message_add(message, "%.*s%s", STR_FMT(buf_str(&out)), shown.len < text.len ? "…" : "");
}

void message_quote(Message *message, const char *before, Str text, const char *behind) {
    message_add(message, "%s\"", before);
    message_show(message, text, MESSAGE_QUOTE_MAX);
    message_add(message, "\"%s", behind);
}
