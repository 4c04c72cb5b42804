#pragma once

/*
 * Identity: one version of the credentials, in the form that libcurl needs.
 *
 * Each identity has its own pool of connections, so that a connection made with an older
 * certificate or CA is never used again. The pool is freed after the last call that uses it.
 *
 * libcurl 7.88 with GnuTLS reads certificates only by file name (it refuses CURLOPT_CAINFO_BLOB,
 * and ignores CURLOPT_SSLCERT_BLOB). They are in memory files (memfd), which no other user can open
 * by name and which need no writable disk.
 *
 * Threads: one.
 */

#include <curl/curl.h>

#include "base/origin.h"
#include "kube/access.h"
#include "kube/proxy.h"

/* PEM that libcurl can read by a file name. */
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
    AddressRefusal *refusal; /* NULL: any address is allowed */
    /* The URL before the path. With a tls-server-name that name is its host, since libcurl verifies
     * the name in the URL, and connect_to has the real host. */
    char *base;
    char *proxy;                   /* "": none */
    struct curl_slist *connect_to; /* NULL: the host of the URL */
    struct curl_slist *headers;    /* of every request */
} Identity;

/* @server is access_server(), @origin its parts; copies @credentials. 0, or a negative errno with a
 * message in @error (ACCESS_ERROR_MAX). */
int identity_new(const char *server, const Origin *origin, const Credentials *credentials,
    Identity **ret, char *error);
Identity *identity_ref(Identity *identity);
Identity *identity_unref(Identity *identity); /* takes NULL, returns NULL */
DEFINE_CLEANUP(Identity *, identity_unref)

/* Sets the options that depend on the credentials. False if libcurl refuses one. */
bool identity_apply(const Identity *identity, CURL *easy);
