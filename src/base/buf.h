#pragma once

/*
 * Buf: bytes that grow, up to a ceiling that is set at the start.
 *
 * The first append that would pass the ceiling, or that finds no memory, marks
 * the buffer as failed; it and all later appends do nothing. So the user of the
 * result checks buf_error() once.
 *
 * A Buf of BUF_INIT owns heap memory; release it with buf_done(). Not thread
 * safe.
 */

#include "base/cleanup.h"
#include "base/str.h"

typedef struct Buf {
    char *data; /* NULL until the first append */
    size_t len;
    size_t size;
    size_t ceiling;
    int error; /* 0, -EFBIG over the ceiling, -ENOMEM, -EINVAL if printf failed */
} Buf;

#define BUF_INIT(limit) ((Buf){.ceiling = (limit)})

void buf_done(Buf *buf); /* frees the memory; the buffer is then empty and usable */

/* Removes all bytes and the failure; keeps the memory. */
void buf_reset(Buf *buf);

static inline Str buf_str(const Buf *buf) {
    return str_of(buf->data, buf->len);
}

static inline int buf_error(const Buf *buf) {
    return buf->error;
}

/* Makes room for @more bytes and returns where they go, or NULL (marked as
 * failed). The caller writes up to @more bytes there, then calls buf_advance(). */
char *buf_reserve(Buf *buf, size_t more);

static inline void buf_advance(Buf *buf, size_t written) {
    buf->len += written;
}

void buf_append(Buf *buf, Str str);
void buf_append_char(Buf *buf, char c);
void buf_append_int(Buf *buf, int64_t value);
void buf_append_grouped(Buf *buf, uint64_t value); /* 4,203 */
void buf_printf(Buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* @text, in which the names of @values ("{node}") are replaced by their texts. */
typedef struct BufValue {
    Str name, text;
} BufValue;
void buf_append_template(Buf *buf, Str text, const BufValue *values, size_t n);

/* @count times @c. */
void buf_append_repeat(Buf *buf, char c, size_t count);

/* The bytes, NUL-terminated, now owned by the caller (free()); the buffer is empty afterwards. NULL
 * when it had failed, or is out of memory now. */
char *buf_take(Buf *buf);
