#pragma once

/*
 * Transport: bytes to and from a peer, over a socket or a TLS session on it.
 *
 * Nothing here blocks: -EAGAIN means that the socket is not ready. One thread at a time.
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
    size_t n_unsent;          /* bytes of a TLS record that is encrypted but not sent */
} Transport;

/* > 0; 0 at the end of input; -EAGAIN; another negative errno when the connection is broken. */
ssize_t transport_read(Transport *transport, char *to, size_t room);

/* The number of bytes of @slices taken, > 0; or as above. After -EAGAIN the next call must begin
 * with the same bytes: some may be in a TLS record already. */
ssize_t transport_write(Transport *transport, const struct iovec *slices, size_t n_slices);

/* Bytes have been read from the socket that transport_read() has not returned yet. */
bool transport_has_buffered(const Transport *transport);

/* One step of a server's handshake. 0 when it is done; -EAGAIN; or another negative errno. */
int transport_handshake(Transport *transport);

/* Shuts down writing. */
void transport_end_output(Transport *transport);

/* Ends the TLS session without a word: the socket is plain from now on. Takes a plain one. */
void transport_drop_tls(Transport *transport);

/* Closes session and socket. */
void transport_close(Transport *transport);
