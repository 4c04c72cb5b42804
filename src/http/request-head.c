/* The request line and headers of a request, read from libmicrohttpd. */

#include "http/request-head.h"

#include <string.h>

/* --- the lines ------------------------------------------------------------------------------- */

#if MHD_VERSION < 0x01000000

/* The bytes of the header as they stand in libmicrohttpd's buffer: see
 * headers_add_block(). They begin with the method, and @version, the last word
 * of the request line, lies in them. Empty when that is not so. */
static Str header_block(
    struct MHD_Connection *mhd, const char *method, const char *version, size_t *ret_size) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    uintptr_t start = (uintptr_t)method, at = (uintptr_t)version;
    size_t skip = strlen("HTTP/1.1");

    *ret_size = info ? info->header_size : 0;
    if (at < start || at - start > *ret_size || *ret_size - (at - start) < skip)
        return STR_NULL;
    skip += at - start;
    return str_of(method + skip, *ret_size - skip);
}

void head_read(
    struct MHD_Connection *mhd, const HeadLine *line, Headers *headers, size_t *ret_size) {
    int n = MHD_get_connection_values(mhd, MHD_HEADER_KIND, NULL, NULL);

    headers_add_block(headers, header_block(mhd, line->method, line->version, ret_size));
    if (headers->status == 0 && (n < 0 || headers->n_lines != (size_t)n))
        *headers = (Headers){.status = 400, .problem = "the header lines are malformed\n"};
    /* NUL in the target ends it for libmicrohttpd, but not on the wire. */
    if ((uintptr_t)line->version - (uintptr_t)line->url != strlen(line->target) + 1)
        *headers = (Headers){.status = 400, .problem = "the request line is malformed\n"};
}

#else /* from 1.0 on it is strict itself, when asked: see STRICTNESS in server.c */

static enum MHD_Result add_header(void *context, enum MHD_ValueKind kind, const char *name,
    size_t name_len, const char *value, size_t value_len) {
    headers_add(context, str_of(name, name_len), str_of(value, value_len));
    return MHD_YES;
}

void head_read(
    struct MHD_Connection *mhd, const HeadLine *line, Headers *headers, size_t *ret_size) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

    (void)MHD_get_connection_values_n(mhd, MHD_HEADER_KIND, add_header, headers);
    *ret_size = info ? info->header_size : 0;
}

#endif

/* --- what they say --------------------------------------------------------------------------- */

static Str header_of(struct MHD_Connection *mhd, const char *name) {
    return str_from_c(MHD_lookup_connection_value(mhd, MHD_HEADER_KIND, name));
}

static bool is_allowed_host(const ServerOptions *options, Str host) {
    Str name = str_take(host, str_find(host, ':'));

    for (size_t i = 0; i < options->n_hosts; i++)
        if (str_eq_nocase(options->hosts[i], name))
            return true;
    return false;
}

/* A malicious page may make its own name mean loopback (DNS rebinding), and read what is there.
 * Over TLS the certificate would not be for that name. */
static bool is_misaddressed(const ServerOptions *options, const Headers *headers, Str host) {
    return headers->has_named_host && !options->tls && server_is_loopback(options->address) &&
           !is_allowed_host(options, host);
}

/* Whether @origin is a page that was asked for at @host. Under which scheme does not matter: there
 * may be a proxy between that speaks TLS. */
static bool is_of_host(Str origin, Str host) {
    const Str schemes[] = {STR("http://"), STR("https://")};

    for (size_t i = 0; i < ELEMENTS_OF(schemes); i++)
        if (str_has_prefix(origin, schemes[i]))
            return !str_is_empty(host) && str_eq_nocase(str_skip(origin, schemes[i].len), host);
    return false;
}

void head_fill(struct MHD_Connection *mhd, const HeadLine *line, const Headers *headers,
    const ServerOptions *options, HttpRequest *ret) {
    bool is_host_wanted = headers->has_named_host || headers->has_origin;
    Str host = is_host_wanted ? header_of(mhd, MHD_HTTP_HEADER_HOST) : STR_NULL;
    Str target = str_from_c(line->target);
    size_t mark = str_find(target, '?');

    *ret = (HttpRequest){
        .method = str_from_c(line->method),
        .path = str_take(target, mark),
        .query = mark == SIZE_MAX ? STR_NULL : str_skip(target, mark + 1),
        .has_body = headers_announce_body(headers),
        .authorization = header_of(mhd, MHD_HTTP_HEADER_AUTHORIZATION),
        .has_origin = headers->has_origin,
        .is_misaddressed = is_misaddressed(options, headers, host),
        .is_same_origin =
            headers->has_origin && is_of_host(header_of(mhd, MHD_HTTP_HEADER_ORIGIN), host),
        .accepts_html = headers->accepts_html,
        .accepts_gzip = headers->accepts_gzip,
        .if_none_match = header_of(mhd, MHD_HTTP_HEADER_IF_NONE_MATCH),
        .content_type = header_of(mhd, MHD_HTTP_HEADER_CONTENT_TYPE),
    };
}
