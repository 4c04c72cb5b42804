/* TLS with certificates that are replaced while the server runs. */

#include "http/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/crypto.h>
#include <gnutls/x509.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/calendar.h"
#include "base/clock.h"
#include "base/message.h"
#include "base/ref.h"
#include "http/certificates.h"

#define KEY_ID_MAX 64
#define TIME_MAX 40u
#define DIGEST_SIZE 32

/* A reload may happen between two renames of a change that is not atomic: it tries again before it
 * reports an error. */
#define LOAD_ATTEMPTS 2

/* Other users of the machine can replace the key: refused. They, or a group, can read or replace
 * it: a warning. A group may read it, as kubelet mounts Secrets for a pod's fsGroup. */
#define MODE_REFUSED S_IWOTH
#define MODE_WARNED (S_IROTH | S_IWGRP)

enum { FILE_CERTIFICATE, FILE_KEY, FILE_CLIENT_CA, FILE_CLIENT_CRL, _FILE_MAX };

static const char *const file_titles[_FILE_MAX] = {"certificate", "key", "client CA", "client CRL"};

struct TlsSet {
    Ref ref;
    gnutls_pcert_st chain[CERTIFICATES_CHAIN_MAX];
    unsigned n_chain;
    gnutls_privkey_t key;
    mode_t key_mode;
    gnutls_x509_trust_list_t clients; /* NULL: no client certificates */
    CertificateTimes times;           /* of the leaf, like the next */
    bool is_for_servers;
    int64_t crl_until_sec;                        /* first of the next updates; INT64_MAX: none */
    unsigned char digest[_FILE_MAX][DIGEST_SIZE]; /* of the files it was made from */
};

struct TlsStore {
    const char *paths[_FILE_MAX]; /* NULL: not used */
    const Str *names;
    size_t n_names;
    atomic_uint_fast64_t generation;

    pthread_mutex_t lock; /* guards set */
    TlsSet *set;

    /* GnuTLS does not document that two threads may verify with one trust list. It is one check per
     * connection, so a lock is cheap. */
    pthread_mutex_t verify_mutex;
};

typedef struct TlsBytes {
    gnutls_datum_t files[_FILE_MAX];
    mode_t key_mode;
} TlsBytes;

static void bytes_done(TlsBytes *bytes) {
    for (size_t i = 0; i < _FILE_MAX; i++) {
        if (bytes->files[i].data)
            gnutls_memset(bytes->files[i].data, 0, bytes->files[i].size);
        free(bytes->files[i].data);
        bytes->files[i] = (gnutls_datum_t){0};
    }
}

static void close_fd(int *fd) {
    if (*fd >= 0)
        (void)close(*fd);
}

/* Formats an error about one file and returns @r. */
__attribute__((format(printf, 6, 7))) static int complain(
    const TlsStore *store, int file, int r, char *error, size_t size, const char *format, ...) {
    va_list arguments;
    size_t len;

    message_set(error, size, "%s %s: ", file_titles[file], store->paths[file]);
    len = strlen(error);
    va_start(arguments, format);
    message_setv(error + len, size - len, format, arguments);
    va_end(arguments);
    return r;
}

/* -EFBIG when it is too large. */
static int read_all(int fd, gnutls_datum_t *ret) {
    size_t len = 0, room = 0;
    char *data = NULL;
    ssize_t n;

    do {
        if (len == room) {
            char *more = room < TLS_FILE_MAX ? realloc(data, room + TLS_FILE_MAX / 16) : NULL;

            if (!more) {
                free(data);
                return room < TLS_FILE_MAX ? -ENOMEM : -EFBIG;
            }
            data = more;
            room += TLS_FILE_MAX / 16;
        }
        n = read(fd, data + len, room - len);
        if (n > 0)
            len += (size_t)n;
    } while (n > 0 || (n < 0 && errno == EINTR));
    if (n < 0) {
        int r = -errno;

        free(data);
        return r;
    }
    *ret = (gnutls_datum_t){.data = (unsigned char *)data, .size = (unsigned)len};
    return 0;
}

static int check_key_mode(
    const TlsStore *store, int fd, mode_t *ret_mode, char *error, size_t size) {
    struct stat status;

    if (fstat(fd, &status) < 0)
        return complain(store, FILE_KEY, -errno, error, size, "%s", strerror(errno));
    *ret_mode = status.st_mode & 07777;
    if (!(status.st_mode & MODE_REFUSED))
        return 0;
    return complain(store, FILE_KEY, -EPERM, error, size,
        "every user of this machine can replace it (mode %04o): chmod 600 %s", (unsigned)*ret_mode,
        store->paths[FILE_KEY]);
}

static int read_file(const TlsStore *store, int file, TlsBytes *bytes, char *error, size_t size) {
    _cleanup_(close_fd) int fd = open(store->paths[file], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int r;

    if (fd < 0)
        return complain(store, file, -errno, error, size, "%s", strerror(errno));
    r = file == FILE_KEY ? check_key_mode(store, fd, &bytes->key_mode, error, size) : 0;
    if (r < 0)
        return r;
    r = read_all(fd, &bytes->files[file]);
    if (r == -EFBIG)
        return complain(
            store, file, r, error, size, "too large, the limit is %zu bytes", TLS_FILE_MAX);
    return r < 0 ? complain(store, file, r, error, size, "%s", strerror(-r)) : 0;
}

static TlsSet *set_free(TlsSet *set) {
    if (!set)
        return NULL;
    for (unsigned i = 0; i < set->n_chain; i++)
        gnutls_pcert_deinit(&set->chain[i]);
    if (set->key)
        gnutls_privkey_deinit(set->key);
    if (set->clients)
        gnutls_x509_trust_list_deinit(set->clients, 1);
    free(set);
    return NULL;
}
DEFINE_CLEANUP(TlsSet *, set_free)

TlsSet *tls_set_unref(TlsSet *set) {
    if (set && ref_drop(&set->ref))
        set_free(set);
    return NULL;
}

static int set_load_chain(TlsSet *set, const gnutls_datum_t *pem) {
    _cleanup_(certificates_done) Certificates list = {0};
    int r = certificates_parse(pem, &list);

    if (r < 0)
        return r;
    if (list.n > CERTIFICATES_CHAIN_MAX)
        return GNUTLS_E_CERTIFICATE_LIST_UNSORTED;
    for (unsigned i = 0; i < list.n; i++) {
        r = gnutls_pcert_import_x509(&set->chain[i], list.items[i], 0);
        if (r < 0)
            return r;
        set->n_chain++;
    }
    set->times = certificates_times(&list, 1);
    set->is_for_servers = certificate_is_for_servers(list.items[0]);
    return 0;
}

static int set_load_key(TlsSet *set, const gnutls_datum_t *pem) {
    int r = gnutls_privkey_init(&set->key);

    if (r < 0)
        return r;
    return gnutls_privkey_import_x509_raw(set->key, pem, GNUTLS_X509_FMT_PEM, NULL, 0);
}

static int set_load_clients(TlsSet *set, const gnutls_datum_t *pem) {
    _cleanup_(certificates_done) Certificates list = {0};
    int r = certificates_parse(pem, &list);

    if (r < 0)
        return r;
    r = gnutls_x509_trust_list_init(&set->clients, 0);
    if (r < 0)
        return r;
    r = gnutls_x509_trust_list_add_cas(set->clients, list.items, list.n, 0);
    if (r <= 0)
        return r < 0 ? r : GNUTLS_E_NO_CERTIFICATE_FOUND;
    for (unsigned i = (unsigned)r; i < list.n; i++)
        gnutls_x509_crt_deinit(list.items[i]);
    list.n = 0; /* the trust list owns them now */
    return 0;
}

/* Whether the key belongs to the leaf. */
static bool set_fits(const TlsSet *set) {
    unsigned char of_leaf[KEY_ID_MAX], of_key[KEY_ID_MAX];
    size_t leaf_size = sizeof(of_leaf), key_size = sizeof(of_key);
    gnutls_pubkey_t public_key;
    bool fits = false;

    if (gnutls_pubkey_init(&public_key) < 0)
        return false;
    if (gnutls_pubkey_import_privkey(public_key, set->key, 0, 0) >= 0 &&
        gnutls_pubkey_get_key_id(public_key, GNUTLS_KEYID_USE_SHA256, of_key, &key_size) >= 0 &&
        gnutls_pubkey_get_key_id(
            set->chain[0].pubkey, GNUTLS_KEYID_USE_SHA256, of_leaf, &leaf_size) >= 0)
        fits = leaf_size == key_size && memcmp(of_leaf, of_key, key_size) == 0;
    gnutls_pubkey_deinit(public_key);
    return fits;
}

/* Each CRL must be signed by a CA of @ca_pem, or it would never apply. One past its next update
 * does apply: what it revokes stays revoked. */
static int set_load_crls(const TlsStore *store, TlsSet *set, const gnutls_datum_t *ca_pem,
    const gnutls_datum_t *crl_pem, char *error, size_t size) {
    _cleanup_(certificates_done) Certificates cas = {0};
    _cleanup_(crls_done) Crls crls = {0};
    int r = certificates_parse(ca_pem, &cas);

    if (r == 0)
        r = crls_parse(crl_pem, &crls);
    if (r < 0)
        return complain(store, FILE_CLIENT_CRL, -EINVAL, error, size,
            "no list of CRLs in PEM format: %s", gnutls_strerror(r));
    for (unsigned i = 0; i < crls.n; i++) {
        const char *problem = crl_problem(crls.items[i], &cas);
        int64_t until = (int64_t)gnutls_x509_crl_get_next_update(crls.items[i]);

        if (problem)
            return complain(store, FILE_CLIENT_CRL, -EINVAL, error, size,
                "CRL %u %s: it must be of a CA in %s", i + 1, problem,
                store->paths[FILE_CLIENT_CA]);
        if (until >= 0 && until < set->crl_until_sec)
            set->crl_until_sec = until;
    }
    r = gnutls_x509_trust_list_add_crls(set->clients, crls.items, crls.n, 0, 0);
    if (r < 0 || (unsigned)r != crls.n)
        return complain(store, FILE_CLIENT_CRL, -EINVAL, error, size, "%s",
            r < 0 ? gnutls_strerror(r) : "not every CRL could be added");
    crls.n = 0; /* the trust list owns them now */
    return 0;
}

static int set_load_parts(
    const TlsStore *store, TlsSet *set, const TlsBytes *bytes, char *error, size_t size) {
    const gnutls_datum_t *files = bytes->files;
    int r;

    r = set_load_chain(set, &files[FILE_CERTIFICATE]);
    if (r < 0)
        return complain(store, FILE_CERTIFICATE, -EINVAL, error, size, "%s", gnutls_strerror(r));
    r = set_load_key(set, &files[FILE_KEY]);
    if (r < 0)
        return complain(store, FILE_KEY, -EINVAL, error, size, "%s", gnutls_strerror(r));
    r = store->paths[FILE_CLIENT_CA] ? set_load_clients(set, &files[FILE_CLIENT_CA]) : 0;
    if (r < 0)
        return complain(store, FILE_CLIENT_CA, -EINVAL, error, size, "%s", gnutls_strerror(r));
    if (!store->paths[FILE_CLIENT_CRL])
        return 0;
    return set_load_crls(store, set, &files[FILE_CLIENT_CA], &files[FILE_CLIENT_CRL], error, size);
}

/* "2026-11-17T02:00:00Z" */
static const char *show_time(int64_t sec, char text[static TIME_MAX]) {
    _cleanup_(buf_done) Buf out = BUF_INIT(TIME_MAX);

    calendar_print(sec, 0, &out);
    (void)snprintf(text, TIME_MAX, "%.*s", STR_FMT(buf_str(&out)));
    return text;
}

/* Whether clients would accept the pair. */
static int check_pair(const TlsStore *store, const TlsSet *set, char *error, size_t size) {
    int64_t now = clock_wall_nsec() / NSEC_PER_SEC;
    char time[TIME_MAX];

    if (!set_fits(set))
        return complain(
            store, FILE_KEY, -EINVAL, error, size, "does not belong to the certificate");
    if (now > set->times.until_sec)
        return complain(store, FILE_CERTIFICATE, -EINVAL, error, size,
            "expired at %s: issue a new one (the clock says %s)",
            show_time(set->times.until_sec, time), show_time(now, (char[TIME_MAX]){0}));
    if (now < set->times.from_sec)
        return complain(store, FILE_CERTIFICATE, -EINVAL, error, size,
            "is not valid before %s: wait, or issue another one (the clock says %s)",
            show_time(set->times.from_sec, time), show_time(now, (char[TIME_MAX]){0}));
    if (!set->is_for_servers)
        return complain(store, FILE_CERTIFICATE, -EINVAL, error, size,
            "its extended key usage is not for servers: issue one with serverAuth");
    return 0;
}

/* Whether the pair of @set is the one in use. It is not checked again: a new client CA or CRL
 * applies even if the server's certificate has expired meanwhile. */
static bool has_same_pair(const TlsStore *store, const TlsSet *set) {
    return store->set &&
           memcmp(store->set->digest, set->digest, sizeof(set->digest[0]) * (FILE_KEY + 1)) == 0;
}

static int set_new(
    const TlsStore *store, const TlsBytes *bytes, TlsSet **ret, char *error, size_t size) {
    _cleanup_(set_freep) TlsSet *set = calloc(1, sizeof(*set));
    int r;

    if (!set)
        return -ENOMEM;
    set->ref = REF_ONE;
    set->key_mode = bytes->key_mode;
    set->crl_until_sec = INT64_MAX;
    for (size_t i = 0; i < _FILE_MAX; i++)
        (void)gnutls_hash_fast(
            GNUTLS_DIG_SHA256, bytes->files[i].data, bytes->files[i].size, set->digest[i]);
    r = set_load_parts(store, set, bytes, error, size);
    if (r == 0 && !has_same_pair(store, set))
        r = check_pair(store, set, error, size);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(set);
    return 0;
}

static int set_load(const TlsStore *store, TlsSet **ret, char *error, size_t size) {
    int r = -EINVAL;

    (void)snprintf(error, size, "out of memory for the certificates");
    for (int attempt = 0; attempt < LOAD_ATTEMPTS && r < 0; attempt++) {
        _cleanup_(bytes_done) TlsBytes bytes = {0};

        r = 0;
        for (int i = 0; r == 0 && i < _FILE_MAX; i++)
            if (store->paths[i])
                r = read_file(store, i, &bytes, error, size);
        if (r == 0)
            r = set_new(store, &bytes, ret, error, size);
    }
    return r;
}

int tls_store_new(const TlsFiles *files, TlsStore **ret, char *error, size_t error_size) {
    _cleanup_(tls_store_freep) TlsStore *store = calloc(1, sizeof(*store));
    static const Str fallback = STR(TLS_CLIENT_NAME);
    int r;

    (void)snprintf(error, error_size, "out of memory for the certificates");
    if (!store)
        return -ENOMEM;
    pthread_mutex_init(&store->lock, NULL);
    pthread_mutex_init(&store->verify_mutex, NULL);
    store->paths[FILE_CERTIFICATE] = files->certificate;
    store->paths[FILE_KEY] = files->key;
    store->paths[FILE_CLIENT_CA] = files->client_ca;
    store->paths[FILE_CLIENT_CRL] = files->client_ca ? files->client_crl : NULL;
    store->names = files->n_client_names > 0 ? files->client_names : &fallback;
    store->n_names = files->n_client_names > 0 ? files->n_client_names : 1;
    r = set_load(store, &store->set, error, error_size);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(store);
    return 0;
}

TlsStore *tls_store_free(TlsStore *store) {
    if (!store)
        return NULL;
    tls_set_unref(store->set);
    pthread_mutex_destroy(&store->lock);
    pthread_mutex_destroy(&store->verify_mutex);
    free(store);
    return NULL;
}

TlsReload tls_store_reload(TlsStore *store, char *error, size_t error_size) {
    TlsSet *set = NULL, *old;

    if (set_load(store, &set, error, error_size) < 0 || !set)
        return TLS_REFUSED;
    if (memcmp(set->digest, store->set->digest, sizeof(set->digest)) == 0) {
        tls_set_unref(set);
        return TLS_UNCHANGED;
    }
    pthread_mutex_lock(&store->lock);
    old = store->set;
    store->set = set;
    /* Inside of the lock: who was served by the new set finds that all connections are checked. */
    atomic_fetch_add(&store->generation, 1);
    pthread_mutex_unlock(&store->lock);
    tls_set_unref(old);
    return TLS_RELOADED;
}

TlsSet *tls_store_ref_set(TlsStore *store) {
    TlsSet *set;

    pthread_mutex_lock(&store->lock);
    set = store->set;
    ref_take(&set->ref);
    pthread_mutex_unlock(&store->lock);
    return set;
}

uint64_t tls_store_generation(const TlsStore *store) {
    return atomic_load(&store->generation);
}

/* The current set, for a look at it. */
static TlsSet *look(const TlsStore *store) {
    return tls_store_ref_set((TlsStore *)(uintptr_t)store); /* for the lock only */
}

int64_t tls_store_expiry(const TlsStore *store) {
    TlsSet *set = look(store);
    int64_t expiry = set->times.until_sec;

    tls_set_unref(set);
    return expiry;
}

void tls_store_print_chain(const TlsStore *store, Buf *out) {
    TlsSet *set = look(store);

    for (unsigned i = 0; i < set->n_chain; i++) {
        gnutls_datum_t pem = {0};

        if (gnutls_pem_base64_encode2("CERTIFICATE", &set->chain[i].cert, &pem) >= 0)
            buf_append(out, str_of((const char *)pem.data, pem.size));
        gnutls_free(pem.data);
    }
    tls_set_unref(set);
}

int64_t tls_store_crl_expiry(const TlsStore *store) {
    TlsSet *set = look(store);
    int64_t expiry = set->crl_until_sec;

    tls_set_unref(set);
    return expiry == INT64_MAX ? 0 : expiry;
}

bool tls_store_key_warning(const TlsStore *store, char *text, size_t size) {
    TlsSet *set = look(store);
    mode_t mode = set->key_mode;

    tls_set_unref(set);
    if (!(mode & MODE_WARNED))
        return false;
    (void)complain(store, FILE_KEY, 0, text, size, "%s (mode %04o): chmod 600 %s",
        mode & S_IROTH ? "every user of this machine can read it" : "its group can replace it",
        (unsigned)mode, store->paths[FILE_KEY]);
    return true;
}

bool tls_store_crl_warning(const TlsStore *store, int64_t now_sec, char *text, size_t size) {
    int64_t until = tls_store_crl_expiry(store);
    char time[TIME_MAX];

    if (until == 0 || now_sec <= until)
        return false;
    (void)complain(store, FILE_CLIENT_CRL, 0, text, size,
        "a newer one was due at %s: certificates revoked since are accepted. Have the CA write a "
        "new "
        "one to this file",
        show_time(until, time));
    return true;
}

const Str *tls_store_client_names(const TlsStore *store, size_t *ret_n) {
    *ret_n = store->paths[FILE_CLIENT_CA] ? store->n_names : 0;
    return store->names;
}

void tls_set_credentials(
    TlsSet *set, gnutls_pcert_st **ret_chain, unsigned *ret_n, gnutls_privkey_t *ret_key) {
    *ret_chain = set->chain;
    *ret_n = set->n_chain;
    *ret_key = set->key;
}

/* --- clients --- */

/* GnuTLS's hook: before a Certificate message is used. */
static int on_certificate_message(gnutls_session_t session, unsigned type, unsigned when,
    unsigned is_incoming, const gnutls_datum_t *message) {
    bool is_tls_1_3 = gnutls_protocol_get_version(session) == GNUTLS_TLS1_3;

    return !is_incoming || certificates_key_is_cheap(message, is_tls_1_3)
               ? 0
               : GNUTLS_E_CERTIFICATE_ERROR;
}

void tls_request_certificate(gnutls_session_t session) {
    gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUEST);
    gnutls_handshake_set_hook_function(
        session, GNUTLS_HANDSHAKE_CERTIFICATE_PKT, GNUTLS_HOOK_PRE, on_certificate_message);
}

/* The chain ends in the client CA, is valid now and for client authentication. */
static bool chain_is_good(
    TlsStore *store, const TlsSet *set, Certificates *chain, char *error, size_t size) {
    gnutls_typed_vdata_st purpose = {
        .type = GNUTLS_DT_KEY_PURPOSE_OID,
        .data = (unsigned char *)(uintptr_t)GNUTLS_KP_TLS_WWW_CLIENT,
    };
    unsigned status = GNUTLS_CERT_INVALID;
    gnutls_datum_t text = {0};
    int r;

    pthread_mutex_lock(&store->verify_mutex);
    r = gnutls_x509_trust_list_verify_crt2(set->clients, chain->items, chain->n, &purpose, 1,
        GNUTLS_PROFILE_TO_VFLAGS(GNUTLS_PROFILE_MEDIUM), &status, NULL);
    pthread_mutex_unlock(&store->verify_mutex);
    if (r >= 0 && status == 0)
        return true;
    if (r >= 0 &&
        gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &text, 0) >= 0)
        (void)snprintf(error, size, "%s", (char *)text.data);
    else
        (void)snprintf(error, size, "client certificate: %s", gnutls_strerror(r));
    gnutls_free(text.data);
    return false;
}

bool tls_store_peer_is_allowed(TlsStore *store, gnutls_session_t session, const Str *names,
    size_t n_names, int64_t *ret_until_sec, char *error, size_t size) {
    _cleanup_(certificates_done) Certificates chain = {0};
    TlsSet *set;
    bool is_good;
    int r;

    *ret_until_sec = 0;
    r = certificates_of_peer(session, &chain);
    if (r < 0) {
        (void)snprintf(error, size, "client certificate: %s", gnutls_strerror(r));
        return false;
    }
    set = tls_store_ref_set(store);
    is_good = set->clients && chain_is_good(store, set, &chain, error, size);
    tls_set_unref(set);
    if (!is_good)
        return false;
    if (!certificate_has_name(chain.items[0], names, n_names)) {
        (void)snprintf(error, size, "the name in the client certificate is not allowed");
        return false;
    }
    *ret_until_sec = certificates_times(&chain, chain.n).until_sec;
    return true;
}
