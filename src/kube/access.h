#pragma once

/*
 * Access: the address of a server, usually the API server, and berth's credentials.
 *
 * It is made from a kubeconfig, from the service account mounted into the pod, or from parts, for
 * other servers. Relative paths are relative to the file that names them.
 *
 * Credentials change while berth runs (mounted tokens every hour, those of plugins within minutes):
 * call access_authorize() before each request, which reads changed files again.
 *
 * Threads: one at a time.
 */

#include "base/message.h"

/* A header that the operator adds to every request, such as the tenant (X-Scope-OrgID) that
 * multi-tenant servers require. */
typedef struct Header {
    Str name, value;
} Header;

#define HEADER_SIZE_MAX 4096u /* name and value */

/* Why a header is invalid ("is set by berth itself"); NULL: valid. A valid header has no line break
 * and overrides none of berth's own. */
const char *header_complaint(Str name, Str value);

typedef struct Access Access;

#define ACCESS_ERROR_MAX MESSAGE_MAX
#define ACCESS_FILE_MAX ((size_t)1024 * 1024) /* a kubeconfig, a certificate, a key */
#define ACCESS_TOKEN_MAX ((size_t)64 * 1024)  /* a token, from a file or a plugin */
#define ACCESS_PASSWORD_MAX ((size_t)4096)
#define ACCESS_HEADERS_MAX 16u /* only for other servers */
#define ACCESS_PLUGIN_OUTPUT_MAX ((size_t)1024 * 1024)
#define ACCESS_PLUGIN_SEC 60        /* a plugin that runs longer is killed */
#define ACCESS_PLUGIN_REFRESH_SEC 3 /* ... or this, while its last credential is valid */

/* @path NULL: $KUBECONFIG, else ~/.kube/config. @context NULL: the current one. 0; or a negative
 * errno with a message for users in @error (ACCESS_ERROR_MAX): file, line if known, error, fix. */
int access_from_kubeconfig(const char *path, const char *context, Access **ret, char *error);

/* Uses the mounted service account and KUBERNETES_SERVICE_HOST/_PORT. Outside of a pod -ENOENT,
 * with a message. @root is a prefix of the mount's path, "" except in tests. */
int access_in_cluster(const char *root, Access **ret, char *error);

/* access_from_kubeconfig() with a @kubeconfig, access_in_cluster() without. */
int access_find(const char *kubeconfig, const char *context, Access **ret, char *error);

/* Like kubectl: @path, else $KUBECONFIG, else ~/.kube/config; if none exists and no @context is
 * given, the service account of this pod. */
int access_search(const char *path, const char *context, Access **ret, char *error);

/* Why berth must not connect to @address (a struct sockaddr of @len bytes), as the end of "refused
 * to connect to 192.0.2.1 …": "(link-local)". NULL: it may. */
typedef const char *AddressRefusal(const void *address, size_t len);

/* Settings of a server other than the API server. NULL: not used. */
typedef struct AccessServer {
    const char *name; /* for access_origin(): "source default" */
    const char *url;  /* http:// or https://; origin_complaint() has none */
    const char *token_file;
    const char *user, *password_file;
    const char *ca_file; /* NULL: the system's */
    const char *cert_file, *key_file;
    const char *server_name; /* name in the certificate, if not the URL's host */
    bool is_insecure;        /* the certificate is not verified */
    bool is_direct;          /* no proxy, even if the environment names one */
    AddressRefusal *refusal; /* called before each connection */
    const Header *headers;
    size_t n_headers;
} AccessServer;

/* Copies @server. Files need not exist yet: access_authorize() reads them, and fails until they
 * exist; if a later version cannot be read, the last one stays. Unlike with a kubeconfig,
 * credentials are also sent over plain http. 0; or -EINVAL or -ENOMEM with a message. */
int access_for_server(const AccessServer *server, Access **ret, char *error);

Access *access_free(Access *access); /* takes NULL */
DEFINE_CLEANUP(Access *, access_free)

/* "https://10.0.0.1:6443", no slash at the end. */
const char *access_server(const Access *access);

/* For logs: "context admin@prod of /home/a/.kube/config", "service account of this pod". */
const char *access_origin(const Access *access);

/* The files that are read again while @access is in use, borrowed from it. Returns their number. */
#define ACCESS_FILES_MAX 5u
size_t access_files(const Access *access, const char *ret[static ACCESS_FILES_MAX]);

/* If there is a credential plugin: forks a process that runs it from now on, for this and every
 * other Access of the same kubeconfig, so that this process needs no right to start programs. Call
 * it before other threads start. 0, or a negative errno. */
int access_start_helper(const Access *access) MUST_CHECK;

/* Whether the server's certificate is not verified, which needs a warning. */
bool access_is_insecure(const Access *access);

/* The credentials of one request; borrowed until the next call on @access. NULL: not used. */
typedef struct Credentials {
    const char *ca_pem; /* trusted CAs; NULL: the system's */
    const char *client_cert_pem;
    const char *client_key_pem;
    const char *token;           /* Authorization: Bearer … */
    const char *user, *password; /* basic authentication */
    const char *tls_server_name;
    const char *proxy_url;
    bool is_insecure;
    bool is_direct;          /* ignore proxy_url and the environment */
    AddressRefusal *refusal; /* NULL: any address is allowed */
    const Header *headers;   /* besides berth's own */
    size_t n_headers;
    uint64_t version; /* changes with any member above: connections made with an older version must
                         not be used again */
} Credentials;

/* Reads changed credentials: files at most once a second, a plugin's shortly before they expire or
 * when they were rejected. Running a plugin blocks, up to ACCESS_PLUGIN_REFRESH_SEC while the last
 * credential is valid, else up to ACCESS_PLUGIN_SEC, plus PROCESS_GRACE_MSEC: never call it on a
 * decision's thread. 0, or a negative errno with a message. */
int access_authorize(
    Access *access, int64_t now_nsec, int64_t wall_sec, Credentials *ret, char *error);

/* Call this if the server answered 401 to the credentials of the last access_authorize(). */
void access_reject(Access *access);
