#pragma once

/*
 * Transport: reads and writes a socket, or a TLS session on it.
 *
 * No function blocks: -EAGAIN means that the socket is not ready. Threads: one at a time.
 */

#include <gnutls/gnutls.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

typedef struct Transport {
    int fd;
    gnutls_session_t session; /* NULL: plain */
    size_t n_unsent;          /* bytes of a TLS record, encrypted but not sent */
} Transport;

/* Returns the number of bytes read, > 0; 0 at the end of input; -EAGAIN; or another negative errno
 * when the connection is broken. */
ssize_t transport_read(Transport *transport, char *to, size_t room);

/* Returns the number of bytes of @slices taken, > 0; or an error as above. After -EAGAIN the next
 * call must begin with the same bytes: some may be in a TLS record already. */
ssize_t transport_write(Transport *transport, const struct iovec *slices, size_t n_slices);

/* Whether GnuTLS has bytes that transport_read() has not returned: epoll does not report them. */
bool transport_has_buffered(const Transport *transport);

/* One step of a server's handshake. 0 when it is done; -EAGAIN; or another negative errno. */
int transport_handshake(Transport *transport);

/* Shuts down writing: the peer sees the end of the output. */
void transport_end_output(Transport *transport);

/* Ends the TLS session, if there is one, without an alert: the socket is plain then. */
void transport_drop_tls(Transport *transport);

/* Closes session and socket. */
void transport_close(Transport *transport);
