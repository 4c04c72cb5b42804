#pragma once

/*
 * MockServer: an HTTP server on 127.0.0.1 that replaces a server of a real cluster.
 *
 * It sends JSON to every client, and can stop and resume on the same port: meanwhile the kernel
 * refuses connections, as when the program has ended.
 *
 * Functions are for one thread; replies are made on the server's worker.
 */

#include "base/buf.h"
#include "http/server.h"

/* Writes the reply to @out; @reply->status is 200 unless set. */
typedef void MockServerAnswer(
    void *context, const HttpRequest *request, Buf *out, HttpReply *reply);

typedef struct MockServer {
    MockServerAnswer *answer;
    void *context;
    size_t reply_max; /* bytes; a larger one is 503 */
    size_t body_max;  /* of a request; 0: the server's default */

    int fd; /* reserves the port */
    uint16_t port;
    Server *server; /* NULL: stopped */
    char url[64];   /* "http://127.0.0.1:39999" */
} MockServer;

/* Listens; the caller sets the first four fields, the others are zero. mock_server_done() takes
 * one that is all zero. 0, or a negative errno. */
int mock_server_open(MockServer *mock);
void mock_server_done(MockServer *mock);

/* Closes connections past a deadline; call it regularly. */
void mock_server_tick(MockServer *mock);

void mock_server_stop(MockServer *mock);
int mock_server_resume(MockServer *mock); /* 0, or a negative errno */
