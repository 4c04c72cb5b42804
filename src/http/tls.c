/* TLS with certificates that are replaced while the server runs. */

#include "http/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/crypto.h>
#include <gnutls/x509.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/calendar.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/message.h"
#include "base/ref.h"
#include "base/thread.h"
#include "http/certificates.h"

#define KEY_ID_MAX 64
#define TIME_MAX 40u
#define DIGEST_SIZE 32

/* A reload may run between two renames of a change that is not atomic, so it tries again before it
 * reports an error. */
#define LOAD_ATTEMPTS 2

/* Refused: other users of the machine can replace the key. Warned: they can read it, or its group
 * can replace it. A group may read it: kubelet mounts Secrets for a pod's fsGroup. */
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
    CertificateTimes times;           /* of the leaf */
    bool is_for_servers;
    int64_t crl_until_sec;                        /* the earliest next update; INT64_MAX: none */
    unsigned char digest[_FILE_MAX][DIGEST_SIZE]; /* of its files */
};

struct TlsStore {
    const char *paths[_FILE_MAX]; /* NULL: not used */
    const Str *names;
    size_t n_names;
    atomic_uint_fast64_t generation;

    pthread_mutex_t lock; /* guards set */
    TlsSet *set;

    /* GnuTLS does not document that threads may share a trust list. There is one check per
     * connection, so a lock is cheap. */
    pthread_mutex_t verify_mutex;
};

/* The texts of the files, and the buffer for an error about them. */
typedef struct Loading {
    const TlsStore *store;
    char *error;
    size_t size;
    Buf files[_FILE_MAX];
    mode_t key_mode;
} Loading;

static void loading_done(Loading *loading) {
    for (size_t i = 0; i < _FILE_MAX; i++) {
        if (loading->files[i].data)
            gnutls_memset(loading->files[i].data, 0, loading->files[i].len);
        buf_done(&loading->files[i]);
    }
}

/* Formats an error about one file and returns @r. */
__attribute__((format(printf, 4, 5))) static int complain(
    const Loading *loading, int file, int r, const char *format, ...) {
    va_list arguments;
    size_t len;

    message_set(
        loading->error, loading->size, "%s %s: ", file_titles[file], loading->store->paths[file]);
    len = strlen(loading->error);
    va_start(arguments, format);
    message_setv(loading->error + len, loading->size - len, format, arguments);
    va_end(arguments);
    return r;
}

static int check_key_mode(Loading *loading, int fd) {
    struct stat status;

    if (fstat(fd, &status) < 0)
        return complain(loading, FILE_KEY, -errno, "%s", strerror(errno));
    loading->key_mode = status.st_mode & 07777;
    if (!(status.st_mode & MODE_REFUSED))
        return 0;
    return complain(loading, FILE_KEY, -EPERM,
        "every user of this machine can replace it (mode %04o): chmod 600 %s",
        (unsigned)loading->key_mode, loading->store->paths[FILE_KEY]);
}

static int read_file(Loading *loading, int file) {
    _cleanup_(fd_closep) int fd =
        open(loading->store->paths[file], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int r;

    if (fd < 0)
        return complain(loading, file, -errno, "%s", strerror(errno));
    r = file == FILE_KEY ? check_key_mode(loading, fd) : 0;
    if (r < 0)
        return r;
    loading->files[file] = BUF_INIT(TLS_FILE_MAX);
    r = fd_read(fd, &loading->files[file]);
    if (r == -EFBIG)
        return complain(loading, file, r, "too large, the limit is %zu bytes", TLS_FILE_MAX);
    return r < 0 ? complain(loading, file, r, "%s", strerror(-r)) : 0;
}

static gnutls_datum_t datum_of(const Loading *loading, int file) {
    const Buf *text = &loading->files[file];

    return (gnutls_datum_t){.data = (unsigned char *)text->data, .size = (unsigned)text->len};
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
    return set && ref_drop(&set->ref) ? set_free(set) : NULL;
}
DEFINE_CLEANUP(TlsSet *, tls_set_unref)

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

    return r < 0 ? r : gnutls_privkey_import_x509_raw(set->key, pem, GNUTLS_X509_FMT_PEM, NULL, 0);
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

/* Each CRL must be signed by a CA of the client CA file, or it would never apply. A CRL past its
 * next update still applies: revoked certificates stay revoked. */
static int set_load_crls(TlsSet *set, const Loading *loading) {
    const gnutls_datum_t ca_pem = datum_of(loading, FILE_CLIENT_CA);
    const gnutls_datum_t crl_pem = datum_of(loading, FILE_CLIENT_CRL);
    _cleanup_(certificates_done) Certificates cas = {0};
    _cleanup_(crls_done) Crls crls = {0};
    int r = certificates_parse(&ca_pem, &cas);

    if (r == 0)
        r = crls_parse(&crl_pem, &crls);
    if (r < 0)
        return complain(loading, FILE_CLIENT_CRL, -EINVAL, "no list of CRLs in PEM format: %s",
            gnutls_strerror(r));
    for (unsigned i = 0; i < crls.n; i++) {
        const char *problem = crl_problem(crls.items[i], &cas);
        int64_t until = (int64_t)gnutls_x509_crl_get_next_update(crls.items[i]);

        if (problem)
            return complain(loading, FILE_CLIENT_CRL, -EINVAL,
                "CRL %u %s: it must be of a CA in %s", i + 1, problem,
                loading->store->paths[FILE_CLIENT_CA]);
        if (until >= 0 && until < set->crl_until_sec)
            set->crl_until_sec = until;
    }
    r = gnutls_x509_trust_list_add_crls(set->clients, crls.items, crls.n, 0, 0);
    if (r < 0 || (unsigned)r != crls.n)
        return complain(loading, FILE_CLIENT_CRL, -EINVAL, "%s",
            r < 0 ? gnutls_strerror(r) : "not every CRL could be added");
    crls.n = 0; /* the trust list owns them now */
    return 0;
}

static int set_load_parts(TlsSet *set, const Loading *loading) {
    static int (*const load[])(TlsSet * set, const gnutls_datum_t *pem) = {
        [FILE_CERTIFICATE] = set_load_chain,
        [FILE_KEY] = set_load_key,
        [FILE_CLIENT_CA] = set_load_clients,
    };

    for (int file = 0; file < FILE_CLIENT_CRL; file++) {
        const gnutls_datum_t pem = datum_of(loading, file);
        int r = loading->store->paths[file] ? load[file](set, &pem) : 0;

        if (r < 0)
            return complain(loading, file, -EINVAL, "%s", gnutls_strerror(r));
    }
    return loading->store->paths[FILE_CLIENT_CRL] ? set_load_crls(set, loading) : 0;
}

/* Formats a time as "2026-11-17T02:00:00Z". */
static const char *show_time(int64_t sec, char text[static TIME_MAX]) {
    _cleanup_(buf_done) Buf out = BUF_INIT(TIME_MAX);

    calendar_print(sec, 0, &out);
    (void)snprintf(text, TIME_MAX, "%.*s", STR_FMT(buf_str(&out)));
    return text;
}

/* Whether clients would accept the pair. */
static int check_pair(const TlsSet *set, const Loading *loading) {
    int64_t now = clock_wall_nsec() / NSEC_PER_SEC;
    char time[TIME_MAX];

    if (!set_fits(set))
        return complain(loading, FILE_KEY, -EINVAL, "does not belong to the certificate");
    if (now > set->times.until_sec)
        return complain(loading, FILE_CERTIFICATE, -EINVAL,
            "expired at %s: issue a new one (the clock says %s)",
            show_time(set->times.until_sec, time), show_time(now, (char[TIME_MAX]){0}));
    if (now < set->times.from_sec)
        return complain(loading, FILE_CERTIFICATE, -EINVAL,
            "is not valid before %s: wait, or issue another one (the clock says %s)",
            show_time(set->times.from_sec, time), show_time(now, (char[TIME_MAX]){0}));
    if (!set->is_for_servers)
        return complain(loading, FILE_CERTIFICATE, -EINVAL,
            "its extended key usage is not for servers: issue one with serverAuth");
    return 0;
}

static int set_new(const Loading *loading, TlsSet **ret) {
    _cleanup_(set_freep) TlsSet *set = calloc(1, sizeof(*set));
    const TlsSet *used = loading->store->set;
    int r;

    if (!set)
        return -ENOMEM;
    set->ref = REF_ONE;
    set->key_mode = loading->key_mode;
    set->crl_until_sec = INT64_MAX;
    for (size_t i = 0; i < _FILE_MAX; i++)
        (void)gnutls_hash_fast(
            GNUTLS_DIG_SHA256, loading->files[i].data, loading->files[i].len, set->digest[i]);
    r = set_load_parts(set, loading);
    /* A pair that is in use is not checked again: a new client CA or CRL applies even if the
     * server's certificate has expired since. */
    if (r == 0 &&
        (!used || memcmp(used->digest, set->digest, sizeof(set->digest[0]) * (FILE_KEY + 1)) != 0))
        r = check_pair(set, loading);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(set);
    return 0;
}

static int set_load(const TlsStore *store, TlsSet **ret, char *error, size_t size) {
    int r = -EINVAL;

    (void)snprintf(error, size, "out of memory for the certificates");
    for (int attempt = 0; attempt < LOAD_ATTEMPTS && r < 0; attempt++) {
        _cleanup_(loading_done) Loading loading = {.store = store, .error = error, .size = size};

        r = 0;
        for (int i = 0; r == 0 && i < _FILE_MAX; i++)
            if (store->paths[i])
                r = read_file(&loading, i);
        if (r == 0)
            r = set_new(&loading, ret);
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
    /* With the lock held: who sees the new set must also see the new generation. */
    atomic_fetch_add(&store->generation, 1);
    pthread_mutex_unlock(&store->lock);
    tls_set_unref(old);
    return TLS_RELOADED;
}

TlsSet *tls_store_ref_set(const TlsStore *store) {
    _unlock_ pthread_mutex_t *held = mutex_hold((pthread_mutex_t *)(uintptr_t)&store->lock);

    ref_take(&store->set->ref);
    return store->set;
}

uint64_t tls_store_generation(const TlsStore *store) {
    return atomic_load(&store->generation);
}

int64_t tls_store_expiry(const TlsStore *store) {
    _cleanup_(tls_set_unrefp) TlsSet *set = tls_store_ref_set(store);

    return set->times.until_sec;
}

void tls_store_print_chain(const TlsStore *store, Buf *out) {
    _cleanup_(tls_set_unrefp) TlsSet *set = tls_store_ref_set(store);

    for (unsigned i = 0; i < set->n_chain; i++) {
        gnutls_datum_t pem = {0};

        if (gnutls_pem_base64_encode2("CERTIFICATE", &set->chain[i].cert, &pem) >= 0)
            buf_append(out, str_of((const char *)pem.data, pem.size));
        gnutls_free(pem.data);
    }
}

int64_t tls_store_crl_expiry(const TlsStore *store) {
    _cleanup_(tls_set_unrefp) TlsSet *set = tls_store_ref_set(store);

    return set->crl_until_sec == INT64_MAX ? 0 : set->crl_until_sec;
}

bool tls_store_key_warning(const TlsStore *store, char *text, size_t size) {
    _cleanup_(tls_set_unrefp) TlsSet *set = tls_store_ref_set(store);
    const Loading warning = {.store = store, .error = text, .size = size};

    if (!(set->key_mode & MODE_WARNED))
        return false;
    return complain(&warning, FILE_KEY, true, "%s (mode %04o): chmod 600 %s",
        set->key_mode & S_IROTH ? "every user of this machine can read it"
                                : "its group can replace it",
        (unsigned)set->key_mode, store->paths[FILE_KEY]);
}

bool tls_store_crl_warning(const TlsStore *store, int64_t now_sec, char *text, size_t size) {
    const Loading warning = {.store = store, .error = text, .size = size};
    int64_t until = tls_store_crl_expiry(store);
    char time[TIME_MAX];

    if (until == 0 || now_sec <= until)
        return false;
    return complain(&warning, FILE_CLIENT_CRL, true,
        "a newer one was due at %s: certificates revoked since are accepted. Have the CA write a "
        "new "
        "one to this file",
        show_time(until, time));
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

/* GnuTLS's hook, called before it uses a Certificate message. */
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

/* Whether the chain ends in the client CA, is valid now, and is for client authentication. */
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
    _cleanup_(tls_set_unrefp) TlsSet *set = tls_store_ref_set(store);
    int r = certificates_of_peer(session, &chain);

    *ret_until_sec = 0;
    if (r < 0) {
        (void)snprintf(error, size, "client certificate: %s", gnutls_strerror(r));
        return false;
    }
    if (!set->clients || !chain_is_good(store, set, &chain, error, size))
        return false;
    if (!certificate_has_name(chain.items[0], names, n_names)) {
        (void)snprintf(error, size, "the name in the client certificate is not allowed");
        return false;
    }
    *ret_until_sec = certificates_times(&chain, chain.n).until_sec;
    return true;
}
