#pragma once

/* A client for a server in the same test. */

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/test-assert.h"
#include "http/server.h"

#define CLIENT_PATIENCE_SEC 60 /* until a missing byte fails the test */

/* The port that @server listens on. */
static inline uint16_t server_port(const Server *server) {
    char url[SERVER_URL_MAX];

    return (uint16_t)strtoul(strrchr(server_url(server, url), ':') + 1, NULL, 10);
}

/* A socket connected to @port on loopback. @buffer: size of its receive buffer; 0: the kernel's
 * choice. */
static inline int client_connect(uint16_t port, int buffer) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval patience = {.tv_sec = CLIENT_PATIENCE_SEC};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (buffer > 0)
        assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer)), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
    assert_int_equal(connect(fd, (const void *)&address, sizeof(address)), 0);
    return fd;
}

/* Sends all of @text. */
static inline void client_send(int fd, Str text) {
    assert_int_equal(send(fd, text.ptr, text.len, MSG_NOSIGNAL), text.len);
}

/* Reads to the end of input, at most @size - 1 bytes, NUL-terminated. Returns their number. */
static inline size_t client_read_all(int fd, char *text, size_t size) {
    size_t len = 0;
    ssize_t n;

    while (len < size - 1 && (n = recv(fd, text + len, size - 1 - len, 0)) > 0)
        len += (size_t)n;
    text[len] = '\0';
    return len;
}
