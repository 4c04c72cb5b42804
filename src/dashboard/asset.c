/* Style and modules, embedded gzipped: found, unpacked and served with an ETag. */

#include "dashboard/asset.h"

#include <zlib.h>

/* A gzip header and trailer, for inflateInit2(). */
#define GZIP_WINDOW_BITS (16 + MAX_WBITS)

const Asset *asset_find(Str name) {
    for (size_t i = 0; i < asset_table_n; i++)
        if (str_is(name, asset_table[i].name))
            return &asset_table[i];
    return NULL;
}

/* Unpacks the text into @arena. ptr NULL: out of memory. */
static Str unpack(const Asset *asset, Arena *arena) {
    unsigned char *text = arena_alloc(arena, asset->n_text + 1);
    z_stream stream = {
        .next_in = (z_const Bytef *)(uintptr_t)asset->gzip,
        .avail_in = (uInt)asset->n_gzip,
        .next_out = text,
        .avail_out = (uInt)asset->n_text,
    };
    int r;

    if (!text || inflateInit2(&stream, GZIP_WINDOW_BITS) != Z_OK)
        return STR_NULL;
    r = inflate(&stream, Z_FINISH);
    (void)inflateEnd(&stream);
    return r == Z_STREAM_END ? str_of((const char *)text, asset->n_text) : STR_NULL;
}

bool asset_is_known(Str if_none_match, const char *etag) {
    Str rest = if_none_match, part;

    while (rest.len > 0 && str_split(&rest, ',', &part)) {
        part = str_trim(part);
        if (str_has_prefix(part, STR("W/")))
            part = str_skip(part, 2);
        if (str_is(part, etag) || str_is(part, "*"))
            return true;
    }
    return false;
}

/* @headers and those of the asset. NULL when out of memory. */
static const HttpHeader *all_headers(const HttpHeader *headers, size_t n_headers, const char *etag,
    bool is_gzip, Arena *arena, size_t *ret_n) {
    HttpHeader *all = ARENA_ARRAY(arena, HttpHeader, n_headers + 3);
    size_t n = 0;

    if (!all)
        return NULL;
    for (; n < n_headers; n++)
        all[n] = headers[n];
    all[n++] = (HttpHeader){"ETag", etag};
    all[n++] = (HttpHeader){"Vary", "Accept-Encoding"};
    if (is_gzip)
        all[n++] = (HttpHeader){"Content-Encoding", "gzip"};
    *ret_n = n;
    return all;
}

void asset_show(const Asset *asset, const HttpRequest *request, const HttpHeader *headers,
    size_t n_headers, HttpReply *reply) {
    bool is_gzip = request->accepts_gzip;
    const char *etag = is_gzip ? asset->etag_gzip : asset->etag;
    bool is_known = asset_is_known(request->if_none_match, etag);
    Str *slice = ARENA_NEW(request->arena, Str);

    reply->content_type = asset->content_type;
    reply->cache_control = "no-cache";
    reply->headers = all_headers(
        headers, n_headers, etag, is_gzip && !is_known, request->arena, &reply->n_headers);
    if (slice && !is_known)
        *slice = is_gzip ? str_of((const char *)asset->gzip, asset->n_gzip)
                         : unpack(asset, request->arena);
    if (!slice || !reply->headers || (!is_known && !slice->ptr)) {
        *reply = (HttpReply){.tag = reply->tag, .status = 503, .retry_after_sec = 1};
        return;
    }
    reply->status = is_known ? 304 : 200;
    reply->slices = slice;
    reply->n_slices = is_known ? 0 : 1;
}
