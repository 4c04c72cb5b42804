/* Reads and writes without waiting, on a socket or on a TLS session. */

#include "http/transport.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The largest TLS record. */
#define RECORD_MAX ((size_t)16 * 1024)

static int from_gnutls(ssize_t code) {
    return code == GNUTLS_E_AGAIN || code == GNUTLS_E_INTERRUPTED ? -EAGAIN : -ECONNABORTED;
}

/* Like from_gnutls(). If the peer broke the protocol, it gets an alert with the reason. */
static int refuse_input(Transport *transport, ssize_t code) {
    int r = from_gnutls(code);

    if (r != -EAGAIN && code != GNUTLS_E_PULL_ERROR && code != GNUTLS_E_PUSH_ERROR &&
        code != GNUTLS_E_PREMATURE_TERMINATION && code != GNUTLS_E_FATAL_ALERT_RECEIVED)
        (void)gnutls_alert_send_appropriate(transport->session, (int)code);
    return r;
}

ssize_t transport_read(Transport *transport, char *to, size_t room) {
    ssize_t n;

    if (transport->session) {
        n = gnutls_record_recv(transport->session, to, room);
        return n >= 0 ? n : refuse_input(transport, n);
    }
    n = recv(transport->fd, to, room, MSG_DONTWAIT);
    return n >= 0 ? n : errno == EINTR ? -EAGAIN : -errno;
}

/* Writes one record. GnuTLS keeps unsent bytes, so they are not copied again. */
static ssize_t write_record(Transport *transport, const struct iovec *slices, size_t n_slices) {
    char record[RECORD_MAX];
    size_t len = 0;
    ssize_t n;

    if (transport->n_unsent > 0) {
        n = gnutls_record_send(transport->session, NULL, 0);
    } else {
        for (size_t i = 0; i < n_slices && len < sizeof(record); i++) {
            size_t room = sizeof(record) - len;
            size_t part = slices[i].iov_len < room ? slices[i].iov_len : room;

            if (part > 0)
                memcpy(record + len, slices[i].iov_base, part);
            len += part;
        }
        transport->n_unsent = len;
        n = gnutls_record_send(transport->session, record, len);
    }
    if (n < 0)
        return from_gnutls(n);
    transport->n_unsent = 0;
    return n;
}

ssize_t transport_write(Transport *transport, const struct iovec *slices, size_t n_slices) {
    struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)slices, .msg_iovlen = n_slices};
    ssize_t n;

    if (transport->session)
        return write_record(transport, slices, n_slices);
    n = sendmsg(transport->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    return n >= 0 ? n : errno == EINTR ? -EAGAIN : -errno;
}

bool transport_has_buffered(const Transport *transport) {
    return transport->session && gnutls_record_check_pending(transport->session) > 0;
}

int transport_handshake(Transport *transport) {
    int r;

    do
        r = gnutls_handshake(transport->session);
    while (r < 0 && r != GNUTLS_E_AGAIN && r != GNUTLS_E_INTERRUPTED && !gnutls_error_is_fatal(r));
    return r == GNUTLS_E_SUCCESS ? 0 : refuse_input(transport, r);
}

void transport_end_output(Transport *transport) {
    if (transport->session)
        (void)gnutls_bye(transport->session, GNUTLS_SHUT_WR);
    (void)shutdown(transport->fd, SHUT_WR);
}

void transport_drop_tls(Transport *transport) {
    if (transport->session)
        gnutls_deinit(transport->session);
    transport->session = NULL;
}

void transport_close(Transport *transport) {
    transport_drop_tls(transport);
    (void)close(transport->fd);
    *transport = (Transport){.fd = -1};
}
