/* Prepares one version of the credentials for libcurl: headers, certificates, connections. */

#include "kube/identity.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/fd.h"
#include "base/message.h"
#include "base/url.h"
#include "kube/secret.h"
#include "version.h"

#define HEADER_MAX (2 * ACCESS_TOKEN_MAX)

static int memory_file_init(MemoryFile *file, const char *pem) {
    if (!pem)
        return 0;
    file->fd = memfd_create("berth", MFD_CLOEXEC);
    if (file->fd < 0)
        return -errno;
    (void)snprintf(file->path, sizeof(file->path), "/proc/self/fd/%d", file->fd);
    return fd_write(file->fd, str_from_c(pem));
}

static void memory_file_done(MemoryFile *file) {
    if (file->fd >= 0)
        (void)close(file->fd);
}

/* Leaves the list unchanged on failure. */
static bool list_add(struct curl_slist **list, const char *line) {
    struct curl_slist *longer = line ? curl_slist_append(*list, line) : NULL;

    if (longer)
        *list = longer;
    return longer != NULL;
}

static bool add_authorization(Identity *identity, const Credentials *credentials) {
    _cleanup_(secret_buf_done) Buf line = BUF_INIT(HEADER_MAX), pair = BUF_INIT(HEADER_MAX / 2);

    if (!credentials->token && !credentials->user)
        return true;
    (void)buf_reserve(&line, HEADER_MAX); /* one allocation: growing would leave copies */
    if (credentials->token) {
        buf_append(&line, STR("Authorization: Bearer "));
        buf_append(&line, str_from_c(credentials->token));
    } else {
        (void)buf_reserve(&pair, HEADER_MAX / 2);
        buf_append(&pair, str_from_c(credentials->user));
        buf_append_char(&pair, ':');
        buf_append(&pair, str_from_c(credentials->password));
        buf_append(&line, STR("Authorization: Basic "));
        base64_encode(buf_str(&pair), &line);
    }
    return !buf_error(&pair) && list_add(&identity->headers, url_text(&line));
}

static bool set_headers(Identity *identity, const Credentials *credentials) {
    static const char *const lines[] = {
        ("User-Agent: berth/" BERTH_VERSION), "Accept: application/json",
        "Expect:", /* no Expect header: saves a round trip */
    };

    for (size_t i = 0; i < ELEMENTS_OF(lines); i++)
        if (!list_add(&identity->headers, lines[i]))
            return false;
    for (size_t i = 0; i < credentials->n_headers; i++) {
        const Header *header = &credentials->headers[i];
        _cleanup_(secret_buf_done) Buf line = BUF_INIT(2 * HEADER_SIZE_MAX);

        (void)buf_reserve(&line, header->name.len + header->value.len + 3);
        buf_printf(&line, "%.*s: %.*s", STR_FMT(header->name), STR_FMT(header->value));
        if (!list_add(&identity->headers, url_text(&line)))
            return false;
    }
    return add_authorization(identity, credentials);
}

/* With a tls-server-name, the URL has the name that the certificate must have; Host and connection
 * keep the server's address. */
static bool set_base(Identity *identity, const char *server, const Origin *origin, Str name) {
    bool is_v6 = str_find(name, ':') != SIZE_MAX;
    _cleanup_(buf_done) Buf base = BUF_INIT(4096), route = BUF_INIT(4096), line = BUF_INIT(4096);

    if (!origin->is_tls || !name.ptr) {
        identity->base = strdup(server);
        return identity->base != NULL;
    }
    buf_printf(&base, "https://%s%.*s%s:%u%.*s", is_v6 ? "[" : "", STR_FMT(name), is_v6 ? "]" : "",
        origin->port, STR_FMT(origin->path));
    buf_printf(&route, "::%s%.*s%s:%u", /* for any host of the URL */
        origin->is_v6 ? "[" : "", STR_FMT(origin->host), origin->is_v6 ? "]" : "", origin->port);
    buf_printf(&line, "Host: %.*s", STR_FMT(str_skip(buf_str(&route), 2)));
    identity->base = buf_take(&base);
    return identity->base && list_add(&identity->headers, url_text(&line)) &&
           list_add(&identity->connect_to, url_text(&route));
}

/* Go lets a SOCKS proxy resolve names; libcurl calls that socks5h. */
static bool set_proxy(Identity *identity, const Origin *origin, const Credentials *credentials) {
    const char *url = credentials->is_direct ? NULL : proxy_choose(origin, credentials->proxy_url);
    Str rest = str_from_c(url ? url : "");
    bool is_socks = str_has_prefix(rest, STR("socks5://"));

    if (is_socks)
        rest = str_skip(rest, strlen("socks5://"));
    if (asprintf(&identity->proxy, "%s%.*s", is_socks ? "socks5h://" : "", STR_FMT(rest)) >= 0)
        return true;
    identity->proxy = NULL;
    return false;
}

int identity_new(const char *server, const Origin *origin, const Credentials *credentials,
    Identity **ret, char *error) {
    _cleanup_(identity_unrefp) Identity *identity = calloc(1, sizeof(*identity));
    int r;

    if (!identity)
        return message_fail(-ENOMEM, error, "out of memory for the credentials");
    identity->n_refs = 1;
    identity->ca.fd = identity->cert.fd = identity->key.fd = -1;
    identity->version = credentials->version;
    identity->is_insecure = credentials->is_insecure;
    identity->refusal = credentials->refusal;
    identity->pool = curl_share_init();
    if (!identity->pool || !set_headers(identity, credentials) ||
        !set_base(identity, server, origin, str_from_c(credentials->tls_server_name)) ||
        !set_proxy(identity, origin, credentials) ||
        curl_share_setopt(identity->pool, CURLSHOPT_SHARE, (int)CURL_LOCK_DATA_CONNECT) !=
            CURLSHE_OK)
        return message_fail(-ENOMEM, error, "out of memory for the credentials");
    r = memory_file_init(&identity->ca, credentials->ca_pem)
        ?: memory_file_init(&identity->cert, credentials->client_cert_pem)
        ?: memory_file_init(&identity->key, credentials->client_key_pem);
    if (r < 0)
        return message_fail(
            r, error, "no memory file for the certificates could be made: %s", strerror(-r));
    *ret = TAKE_PTR(identity);
    return 0;
}

Identity *identity_ref(Identity *identity) {
    assert(identity->n_refs > 0);
    identity->n_refs++;
    return identity;
}

Identity *identity_unref(Identity *identity) {
    if (!identity || --identity->n_refs > 0)
        return NULL;
    if (identity->pool)
        (void)curl_share_cleanup(identity->pool);
    memory_file_done(&identity->ca);
    memory_file_done(&identity->cert);
    memory_file_done(&identity->key);
    secret_free(identity->proxy);
    free(identity->base);
    curl_slist_free_all(identity->connect_to);
    for (struct curl_slist *item = identity->headers; item; item = item->next)
        secret_wipe(str_from_c(item->data));
    curl_slist_free_all(identity->headers);
    free(identity);
    return NULL;
}

static bool apply_trust(const Identity *identity, CURL *easy) {
    long verify = identity->is_insecure ? 0 : 1;

    if (curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, verify) != CURLE_OK ||
        curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2 * verify) != CURLE_OK)
        return false;
    if (identity->ca.fd < 0)
        return true;
    /* No other CA: Debian's libcurl would also trust the system's folder. */
    return curl_easy_setopt(easy, CURLOPT_CAINFO, identity->ca.path) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_CAPATH, NULL) == CURLE_OK;
}

bool identity_apply(const Identity *identity, CURL *easy) {
    if (identity->cert.fd >= 0 &&
        (curl_easy_setopt(easy, CURLOPT_SSLCERT, identity->cert.path) != CURLE_OK ||
            curl_easy_setopt(easy, CURLOPT_SSLKEY, identity->key.path) != CURLE_OK))
        return false;
    return apply_trust(identity, easy) &&
           curl_easy_setopt(easy, CURLOPT_SHARE, identity->pool) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PROXY, identity->proxy) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_NOPROXY, "") == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_CONNECT_TO, identity->connect_to) == CURLE_OK;
}
