#include "cli/ask.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "json/read.h"

#define TIMEOUT_MSEC 10000L

static void cleanup_curl(CURL **curl) {
    curl_easy_cleanup(*curl);
}

static size_t take(char *bytes, size_t size, size_t n, void *context) {
    Buf *reply = context;

    buf_append(reply, str_of(bytes, size * n));
    return buf_error(reply) == 0 ? size * n : 0;
}

static CURLcode set_text(CURL *curl, CURLoption option, const char *value) {
    return value ? curl_easy_setopt(curl, option, value) : CURLE_OK;
}

static bool set_options(CURL *curl, const AskAccess *access, Buf *reply, char *error) {
    return curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, TIMEOUT_MSEC) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_WRITEDATA, reply) == CURLE_OK &&
           set_text(curl, CURLOPT_CAINFO, access->ca) == CURLE_OK &&
           set_text(curl, CURLOPT_SSLCERT, access->cert) == CURLE_OK &&
           set_text(curl, CURLOPT_SSLKEY, access->key) == CURLE_OK;
}

/* The text of {"Error": text}; empty when it is anything else. */
static Str error_of(Str reply, Arena *arena) {
    Str key, error = STR_NULL;
    JsonReader reader;

    json_reader_init(&reader, reply);
    if (json_peek(&reader) != JSON_OBJECT_BEGIN)
        return STR_NULL;
    json_object(&reader);
    while (json_key(&reader, &key)) {
        if (json_key_is(&reader, key, STR("Error")))
            json_string(&reader, arena, &error);
        else
            json_skip(&reader, NULL);
    }
    return json_error(&reader) == JSON_OK ? error : STR_NULL;
}

static void complain(const AskAccess *access, long status, Str said, char *error) {
    if (str_has_prefix(said, STR("berth: ")))
        said = str_skip(said, 7);
    if (str_is_empty(said))
        (void)snprintf(error, ASK_ERROR_MAX, "%s answered with status %ld", access->server, status);
    else
        (void)snprintf(error, ASK_ERROR_MAX, "%s says: %.*s", access->server, STR_FMT(said));
}

int ask_get(const AskAccess *access, Str path, Arena *arena, Str *ret, char *error) {
    _cleanup_(cleanup_curl) CURL *curl = curl_easy_init();
    _cleanup_(buf_done) Buf reply = BUF_INIT(ASK_REPLY_MAX);
    Str server = str_from_c(access->server), url;
    char detail[CURL_ERROR_SIZE] = "";
    long status = 0;
    CURLcode code;

    while (server.len > 0 && server.ptr[server.len - 1] == '/')
        server.len--;
    url = arena_printf(arena, "%.*s%.*s", STR_FMT(server), STR_FMT(path));
    if (!curl || !url.ptr || !set_options(curl, access, &reply, detail) ||
        curl_easy_setopt(curl, CURLOPT_URL, url.ptr) != CURLE_OK)
        return error_origin(-ENOMEM);
    code = curl_easy_perform(curl);
    if (code == CURLE_OK)
        code = curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    if (code != CURLE_OK) {
        (void)snprintf(error,
            ASK_ERROR_MAX,
            "%s cannot be asked: %s",
            access->server,
            detail[0] ? detail : curl_easy_strerror(code));
        return 1;
    }
    *ret = arena_copy(arena, buf_str(&reply));
    if (!ret->ptr)
        return error_origin(-ENOMEM);
    if (status == 200)
        return 0;
    complain(access, status, error_of(*ret, arena), error);
    return 1;
}

/* Everything but letters, digits and "-._~" (RFC 3986). */
static bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

Str ask_escape(Str text, Arena *arena) {
    _cleanup_(buf_done) Buf out = BUF_INIT(3 * text.len + 1);

    for (size_t i = 0; i < text.len; i++) {
        if (is_plain(text.ptr[i]))
            buf_append_char(&out, text.ptr[i]);
        else
            buf_printf(&out, "%%%02X", (unsigned char)text.ptr[i]);
    }
    return arena_copy(arena, buf_str(&out));
}
