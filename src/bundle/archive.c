/*
 * gzip by zlib, tar heads, and Pack: the head of a file contains its size and precedes the content,
 * which is compressed while it is written. Head and content are separate gzip members, which are
 * both written when the content is complete.
 */

#include "bundle/archive.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#define LEVEL 6
#define GZIP_WINDOW (15 + 16) /* 15: largest window; 16: gzip header and checksum */
#define MEMORY_LEVEL 8
#define STEP ((size_t)64 * 1024)

/* Pack chooses the level of each PART so that readers accept the ratio (ARCHIVE_RATIO_MAX). */
#define RATIO_WRITTEN 12u
#define PART ((size_t)16 * 1024)
#define LEEWAY ((size_t)64 * 1024) /* up to this cost, Pack always compresses */

struct Gzip {
    z_stream stream;
    int level;
};

Gzip *gzip_new(void) {
    Gzip *gzip = calloc(1, sizeof(*gzip));

    if (gzip && deflateInit2(&gzip->stream, LEVEL, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL,
                    Z_DEFAULT_STRATEGY) != Z_OK) {
        free(gzip);
        return NULL;
    }
    if (gzip)
        gzip->level = LEVEL;
    return gzip;
}

Gzip *gzip_free(Gzip *gzip) {
    if (gzip)
        (void)deflateEnd(&gzip->stream);
    free(gzip);
    return NULL;
}

/* next_in is not const in zlib's API, but zlib never writes through it. */
static void give(z_stream *stream, Str bytes) {
    stream->next_in = (Bytef *)(uintptr_t)bytes.ptr;
    stream->avail_in = (uInt)bytes.len;
}

/* Calls deflate() until all input is consumed; with Z_FINISH until the end of the stream. */
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

/* Writes all input so far to @out, except for some bits. */
static int gzip_flush(Gzip *gzip, Buf *out) {
    give(&gzip->stream, STR(""));
    return drive(&gzip->stream, Z_BLOCK, out);
}

/* Sets the level for the next bytes; earlier input is already in @out. */
static int gzip_set_level(Gzip *gzip, int level, Buf *out) {
    z_stream *stream = &gzip->stream;
    int r;

    if (gzip->level == level)
        return 0;
    r = gzip_flush(gzip, out);
    if (r < 0)
        return r;
    gzip->level = level;
    stream->avail_out = 0; /* all output was flushed before */
    return deflateParams(stream, level, Z_DEFAULT_STRATEGY) == Z_OK ? 0 : -EIO;
}

/* Maps the result of inflate() to an error; 0 if it succeeded. */
static int check_inflate(int status, const Buf *out) {
    if (status == Z_MEM_ERROR || buf_error(out) == -ENOMEM)
        return -ENOMEM;
    if (buf_error(out))
        return GUNZIP_E_LARGE;
    return status == Z_OK || status == Z_STREAM_END ? 0 : GUNZIP_E_DAMAGED;
}

/* Decompresses at most one step, limited by the room in @out. */
static int inflate_step(z_stream *stream, Buf *out) {
    size_t left = out->ceiling - out->len, step = left < STEP ? left : STEP;
    char *room = step > 0 ? buf_reserve(out, step) : NULL;
    int status;

    if (!room)
        return buf_error(out) == -ENOMEM ? Z_MEM_ERROR : Z_BUF_ERROR;
    stream->next_out = (Bytef *)room;
    stream->avail_out = (uInt)step;
    status = inflate(stream, Z_NO_FLUSH);
    buf_advance(out, step - stream->avail_out);
    return status;
}

/* Reads one gzip member; @rest becomes the text after it. */
static int read_member(z_stream *stream, Str *rest, Buf *out) {
    int status = Z_OK, r = 0;

    while (r == 0 && status != Z_STREAM_END) {
        Str part = str_take(*rest, INT_MAX);

        if (out->len == out->ceiling)
            return GUNZIP_E_LARGE;
        give(stream, part);
        status = inflate_step(stream, out);
        *rest = str_skip(*rest, part.len - stream->avail_in);
        r = check_inflate(status, out);
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
    return r;
}

/* Offsets of the fields of a tar header. */
enum {
    NAME_AT = 0,
    MODE_AT = 100,
    UID_AT = 108,
    GID_AT = 116,
    SIZE_AT = 124,
    MTIME_AT = 136,
    SUM_AT = 148,
    TYPE_AT = 156,
    MAGIC_AT = 257,
    SIZE_LEN = 12,
    SUM_LEN = 8,
};

static unsigned sum_of(const char *head) {
    unsigned sum = 0;

    for (size_t i = 0; i < TAR_BLOCK; i++) {
        bool is_sum = i >= SUM_AT && i < SUM_AT + SUM_LEN; /* the checksum field counts as blanks */

        sum += is_sum ? ' ' : (unsigned char)head[i];
    }
    return sum;
}

/* Writes @width octal digits. */
static void put_octal(char *at, size_t width, uint64_t value) {
    for (size_t i = width; i-- > 0; value >>= 3)
        at[i] = (char)('0' + (value & 7));
}

/* The number of zero bytes after the content of a file. */
static size_t tar_padding(uint64_t size) {
    return (size_t)((TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK);
}

void tar_head(Str name, uint64_t size, int64_t mtime_sec, char ret[static TAR_BLOCK]) {
    Str fits = str_take(name, TAR_NAME_MAX);

    memset(ret, 0, TAR_BLOCK);
    if (fits.len > 0)
        memcpy(ret + NAME_AT, fits.ptr, fits.len);
    put_octal(ret + MODE_AT, 7, 0644);
    put_octal(ret + UID_AT, 7, 0);
    put_octal(ret + GID_AT, 7, 0);
    put_octal(ret + SIZE_AT, SIZE_LEN - 1, size);
    put_octal(ret + MTIME_AT, 11, mtime_sec > 0 ? (uint64_t)mtime_sec : 0);
    ret[TYPE_AT] = '0';
    memcpy(ret + MAGIC_AT, "ustar\00000", 8);
    put_octal(ret + SUM_AT, 6, sum_of(ret));
    ret[SUM_AT + 7] = ' ';
}

/* Reads octal digits between blanks and NULs. Returns false for any other text. */
static bool get_octal(const char *at, size_t width, uint64_t *ret) {
    uint64_t value = 0;
    size_t i = 0;

    while (i < width && at[i] == ' ')
        i++;
    for (; i < width && at[i] >= '0' && at[i] <= '7'; i++)
        value = value << 3 | (uint64_t)(at[i] - '0');
    for (; i < width; i++)
        if (at[i] != ' ' && at[i] != '\0')
            return false;
    *ret = value;
    return true;
}

static bool is_zero(const char *head) {
    return head[0] == 0 && memcmp(head, head + 1, TAR_BLOCK - 1) == 0;
}

int tar_next(Str *rest, TarFile *ret) {
    while (rest->len >= TAR_BLOCK && !is_zero(rest->ptr)) {
        const char *head = rest->ptr;
        uint64_t sum, size, whole;

        if (!get_octal(head + SUM_AT, SUM_LEN, &sum) || sum != sum_of(head) ||
            !get_octal(head + SIZE_AT, SIZE_LEN, &size))
            return TAR_E_MALFORMED;
        *rest = str_skip(*rest, TAR_BLOCK);
        if (size > rest->len)
            return TAR_E_MALFORMED;
        whole = size + tar_padding(size);
        *ret = (TarFile){
            .name = str_of(head + NAME_AT, strnlen(head + NAME_AT, TAR_NAME_MAX + 1)),
            .content = str_take(*rest, (size_t)size),
        };
        *rest = str_skip(*rest, (size_t)(whole < rest->len ? whole : rest->len));
        if (head[TYPE_AT] == '0' || head[TYPE_AT] == '\0')
            return 0;
    }
    return rest->len >= TAR_BLOCK ? TAR_E_END : TAR_E_MALFORMED;
}

struct Pack {
    Buf *out;
    Buf content; /* compressed */
    Gzip *gzip;
    char name[TAR_NAME_MAX + 1];
    uint64_t size;       /* of the current file */
    uint64_t cost;       /* memory that a reader needs for the content so far */
    uint64_t checked_at; /* the cost at the last choice of the level */
    int64_t mtime_sec;
    int error; /* 0, or a negative errno */
};

Pack *pack_new(Buf *out, int64_t mtime_sec) {
    Pack *pack = calloc(1, sizeof(*pack));

    if (!pack)
        return NULL;
    pack->out = out;
    pack->content = BUF_INIT(out->ceiling);
    pack->mtime_sec = mtime_sec;
    pack->gzip = gzip_new();
    return pack->gzip ? pack : pack_free(pack);
}

Pack *pack_free(Pack *pack) {
    if (!pack)
        return NULL;
    buf_done(&pack->content);
    gzip_free(pack->gzip);
    free(pack);
    return NULL;
}

void pack_begin(Pack *pack, Str name) {
    assert(name.len <= TAR_NAME_MAX);
    memcpy(pack->name, name.ptr, name.len);
    pack->name[name.len] = '\0';
    pack->size = 0;
    buf_reset(&pack->content);
}

/* The first error is kept. */
static void note(Pack *pack, int r) {
    pack->error = pack->error ? pack->error : r;
}

static size_t count_lines(Str bytes) {
    size_t n = 0;

    for (size_t i = 0; i < bytes.len; i++)
        n += bytes.ptr[i] == '\n';
    return n;
}

static bool is_too_small(const Pack *pack) {
    return pack->cost > LEEWAY + RATIO_WRITTEN * (pack->out->len + pack->content.len);
}

/* Text like {"p":1,"p":1,...} can compress to 1 % of its size. It is then stored uncompressed until
 * the ratio is below RATIO_WRITTEN again. */
static void choose_level(Pack *pack) {
    bool is_small = is_too_small(pack);

    pack->checked_at = pack->cost;
    if (is_small) { /* zlib may still buffer some output */
        note(pack, gzip_flush(pack->gzip, &pack->content));
        is_small = is_too_small(pack);
    }
    note(pack, gzip_set_level(pack->gzip, is_small ? Z_NO_COMPRESSION : LEVEL, &pack->content));
}

/* Memory for reading a part; at most what an uncompressed part of this size may cost. */
static uint64_t cost_of(Str part) {
    uint64_t most = RATIO_WRITTEN * part.len;
    uint64_t cost = part.len + ARCHIVE_LINE_COST * count_lines(part);

    return cost < most ? cost : most;
}

void pack_write(Pack *pack, Str bytes) {
    while (bytes.len > 0 && pack->error == 0) {
        Str part = str_take(bytes, PART);

        if (pack->cost - pack->checked_at >= PART)
            choose_level(pack);
        note(pack, gzip_write(pack->gzip, part, &pack->content));
        pack->size += part.len;
        pack->cost += cost_of(part);
        bytes = str_skip(bytes, part.len);
    }
}

void pack_charge(Pack *pack, uint64_t bytes) {
    pack->cost += bytes;
}

static void put_member(Pack *pack, Str bytes) {
    note(pack, gzip_write(pack->gzip, bytes, pack->out));
    note(pack, gzip_end(pack->gzip, pack->out));
}

void pack_end(Pack *pack) {
    static const char zeros[TAR_BLOCK];
    char head[TAR_BLOCK];

    note(pack, gzip_write(pack->gzip, str_of(zeros, tar_padding(pack->size)), &pack->content));
    note(pack, gzip_end(pack->gzip, &pack->content));
    pack->cost += TAR_BLOCK + tar_padding(pack->size);
    tar_head(str_from_c(pack->name), pack->size, pack->mtime_sec, head);
    put_member(pack, str_of(head, sizeof(head)));
    if (pack->error == 0)
        buf_append(pack->out, buf_str(&pack->content));
}

int pack_finish(Pack *pack) {
    static const char zeros[2 * TAR_BLOCK];

    put_member(pack, str_of(zeros, sizeof(zeros)));
    return pack->error ? pack->error : buf_error(pack->out);
}
