#pragma once

/*
 * Transport: bytes to and from a peer, over a socket or a TLS session on it.
 *
 * Nothing here waits: -EAGAIN means that the socket is not ready, and transport_events() says for
 * what. One thread at a time.
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
    size_t n_unsent;          /* bytes of a TLS record that is made but not out */
} Transport;

/* > 0; 0 at the end of input; -EAGAIN; another negative errno when the connection is broken. */
ssize_t transport_read(Transport *transport, char *to, size_t room);

/* How many bytes of @slices were taken, > 0; or as above. After -EAGAIN the next call must begin
 * with the same bytes: some may be in a TLS record already. */
ssize_t transport_write(Transport *transport, const struct iovec *slices, size_t n_slices);

/* Bytes have been read from the socket that transport_read() has not returned yet. */
bool transport_has_buffered(const Transport *transport);

/* One step of a server's handshake. 0 when it is done; -EAGAIN; or another negative errno. */
int transport_handshake(Transport *transport);

/* EPOLLIN or EPOLLOUT: what the last step of the handshake waits for. */
uint32_t transport_handshake_events(const Transport *transport);

/* Nothing more will be written. */
void transport_end_output(Transport *transport);

/* Closes all of it. */
void transport_close(Transport *transport);
