#pragma once

/*
 * Exec: credentials from a plugin, a program that a kubeconfig names.
 *
 * The plugin gets KUBERNETES_EXEC_INFO and answers with an ExecCredential on standard output
 * (client.authentication.k8s.io/v1, v1beta1). It runs again shortly before its credential expires
 * or if the server rejected it, with growing pauses after failures.
 *
 * Threads: one at a time.
 */

#include "base/buf.h"
#include "kube/access.h"

#define EXEC_ARGS_MAX 1024u
#define EXEC_ENV_MAX 1024u /* variables of a plugin, besides ours */
#define EXEC_NEVER INT64_MAX

typedef struct ExecVariable {
    char *name, *value;
} ExecVariable;

/* A plugin as written in the kubeconfig. */
typedef struct ExecSpec {
    char *api_version;
    char *command; /* searched in PATH unless it has a slash */
    char **args;   /* arguments without the command */
    size_t n_args;
    ExecVariable *env;
    size_t n_env;
    bool wants_cluster;   /* provideClusterInfo */
    char *cluster_config; /* JSON: the cluster's extension for plugins; NULL: none */
    char *install_hint;   /* NULL: none */
} ExecSpec;

ExecSpec *exec_spec_free(ExecSpec *spec); /* takes NULL */
DEFINE_CLEANUP(ExecSpec *, exec_spec_free)

bool exec_is_api_version(Str version); /* whether it is supported */

/* Its @exec is the plugin; it also has the cluster that the plugin may get. */
typedef struct Kubeconfig Kubeconfig;

/* A plugin's result; members are owned; NULL: not given. */
typedef struct ExecCredential {
    char *token;
    char *cert_pem, *key_pem; /* both or neither */
    int64_t expires_sec;      /* since 1970; EXEC_NEVER: not given */
} ExecCredential;

void exec_credential_done(ExecCredential *credential);

/* Appends the value of KUBERNETES_EXEC_INFO. */
void exec_write_info(const Kubeconfig *config, Buf *out);

/* Reads a plugin's answer. 0; or -EINVAL or -ENOMEM with the error in @error (ACCESS_ERROR_MAX),
 * which never contains a part of a credential. */
int exec_read_credential(Str answer, Str api_version, ExecCredential *ret, char *error);

/* Runs the plugin; blocks up to @timeout_msec. 0, or a negative errno with a message in
 * @error (ACCESS_ERROR_MAX). */
int exec_run(const Kubeconfig *config, int timeout_msec, ExecCredential *ret, char *error);

/* Forks a process that runs the plugin from now on (kube/process-helper.h), with the current
 * @config. 0, or a negative errno. */
int exec_start_helper(const Kubeconfig *config) MUST_CHECK;

/* The plugin's last credential, and when to run it again. Initialize to zeros; free the credential
 * by exec_credential_done(). */
typedef struct Plugin {
    ExecCredential credential; /* empty until has_credential */
    bool has_credential;
    bool has_run;
    bool was_refresh;       /* the last run was a refresh, while the credential was valid */
    unsigned n_failures;    /* in a row, of such runs */
    int64_t ran_at_nsec;    /* end of the last run */
    int64_t refresh_at_sec; /* wall time */
    int failure;            /* result of the last run */
    char error[ACCESS_ERROR_MAX];
} Plugin;

/* Runs the plugin if due, which blocks (access_authorize()). @now_nsec is monotonic, @wall_sec
 * since 1970. *is_rejected: the server rejected the last credential; set to false after a
 * successful run. *ret_changed is set to true, never to false, if the credential changes. 0: a
 * credential can be sent, or a rejected one cannot be replaced yet; or a negative errno with a
 * message in @error (ACCESS_ERROR_MAX). */
int plugin_refresh(Plugin *plugin, const Kubeconfig *config, int64_t now_nsec, int64_t wall_sec,
    bool *is_rejected, bool *ret_changed, char *error) MUST_CHECK;
