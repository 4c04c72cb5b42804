/* zlib behind Buf, with a ceiling when unpacking. */

#include "bundle/gzip.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

#define LEVEL 6
#define GZIP_WINDOW (15 + 16) /* the largest window, and gzip's own head and check sum */
#define MEMORY_LEVEL 8
#define STEP ((size_t)64 * 1024)

struct Gzip {
    z_stream stream;
};

Gzip *gzip_new(void) {
    Gzip *gzip = calloc(1, sizeof(*gzip));

    if (gzip &&
        deflateInit2(
            &gzip->stream, LEVEL, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) !=
            Z_OK) {
        free(gzip);
        gzip = NULL;
    }
    return gzip;
}

Gzip *gzip_free(Gzip *gzip) {
    if (gzip)
        (void)deflateEnd(&gzip->stream);
    free(gzip);
    return NULL;
}

/* zlib's own types are of the last century: it never writes through next_in. */
static void give(z_stream *stream, Str bytes) {
    stream->next_in = (Bytef *)(uintptr_t)bytes.ptr;
    stream->avail_in = (uInt)bytes.len;
}

/* Until all that was given is taken, and with Z_FINISH until the end. */
static int drive(z_stream *stream, int flush, Buf *out) {
    int r = Z_OK;

    do {
        char *room = buf_reserve(out, STEP);

        if (!room)
            return buf_error(out);
        stream->next_out = (Bytef *)room;
        stream->avail_out = (uInt)STEP;
        r = deflate(stream, flush);
        buf_advance(out, STEP - stream->avail_out);
    } while (r == Z_OK && (stream->avail_in > 0 || flush == Z_FINISH || stream->avail_out == 0));
    return r == Z_OK || r == Z_STREAM_END || r == Z_BUF_ERROR ? 0 : -EIO;
}

int gzip_write(Gzip *gzip, Str bytes, Buf *out) {
    int r = 0;

    while (r == 0 && bytes.len > 0) {
        Str part = str_take(bytes, INT_MAX);

        give(&gzip->stream, part);
        r = drive(&gzip->stream, Z_NO_FLUSH, out);
        bytes = str_skip(bytes, part.len);
    }
    return r;
}

int gzip_end(Gzip *gzip, Buf *out) {
    int r;

    give(&gzip->stream, STR(""));
    r = drive(&gzip->stream, Z_FINISH, out);
    if (r == 0 && deflateReset(&gzip->stream) != Z_OK)
        return -EIO;
    return r;
}

/* --- back -------------------------------------------------------------------------------- */

/* What inflate() says, in our words; 0: it goes on. */
static int judge(int said, const Buf *out) {
    if (said == Z_MEM_ERROR || buf_error(out) == -ENOMEM)
        return -ENOMEM;
    if (buf_error(out))
        return GUNZIP_E_LARGE;
    return said == Z_OK || said == Z_STREAM_END ? 0 : GUNZIP_E_DAMAGED;
}

/* As much as there is room for in one step. */
static int inflate_step(z_stream *stream, Buf *out) {
    size_t left = out->ceiling - out->len, step = left < STEP ? left : STEP;
    char *room = step > 0 ? buf_reserve(out, step) : NULL;
    int said;

    if (!room)
        return buf_error(out) == -ENOMEM ? Z_MEM_ERROR : Z_BUF_ERROR;
    stream->next_out = (Bytef *)room;
    stream->avail_out = (uInt)step;
    said = inflate(stream, Z_NO_FLUSH);
    buf_advance(out, step - stream->avail_out);
    return said;
}

/* One member, of which @rest is what follows. */
static int read_member(z_stream *stream, Str *rest, Buf *out) {
    int said = Z_OK, r = 0;

    while (r == 0 && said != Z_STREAM_END) {
        Str part = str_take(*rest, INT_MAX);

        if (out->len == out->ceiling)
            return GUNZIP_E_LARGE;
        give(stream, part);
        said = inflate_step(stream, out);
        *rest = str_skip(*rest, part.len - stream->avail_in);
        r = judge(said, out);
    }
    return r;
}

int gunzip(Str file, Buf *out) {
    z_stream stream = {0};
    int r = 0;

    if (file.len < 2 || (unsigned char)file.ptr[0] != 0x1f || (unsigned char)file.ptr[1] != 0x8b)
        return GUNZIP_E_OTHER;
    if (inflateInit2(&stream, GZIP_WINDOW) != Z_OK)
        return -ENOMEM;
    while (r == 0 && file.len > 0) {
        r = read_member(&stream, &file, out);
        if (r == 0 && inflateReset(&stream) != Z_OK)
            r = GUNZIP_E_DAMAGED;
    }
    (void)inflateEnd(&stream);
    return r < 0 ? r : r;
}
