#pragma once

/*
 * Kubeconfig: one context of a kubeconfig, with its cluster and user.
 *
 * Several files count as one: the first entry of a name and the first current-context that is not
 * empty count. As in kubectl, unknown fields are skipped and known fields must have the right type;
 * errors of kubectl (a certificate given twice, a token and a password, an unknown name) are errors
 * here, too, with their place.
 *
 * It reads texts, no files.
 */

#include "kube/exec.h"
#include "kube/secret.h"

/* Members are owned; NULL: not given. Paths are already resolved relative to their file. */
struct Kubeconfig {
    char *file; /* the file with the context */
    char *context;
    char *server; /* "https://host:6443/prefix", no slash at the end */
    Secret ca, client_cert, client_key;
    Secret token; /* with both text and path, the text is used until the file is read */
    char *user, *password;
    char *tls_server_name, *proxy_url;
    bool is_insecure;
    ExecSpec *exec;
};

void kubeconfig_done(Kubeconfig *config); /* wipes; leaves it empty */

typedef struct KubeconfigFile {
    const char *path;
    Str text;
} KubeconfigFile;

/* At least one file; paths and texts are copied. @context NULL: the current one. 0, and the caller
 * owns *ret (kubeconfig_done()); or -EINVAL or -ENOMEM with a message in @error (ACCESS_ERROR_MAX),
 * and *ret is unchanged. */
int kubeconfig_read(
    const KubeconfigFile *files, size_t n_files, const char *context, Kubeconfig *ret, char *error);
