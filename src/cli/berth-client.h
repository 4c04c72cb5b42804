#pragma once

/* Requests of commands to a running berth, over HTTP or HTTPS, on kube/client.h. */

#include "kube/blocking-client.h"

#define BERTH_CLIENT_REPLY_MAX ((size_t)64 * 1024 * 1024)
#define BERTH_CLIENT_LINE_MAX ((size_t)1024 * 1024)
#define BERTH_CLIENT_ERROR_MAX BLOCKING_CLIENT_ERROR_MAX
#define BERTH_CLIENT_SEC 10

#define BERTH_CLIENT_TOKEN_HEADER "Berth-Token"

/* A berth behind the pod proxy of an API server. The proxy removes Authorization, so the token of
 * berth's pages is in a header of its own. */
typedef struct BerthProxy {
    Client *client;        /* to the API server; NULL: no proxy */
    const char *namespace; /* of the pod */
    const char *path;      /* "/api/v1/namespaces/NAMESPACE/pods/https:NAME:8444/proxy" */
    const char *token;     /* NULL: none */
    const char *roles;     /* prefix of the Roles' names; the suffixes are below */
} BerthProxy;

/* The server and our credentials; NULL: not used. */
typedef struct BerthAccess {
    const char *server; /* "http://127.0.0.1:8080"; of a proxy "pod NAMESPACE/NAME", for messages */
    BerthProxy proxy;   /* instead of the following four */
    const char *ca;     /* PEM files: the CA of its certificate, */
    const char *cert;   /* and our own, with its key */
    const char *key;
    const char *token_file; /* Authorization: Bearer …; over http to loopback only */
    unsigned timeout_sec;   /* for the whole answer; 0: BERTH_CLIENT_SEC */
} BerthAccess;

/* Sends a GET for @path, or a POST of @body (JSON) unless it is empty. Returns whether there is a
 * reply, of any status, in @arena; if not, the reason is in @error (BERTH_CLIENT_ERROR_MAX), else
 * empty. Without memory the process ends (cli/terminal.h). */
bool berth_client_request(
    const BerthAccess *access, Str path, Str body, Arena *arena, BlockingReply *ret, char *error);

/* Writes to @error why @reply is not a success: berth's message, or that of the API server with the
 * command that grants the missing permission; else the status. */
void berth_client_explain(
    const BerthAccess *access, const BlockingReply *reply, Arena *arena, char *error);

/* The Roles of berth's namespace (deploy/). */
#define BERTH_CLIENT_ROLES "berth"
#define BERTH_CLIENT_VIEWER "-viewer"
#define BERTH_CLIENT_WHAT_IF "-what-if"

/* "an administrator can give you the Role …", with the command for the user that @refusal, a
 * message of the API server, names. @roles and @role: prefix and suffix of its name. */
Str berth_client_grant(
    Str refusal, const char *namespace, const char *roles, const char *role, Arena *arena);

/* Fetches the JSON at @path (with its query) into @arena. Returns false, with the reason in @error,
 * if berth refuses (404, 403, …) or there is no reply. */
bool berth_client_get(const BerthAccess *access, Str path, Arena *arena, Str *ret, char *error);

/* @text escaped for a query. */
Str berth_client_escape(Str text, Arena *arena);

/* BerthStream: an answer without an end (/api/v1/events), line by line. One thread. */
typedef struct BerthStream BerthStream;

/* Starts the request for @path. berth_stream_step() calls @line for each whole line, without its
 * end. When the stream ends, the reason is in @error (BERTH_CLIENT_ERROR_MAX). @access, @context
 * and @error must outlive the stream. */
BerthStream *berth_stream_new(const BerthAccess *access, const char *path,
    void (*line)(void *context, Str line), void *context, char *error);
BerthStream *berth_stream_free(BerthStream *stream); /* takes NULL, returns NULL */
DEFINE_CLEANUP(BerthStream *, berth_stream_free)

/* Waits up to @timeout_msec for lines, or until @fd (-1: none) can be read. False: it has ended. */
bool berth_stream_step(BerthStream *stream, int fd, int timeout_msec);
