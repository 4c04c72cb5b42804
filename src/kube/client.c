/*
 * A call waits, runs and is over:
 *
 *     client_call() ──> WAITING ──> RUNNING ──> OVER ──> freed at the end of the turn
 *                          └── 401: once more ──┘
 *
 * libcurl's callbacks may not start or remove transfers, and handlers may do both at any
 * time. So handlers only ever mark (WAITING, is_cancelled), and a turn of client_wait()
 * acts on the marks between libcurl's steps; nothing is freed while it runs.
 */

#include "kube/client.h"

#include <arpa/inet.h>
#include <assert.h>
#include <curl/curl.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/origin.h"
#include "kube/client-part.h"
#include "kube/identity.h"
#include "kube/message.h"
#include "kube/proxy.h"

#define HEADERS_MAX ((size_t)64 * 1024) /* of one answer, all its lines */
#define REFUSAL_MAX ((size_t)64 * 1024) /* of a 401's body, which nobody reads */
#define RECEIVE_SIZE (64L * 1024)
#define IDLE_MAX 64L /* connections that are kept for later */
#define DATE_MAX 64u
#define ATTEMPTS 2

/* Unacknowledged data is given up after the time in which keepalive finds a dead peer. */
#define USER_TIMEOUT_MSEC                                                                          \
    (1000u * (CLIENT_KEEPALIVE_IDLE_SEC + CLIENT_KEEPALIVE_INTERVAL_SEC * CLIENT_KEEPALIVE_COUNT))

struct ClientLoop {
    CURLM *multi;
    Call *first, *last; /* of all its clients */
    bool is_busy;       /* in client_loop_wait() */
    uint64_t n_turns;   /* of client_loop_wait() */
    uint64_t n_events;  /* handlers called */
};

/* --- ends --- */

static void call_done(Call *call) {
    const CallResult result = {
        .outcome = call->outcome,
        .status = call->status,
        .was_sent = call->n_sent > 0,
        .retry_after_sec = call->retry_after_sec,
        .error = call->outcome == CALL_DONE ? NULL : call->error,
    };

    call->state = STATE_OVER;
    if (call->is_cancelled)
        return;
    call->client->loop->n_events++;
    call->handler.done(call->handler.context, &result);
}

/* The transfer and what belongs to this attempt. */
static void call_detach(Call *call) {
    if (call->easy) {
        (void)curl_multi_remove_handle(call->client->loop->multi, call->easy);
        curl_easy_cleanup(call->easy);
        call->easy = NULL;
    }
    call->identity = identity_unref(call->identity); /* after the handle that uses its pool */
}

static void call_free(Call *call) {
    ClientLoop *loop = call->client->loop;

    call_detach(call);
    *(call->previous ? &call->previous->next : &loop->first) = call->next;
    *(call->next ? &call->next->previous : &loop->last) = call->previous;
    free(call->method);
    free(call->path);
    free(call->content_line);
    free(call->location);
    buf_done(&call->body);
    free(call);
}

void call_cancel(Call *call) {
    if (!call)
        return;
    call->is_cancelled = true;
    if (!call->client->loop->is_busy)
        call_free(call);
}

/* --- what libcurl tells us --- */

/* The value of header @name, or false when @line is another one. */
static bool header_value(Str line, Str name, Str *ret) {
    if (line.len <= name.len || line.ptr[name.len] != ':' ||
        !str_eq_nocase(str_take(line, name.len), name))
        return false;
    *ret = str_trim(str_skip(line, name.len + 1));
    return true;
}

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

static void location_take(Call *call, Str value) {
    free(call->location);
    call->location = value.len <= CLIENT_LOCATION_MAX ? strndup(value.ptr, value.len) : NULL;
}

/* We asked for no encoding, and nothing here could undo one. */
static void check_encoding(Call *call, Str value, Str plain) {
    if (!str_eq_nocase(value, plain) && value.len > 0)
        call_stop(call,
            CALL_BROKEN,
            "%s: the answer is encoded (%.*s), which was not asked for",
            access_server(call->client->access),
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
        location_take(call, value);
    } else if (header_value(line, STR("Content-Encoding"), &value)) {
        check_encoding(call, value, STR("identity"));
    } else if (header_value(line, STR("Transfer-Encoding"), &value)) {
        check_encoding(call, value, STR("chunked"));
    }
}

/* The empty line: the head of the answer is whole, unless it was an interim one (1xx). */
static void head_end(Call *call) {
    long status = 0;

    if (curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status) != CURLE_OK || status < 200)
        return;
    call->has_head = true;
    call->status = (unsigned)status;
    if (status == 401 || call->is_cancelled)
        return;
    call->client->loop->n_events++;
    if (call->handler.head)
        call->handler.head(call->handler.context,
            &(CallHead){
                .status = call->status,
                .content_type = str_from_c(call->content_type),
                .location = str_from_c(call->location),
                .date_sec = call->date_sec,
                .retry_after_sec = call->retry_after_sec,
            });
}

static void head_take(Call *call, Str line) {
    if (call->has_head)
        return; /* trailers: nothing we need */
    if (str_has_prefix(line, STR("HTTP/")))
        head_reset(call);
    else if (str_is_empty(str_trim(line)))
        head_end(call);
    else
        head_line(call, line);
}

static size_t on_header(char *bytes, size_t size, size_t n, void *context) {
    Call *call = context;
    Str line = str_of(bytes, size * n);

    call->heard_at = clock_monotonic_nsec();
    call->n_header_bytes += line.len;
    if (call->n_header_bytes > HEADERS_MAX)
        call_stop(call,
            CALL_BROKEN,
            "%s: the headers of the answer are larger than %zu KiB",
            access_server(call->client->access),
            HEADERS_MAX >> 10);
    else
        head_take(call, line);
    return call->is_stopped || call->is_cancelled ? CURL_WRITEFUNC_ERROR : line.len;
}

static size_t on_data(char *bytes, size_t size, size_t n, void *context) {
    Call *call = context;
    Str part = str_of(bytes, size * n);

    call->heard_at = clock_monotonic_nsec();
    call->n_bytes += part.len;
    if (!call->has_head) /* after a 101, libcurl hands on whatever comes */
        call_stop(call,
            CALL_BROKEN,
            "%s: it switches to another protocol (101), which was not asked for",
            access_server(call->client->access));
    if (call->is_cancelled || call->is_stopped)
        return CURL_WRITEFUNC_ERROR;
    if (call->status == 401)
        return call->n_bytes > REFUSAL_MAX ? CURL_WRITEFUNC_ERROR : part.len;
    if (call->limits.bytes_max > 0 && call->n_bytes > call->limits.bytes_max) {
        call_stop(call,
            CALL_TOO_LARGE,
            "%s: the answer is larger than %llu bytes",
            access_server(call->client->access),
            (unsigned long long)call->limits.bytes_max);
        return CURL_WRITEFUNC_ERROR;
    }
    call->client->loop->n_events++;
    if (call->handler.data && !call->handler.data(call->handler.context, part))
        call_stop(call, CALL_ENDED, "ended before the answer was whole");
    return call->is_stopped || call->is_cancelled ? CURL_WRITEFUNC_ERROR : part.len;
}

/* Before the request goes out. libcurl sends it again when a connection that was kept
 * ends without an answer; what may have happened the first time must not happen twice. */
static int on_send(void *context, char *from, char *to, int from_port, int to_port) {
    Call *call = context;

    if (call->handler.may_send && !call->handler.may_send(call->handler.context)) {
        call_stop(call, CALL_REFUSED, "it was too late to send it");
        return CURL_PREREQFUNC_ABORT;
    }
    if (call->n_sent++ == 0 || call->limits.may_repeat || strcmp(call->method, "GET") == 0)
        return CURL_PREREQFUNC_OK;
    call_stop(call,
        CALL_BROKEN,
        "%s: the connection ended before an answer came",
        access_server(call->client->access));
    return CURL_PREREQFUNC_ABORT;
}

/* "169.254.169.254". */
static void address_print(const struct sockaddr *address, char *ret, size_t size) {
    const struct sockaddr_in *v4 = (const void *)address;
    const struct sockaddr_in6 *v6 = (const void *)address;
    const void *bytes =
        address->sa_family == AF_INET6 ? (const void *)&v6->sin6_addr : &v4->sin_addr;

    if (!inet_ntop(address->sa_family, bytes, ret, (socklen_t)size))
        (void)snprintf(ret, size, "an address of family %u", (unsigned)address->sa_family);
}

/* A name may have several addresses: that one is refused says nothing of the next. */
static curl_socket_t on_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address) {
    Call *call = context;
    const char *why = identity_refusal(call->identity, &address->addr, address->addrlen);
    char text[INET6_ADDRSTRLEN + 32];

    if (why) {
        address_print(&address->addr, text, sizeof(text));
        (void)snprintf(
            call->refusal, sizeof(call->refusal), "refused to connect to %s %s", text, why);
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
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
        if (setsockopt(fd,
                options[i].level,
                options[i].option,
                &options[i].value,
                sizeof(options[i].value)) < 0)
            return CURL_SOCKOPT_ERROR;
    return CURL_SOCKOPT_OK;
}

/* --- starting a transfer --- */

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
           curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_HEADERDATA, call) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_data) == CURLE_OK &&
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
           set_long(easy, CURLOPT_SSL_SESSIONID_CACHE, 0) && /* knows no identities */
           set_long(easy, CURLOPT_FOLLOWLOCATION, 0) &&
           set_long(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1) &&
           set_long(easy, CURLOPT_PATH_AS_IS, 1) && set_long(easy, CURLOPT_NOSIGNAL, 1) &&
           set_long(easy, CURLOPT_BUFFERSIZE, RECEIVE_SIZE) &&
           /* Or taking a call back would wait for a name server that does not answer. */
           set_long(easy, CURLOPT_QUICK_EXIT, 1) &&
           /* Our own timer covers the first connection; this one that libcurl makes when
            * a kept one was dead. */
           set_long(easy, CURLOPT_CONNECTTIMEOUT, CLIENT_CONNECT_SEC);
}

static bool set_request(Call *call) {
    _cleanup_(buf_done) Buf url = BUF_INIT((size_t)256 * 1024);
    CURL *easy = call->easy;
    bool has_body = call->content_line != NULL;
    Str base = str_from_c(identity_base(call->identity));

    if (call->limits.is_from_root)
        base.len -= call->client->origin.path.len; /* which it ends in */
    buf_printf(&url, "%.*s%s", STR_FMT(base), call->path);
    buf_append_char(&url, '\0');
    if (buf_error(&url) || !set_text(easy, CURLOPT_URL, url.data))
        return false;
    call->headers.data = call->content_line;
    call->headers.next = identity_headers(call->identity);
    if (curl_easy_setopt(
            easy, CURLOPT_HTTPHEADER, has_body ? &call->headers : call->headers.next) != CURLE_OK)
        return false;
    if (has_body &&
        (curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body.len) !=
                CURLE_OK ||
            !set_text(easy, CURLOPT_POSTFIELDS, call->body.data ? call->body.data : "")))
        return false;
    return strcmp(call->method, has_body ? "POST" : "GET") == 0 ||
           set_text(easy, CURLOPT_CUSTOMREQUEST, call->method);
}

/* The identity that the credentials of now make. 0, or a negative errno with a message. */
static int client_identify(Client *client, char *error) {
    Credentials credentials;
    Identity *identity = NULL;
    int r;

    r = access_authorize(client->access,
        clock_monotonic_nsec(),
        clock_wall_nsec() / NSEC_PER_SEC,
        &credentials,
        error);
    if (r < 0)
        return error_trace(r);
    if (client->identity && identity_version(client->identity) == credentials.version)
        return 0;
    r = identity_new(&(IdentityOptions){.server = access_server(client->access),
                         .origin = &client->origin,
                         .proxies = &client->proxies,
                         .credentials = &credentials},
        &identity,
        error);
    if (r < 0)
        return error_trace(r);
    identity_unref(client->identity);
    client->identity = identity;
    return 0;
}

static void attempt_reset(Call *call) {
    call->started_at = clock_monotonic_nsec();
    if (call->attempt++ == 0)
        call->begun_at = call->started_at;
    call->n_sent = 0;
    call->has_head = false;
    call->is_stopped = false;
    call->n_header_bytes = 0;
    call->n_bytes = 0;
    call->error[0] = call->curl_error[0] = call->refusal[0] = '\0';
    head_reset(call);
}

static void call_begin(Call *call) {
    Client *client = call->client;
    char error[ACCESS_ERROR_MAX];

    call->state = STATE_RUNNING;
    if (client_identify(client, error) < 0) {
        call_stop(call, CALL_UNAUTHORIZED, "%s", error);
        call_done(call);
        return;
    }
    attempt_reset(call);
    call->identity = identity_ref(client->identity);
    call->easy = curl_easy_init();
    if (call->easy && set_callbacks(call) && set_protocol(call) && set_request(call) &&
        identity_apply(call->identity, call->easy) &&
        curl_multi_add_handle(client->loop->multi, call->easy) == CURLM_OK)
        return;
    call_stop(call,
        CALL_BROKEN,
        "%s: the request could not be made: out of memory, or libcurl refuses an option",
        access_server(client->access));
    call_done(call);
}

/* --- ending a transfer --- */

/* The server does not know us. Once more, if we can be somebody else by now. */
static void call_refused(Call *call) {
    Client *client = call->client;
    uint64_t version = identity_version(call->identity);
    char error[ACCESS_ERROR_MAX];

    call_detach(call);
    call->is_stopped = false;
    if (call->attempt < ATTEMPTS) {
        if (identity_version(client->identity) == version)
            access_reject(client->access);
        if (client_identify(client, error) < 0)
            call_stop(call, CALL_UNAUTHORIZED, "%s", error);
        else if (identity_version(client->identity) != version) {
            call_begin(call);
            return;
        }
    }
    call_stop(call,
        CALL_UNAUTHORIZED,
        "%s: it does not accept the credentials of %s (401 Unauthorized)",
        access_server(client->access),
        access_origin(client->access));
    call_done(call);
}

static void call_finish(Call *call, CURLcode code) {
    if (call->is_cancelled) {
        call->state = STATE_OVER;
        return;
    }
    if (call->status == 401 && call->has_head) {
        call_refused(call);
        return;
    }
    if (code == CURLE_OK && call->has_head && !call->is_stopped)
        call->outcome = CALL_DONE;
    else
        client_explain(call, code);
    call_done(call);
}

/* --- timers --- */

static int64_t after(int64_t from, unsigned sec) {
    return sec > 0 ? from + (int64_t)sec * NSEC_PER_SEC : INT64_MAX;
}

typedef struct Deadline {
    int64_t at;
    const char *what; /* "%s: … %u s" */
    unsigned sec;
} Deadline;

static Deadline earlier(Deadline a, Deadline b) {
    return b.at < a.at ? b : a;
}

static Deadline call_deadline(const Call *call) {
    const CallOptions *limits = &call->limits;
    Deadline next = {
        after(call->begun_at, limits->total_sec), "was not answered to the end", limits->total_sec};

    if (call->n_sent == 0)
        next = earlier(next,
            (Deadline){
                after(call->started_at, CLIENT_CONNECT_SEC), "no connection", CLIENT_CONNECT_SEC});
    if (call->has_head)
        return earlier(next,
            (Deadline){after(call->heard_at, limits->silence_sec),
                "nothing more came",
                limits->silence_sec});
    return earlier(next,
        (Deadline){
            after(call->started_at, limits->first_byte_sec), "no answer", limits->first_byte_sec});
}

static void call_check_time(Call *call, int64_t now) {
    Deadline deadline = call_deadline(call);

    if (now < deadline.at)
        return;
    call_stop(call,
        CALL_TIMEOUT,
        "%s: %s within %u s",
        access_server(call->client->access),
        deadline.what,
        deadline.sec);
    call_done(call);
}

/* --- turns --- */

static void begin_waiting(ClientLoop *loop) {
    for (Call *call = loop->first; call; call = call->next)
        if (call->state == STATE_WAITING && !call->is_cancelled && call->born < loop->n_turns)
            call_begin(call);
}

static void finish_ended(ClientLoop *loop) {
    CURLMsg *message;
    int n_left;

    while ((message = curl_multi_info_read(loop->multi, &n_left))) {
        CURLcode code = message->data.result;
        Call *call = NULL;

        if (message->msg != CURLMSG_DONE ||
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &call) != CURLE_OK || !call)
            continue;
        call_finish(call, code);
    }
}

static void check_times(ClientLoop *loop) {
    int64_t now = clock_monotonic_nsec();

    for (Call *call = loop->first; call; call = call->next)
        if (call->state == STATE_RUNNING && !call->is_cancelled)
            call_check_time(call, now);
}

static void free_ended(ClientLoop *loop) {
    Call *next;

    for (Call *call = loop->first; call; call = next) {
        next = call->next;
        if (call->state == STATE_OVER || call->is_cancelled)
            call_free(call);
    }
}

static int fold_multi(CURLMcode code) {
    return code == CURLM_OK              ? 0
           : code == CURLM_OUT_OF_MEMORY ? error_origin(-ENOMEM)
                                         : error_origin(-EIO);
}

static int loop_turn(ClientLoop *loop) {
    int n_running, r;

    loop->is_busy = true;
    loop->n_turns++;
    begin_waiting(loop);
    r = fold_multi(curl_multi_perform(loop->multi, &n_running));
    finish_ended(loop);
    check_times(loop);
    loop->is_busy = false;
    free_ended(loop);
    return error_trace(r);
}

/* Up to @timeout_msec, but not past the next deadline, nor when a call waits to begin. */
static int patience_msec(const ClientLoop *loop, int timeout_msec) {
    int64_t now = clock_monotonic_nsec(), left = timeout_msec * NSEC_PER_MSEC;

    for (const Call *call = loop->first; call; call = call->next) {
        int64_t at = call->state == STATE_WAITING ? now : call_deadline(call).at;

        if (at - now < left)
            left = at > now ? at - now : 0;
    }
    return (int)((left + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC);
}

int client_loop_wait(ClientLoop *loop, int timeout_msec) {
    uint64_t n_events = loop->n_events;
    int r;

    assert(!loop->is_busy);
    r = loop_turn(loop);
    if (r < 0 || loop->n_events != n_events)
        return error_trace(r);
    r = fold_multi(curl_multi_poll(loop->multi, NULL, 0, patience_msec(loop, timeout_msec), NULL));
    if (r < 0)
        return error_trace(r);
    return error_trace(loop_turn(loop));
}

void client_loop_wake(ClientLoop *loop) {
    (void)curl_multi_wakeup(loop->multi);
}

int client_wait(Client *client, int timeout_msec) {
    return error_trace(client_loop_wait(client->loop, timeout_msec));
}

void client_wake(Client *client) {
    client_loop_wake(client->loop);
}

/* --- calls and clients --- */

static bool call_copy(Call *call, const CallOptions *options) {
    call->method = strdup(options->method);
    call->path = strdup(options->path);
    if (!call->method || !call->path)
        return false;
    if (!options->content_type)
        return true;
    if (asprintf(&call->content_line, "Content-Type: %s", options->content_type) < 0) {
        call->content_line = NULL;
        return false;
    }
    call->body = BUF_INIT(options->body.len);
    buf_append(&call->body, options->body);
    return buf_error(&call->body) == 0;
}

Call *client_call(Client *client, const CallOptions *options, const CallHandler *handler) {
    ClientLoop *loop = client->loop;
    Call *call = calloc(1, sizeof(*call));

    if (!call)
        return NULL;
    assert(options->path[0] == '/' && handler->done);
    call->client = client;
    call->handler = *handler;
    call->limits = *options;
    call->born = loop->n_turns;
    call->retry_after_sec = -1;
    call->previous = loop->last;
    *(loop->last ? &loop->last->next : &loop->first) = call;
    loop->last = call;
    if (!call_copy(call, options)) {
        call->is_cancelled = true;
        if (!loop->is_busy)
            call_free(call);
        return NULL;
    }
    return call;
}

static void start_libcurl(void) {
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
}

ClientLoop *client_loop_new(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    _cleanup_(client_loop_freep) ClientLoop *loop = calloc(1, sizeof(*loop));

    (void)pthread_once(&once, start_libcurl);
    if (!loop)
        return NULL;
    loop->multi = curl_multi_init();
    if (!loop->multi ||
        curl_multi_setopt(loop->multi, CURLMOPT_MAXCONNECTS, IDLE_MAX) != CURLM_OK ||
        curl_multi_setopt(loop->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING) != CURLM_OK)
        return NULL;
    return TAKE_PTR(loop);
}

ClientLoop *client_loop_free(ClientLoop *loop) {
    if (!loop)
        return NULL;
    assert(!loop->is_busy && !loop->first);
    if (loop->multi)
        (void)curl_multi_cleanup(loop->multi);
    free(loop);
    return NULL;
}

Client *client_new_in(ClientLoop *loop, Access *access) {
    Client *client = NULL;
    Origin origin;

    if (origin_parse(str_from_c(access_server(access)), &origin))
        client = calloc(1, sizeof(*client));
    if (!client)
        return NULL;
    client->loop = loop;
    client->access = access;
    client->origin = origin;
    client->proxies = proxy_environment();
    return client;
}

Client *client_new(Access *access) {
    _cleanup_(client_loop_freep) ClientLoop *loop = client_loop_new();
    Client *client = loop ? client_new_in(loop, access) : NULL;

    if (!client)
        return NULL;
    client->owns_loop = true;
    (void)TAKE_PTR(loop);
    return client;
}

static void free_calls(Client *client) {
    Call *next;

    for (Call *call = client->loop->first; call; call = next) {
        next = call->next;
        if (call->client == client)
            call_free(call);
    }
}

Client *client_free(Client *client) {
    if (!client)
        return NULL;
    assert(!client->loop->is_busy);
    free_calls(client);
    identity_unref(client->identity);
    if (client->owns_loop)
        client_loop_free(client->loop);
    free(client);
    return NULL;
}
