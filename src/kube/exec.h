#pragma once

/*
 * Exec: credentials from a plugin, a program that a kubeconfig names.
 *
 * The plugin is told what it is for in KUBERNETES_EXEC_INFO and answers with an
 * ExecCredential on standard output (client.authentication.k8s.io/v1, v1beta1).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/str.h"

#define EXEC_ARGS_MAX 1024u
#define EXEC_ENV_MAX 1024u /* a plugin's own, beside those we have */
#define EXEC_NEVER INT64_MAX

typedef struct ExecVariable {
    char *name, *value;
} ExecVariable;

/* What a kubeconfig says about a plugin. */
typedef struct ExecSpec {
    char *api_version;
    char *command; /* looked for in PATH unless it has a slash */
    char **args;   /* without the command */
    size_t n_args;
    ExecVariable *env;
    size_t n_env;
    bool wants_cluster;   /* provideClusterInfo */
    char *cluster_config; /* JSON: what the cluster has to say to plugins; NULL: nothing */
    char *install_hint;   /* NULL: none */
} ExecSpec;

ExecSpec *exec_spec_free(ExecSpec *spec); /* takes NULL */
DEFINE_CLEANUP(ExecSpec *, exec_spec_free)

bool exec_is_api_version(Str version); /* one that we speak */

/* What a plugin that wants to know is told about the cluster; NULL: not given. */
typedef struct ExecCluster {
    const char *server, *tls_server_name, *ca_pem, *proxy_url;
    bool is_insecure;
} ExecCluster;

/* What it gave; NULL: not given. Owned. */
typedef struct ExecCredential {
    char *token;
    char *cert_pem, *key_pem; /* both or none */
    int64_t expires_sec;      /* since 1970; EXEC_NEVER: it does not say */
} ExecCredential;

void exec_credential_done(ExecCredential *credential);

/* KUBERNETES_EXEC_INFO. */
void exec_write_info(const ExecSpec *spec, const ExecCluster *cluster, Buf *out);

/* Reads a plugin's answer. 0; or -EINVAL or -ENOMEM with what is wrong with it in @error
 * (ACCESS_ERROR_MAX), which never has a part of a credential in it. */
int exec_read_credential(Str answer, Str api_version, ExecCredential *ret, char *error);

/* Runs the plugin; blocks up to @timeout_msec. 0, or a negative errno with a message in
 * @error (ACCESS_ERROR_MAX). */
int exec_run(const ExecSpec *spec, const ExecCluster *cluster, int timeout_msec,
    ExecCredential *ret, char *error);
