#pragma once

/*
 * Identity: one version of the credentials, as libcurl needs it.
 *
 * Connections belong to an identity, so that one made with an older certificate or CA is never used
 * again: each has its own pool, which goes when the last call that uses it is over.
 *
 * The GnuTLS flavour of libcurl 7.88 takes certificates by file name only (it refuses
 * CURLOPT_CAINFO_BLOB, and takes CURLOPT_SSLCERT_BLOB but does not look at it). They are
 * in memory files (memfd) that no other user can open by name and that need no writable disk.
 *
 * Threads: one.
 */

#include <curl/curl.h>

#include "base/origin.h"
#include "kube/access.h"
#include "kube/proxy.h"

/* PEM that libcurl reads by a file name. */
typedef struct MemoryFile {
    int fd;        /* -1: none */
    char path[32]; /* "/proc/self/fd/2147483647" */
} MemoryFile;

typedef struct Identity {
    unsigned n_refs;
    uint64_t version; /* of the credentials */
    CURLSH *pool;
    MemoryFile ca, cert, key;
    bool is_insecure;
    AddressRefusal *refusal; /* NULL: any address will do */
    /* The URL that a path is appended to. With a tls-server-name the URL has that name as its host,
     * and the connection goes to the real one: libcurl verifies the name in the URL. */
    char *base;
    char *proxy;                   /* "": none */
    struct curl_slist *connect_to; /* NULL: to the host of the URL */
    struct curl_slist *headers;    /* that every request has */
} Identity;

/* @server is as access_server() gives it, @origin its parts; @credentials are copied. 0, or a
 * negative errno with a message in @error (ACCESS_ERROR_MAX). */
int identity_new(const char *server, const Origin *origin, const Credentials *credentials,
    Identity **ret, char *error);
Identity *identity_ref(Identity *identity);
Identity *identity_unref(Identity *identity); /* takes NULL, returns NULL */
DEFINE_CLEANUP(Identity *, identity_unref)

/* Sets what depends on who we are. False when libcurl refuses. */
bool identity_apply(const Identity *identity, CURL *easy);
