#pragma once

/*
 * Kubeconfig: one context of a kubeconfig, and all that it leads to.
 *
 * Several files count as one: of entries of the same name the first is taken, whole; the
 * first current-context that is not empty counts. Unknown fields are skipped, as kubectl does;
 * known fields must be of the right type. Where kubectl refuses (a certificate given twice, a token
 * and a password, an unknown name), this does too, with the place.
 *
 * Text in, values out: no file is read here.
 */

#include "kube/exec.h"
#include "kube/secret.h"

/* NULL: not given. Paths are relative to where their file is no longer. Owned. */
struct Kubeconfig {
    char *file; /* that has the context */
    char *context;
    char *server; /* "https://host:6443/prefix", no slash at the end */
    Secret ca, client_cert, client_key;
    Secret token; /* with both text and path, the text is good until the file was read */
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

/* At least one file. @context NULL: the current one. 0; or -EINVAL or -ENOMEM with a message in
 * @error (ACCESS_ERROR_MAX). */
int kubeconfig_read(
    const KubeconfigFile *files, size_t n_files, const char *context, Kubeconfig *ret, char *error);
