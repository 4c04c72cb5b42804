/* One attempt of a call: a libcurl transfer, its options, callbacks and error messages. Handlers of
 * head and data may end the call. */

#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/x509.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/url.h"
#include "kube/client-internal.h"

/* --- the answer -------------------------------------------------------------------------- */

#define HEADERS_MAX ((size_t)64 * 1024) /* all headers of an answer */
#define REFUSAL_MAX ((size_t)64 * 1024) /* body of a 401, which is dropped */
#define DATE_MAX 64u

/* The value of header @name; false if @line is another header. */
static bool header_value(Str line, Str name, Str *ret) {
    if (line.len <= name.len || line.ptr[name.len] != ':' ||
        !str_eq_nocase(str_take(line, name.len), name))
        return false;
    *ret = str_trim(str_skip(line, name.len + 1));
    return true;
}

/* Called when a head starts, also after an interim answer (1xx). */
static void head_reset(Call *call) {
    call->status = 0;
    call->retry_after_sec = -1;
    call->date_sec = 0;
    free(call->location);
    call->location = NULL;
    call->content_type[0] = '\0';
}

static int64_t date_read(Str value) {
    char text[DATE_MAX];
    time_t date;

    if (value.len >= sizeof(text))
        return 0;
    (void)snprintf(text, sizeof(text), "%.*s", STR_FMT(value));
    date = curl_getdate(text, NULL);
    return date > 0 ? (int64_t)date : 0;
}

/* Rejects encodings: the request has no Accept-Encoding, and nothing here could decode one. */
static void check_encoding(Call *call, Str value, Str plain) {
    if (!str_eq_nocase(value, plain) && value.len > 0)
        call_blame(call, CALL_BROKEN, "the answer is encoded (%.*s), which was not requested",
            STR_FMT(str_take(value, 32)));
}

static void head_line(Call *call, Str line) {
    Str value;
    int64_t seconds;

    if (header_value(line, STR("Content-Type"), &value)) {
        value = str_trim(str_take(value, str_find(value, ';')));
        (void)snprintf(call->content_type, sizeof(call->content_type), "%.*s", STR_FMT(value));
    } else if (header_value(line, STR("Retry-After"), &value)) {
        if (str_to_int64(value, &seconds) && seconds >= 0)
            call->retry_after_sec = seconds < INT_MAX ? (int)seconds : INT_MAX;
    } else if (header_value(line, STR("Date"), &value)) {
        call->date_sec = date_read(value);
    } else if (header_value(line, STR("Location"), &value)) {
        free(call->location);
        call->location = value.len <= CLIENT_LOCATION_MAX ? strndup(value.ptr, value.len) : NULL;
    } else if (header_value(line, STR("Content-Encoding"), &value)) {
        check_encoding(call, value, STR("identity"));
    } else if (header_value(line, STR("Transfer-Encoding"), &value)) {
        check_encoding(call, value, STR("chunked"));
    }
}

/* Called after the empty line: the head is complete, unless the answer is interim (1xx). */
static void head_end(Call *call) {
    long status = 0;

    if (curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status) != CURLE_OK || status < 200)
        return;
    call->has_head = true;
    call->status = (unsigned)status;
    if (call_is_unauthorized(call) || call->is_cancelled)
        return;
    call->client->loop->n_events++;
    if (call->handler.head)
        call->handler.head(
            call->handler.context, &(CallHead){
                                       .status = call->status,
                                       .content_type = str_from_c(call->content_type),
                                       .location = str_from_c(call->location),
                                       .date_sec = call->date_sec,
                                       .retry_after_sec = call->retry_after_sec,
                                   });
}

static size_t answer_header(char *bytes, size_t size, size_t n, void *context) {
    Call *call = context;
    Str line = str_of(bytes, size * n);

    call->received_at = clock_monotonic_nsec();
    call->n_header_bytes += line.len;
    if (call->n_header_bytes > HEADERS_MAX)
        call_blame(call, CALL_BROKEN, "the headers of the answer are larger than %zu KiB",
            HEADERS_MAX >> 10);
    else if (!call->has_head && str_has_prefix(line, STR("HTTP/")))
        head_reset(call);
    else if (!call->has_head && str_is_empty(str_trim(line)))
        head_end(call);
    else if (!call->has_head) /* trailers are ignored */
        head_line(call, line);
    return call->is_stopped || call->is_cancelled ? CURL_WRITEFUNC_ERROR : line.len;
}

static size_t answer_data(char *bytes, size_t size, size_t n, void *context) {
    Call *call = context;
    Buf *answer = call->limits.answer;
    Str part = str_of(bytes, size * n);

    call->received_at = clock_monotonic_nsec();
    call->n_bytes += part.len;
    if (!call->has_head) /* after a 101, libcurl passes on all bytes */
        call_blame(
            call, CALL_BROKEN, "it switches to another protocol (101), which was not requested");
    if (call->is_cancelled || call->is_stopped)
        return CURL_WRITEFUNC_ERROR;
    if (call_is_unauthorized(call))
        return call->n_bytes > REFUSAL_MAX ? CURL_WRITEFUNC_ERROR : part.len;
    if (call->limits.bytes_max > 0 && call->n_bytes > call->limits.bytes_max) {
        call_blame(call, CALL_TOO_LARGE, "the answer is larger than %llu bytes",
            (unsigned long long)call->limits.bytes_max);
        return CURL_WRITEFUNC_ERROR;
    }
    call->client->loop->n_events++;
    if (!call->handler.data && answer)
        buf_append(answer, part);
    if (call->handler.data ? !call->handler.data(call->handler.context, part)
                           : answer && buf_error(answer))
        call_stop(call, CALL_ENDED, "ended before the answer was whole");
    return call->is_stopped || call->is_cancelled ? CURL_WRITEFUNC_ERROR : part.len;
}

#define RECEIVE_SIZE (64L * 1024)

/* Connections with unacknowledged data time out as fast as keepalive finds a dead peer. */
#define USER_TIMEOUT_MSEC                                                                          \
    (1000u * (CLIENT_KEEPALIVE_IDLE_SEC + CLIENT_KEEPALIVE_INTERVAL_SEC * CLIENT_KEEPALIVE_COUNT))

/* --- libcurl's callbacks --- */

/* Called before each sending. libcurl sends a request again if a kept connection ends without an
 * answer; a request that must not be handled twice is not sent again. */
static int on_send(void *context, char *from, char *to, int from_port, int to_port) {
    Call *call = context;

    if (call->handler.may_send && !call->handler.may_send(call->handler.context)) {
        call_stop(call, CALL_REFUSED, "it was too late to send the request");
        return CURL_PREREQFUNC_ABORT;
    }
    if (call->n_sent++ == 0 || call->limits.may_repeat || strcmp(call->method, "GET") == 0)
        return CURL_PREREQFUNC_OK;
    call_blame(call, CALL_BROKEN, "the connection ended before an answer came");
    return CURL_PREREQFUNC_ABORT;
}

/* Refuses addresses. If a name has several, libcurl tries the next. */
static curl_socket_t on_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address) {
    Call *call = context;
    AddressRefusal *refusal = call->identity->refusal;
    const char *why = refusal ? refusal(&address->addr, address->addrlen) : NULL;
    const void *v4 = &((const struct sockaddr_in *)(const void *)&address->addr)->sin_addr;
    const void *v6 = &((const struct sockaddr_in6 *)(const void *)&address->addr)->sin6_addr;
    sa_family_t family = address->addr.sa_family;
    char text[INET6_ADDRSTRLEN + 32];

    if (!why)
        return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (!inet_ntop(family, family == AF_INET6 ? v6 : v4, text, sizeof(text)))
        (void)snprintf(text, sizeof(text), "an address of family %u", (unsigned)family);
    (void)snprintf(call->refusal, sizeof(call->refusal), "refused to connect to %s %s", text, why);
    return CURL_SOCKET_BAD;
}

static int on_socket_options(void *context, curl_socket_t fd, curlsocktype purpose) {
    static const struct {
        int level, option;
        unsigned value;
    } options[] = {
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, CLIENT_KEEPALIVE_IDLE_SEC},
        {IPPROTO_TCP, TCP_KEEPINTVL, CLIENT_KEEPALIVE_INTERVAL_SEC},
        {IPPROTO_TCP, TCP_KEEPCNT, CLIENT_KEEPALIVE_COUNT},
        {IPPROTO_TCP, TCP_USER_TIMEOUT, USER_TIMEOUT_MSEC},
    };

    for (size_t i = 0; i < ELEMENTS_OF(options); i++)
        if (setsockopt(fd, options[i].level, options[i].option, &options[i].value,
                sizeof(options[i].value)) < 0)
            return CURL_SOCKOPT_ERROR;
    return CURL_SOCKOPT_OK;
}

/* --- its options --- */

static bool set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value) == CURLE_OK;
}

static bool set_text(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value) == CURLE_OK;
}

static bool set_callbacks(Call *call) {
    CURL *easy = call->easy;

    return curl_easy_setopt(easy, CURLOPT_PRIVATE, call) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->curl_error) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, answer_header) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_HEADERDATA, call) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, answer_data) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEDATA, call) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_send) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PREREQDATA, call) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_socket) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, call) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_socket_options) == CURLE_OK;
}

static bool set_protocol(Call *call) {
    CURL *easy = call->easy;

    return set_text(easy, CURLOPT_PROTOCOLS_STR, call->client->origin.is_tls ? "https" : "http") &&
           set_long(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1) &&
           set_long(easy, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2) &&
           set_long(easy, CURLOPT_SSL_SESSIONID_CACHE,
               0) && /* it would share sessions between identities */
           set_long(easy, CURLOPT_FOLLOWLOCATION, 0) &&
           set_long(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1) &&
           set_long(easy, CURLOPT_PATH_AS_IS, 1) && set_long(easy, CURLOPT_NOSIGNAL, 1) &&
           set_long(easy, CURLOPT_BUFFERSIZE, RECEIVE_SIZE) &&
           /* Else cancelling a call would wait for a slow name server. */
           set_long(easy, CURLOPT_QUICK_EXIT, 1) &&
           /* call_deadline() covers the first connection; this covers the one that libcurl makes
            * when a kept one is dead. */
           set_long(easy, CURLOPT_CONNECTTIMEOUT, CLIENT_CONNECT_SEC);
}

static bool set_request(Call *call) {
    _cleanup_(buf_done) Buf url = BUF_INIT((size_t)256 * 1024);
    CURL *easy = call->easy;
    bool has_body = call->has_body;
    struct curl_slist *headers = call->identity->headers;
    Str base = str_from_c(call->identity->base);

    if (call->limits.is_from_root)
        base.len -= call->client->origin.path.len; /* the end of @base */
    buf_printf(&url, "%.*s%s", STR_FMT(base), call->path);
    if (!url_text(&url) || !set_text(easy, CURLOPT_URL, url.data))
        return false;
    for (size_t i = 0; i < call->n_lines; i++) {
        call->headers[i] = (struct curl_slist){.data = call->lines[i], .next = headers};
        headers = &call->headers[i];
    }
    if (curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers) != CURLE_OK)
        return false;
    if (has_body &&
        (curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body.len) !=
                CURLE_OK ||
            !set_text(easy, CURLOPT_POSTFIELDS, call->body.data ? call->body.data : "")))
        return false;
    return strcmp(call->method, has_body ? "POST" : "GET") == 0 ||
           set_text(easy, CURLOPT_CUSTOMREQUEST, call->method);
}

/* --- start and end --- */

static void attempt_reset(Call *call) {
    call->started_at = clock_monotonic_nsec();
    if (call->attempt++ == 0)
        call->begun_at = call->started_at;
    call->n_sent = 0;
    call->is_stopped = false;
    call->error[0] = call->curl_error[0] = call->refusal[0] = '\0';
    call->has_head = false;
    call->n_header_bytes = 0;
    call->n_bytes = 0;
    head_reset(call);
}

bool attempt_start(Call *call) {
    Client *client = call->client;
    char error[ACCESS_ERROR_MAX];

    if (client_identify(client, error) < 0) {
        call_stop(call, CALL_UNAUTHORIZED, "%s", error);
        return false;
    }
    attempt_reset(call);
    call->identity = identity_ref(client->identity);
    call->easy = curl_easy_init();
    if (call->easy && set_callbacks(call) && set_protocol(call) && set_request(call) &&
        identity_apply(call->identity, call->easy) &&
        curl_multi_add_handle(client->loop->multi, call->easy) == CURLM_OK)
        return true;
    call_blame(call, CALL_BROKEN, "libcurl could not make the request");
    return false;
}

void attempt_end(Call *call) {
    if (call->easy) {
        (void)curl_multi_remove_handle(call->client->loop->multi, call->easy);
        curl_easy_cleanup(call->easy);
        call->easy = NULL;
    }
    call->identity = identity_unref(call->identity); /* after the handle, which uses its pool */
}

/* --- errors, for users --- */

/* libcurl has one code for many causes, and texts that depend on its version. These messages tell
 * what the server, the network or the configuration did. */

/* No known CA has signed the server's certificate. @remedy: a hint, or "". */
static void explain_signer(Call *call, const char *remedy) {
    const char *origin = access_origin(call->client->access);

    if (call->identity->ca.fd >= 0)
        call_blame(call, CALL_REFUSED, "its certificate is not signed by the CA of %s", origin);
    else
        call_blame(call, CALL_REFUSED,
            "its certificate is not signed by a CA of this system%s, and %s names no CA", remedy,
            origin);
}

/* Explains why the server's certificate was rejected. */
static void explain_certificate(Call *call) {
    Origin wanted = {0};
    long status = 0;

    (void)curl_easy_getinfo(call->easy, CURLINFO_SSL_VERIFYRESULT, &status);
    if (status & GNUTLS_CERT_SIGNER_NOT_FOUND)
        explain_signer(call, "");
    else if (status & GNUTLS_CERT_EXPIRED)
        call_blame(call, CALL_REFUSED, "its certificate has expired");
    else if (status & GNUTLS_CERT_NOT_ACTIVATED)
        call_blame(call, CALL_REFUSED, "its certificate is not valid yet");
    else if (status != 0)
        call_blame(call, CALL_REFUSED,
            "its certificate cannot be trusted (verification status 0x%lx)", status);
    else if (strstr(call->curl_error, "does not match") &&
             origin_parse(str_from_c(call->identity->base), &wanted))
        call_blame(call, CALL_REFUSED, "its certificate does not have the name %.*s",
            STR_FMT(wanted.host));
    else
        call_blame(call, CALL_REFUSED, "%s", call->curl_error);
}

/* The system's error, such as "connection refused"; NULL: none. */
static const char *system_words(const Call *call) {
    long number = 0;

    (void)curl_easy_getinfo(call->easy, CURLINFO_OS_ERRNO, &number);
    switch (number) {
    case 0:
        return NULL;
    case ECONNREFUSED:
        return "connection refused";
    case EHOSTUNREACH:
    case ENETUNREACH:
        return "no route to it";
    default:
        return strerror((int)number);
    }
}

/* A TLS alert, for which libcurl has no code: with TLS 1.3 a server rejects a client certificate
 * only after the handshake, when the request was already sent. */
static bool is_alert(const Call *call) {
    return call->n_header_bytes == 0 && strstr(call->curl_error, "fatal alert");
}

static void explain_tls(Call *call, const char *words) {
    const char *origin = access_origin(call->client->access);

    if (strstr(call->curl_error, "error reading X.509"))
        call_blame(call, CALL_REFUSED,
            "the client certificate and key of %s cannot be used, or are no pair", origin);
    else if (is_alert(call) && call->identity->cert.fd >= 0)
        call_blame(call, CALL_REFUSED,
            "it ended the TLS handshake; it may not accept the client certificate of %s (%s)",
            origin, words);
    else if (is_alert(call))
        call_blame(call, CALL_REFUSED, "it ended the TLS handshake (%s)", words);
}

void client_explain(Call *call, CURLcode code) {
    const char *origin = access_origin(call->client->access);
    const char *words = call->curl_error[0] != '\0' ? call->curl_error : curl_easy_strerror(code);
    const char *where = call->has_head ? "in the middle of the answer" : "before an answer came";
    /* Before a request was sent, any error is a failure to connect. */
    CallOutcome outcome = call->n_sent == 0 ? CALL_REFUSED : CALL_BROKEN;

    if (strstr(call->curl_error, "getpeername()")) /* sometimes libcurl's text for this */
        words = "it closed the connection";
    switch (code) {
    case CURLE_COULDNT_CONNECT:
        words = call->refusal[0] != '\0' ? call->refusal
                : system_words(call)     ? system_words(call)
                                         : words;
        call_blame(call, CALL_REFUSED, "%s", words);
        break;
    case CURLE_COULDNT_RESOLVE_HOST:  /* libcurl 8.14: also for proxies */
    case CURLE_COULDNT_RESOLVE_PROXY: /* libcurl's text has its URL with the password */
        call_blame(call, CALL_REFUSED, "%s",
            call->identity->proxy[0] != '\0' ? "the name of its proxy cannot be resolved"
                                             : "its name cannot be resolved");
        break;
    case CURLE_PEER_FAILED_VERIFICATION:
        explain_certificate(call);
        break;
    case CURLE_SSL_CACERT_BADFILE:
        if (call->identity->ca.fd >= 0)
            call_blame(call, CALL_REFUSED, "the CA of %s cannot be used", origin);
        else
            explain_signer(call, ", which has none (the package ca-certificates has them)");
        break;
    case CURLE_OPERATION_TIMEDOUT:
        call_blame(call, CALL_TIMEOUT, "no connection within %d s", CLIENT_CONNECT_SEC);
        break;
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
        call_blame(call, outcome, "the connection ended %s", where);
        break;
    case CURLE_UNSUPPORTED_PROTOCOL:
        call_blame(call, outcome, "its answer is not HTTP/1.1");
        break;
    case CURLE_BAD_CONTENT_ENCODING: /* newer libcurl checks Transfer-Encoding itself */
        call_blame(call, CALL_BROKEN, "the answer is encoded, which was not requested");
        break;
#if LIBCURL_VERSION_NUM >= 0x080600
    case CURLE_TOO_LARGE:
#endif
    case CURLE_OUT_OF_MEMORY:
        if (call->n_sent > 0 && !call->has_head) /* also for a line over 100 KiB */
            words = "the headers of the answer are too long";
        else
            words = "out of memory for the request";
        call_blame(call, CALL_BROKEN, "%s", words);
        break;
    case CURLE_OK: /* libcurl's code for an incomplete head */
        call_blame(call, CALL_BROKEN, "the answer ended in its headers");
        break;
    default:
        explain_tls(call, words);
        if (call->n_sent > 0 && (code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR))
            call_blame(call, CALL_BROKEN, "the connection ended %s (%s)", where, words);
        call_blame(call, outcome, "%s", words);
        break;
    }
}
