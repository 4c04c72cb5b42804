/*
 * Linux lets two sockets of SO_REUSEADDR have the same address as long as neither listens at the
 * moment of bind(): this one never does, and the server's (http/server.c) may then.
 */

#include "demo/held-port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

int reserved_port_open(ReservedPort *port) {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
    } address = {.v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(address.v4);
    const int on = 1;
    int r;

    port->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (port->fd < 0)
        return -errno;
    if (setsockopt(port->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        bind(port->fd, &address.any, size) < 0 || getsockname(port->fd, &address.any, &size) < 0) {
        r = -errno;
        reserved_port_done(port);
        return r;
    }
    port->number = ntohs(address.v4.sin_port);
    return 0;
}

void reserved_port_done(ReservedPort *port) {
    if (port->fd >= 0)
        (void)close(port->fd);
    *port = RESERVED_PORT_NONE;
}
