/* Requests of commands to a running berth: one answer, or a stream of lines. */

#include "cli/berth-client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/origin.h"
#include "base/shell.h"
#include "base/url.h"
#include "cli/terminal.h"
#include "kube/api-objects.h"
#include "json/read.h"

#define MEMORY_FOR "berth's reply"
#define STREAM_BUDGET ((size_t)1024 * 1024)
#define REFUSAL_MAX ((size_t)64 * 1024) /* body of an error reply */

/* Returns NULL, with the reason in @error, if the server is no URL or a file is unusable. */
static Access *open_access(const BerthAccess *access, Arena *arena, char *error) {
    Str server = str_from_c(access->server);
    AccessServer options = {
        .name = "the command line",
        .ca_file = access->ca,
        .cert_file = access->cert,
        .key_file = access->key,
    };
    Access *ret = NULL;
    Origin origin;

    /* a token is not sent in the clear over a network */
    if (origin_parse(server, &origin) && (origin.is_tls || origin_is_loopback(&origin)))
        options.token_file = access->token_file;
    while (server.len > 0 && server.ptr[server.len - 1] == '/')
        server.len--;
    options.url = arena_copy(arena, server).ptr;
    if (access_for_server(&options, &ret, error) == -ENOMEM)
        terminal_out_of_memory(MEMORY_FOR, arena);
    return ret;
}

/* Removes the server's name from the start of @reason: our message names it. */
static void print_failure(const BerthAccess *access, const char *reason, char *error) {
    char text[BERTH_CLIENT_ERROR_MAX];
    size_t n = strlen(access->server);

    if (strncmp(reason, access->server, n) == 0 && strncmp(reason + n, ": ", 2) == 0)
        reason += n + 2;
    (void)snprintf(text, sizeof(text), "%s cannot be reached: %s", access->server, reason);
    (void)snprintf(error, BERTH_CLIENT_ERROR_MAX, "%s", text);
}

/* Adds the header with the proxy's token, if it has one. Returns the number of headers. */
static size_t proxy_headers(const BerthAccess *access, Header *ret) {
    *ret = (Header){STR(BERTH_CLIENT_TOKEN_HEADER), str_from_c(access->proxy.token)};
    return access->proxy.token ? 1 : 0;
}

static const char *full_path(const BerthAccess *access, Str path, Arena *arena) {
    return arena_printf(
        arena, "%s%.*s", access->proxy.client ? access->proxy.path : "", STR_FMT(path))
        .ptr;
}

bool berth_client_request(
    const BerthAccess *access, Str path, Str body, Arena *arena, BlockingReply *ret, char *error) {
    _cleanup_(access_freep) Access *server = NULL;
    Header header;
    const BlockingRequest request = {
        .method = str_is_empty(body) ? "GET" : "POST",
        .path = full_path(access, path, arena),
        .body = body,
        .total_sec = access->timeout_sec > 0 ? access->timeout_sec : BERTH_CLIENT_SEC,
        .bytes_max = BERTH_CLIENT_REPLY_MAX,
        .accepts_401 = true,
        .headers = &header,
        .n_headers = proxy_headers(access, &header),
    };
    int r = 1;

    *ret = (BlockingReply){0};
    if (access->proxy.client)
        r = blocking_client_request_with(access->proxy.client, &request, arena, ret, error);
    else if ((server = open_access(access, arena, error)))
        r = blocking_client_request(server, &request, arena, ret, error);
    if (terminal_check(r, MEMORY_FOR, arena) > 0)
        print_failure(access, error, error);
    else
        error[0] = '\0';
    return r == 0;
}

Str berth_client_grant(
    Str refusal, const char *namespace, const char *roles, const char *role, Arena *arena) {
    _cleanup_(buf_done) Buf out = BUF_INIT(BERTH_CLIENT_ERROR_MAX);
    Str part, user = STR_NULL;

    /* `… is forbidden: User "jane" cannot get …` */
    while (str_split(&refusal, '"', &part))
        if (str_has_suffix(part, STR("User ")) && str_split(&refusal, '"', &user))
            break;
    buf_printf(&out,
        "an administrator can give you the Role %s%s: "
        "kubectl -n %s create rolebinding %s%s-NAME --role=%s%s ",
        roles, role, namespace, roles, role, roles, role);
    if (str_has_prefix(user, STR("system:serviceaccount:")))
        buf_printf(&out, "--serviceaccount=%.*s", STR_FMT(str_skip(user, 22)));
    else {
        buf_append(&out, STR("--user="));
        shell_word(&out, str_is_empty(user) ? STR("USER") : user);
    }
    return arena_copy(arena, buf_str(&out));
}

/* Suggests the Role for what-if or for viewers. Only what-if needs POST, and only what-if makes
 * berth itself refuse the token of viewers. */
static void explain_refusal(const BerthAccess *access, const BlockingReply *reply, bool is_of_berth,
    Str message, Arena *arena, char *error) {
    bool is_what_if = is_of_berth || str_contains_nocase(message, STR("cannot create"));
    Str grant = berth_client_grant(message, access->proxy.namespace, access->proxy.roles,
        is_what_if ? BERTH_CLIENT_WHAT_IF : BERTH_CLIENT_VIEWER, arena);

    (void)snprintf(error, BERTH_CLIENT_ERROR_MAX, "%s answered %u: %.*s\n  %.*s",
        is_of_berth ? access->server : "the API server", reply->status, STR_FMT(message),
        STR_FMT(grant));
}

void berth_client_explain(
    const BerthAccess *access, const BlockingReply *reply, Arena *arena, char *error) {
    Str message = STR_NULL;
    bool is_of_berth;
    ApiStatus status;
    JsonReader reader;

    json_reader_init(&reader, reply->body);
    if (json_peek(&reader) == JSON_OBJECT_BEGIN)
        json_string_member(&reader, arena, STR("Error"), &message);
    if (json_error(&reader) != JSON_OK)
        message = STR_NULL;
    is_of_berth = !str_is_empty(message);
    if (!is_of_berth && api_status_read(reply->body, arena, &status))
        message = status.message;
    if (access->proxy.client && reply->status == 403) {
        explain_refusal(access, reply, is_of_berth, message, arena, error);
        return;
    }
    if (str_has_prefix(message, STR("berth: ")))
        message = str_skip(message, 7);
    if (str_is_empty(message))
        (void)snprintf(error, BERTH_CLIENT_ERROR_MAX, "%s answered with status %u", access->server,
            reply->status);
    else
        (void)snprintf(
            error, BERTH_CLIENT_ERROR_MAX, "%s answered: %.*s", access->server, STR_FMT(message));
}

bool berth_client_get(const BerthAccess *access, Str path, Arena *arena, Str *ret, char *error) {
    BlockingReply reply;

    if (!berth_client_request(access, path, /* body= */ STR_NULL, arena, &reply, error))
        return false;
    *ret = reply.body;
    if (reply.status != 200)
        berth_client_explain(access, &reply, arena, error);
    return reply.status == 200;
}

Str berth_client_escape(Str text, Arena *arena) {
    _cleanup_(buf_done) Buf out = BUF_INIT(3 * text.len + 1);

    url_escape(&out, text);
    return arena_copy(arena, buf_str(&out));
}

struct BerthStream {
    const BerthAccess *access;
    void (*line)(void *context, Str line);
    void *context;
    Access *server;
    Client *client; /* NULL: the server's name is no URL; a proxy's is borrowed */
    Call *call;     /* NULL: it has ended */
    unsigned status;
    Buf rest;    /* of a line that has not ended */
    Buf refusal; /* the body of an error reply */
    char *error; /* of the caller */
};

static void take_head(void *context, const CallHead *head) {
    BerthStream *stream = context;

    stream->status = head->status;
}

static bool take_data(void *context, Str rest) {
    BerthStream *stream = context;
    size_t end;

    if (stream->status != 200) {
        buf_append(&stream->refusal, rest);
        return true;
    }
    while ((end = str_find(rest, '\n')) != SIZE_MAX) {
        buf_append(&stream->rest, str_take(rest, end));
        if (buf_error(&stream->rest) == 0)
            stream->line(stream->context, buf_str(&stream->rest));
        buf_reset(&stream->rest);
        rest = str_skip(rest, end + 1);
    }
    buf_append(&stream->rest, rest);
    return true;
}

static void take_end(void *context, const CallResult *result) {
    BerthStream *stream = context;
    BlockingReply reply = {.status = result->status, .body = buf_str(&stream->refusal)};
    _cleanup_(arena_freep) Arena *arena = terminal_arena(MEMORY_FOR, STREAM_BUDGET);

    stream->call = NULL;
    if (result->outcome != CALL_DONE)
        print_failure(stream->access, result->error, stream->error);
    else if (result->status != 200)
        berth_client_explain(stream->access, &reply, arena, stream->error);
    else
        (void)snprintf(stream->error, BERTH_CLIENT_ERROR_MAX, "%s has ended the stream",
            stream->access->server);
}

BerthStream *berth_stream_new(const BerthAccess *access, const char *path,
    void (*line)(void *context, Str line), void *context, char *error) {
    _cleanup_(arena_freep) Arena *arena = terminal_arena(MEMORY_FOR, STREAM_BUDGET);
    BerthStream *stream = terminal_need(calloc(1, sizeof(*stream)), MEMORY_FOR);
    Header header;
    const CallOptions options = {
        .method = "GET",
        .path = full_path(access, str_from_c(path), arena),
        .first_byte_sec = BERTH_CLIENT_SEC,
        .accepts_401 = true,
        .headers = &header,
        .n_headers = proxy_headers(access, &header),
    };
    const CallHandler handler = {
        .context = stream, .head = take_head, .data = take_data, .done = take_end};

    *stream = (BerthStream){
        .access = access,
        .line = line,
        .context = context,
        .client = access->proxy.client,
        .rest = BUF_INIT(BERTH_CLIENT_LINE_MAX),
        .refusal = BUF_INIT(REFUSAL_MAX),
        .error = error,
    };
    if (!stream->client && !(stream->server = open_access(access, arena, error))) {
        print_failure(access, error, error);
        return stream;
    }
    if (stream->server)
        stream->client = terminal_need(client_new(stream->server), MEMORY_FOR);
    stream->call = terminal_need(client_call(stream->client, &options, &handler), MEMORY_FOR);
    return stream;
}

BerthStream *berth_stream_free(BerthStream *stream) {
    if (!stream)
        return NULL;
    if (stream->server)
        client_free(stream->client);
    else
        call_cancel(stream->call);
    access_free(stream->server);
    buf_done(&stream->rest);
    buf_done(&stream->refusal);
    free(stream);
    return NULL;
}

bool berth_stream_step(BerthStream *stream, int fd, int timeout_msec) {
    if (stream->call)
        (void)client_wait_fd(stream->client, fd, timeout_msec);
    return stream->call != NULL;
}
