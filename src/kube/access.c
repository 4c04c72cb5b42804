/* Finds the address of a server and its credentials, in a kubeconfig, service account or
 * settings. */

#include "kube/access.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/nsec.h"
#include "base/origin.h"
#include "kube/exec.h"
#include "kube/kubeconfig.h"
#include "kube/secret.h"

#define KUBECONFIG_FILES_MAX 64u
#define SERVICE_ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"
#define FILES_EVERY_NSEC NSEC_PER_SEC

struct Access {
    Kubeconfig config; /* also used for service accounts and other servers */
    char *origin;
    Secret password;
    Header *headers;
    size_t n_headers;
    bool is_direct;
    AddressRefusal *refusal;
    Plugin plugin;
    bool is_rejected;
    bool has_looked;
    int64_t looked_at_nsec;
    uint64_t version;
};

/* --- headers --- */

static bool is_value(Str value) {
    for (size_t i = 0; i < value.len; i++)
        if (value.ptr[i] < ' ' || value.ptr[i] > '~')
            return false;
    return true;
}

/* Headers that berth sets itself, and headers that delimit a message. */
static bool is_reserved(Str name) {
    static const Str reserved[] = {
        STR("Accept"),
        STR("Accept-Encoding"),
        STR("Authorization"),
        STR("Connection"),
        STR("Content-Encoding"),
        STR("Content-Length"),
        STR("Content-Type"),
        STR("Expect"),
        STR("Host"),
        STR("Keep-Alive"),
        STR("Proxy-Authorization"),
        STR("Proxy-Connection"),
        STR("TE"),
        STR("Trailer"),
        STR("Transfer-Encoding"),
        STR("Upgrade"),
        STR("User-Agent"),
    };

    for (size_t i = 0; i < ELEMENTS_OF(reserved); i++)
        if (str_eq_nocase(name, reserved[i]))
            return true;
    return false;
}

const char *header_complaint(Str name, Str value) {
    if (!str_is_token(name))
        return "is no name of a header";
    if (is_reserved(name))
        return "is set by berth itself";
    if (!is_value(value))
        return "has a character that a header cannot have";
    if (name.len + value.len > HEADER_SIZE_MAX)
        return "is longer than 4096 bytes";
    return str_is_empty(str_trim(value)) ? "has no value" : NULL;
}

/* Wipes names and values before it frees them. */
static Header *headers_free(Header *headers, size_t n) {
    for (size_t i = 0; headers && i < n; i++) {
        (void)secret_free((char *)(uintptr_t)headers[i].name.ptr);
        (void)secret_free((char *)(uintptr_t)headers[i].value.ptr);
    }
    free(headers);
    return NULL;
}

static Header *headers_copy(const Header *headers, size_t n) {
    Header *copies = calloc(n > 0 ? n : 1, sizeof(*copies));

    for (size_t i = 0; copies && i < n; i++) {
        copies[i].name = str_of(secret_copy(headers[i].name), headers[i].name.len);
        copies[i].value = str_of(secret_copy(headers[i].value), headers[i].value.len);
        if (!copies[i].name.ptr || !copies[i].value.ptr)
            return headers_free(copies, n);
    }
    return copies;
}

/* --- making one --- */

static int out_of_memory(char *error) {
    return message_fail(
        -ENOMEM, error, "out of memory for the address and credentials of a server");
}

/* asprintf(); NULL when out of memory. */
__attribute__((format(printf, 1, 2))) static char *print(const char *format, ...) {
    va_list arguments;
    char *text;
    int r;

    va_start(arguments, format);
    r = vasprintf(&text, format, arguments);
    va_end(arguments);
    return r < 0 ? NULL : text;
}

#define SECRETS_OF(access)                                                                         \
    {                                                                                              \
        &(access)->config.ca, &(access)->config.client_cert, &(access)->config.client_key,         \
            &(access)->config.token, &(access)->password                                           \
    }

/* Reads files that changed. A missing file is an error only before its first read, or with
 * @force. */
static int refresh_files(Access *access, bool force, bool *ret_changed, char *error) {
    Secret *secrets[ACCESS_FILES_MAX] = SECRETS_OF(access);

    for (size_t i = 0; i < ACCESS_FILES_MAX; i++) {
        char what[ACCESS_ERROR_MAX];
        int r = secret_refresh(secrets[i], force, ret_changed, what);

        /* A file may be missing or incomplete while it is replaced. */
        if (r < 0 && (force || !secrets[i]->text))
            return message_fail(r, error, "%s: %s", access->origin, what);
    }
    return 0;
}

/* Takes @config and @origin, also on failure (NULL). Reads no file. */
static Access *access_make(Kubeconfig *config, char *origin) {
    Access *access = calloc(1, sizeof(*access));

    if (!access) {
        free(origin);
        return NULL;
    }
    access->config = *config;
    *config = (Kubeconfig){0};
    access->origin = origin;
    access->version = 1;
    return origin ? access : access_free(access);
}

static int access_new(Kubeconfig *config, char *origin, Access **ret, char *error) {
    _cleanup_(access_freep) Access *access = access_make(config, origin);
    bool changed = false;
    int r;

    if (!access)
        return out_of_memory(error);
    r = refresh_files(access, /* force= */ false, &changed, error);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(access);
    return 0;
}

Access *access_free(Access *access) {
    if (!access)
        return NULL;
    kubeconfig_done(&access->config);
    exec_credential_done(&access->plugin.credential);
    secret_done(&access->password);
    headers_free(access->headers, access->n_headers);
    free(access->origin);
    free(access);
    return NULL;
}

/* --- from a kubeconfig --- */

typedef struct FileList {
    KubeconfigFile files[KUBECONFIG_FILES_MAX]; /* paths and texts are owned */
    size_t n;
} FileList;

static void file_list_done(FileList *list) {
    for (size_t i = 0; i < list->n; i++) {
        secret_wipe(list->files[i].text);
        free((void *)(uintptr_t)list->files[i].text.ptr);
        free((void *)(uintptr_t)list->files[i].path);
    }
    list->n = 0;
}

/* Takes ownership of @path. */
static int file_list_add(FileList *list, char *path, char *error) {
    FileMark mark;
    Str text;
    int r;

    if (!path)
        return out_of_memory(error);
    if (list->n == KUBECONFIG_FILES_MAX) {
        free(path);
        return message_fail(
            -E2BIG, error, "KUBECONFIG names more than %u files", KUBECONFIG_FILES_MAX);
    }
    r = secret_read_file(path, ACCESS_FILE_MAX, &text, &mark, error);
    if (r < 0) {
        free(path);
        return r;
    }
    list->files[list->n++] = (KubeconfigFile){.path = path, .text = text};
    return 0;
}

/* Files that do not exist are skipped if there are several and one exists. */
static int file_list_add_all(FileList *list, Str paths, char *error) {
    Str path;

    while (str_split(&paths, ':', &path)) {
        int r = path.len > 0 ? file_list_add(list, secret_copy(path), error) : 0;

        if (r < 0 && r != -ENOENT)
            return r;
    }
    return list->n > 0 ? 0 : -ENOENT;
}

static int file_list_find(FileList *list, const char *path, char *error) {
    const char *variable = getenv("KUBECONFIG"), *home = getenv("HOME");
    int r;

    if (path)
        return file_list_add(list, strdup(path), error);
    if (variable && variable[0] != '\0') {
        r = file_list_add_all(list, str_from_c(variable), error);
        if (r == -ENOENT)
            return message_fail(r, error, "no file of KUBECONFIG is there: %s", variable);
        return r;
    }
    if (!home || home[0] == '\0')
        return message_fail(
            -ENOENT, error, "no kubeconfig: none was named, and KUBECONFIG and HOME are not set");
    r = file_list_add(list, print("%s/.kube/config", home), error);
    if (r == -ENOENT)
        return message_fail(r, error,
            "no kubeconfig: none was named, KUBECONFIG is not set, and %s/.kube/config is not "
            "there",
            home);
    return r;
}

int access_from_kubeconfig(const char *path, const char *context, Access **ret, char *error) {
    _cleanup_(file_list_done) FileList list = {0};
    _cleanup_(kubeconfig_done) Kubeconfig config = {0};
    int r = file_list_find(&list, path, error);

    if (r == 0)
        r = kubeconfig_read(list.files, list.n, context, &config, error);
    if (r < 0)
        return r;
    return access_new(&config, print("context %s of %s", config.context, config.file), ret, error);
}

/* --- from a service account --- */

static int read_environment(char **ret_server, char *error) {
    const char *host = getenv("KUBERNETES_SERVICE_HOST");
    const char *port = getenv("KUBERNETES_SERVICE_PORT");
    int64_t number;
    bool is_v6;

    if (!host || !port || host[0] == '\0' || port[0] == '\0')
        return message_fail(-ENOENT, error,
            "not in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set; "
            "name a kubeconfig instead");
    if (strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:-") !=
        strlen(host))
        return message_fail(-EINVAL, error, "KUBERNETES_SERVICE_HOST is no address: %s", host);
    if (!str_to_int64(str_from_c(port), &number) || number < 1 || number > UINT16_MAX)
        return message_fail(-EINVAL, error, "KUBERNETES_SERVICE_PORT is no port: %s", port);
    is_v6 = strchr(host, ':') != NULL;
    *ret_server = print("https://%s%s%s:%d", is_v6 ? "[" : "", host, is_v6 ? "]" : "", (int)number);
    return *ret_server ? 0 : out_of_memory(error);
}

int access_in_cluster(const char *root, Access **ret, char *error) {
    _cleanup_(kubeconfig_done) Kubeconfig config = {0};
    int r = read_environment(&config.server, error);

    if (r < 0)
        return r;
    config.ca = (Secret){SECRET_PEM, .path = print("%s" SERVICE_ACCOUNT "/ca.crt", root)};
    config.token = (Secret){SECRET_TOKEN, .path = print("%s" SERVICE_ACCOUNT "/token", root)};
    if (!config.ca.path || !config.token.path)
        return out_of_memory(error);
    return access_new(&config, strdup("service account of this pod"), ret, error);
}

/* --- from parts --- */

/* Why the settings are invalid, for users; NULL: valid. */
static const char *parts_complaint(const AccessServer *server) {
    Str user = str_from_c(server->user);

    if (server->token_file && server->user)
        return "there are a token and a user, and only one of them can be sent";
    if (!server->user != !server->password_file)
        return "a user and a password file are needed, both or neither";
    if (server->user && (str_is_empty(user) || str_find(user, ':') != SIZE_MAX))
        return "the name of the user is empty, or has a ':' in it, which basic authentication "
               "cannot encode";
    if (!server->cert_file != !server->key_file)
        return "a client certificate and its key are needed, both or neither";
    if (server->ca_file && server->is_insecure)
        return "there is a CA, and the certificate is not to be verified; remove one";
    if (server->server_name && !origin_is_host_name(str_from_c(server->server_name)))
        return "the server's name is no host name";
    return server->n_headers > ACCESS_HEADERS_MAX ? "there are more than 16 headers" : NULL;
}

static int check_server(const AccessServer *server, char *error) {
    const char *of_url = origin_complaint(str_from_c(server->url));
    const char *of_parts = parts_complaint(server);

    if (of_url)
        return message_fail(-EINVAL, error, "%s: the URL %s", server->name, of_url);
    if (of_parts)
        return message_fail(-EINVAL, error, "%s: %s", server->name, of_parts);
    for (size_t i = 0; i < server->n_headers; i++) {
        const Header *header = &server->headers[i];
        const char *complaint = header_complaint(header->name, header->value);

        if (complaint)
            return message_fail(-EINVAL, error, "%s: the header \"%.*s\" %s", server->name,
                STR_FMT(header->name), complaint);
    }
    return 0;
}

static bool copy_text(char **to, const char *text) {
    *to = text ? strdup(text) : NULL;
    return !text || *to;
}

static bool set_file(Secret *secret, SecretKind kind, const char *path) {
    secret->kind = kind;
    return copy_text(&secret->path, path);
}

static bool copy_server(const AccessServer *server, Kubeconfig *config) {
    Str url = str_from_c(server->url);

    while (str_has_suffix(url, STR("/")))
        url.len--;
    config->server = secret_copy(url);
    config->is_insecure = server->is_insecure;
    return config->server && copy_text(&config->user, server->user) &&
           copy_text(&config->tls_server_name, server->server_name) &&
           set_file(&config->ca, SECRET_PEM, server->ca_file) &&
           set_file(&config->client_cert, SECRET_PEM, server->cert_file) &&
           set_file(&config->client_key, SECRET_PEM, server->key_file) &&
           set_file(&config->token, SECRET_TOKEN, server->token_file);
}

int access_for_server(const AccessServer *server, Access **ret, char *error) {
    _cleanup_(kubeconfig_done) Kubeconfig config = {0};
    _cleanup_(access_freep) Access *access = NULL;
    int r = check_server(server, error);

    if (r < 0)
        return r;
    if (!copy_server(server, &config))
        return out_of_memory(error);
    access = access_make(&config, strdup(server->name));
    if (!access || !set_file(&access->password, SECRET_PASSWORD, server->password_file))
        return out_of_memory(error);
    access->headers = headers_copy(server->headers, server->n_headers);
    if (!access->headers)
        return out_of_memory(error);
    access->n_headers = server->n_headers;
    access->is_direct = server->is_direct;
    access->refusal = server->refusal;
    *ret = TAKE_PTR(access);
    return 0;
}

/* --- its fields --- */

const char *access_server(const Access *access) {
    return access->config.server;
}

const char *access_origin(const Access *access) {
    return access->origin;
}

bool access_is_insecure(const Access *access) {
    return access->config.is_insecure;
}

size_t access_files(const Access *access, const char *ret[static ACCESS_FILES_MAX]) {
    const Secret *secrets[ACCESS_FILES_MAX] = SECRETS_OF(access);
    size_t n = 0;

    for (size_t i = 0; i < ACCESS_FILES_MAX; i++)
        if (secrets[i]->path)
            ret[n++] = secrets[i]->path;
    return n;
}

/* --- who we are --- */

int access_start_helper(const Access *access) {
    return access->config.exec ? exec_start_helper(&access->config) : 0;
}

static int ask_plugin(
    Access *access, int64_t now_nsec, int64_t wall_sec, bool *ret_changed, char *error) {
    char what[ACCESS_ERROR_MAX];
    int r = plugin_refresh(&access->plugin, &access->config, now_nsec, wall_sec,
        &access->is_rejected, ret_changed, what);

    return r < 0 ? message_fail(r, error, "%s: %s", access->origin, what) : 0;
}

static void credentials_fill(const Access *access, Credentials *ret) {
    const Kubeconfig *config = &access->config;
    const ExecCredential *given = &access->plugin.credential;
    bool has_cert = config->client_cert.text && config->client_key.text;
    const char *password = access->password.text ? access->password.text : config->password;

    *ret = (Credentials){
        .ca_pem = config->ca.text,
        .client_cert_pem = has_cert ? config->client_cert.text : given->cert_pem,
        .client_key_pem = has_cert ? config->client_key.text : given->key_pem,
        .token = config->token.text ? config->token.text : given->token,
        .user = config->user,
        .password = config->user && !password ? "" : password,
        .tls_server_name = config->tls_server_name,
        .proxy_url = config->proxy_url,
        .is_insecure = config->is_insecure,
        .is_direct = access->is_direct,
        .refusal = access->refusal,
        .headers = access->headers,
        .n_headers = access->n_headers,
        .version = access->version,
    };
}

int access_authorize(
    Access *access, int64_t now_nsec, int64_t wall_sec, Credentials *ret, char *error) {
    bool changed = false;
    int r = 0;

    if (access->is_rejected || !access->has_looked ||
        now_nsec - access->looked_at_nsec >= FILES_EVERY_NSEC) {
        r = refresh_files(access, access->is_rejected, &changed, error);
        access->has_looked = r == 0; /* retry missing files on each call */
        access->looked_at_nsec = now_nsec;
    }
    if (r == 0 && access->config.exec)
        r = ask_plugin(access, now_nsec, wall_sec, &changed, error);
    else if (r == 0)
        access->is_rejected = false;
    if (changed)
        access->version++;
    if (r < 0)
        return r;
    credentials_fill(access, ret);
    return 0;
}

void access_reject(Access *access) {
    access->is_rejected = true;
}

int access_find(const char *kubeconfig, const char *context, Access **ret, char *error) {
    if (kubeconfig)
        return access_from_kubeconfig(kubeconfig, context, ret, error);
    return access_in_cluster(/* root= */ "", ret, error);
}

int access_search(const char *path, const char *context, Access **ret, char *error) {
    char in_cluster[ACCESS_ERROR_MAX];
    int r = access_from_kubeconfig(path, context, ret, error);

    if (r != -ENOENT || path || context)
        return r;
    return access_in_cluster(/* root= */ "", ret, in_cluster) == 0 ? 0 : r;
}
