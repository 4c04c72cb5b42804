/*
 * The head of a file contains its size and precedes the content, which is compressed while it is
 * written: each is a gzip member of its own (bundle/gzip.h), the content's waits until it is whole.
 */

#include "bundle/pack.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "bundle/gzip.h"
#include "bundle/tar.h"

struct Pack {
    Buf *out;
    Buf content; /* made smaller already */
    Gzip *gzip;
    char name[TAR_NAME_MAX + 1];
    uint64_t size; /* of the file that is open */
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

void pack_write(Pack *pack, Str bytes) {
    pack->size += bytes.len;
    if (pack->error == 0)
        pack->error = gzip_write(pack->gzip, bytes, &pack->content);
}

static void put_member(Pack *pack, Str bytes) {
    if (pack->error == 0)
        pack->error = gzip_write(pack->gzip, bytes, pack->out);
    if (pack->error == 0)
        pack->error = gzip_end(pack->gzip, pack->out);
}

void pack_end(Pack *pack) {
    static const char zeros[TAR_BLOCK];
    char head[TAR_BLOCK];

    if (pack->error == 0)
        pack->error =
            gzip_write(pack->gzip, str_of(zeros, tar_padding(pack->size)), &pack->content);
    if (pack->error == 0)
        pack->error = gzip_end(pack->gzip, &pack->content);
    tar_head(str_from_c(pack->name), pack->size, pack->mtime_sec, head);
    put_member(pack, str_of(head, sizeof(head)));
    if (pack->error == 0)
        buf_append(pack->out, buf_str(&pack->content));
}

int pack_finish(Pack *pack) {
    static const char zeros[2 * TAR_BLOCK];

    put_member(pack, str_of(zeros, sizeof(zeros)));
    if (pack->error == 0 && buf_error(pack->out))
        pack->error = buf_error(pack->out);
    return pack->error;
}
