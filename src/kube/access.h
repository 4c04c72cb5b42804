#pragma once

/*
 * Access: the address of a server, mostly the API server, and our credentials.
 *
 * From a kubeconfig, from the service account that is mounted into every pod, or from parts, for
 * servers of other kinds. Relative paths are relative to the file that names them.
 *
 * Credentials change while we run (mounted tokens every hour, those of plugins within minutes):
 * access_authorize() is called before each request and reads again what may have changed.
 *
 * Threads: one at a time.
 */

#include "base/message.h"

/* A line that an operator wants every request to carry, such as the tenant's name (X-Scope-OrgID)
 * that multi-tenant servers require. */
typedef struct Header {
    Str name, value;
} Header;

#define HEADER_SIZE_MAX 4096u /* name and value */

/* The error of a header ("is set by berth itself"); NULL: valid. A valid header has no line break
 * in it, and overrides none of berth's own. */
const char *header_complaint(Str name, Str value);

typedef struct Access Access;

#define ACCESS_ERROR_MAX MESSAGE_MAX
#define ACCESS_FILE_MAX ((size_t)1024 * 1024) /* a kubeconfig, a certificate, a key */
#define ACCESS_TOKEN_MAX ((size_t)64 * 1024)  /* a token, from a file or a plugin */
#define ACCESS_PASSWORD_MAX ((size_t)4096)
#define ACCESS_HEADERS_MAX 16u /* of other servers */
#define ACCESS_PLUGIN_OUTPUT_MAX ((size_t)1024 * 1024)
#define ACCESS_PLUGIN_SEC 60        /* a plugin that takes longer is ended */
#define ACCESS_PLUGIN_REFRESH_SEC 3 /* ... while the credential it gave before is still good */

/* @path NULL: $KUBECONFIG, else ~/.kube/config. @context NULL: the current one. 0; or a negative
 * errno with a message for users in @error (ACCESS_ERROR_MAX): the file, the line if known, the
 * error, and a correction. */
int access_from_kubeconfig(const char *path, const char *context, Access **ret, char *error);

/* The mounted service account and KUBERNETES_SERVICE_HOST/_PORT. -ENOENT, with a message, outside
 * of a pod. @root is a prefix of the mount's path, "" except in tests. */
int access_in_cluster(const char *root, Access **ret, char *error);

/* The first with a @kubeconfig, the second without. */
int access_find(const char *kubeconfig, const char *context, Access **ret, char *error);

/* As kubectl does: @path or else $KUBECONFIG or ~/.kube/config; with none of them, and no @context,
 * the service account of this pod. */
int access_search(const char *path, const char *context, Access **ret, char *error);

/* Why no connection is made to @address (a struct sockaddr of @len bytes), as the end of the
 * sentence "refused to connect to 192.0.2.1 …": "(link-local)". NULL: one is made. */
typedef const char *AddressRefusal(const void *address, size_t len);

/* A server of another kind. NULL: not used. */
typedef struct AccessServer {
    const char *name; /* for access_origin(): "source default" */
    const char *url;  /* http:// or https://; origin_complaint() has none */
    const char *token_file;
    const char *user, *password_file;
    const char *ca_file; /* NULL: the system's */
    const char *cert_file, *key_file;
    const char *server_name; /* for the certificate, if it is not the URL's host */
    bool is_insecure;        /* the certificate is not verified */
    bool is_direct;          /* no proxy, even if the environment names one */
    AddressRefusal *refusal; /* called for every address before it is connected to */
    const Header *headers;
    size_t n_headers;
} AccessServer;

/* Everything is copied. Files need not be there yet: access_authorize() reads them, and reports
 * which is missing until it is there; one that was read counts until a better one is. Unlike with a
 * kubeconfig, credentials are sent over plain http, too. 0; or -EINVAL or -ENOMEM with a message.
 */
int access_for_server(const AccessServer *server, Access **ret, char *error);

Access *access_free(Access *access); /* takes NULL */
DEFINE_CLEANUP(Access *, access_free)

/* "https://10.0.0.1:6443", no slash at the end. */
const char *access_server(const Access *access);

/* "context admin@prod of /home/a/.kube/config", "service account of this pod": for logs. */
const char *access_origin(const Access *access);

/* The files that are read again while @access is in use; how many. Borrowed from @access. */
#define ACCESS_FILES_MAX 5u
size_t access_files(const Access *access, const char *ret[static ACCESS_FILES_MAX]);

/* If there is a credential plugin: forks a process that runs it from now on, for this and every
 * other Access of the same kubeconfig, so that this process needs no right to start programs.
 * Before other threads are started. 0, or a negative errno. */
int access_start_helper(const Access *access) MUST_CHECK;

/* The certificate of the API server is not verified: worth a warning. */
bool access_is_insecure(const Access *access);

/* The credentials of one request; borrowed until the next call on @access. NULL: not used. */
typedef struct Credentials {
    const char *ca_pem; /* trust these; NULL: the system's */
    const char *client_cert_pem;
    const char *client_key_pem;
    const char *token;           /* Authorization: Bearer … */
    const char *user, *password; /* basic, of old kubeconfigs */
    const char *tls_server_name;
    const char *proxy_url;
    bool is_insecure;
    bool is_direct;          /* proxy_url and the environment do not count */
    AddressRefusal *refusal; /* NULL: any address will do */
    const Header *headers;   /* in addition to our own */
    size_t n_headers;
    uint64_t version; /* changes whenever anything above does: connections made
                         with an older one are not to be used again */
} Credentials;

/* Reads again what may have changed (token files at most once a second; a plugin's credential
 * shortly before it expires, or when it was rejected). Running a plugin blocks, up to
 * ACCESS_PLUGIN_REFRESH_SEC while the credential at hand is good, else up to ACCESS_PLUGIN_SEC, and
 * then PROCESS_GRACE_MSEC: never on a decision's thread. 0, or a negative errno with a message. */
int access_authorize(
    Access *access, int64_t now_nsec, int64_t wall_sec, Credentials *ret, char *error);

/* The server answered 401 to the credentials of the last access_authorize(). */
void access_reject(Access *access);
