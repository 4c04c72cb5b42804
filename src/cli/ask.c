#include "cli/ask.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/origin.h"
#include "base/url.h"
#include "cli/ask-part.h"
#include "json/read.h"

#define DATE_MAX 64u

static void cleanup_curl(CURL **curl) {
    curl_easy_cleanup(*curl);
}

static void cleanup_headers(struct curl_slist **headers) {
    curl_slist_free_all(*headers);
}

static size_t take(char *bytes, size_t size, size_t n, void *context) {
    Buf *reply = context;

    buf_append(reply, str_of(bytes, size * n));
    return buf_error(reply) == 0 ? size * n : 0;
}

static size_t take_header(char *bytes, size_t size, size_t n, void *context) {
    Str line = str_of(bytes, size * n), name = str_take(line, str_find(line, ':'));
    AskReply *reply = context;
    char date[DATE_MAX];
    time_t at;

    if (!str_eq_nocase(name, STR("Date")) || line.len - name.len > sizeof(date))
        return line.len;
    (void)snprintf(date, sizeof(date), "%.*s", STR_FMT(str_trim(str_skip(line, name.len + 1))));
    at = curl_getdate(date, NULL);
    reply->date_sec = at > 0 ? (int64_t)at : 0;
    return line.len;
}

static CURLcode set_text(CURL *curl, CURLoption option, const char *value) {
    return value ? curl_easy_setopt(curl, option, value) : CURLE_OK;
}

static bool set_access(CURL *curl, const AskAccess *access, char *error) {
    return curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error) == CURLE_OK &&
           set_text(curl, CURLOPT_CAINFO, access->ca) == CURLE_OK &&
           set_text(curl, CURLOPT_SSLCERT, access->cert) == CURLE_OK &&
           set_text(curl, CURLOPT_SSLKEY, access->key) == CURLE_OK;
}

/* Not in the clear over a network. */
static bool may_send_token(Str url) {
    Origin origin;

    return origin_parse(url, &origin) && (origin.is_tls || origin_is_loopback(&origin));
}

static bool add_header(struct curl_slist **headers, const char *line) {
    struct curl_slist *longer = curl_slist_append(*headers, line);

    *headers = longer ? longer : *headers;
    return longer != NULL;
}

/* What makes it a POST of JSON, and who we are, where that may be told. */
static bool set_request(
    CURL *curl, const AskAccess *access, Str url, Str body, struct curl_slist **headers) {
    if (!str_is_empty(body) &&
        (!add_header(headers, "Content-Type: application/json") ||
            curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, (long)body.len) != CURLE_OK ||
            curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.ptr) != CURLE_OK))
        return false;
    if (access->token && may_send_token(url) &&
        (curl_easy_setopt(curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER) != CURLE_OK ||
            curl_easy_setopt(curl, CURLOPT_XOAUTH2_BEARER, access->token) != CURLE_OK))
        return false;
    return curl_easy_setopt(curl, CURLOPT_HTTPHEADER, *headers) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_URL, url.ptr) == CURLE_OK;
}

bool ask_prepare(CURL *curl, const AskAccess *access, Str url, Str body,
    struct curl_slist **headers, char *error) {
    return set_access(curl, access, error) && set_request(curl, access, url, body, headers);
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

void ask_complain(const AskAccess *access, const AskReply *reply, Arena *arena, char *error) {
    Str said = error_of(reply->body, arena);

    if (str_has_prefix(said, STR("berth: ")))
        said = str_skip(said, 7);
    if (str_is_empty(said))
        (void)snprintf(
            error, ASK_ERROR_MAX, "%s answered with status %u", access->server, reply->status);
    else
        (void)snprintf(error, ASK_ERROR_MAX, "%s says: %.*s", access->server, STR_FMT(said));
}

Str ask_url(const AskAccess *access, Str path, Arena *arena) {
    Str server = str_from_c(access->server);

    while (server.len > 0 && server.ptr[server.len - 1] == '/')
        server.len--;
    return arena_printf(arena, "%.*s%.*s", STR_FMT(server), STR_FMT(path));
}

/* 0; 1 with why in @error. */
static int perform(CURL *curl, const AskAccess *access, char *detail, AskReply *ret, char *error) {
    CURLcode code = curl_easy_perform(curl);
    long status = 0;

    if (code == CURLE_OK)
        code = curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    ret->status = (unsigned)status;
    if (code == CURLE_OK)
        return 0;
    (void)snprintf(error,
        ASK_ERROR_MAX,
        "%s cannot be asked: %s",
        access->server,
        detail[0] ? detail : curl_easy_strerror(code));
    return 1;
}

int ask(const AskAccess *access, Str path, Str body, Arena *arena, AskReply *ret, char *error) {
    _cleanup_(cleanup_headers) struct curl_slist *headers = NULL;
    _cleanup_(cleanup_curl) CURL *curl = curl_easy_init();
    _cleanup_(buf_done) Buf reply = BUF_INIT(ASK_REPLY_MAX);
    Str url = ask_url(access, path, arena);
    long timeout = access->timeout_msec > 0 ? access->timeout_msec : ASK_TIMEOUT_MSEC;
    char detail[CURL_ERROR_SIZE] = "";

    *ret = (AskReply){0};
    if (!curl || !url.ptr || !ask_prepare(curl, access, url, body, &headers, detail) ||
        curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, timeout) != CURLE_OK ||
        curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take) != CURLE_OK ||
        curl_easy_setopt(curl, CURLOPT_WRITEDATA, &reply) != CURLE_OK ||
        curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header) != CURLE_OK ||
        curl_easy_setopt(curl, CURLOPT_HEADERDATA, ret) != CURLE_OK)
        return -ENOMEM;
    if (perform(curl, access, detail, ret, error) != 0)
        return 1;
    ret->body = arena_copy(arena, buf_str(&reply));
    return ret->body.ptr ? 0 : -ENOMEM;
}

int ask_get(const AskAccess *access, Str path, Arena *arena, Str *ret, char *error) {
    AskReply reply;
    int r = ask(access, path, STR_NULL, arena, &reply, error);

    if (r != 0)
        return r;
    *ret = reply.body;
    if (reply.status == 200)
        return 0;
    ask_complain(access, &reply, arena, error);
    return 1;
}

Str ask_escape(Str text, Arena *arena) {
    _cleanup_(buf_done) Buf out = BUF_INIT(3 * text.len + 1);

    url_escape(&out, text);
    return arena_copy(arena, buf_str(&out));
}
