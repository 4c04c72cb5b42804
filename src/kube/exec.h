#pragma once

/*
 * Exec: credentials from a plugin, a program that a kubeconfig names.
 *
 * The plugin gets KUBERNETES_EXEC_INFO and answers with an ExecCredential on standard output
 * (client.authentication.k8s.io/v1, v1beta1). It runs again shortly before its credential expires,
 * or when the server rejected it; after failures less and less often.
 *
 * Threads: one at a time.
 */

#include "base/buf.h"
#include "kube/access.h"

#define EXEC_ARGS_MAX 1024u
#define EXEC_ENV_MAX 1024u /* a plugin's own, in addition to ours */
#define EXEC_NEVER INT64_MAX

typedef struct ExecVariable {
    char *name, *value;
} ExecVariable;

/* A plugin as written in the kubeconfig. */
typedef struct ExecSpec {
    char *api_version;
    char *command; /* looked for in PATH unless it has a slash */
    char **args;   /* without the command */
    size_t n_args;
    ExecVariable *env;
    size_t n_env;
    bool wants_cluster;   /* provideClusterInfo */
    char *cluster_config; /* JSON: the cluster's extension for plugins; NULL: none */
    char *install_hint;   /* NULL: none */
} ExecSpec;

ExecSpec *exec_spec_free(ExecSpec *spec); /* takes NULL */
DEFINE_CLEANUP(ExecSpec *, exec_spec_free)

bool exec_is_api_version(Str version); /* a version that we support */

/* Below: a plugin (its exec) and its cluster. */
typedef struct Kubeconfig Kubeconfig;

/* The plugin's result; NULL: not given. Owned. */
typedef struct ExecCredential {
    char *token;
    char *cert_pem, *key_pem; /* both or none */
    int64_t expires_sec;      /* since 1970; EXEC_NEVER: not given */
} ExecCredential;

void exec_credential_done(ExecCredential *credential);

/* KUBERNETES_EXEC_INFO. */
void exec_write_info(const Kubeconfig *config, Buf *out);

/* Reads a plugin's answer. 0; or -EINVAL or -ENOMEM with the error in @error (ACCESS_ERROR_MAX),
 * which never contains a part of a credential. */
int exec_read_credential(Str answer, Str api_version, ExecCredential *ret, char *error);

/* Runs the plugin; blocks up to @timeout_msec. 0, or a negative errno with a message in
 * @error (ACCESS_ERROR_MAX). */
int exec_run(const Kubeconfig *config, int timeout_msec, ExecCredential *ret, char *error);

/* Forks a process that runs the plugin from now on (kube/process-helper.h): always with @config as
 * it is now. 0, or a negative errno. */
int exec_start_helper(const Kubeconfig *config) MUST_CHECK;

/* The plugin's last credential, and when to run it again. All zero at first; its credential is
 * freed with exec_credential_done(). */
typedef struct Plugin {
    ExecCredential credential; /* empty until it has given one */
    bool has_credential;
    bool has_run;
    bool was_refresh;       /* the last run was made while the credential was still good */
    unsigned n_failures;    /* in a row, of runs of that sort */
    int64_t ran_at_nsec;    /* when it ended */
    int64_t refresh_at_sec; /* wall */
    int failure;            /* of the last run: 0 or a negative errno */
    char error[ACCESS_ERROR_MAX];
} Plugin;

/* Runs it if that is due, which blocks (access_authorize()). @now_nsec is monotonic, @wall_sec
 * since 1970. *is_rejected: the server rejected its last result; false when it has given another
 * one. *ret_changed is set, never cleared, when the credential is another now. 0: there is one to
 * send, unless the server has rejected it and it is too early to run the plugin again; or a
 * negative errno with a message in @error (ACCESS_ERROR_MAX). */
int plugin_refresh(Plugin *plugin, const Kubeconfig *config, int64_t now_nsec, int64_t wall_sec,
    bool *is_rejected, bool *ret_changed, char *error) MUST_CHECK;
