#pragma once

/*
 * Asset: style and modules, embedded in the program.
 *
 * embed-assets writes the table when the program is built. Files are gzipped; clients that do not
 * accept gzip get them unpacked. Browsers may cache a file, but must revalidate it each time, so
 * that pages of a new version never run with modules of an old one.
 */

#include "http/server.h"

typedef struct Asset {
    const char *name;         /* "dashboard.css" */
    const char *content_type; /* "text/css; charset=utf-8" */
    const char *etag;         /* of the text, quoted */
    const char *etag_gzip;    /* of its gzipped form */
    const unsigned char *gzip;
    size_t n_gzip;
    size_t n_text;
} Asset;

extern const Asset asset_table[];
extern const size_t asset_table_n;

/* The asset with this name; NULL: none. */
const Asset *asset_find(Str name);

/* Whether @etag is in the list of an If-None-Match header. */
bool asset_is_known(Str if_none_match, const char *etag);

/* Fills @reply with the asset; @headers are added to its own. */
void asset_show(const Asset *asset, const HttpRequest *request, const HttpHeader *headers,
    size_t n_headers, HttpReply *reply);
