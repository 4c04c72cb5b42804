/*
 * TLS records of a client, with changes or replaced by any bytes. The server must end the
 * handshake, never accept a client without a certificate, and read nothing that the client has not
 * sent.
 *
 * Input: a byte of flags, then changes of four bytes each (with FLAG_RAW, the bytes to send).
 */

#include <errno.h>
#include <gnutls/abstract.h>
#include <gnutls/x509.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fuzz.h"
#include "http/tls.h"
#include "http/transport.h"

#define CHANGES_MAX 16u
#define ROUNDS_MAX 64u /* of both sides; a handshake needs four */
#define STREAM_MAX ((size_t)1024 * 1024)

enum { FLAG_TLS_1_2 = 1, FLAG_CERTIFICATE = 2, FLAG_RAW = 4 };

typedef enum ChangeKind {
    CHANGE_XOR,
    CHANGE_DROP,   /* "value" bytes */
    CHANGE_INSERT, /* one byte */
    CHANGE_REPEAT, /* "value" bytes before it */
    CHANGE_END,    /* the client is gone */
    _CHANGE_MAX,
} ChangeKind;

typedef struct Change {
    unsigned at; /* index in the client's stream */
    ChangeKind kind;
    unsigned char value;
} Change;

static const char request[] = "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n";

static TlsStore *store;
static gnutls_priority_t priorities, client_priorities[2];
static gnutls_x509_privkey_t key; /* of all peers */
static gnutls_x509_crt_t client_certificate;

/* --- certificates --- */

static gnutls_x509_crt_t issue(
    const char *name, bool is_ca, const char *purpose, gnutls_x509_crt_t ca) {
    time_t now = time(NULL);
    gnutls_x509_crt_t it;

    require(gnutls_x509_crt_init(&it) >= 0 && gnutls_x509_crt_set_version(it, 3) >= 0 &&
            gnutls_x509_crt_set_serial(it, is_ca ? "\1" : "\2", 1) >= 0 &&
            gnutls_x509_crt_set_activation_time(it, now - 3600) >= 0 &&
            gnutls_x509_crt_set_expiration_time(it, now + 365 * 86400) >= 0 &&
            gnutls_x509_crt_set_key(it, key) >= 0 &&
            gnutls_x509_crt_set_dn_by_oid(
                it, GNUTLS_OID_X520_COMMON_NAME, 0, name, (unsigned)strlen(name)) >= 0 &&
            gnutls_x509_crt_set_basic_constraints(it, is_ca, -1) >= 0);
    if (is_ca)
        require(gnutls_x509_crt_set_key_usage(it, GNUTLS_KEY_KEY_CERT_SIGN) >= 0);
    else
        require(gnutls_x509_crt_set_key_purpose_oid(it, purpose, 0) >= 0);
    require(gnutls_x509_crt_sign2(it, ca ? ca : it, key, GNUTLS_DIG_SHA256, 0) >= 0);
    return it;
}

/* Makes a file with @pem, and writes its path. */
static void make_file(gnutls_datum_t pem, char path[static 32]) {
    int fd = memfd_create("pem", 0);

    require(fd >= 0 && fchmod(fd, 0600) == 0 && write(fd, pem.data, pem.size) == (int)pem.size);
    (void)snprintf(path, 32, "/proc/self/fd/%d", fd);
    gnutls_free(pem.data);
}

static void make_certificate_file(gnutls_x509_crt_t certificate, char path[static 32]) {
    gnutls_datum_t pem = {0};

    require(gnutls_x509_crt_export2(certificate, GNUTLS_X509_FMT_PEM, &pem) >= 0);
    make_file(pem, path);
}

static void start(void) {
    char certificate_path[32], key_path[32], ca_path[32], error[512];
    gnutls_datum_t pem = {0};
    gnutls_x509_crt_t ca, server;

    require(gnutls_x509_privkey_init(&key) >= 0);
    require(gnutls_x509_privkey_generate(
                key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0) >= 0);
    ca = issue("ca", true, NULL, NULL);
    server = issue("berth", false, GNUTLS_KP_TLS_WWW_SERVER, ca);
    client_certificate = issue(TLS_CLIENT_NAME, false, GNUTLS_KP_TLS_WWW_CLIENT, ca);
    make_certificate_file(ca, ca_path);
    make_certificate_file(server, certificate_path);
    require(gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &pem) >= 0);
    make_file(pem, key_path);
    require(tls_store_new(
                &(TlsFiles){.certificate = certificate_path, .key = key_path, .client_ca = ca_path},
                &store, error, sizeof(error)) == 0);
    require(gnutls_priority_init(&priorities, TLS_PRIORITIES, NULL) >= 0);
    require(
        gnutls_priority_init(&client_priorities[0], "NORMAL:-VERS-ALL:+VERS-TLS1.3", NULL) >= 0);
    require(
        gnutls_priority_init(&client_priorities[1], "NORMAL:-VERS-ALL:+VERS-TLS1.2", NULL) >= 0);
    gnutls_x509_crt_deinit(ca);
    gnutls_x509_crt_deinit(server);
}

/* --- the client, whose bytes go through memory --- */

typedef struct Peer {
    gnutls_session_t session;
    gnutls_certificate_credentials_t credentials;
    Buf output, input;
    size_t n_output, n_input; /* bytes used of them */
    bool is_done;
    size_t n_sent; /* bytes of the request */
} Peer;

static ssize_t on_push(gnutls_transport_ptr_t context, const void *bytes, size_t size) {
    Peer *peer = context;

    buf_append(&peer->output, str_of(bytes, size));
    return (ssize_t)size;
}

static ssize_t on_pull(gnutls_transport_ptr_t context, void *to, size_t size) {
    Peer *peer = context;
    Str rest = str_skip(buf_str(&peer->input), peer->n_input);

    if (rest.len == 0) {
        gnutls_transport_set_errno(peer->session, EAGAIN);
        return -1;
    }
    rest = str_take(rest, size);
    memcpy(to, rest.ptr, rest.len);
    peer->n_input += rest.len;
    return (ssize_t)rest.len;
}

static int on_ready(gnutls_transport_ptr_t context, unsigned msec) {
    (void)context;
    (void)msec;
    return 1;
}

static void peer_init(Peer *peer, unsigned flags) {
    *peer = (Peer){.output = BUF_INIT(STREAM_MAX), .input = BUF_INIT(STREAM_MAX)};
    require(gnutls_certificate_allocate_credentials(&peer->credentials) >= 0);
    if (flags & FLAG_CERTIFICATE)
        require(
            gnutls_certificate_set_x509_key(peer->credentials, &client_certificate, 1, key) >= 0);
    require(gnutls_init(
                &peer->session, GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_FORCE_CLIENT_CERT) >= 0);
    require(
        gnutls_priority_set(peer->session, client_priorities[flags & FLAG_TLS_1_2 ? 1 : 0]) >= 0);
    require(gnutls_credentials_set(peer->session, GNUTLS_CRD_CERTIFICATE, peer->credentials) >= 0);
    gnutls_transport_set_ptr(peer->session, peer);
    gnutls_transport_set_push_function(peer->session, on_push);
    gnutls_transport_set_pull_function(peer->session, on_pull);
    gnutls_transport_set_pull_timeout_function(peer->session, on_ready);
}

static void peer_done(Peer *peer) {
    gnutls_deinit(peer->session);
    gnutls_certificate_free_credentials(peer->credentials);
    buf_done(&peer->output);
    buf_done(&peer->input);
}

static void peer_step(Peer *peer) {
    ssize_t n;

    if (!peer->is_done)
        peer->is_done = gnutls_handshake(peer->session) == 0;
    if (!peer->is_done || peer->n_sent > 0)
        return;
    n = gnutls_record_send(peer->session, request, sizeof(request) - 1);
    peer->n_sent = n > 0 ? (size_t)n : 0;
}

/* --- the network between them --- */

typedef struct Way {
    int fd; /* the client's end of the server's socket */
    Change changes[CHANGES_MAX];
    unsigned n_changes;
    Buf changed; /* sent at once, because a socket holds few small pieces */
    bool is_changed, is_over;
} Way;

static void way_init(Way *way, int fd, const uint8_t *data, size_t size) {
    *way = (Way){.fd = fd, .changed = BUF_INIT(STREAM_MAX)};
    for (; size >= 4 && way->n_changes < CHANGES_MAX; data += 4, size -= 4)
        way->changes[way->n_changes++] = (Change){
            .at = (unsigned)data[0] << 8 | data[1],
            .kind = (ChangeKind)(data[2] % _CHANGE_MAX),
            .value = data[3],
        };
}

static void put(Way *way, const char *bytes, size_t size) {
    if (!way->is_over)
        buf_append(&way->changed, str_of(bytes, size));
}

static void way_send(Way *way) {
    Str bytes = buf_str(&way->changed);

    if (bytes.len > 0)
        (void)!send(way->fd, bytes.ptr, bytes.len, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (way->is_over)
        (void)shutdown(way->fd, SHUT_WR);
    buf_reset(&way->changed);
}

/* Passes on the byte at @at of @stream, with its changes. Returns the number of bytes used. */
static size_t carry(Way *way, Str stream, size_t at) {
    char byte = stream.ptr[at];
    size_t used = 1;

    for (unsigned i = 0; i < way->n_changes; i++) {
        const Change *change = &way->changes[i];
        size_t n = change->value < at ? change->value : at;

        if (change->at != at)
            continue;
        way->is_changed = true;
        if (change->kind == CHANGE_XOR)
            byte = (char)(byte ^ change->value);
        else if (change->kind == CHANGE_DROP)
            used += change->value;
        else if (change->kind == CHANGE_INSERT)
            put(way, (const char *)&change->value, 1);
        else if (change->kind == CHANGE_REPEAT)
            put(way, stream.ptr + at - n, n);
        else
            way->is_over = true;
    }
    put(way, &byte, 1);
    return used;
}

/* Passes on all bytes of both sides. */
static void way_carry(Way *way, Peer *peer) {
    Str stream = buf_str(&peer->output);
    char bytes[4096];
    ssize_t n;

    while (peer->n_output < stream.len)
        peer->n_output += carry(way, stream, peer->n_output);
    way_send(way);
    while ((n = recv(way->fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
        buf_append(&peer->input, str_of(bytes, (size_t)n));
}

/* --- the server --- */

typedef struct Serving {
    Transport transport;
    TlsSet *set;
    gnutls_certificate_credentials_t credentials;
    bool is_open, is_over;
    size_t n_read;
} Serving;

static int on_certificate(gnutls_session_t session, const struct gnutls_cert_retr_st *info,
    gnutls_pcert_st **chain, unsigned *n_chain, gnutls_ocsp_data_st **ocsp, unsigned *n_ocsp,
    gnutls_privkey_t *ret_key, unsigned *flags) {
    const Serving *serving = gnutls_session_get_ptr(session);

    (void)info;
    tls_set_credentials(serving->set, chain, n_chain, ret_key);
    *ocsp = NULL;
    *n_ocsp = 0;
    *flags = 0;
    return 0;
}

static void serving_init(Serving *serving, int fd) {
    *serving = (Serving){.transport.fd = fd, .set = tls_store_ref_set(store)};
    require(gnutls_certificate_allocate_credentials(&serving->credentials) >= 0);
    gnutls_certificate_set_retrieve_function3(serving->credentials, on_certificate);
    require(gnutls_init(&serving->transport.session,
                GNUTLS_SERVER | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL | GNUTLS_NO_TICKETS) >= 0);
    gnutls_session_set_ptr(serving->transport.session, serving);
    gnutls_transport_set_int(serving->transport.session, fd);
    require(gnutls_priority_set(serving->transport.session, priorities) >= 0);
    require(gnutls_credentials_set(
                serving->transport.session, GNUTLS_CRD_CERTIFICATE, serving->credentials) >= 0);
    tls_request_certificate(serving->transport.session);
}

static void serving_done(Serving *serving) {
    transport_close(&serving->transport);
    gnutls_certificate_free_credentials(serving->credentials);
    tls_set_unref(serving->set);
}

static void read_request(Serving *serving) {
    char bytes[256];
    ssize_t n;

    while ((n = transport_read(&serving->transport, bytes, sizeof(bytes))) > 0) {
        require(serving->n_read + (size_t)n < sizeof(request));
        require(memcmp(bytes, request + serving->n_read, (size_t)n) == 0);
        serving->n_read += (size_t)n;
    }
    serving->is_over = n != -EAGAIN;
}

static void serving_step(Serving *serving) {
    int r;

    if (serving->is_over)
        return;
    if (!serving->is_open) {
        r = transport_handshake(&serving->transport);
        serving->is_open = r == 0;
        serving->is_over = r < 0 && r != -EAGAIN;
    }
    if (serving->is_open)
        read_request(serving);
}

static bool is_allowed(const Serving *serving) {
    char error[256] = "";
    int64_t until;
    size_t n_names;
    const Str *names = tls_store_client_names(store, &n_names);

    return tls_store_peer_is_allowed(
        store, serving->transport.session, names, n_names, &until, error, sizeof(error));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    unsigned flags = size > 0 ? data[0] : 0;
    Serving serving;
    Peer peer;
    Way way;
    int fds[2];

    if (size == 0)
        return 0;
    if (!store)
        start();
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
    serving_init(&serving, fds[0]);
    peer_init(&peer, flags);
    if (flags & FLAG_RAW) {
        way_init(&way, fds[1], NULL, 0);
        put(&way, (const char *)data + 1, size - 1);
        way.is_over = true;
    } else
        way_init(&way, fds[1], data + 1, size - 1);
    for (unsigned i = 0; i < ROUNDS_MAX && !serving.is_over && serving.n_read == 0; i++) {
        if (!(flags & FLAG_RAW))
            peer_step(&peer);
        way_carry(&way, &peer);
        serving_step(&serving);
    }
    if (flags & FLAG_RAW)
        require(!serving.is_open);
    else if (!way.is_changed)
        require(serving.is_open && serving.n_read == sizeof(request) - 1);
    if (serving.is_open)
        require(is_allowed(&serving) == ((flags & FLAG_CERTIFICATE) != 0));
    serving_done(&serving);
    peer_done(&peer);
    buf_done(&way.changed);
    (void)close(fds[1]);
    return 0;
}
