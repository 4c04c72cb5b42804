/* Runs credential plugins: their input, their output, and when they run again. */

#include "kube/exec.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/clock.h"
#include "base/message.h"
#include "kube/kubeconfig.h"
#include "kube/process-helper.h"
#include "kube/process.h"
#include "kube/secret.h"
#include "model/time.h"
#include "json/fields.h"
#include "json/write.h"

#define INFO_MAX (2 * ACCESS_FILE_MAX)
#define INFO_NAME "KUBERNETES_EXEC_INFO"

static const Str api_versions[] = {
    STR("client.authentication.k8s.io/v1"), STR("client.authentication.k8s.io/v1beta1")};

bool exec_is_api_version(Str version) {
    return str_is_one_of(version, api_versions, ELEMENTS_OF(api_versions));
}

ExecSpec *exec_spec_free(ExecSpec *spec) {
    if (!spec)
        return NULL;
    for (size_t i = 0; i < spec->n_args; i++)
        secret_free(spec->args[i]);
    for (size_t i = 0; i < spec->n_env; i++) {
        free(spec->env[i].name);
        secret_free(spec->env[i].value);
    }
    free(spec->args);
    free(spec->env);
    free(spec->api_version);
    free(spec->command);
    free(spec->cluster_config);
    free(spec->install_hint);
    free(spec);
    return NULL;
}

void exec_credential_done(ExecCredential *credential) {
    secret_free(credential->token);
    secret_free(credential->cert_pem);
    secret_free(credential->key_pem);
    *credential = (ExecCredential){.expires_sec = EXEC_NEVER};
}

static void write_cluster(JsonWriter *writer, const Kubeconfig *config) {
    json_write(writer, "cluster: {server?: %s, tls-server-name?: %s, insecure-skip-tls-verify?: %i",
        config->server, config->tls_server_name, config->is_insecure);
    if (config->ca.text) {
        _cleanup_(buf_done) Buf text = BUF_INIT(INFO_MAX);

        base64_encode(str_from_c(config->ca.text), &text);
        json_write_member(writer, STR("certificate-authority-data"), buf_str(&text));
    }
    json_write(writer, "proxy-url?: %s", config->proxy_url);
    if (config->exec->cluster_config) {
        json_write_key(writer, STR("config"));
        json_write_raw(writer, str_from_c(config->exec->cluster_config));
    }
    json_write_end_object(writer);
}

void exec_write_info(const Kubeconfig *config, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);

    json_write(
        &writer, "{kind: 'ExecCredential', apiVersion?: %s, spec: {", config->exec->api_version);
    if (config->exec->wants_cluster)
        write_cluster(&writer, config);
    json_write(&writer, "interactive: false}}");
}

typedef struct Answer {
    Str api_version, kind;
    bool has_status;
    Str token, cert, key, expires;
} Answer;

static const JsonField status_fields[] = {
    JSON_MEMBER("token", TEXT, Answer, token),
    JSON_MEMBER("clientCertificateData", TEXT, Answer, cert),
    JSON_MEMBER("clientKeyData", TEXT, Answer, key),
    JSON_MEMBER("expirationTimestamp", TEXT, Answer, expires),
};

static void read_status(JsonReader *reader, Arena *arena, void *target) {
    Answer *answer = target;

    answer->has_status = json_peek(reader) == JSON_OBJECT_BEGIN;
    JSON_READ_FIELDS(reader, arena, status_fields, answer);
}

static const JsonField answer_fields[] = {
    JSON_MEMBER("apiVersion", TEXT, Answer, api_version),
    JSON_MEMBER("kind", TEXT, Answer, kind),
    {"status", JSON_FIELD_CUSTOM, .read = read_status},
};

static int out_of_memory(char *error) {
    return message_fail(-ENOMEM, error, "out of memory for the ExecCredential");
}

/* Messages never contain the value of a field, which may be a secret. */
static int check_answer(const Answer *answer, Str api_version, ExecCredential *ret, char *error) {
    if (!str_is(answer->kind, "ExecCredential"))
        return message_fail(-EINVAL, error, "what it printed has not the kind ExecCredential");
    if (!str_eq(answer->api_version, api_version))
        return message_fail(-EINVAL, error,
            "it answers in another apiVersion than %.*s, which the kubeconfig asks for",
            STR_FMT(api_version));
    if (!answer->has_status)
        return message_fail(-EINVAL, error, "what it printed has no status");
    if (str_is_empty(answer->token) && str_is_empty(answer->cert) && str_is_empty(answer->key))
        return message_fail(-EINVAL, error, "it gave neither a token nor a certificate");
    if (str_is_empty(answer->cert) != str_is_empty(answer->key))
        return message_fail(
            -EINVAL, error, "it gave a certificate without its key, or a key alone");
    if (answer->expires.len > 0 && !time_parse(answer->expires, &ret->expires_sec))
        return message_fail(-EINVAL, error, "its expirationTimestamp is no RFC 3339 time");
    return 0;
}

static int copy_part(SecretKind kind, const char *name, Str text, char **ret, char *error) {
    const char *complaint = str_is_empty(text) ? NULL : secret_complaint(kind, text);

    if (complaint)
        return message_fail(-EINVAL, error, "%s %s", name, complaint);
    *ret = str_is_empty(text) ? NULL : secret_copy(text);
    return str_is_empty(text) || *ret ? 0 : out_of_memory(error);
}

static void answer_wipe(const Answer *answer, Str input) {
    const Str parts[] = {answer->token, answer->cert, answer->key};

    for (size_t i = 0; i < ELEMENTS_OF(parts); i++)
        if (parts[i].ptr && (parts[i].ptr < input.ptr || parts[i].ptr >= input.ptr + input.len))
            secret_wipe(parts[i]); /* a decoded copy in the arena; the caller wipes the input */
}

int exec_read_credential(Str input, Str api_version, ExecCredential *ret, char *error) {
    _cleanup_(arena_freep) Arena *arena = arena_new(2 * ACCESS_PLUGIN_OUTPUT_MAX);
    _cleanup_(exec_credential_done) ExecCredential credential = {.expires_sec = EXEC_NEVER};
    ExecCredential *given = &credential;
    Answer answer = {0};
    JsonReader reader;
    int r;

    if (!arena)
        return out_of_memory(error);
    json_reader_init(&reader, input);
    JSON_READ_FIELDS(&reader, arena, answer_fields, &answer);
    json_end(&reader);
    if (json_error(&reader)) {
        char what[160];

        json_describe(&reader, what, sizeof(what));
        r = message_fail(-EINVAL, error, "what it printed is no ExecCredential: %s", what);
    } else {
        r = check_answer(&answer, api_version, given, error)
            ?: copy_part(SECRET_TOKEN, "its token", answer.token, &given->token, error)
            ?: copy_part(
                   SECRET_PEM, "its clientCertificateData", answer.cert, &given->cert_pem, error)
            ?: copy_part(SECRET_PEM, "its clientKeyData", answer.key, &given->key_pem, error);
    }
    answer_wipe(&answer, input);
    if (r < 0)
        return r;
    *ret = credential;
    credential = (ExecCredential){.expires_sec = EXEC_NEVER};
    return 0;
}

static bool is_overridden(const ExecSpec *spec, const char *entry) {
    size_t len = strcspn(entry, "=");

    if (str_eq(str_of(entry, len), STR(INFO_NAME)))
        return true;
    for (size_t i = 0; i < spec->n_env; i++)
        if (str_eq(str_of(entry, len), str_from_c(spec->env[i].name)))
            return true;
    return false;
}

/* Our variables, overridden by the plugin's, and KUBERNETES_EXEC_INFO; in @arena or borrowed. NULL
 * when out of memory. */
static const char **build_env(const ExecSpec *spec, Str info, Arena *arena) {
    size_t n = 0, n_ours = 0;
    const char **env;

    while (environ && environ[n_ours])
        n_ours++;
    env = ARENA_ARRAY(arena, const char *, n_ours + spec->n_env + 2);
    if (!env)
        return NULL;
    for (size_t i = 0; i < n_ours; i++)
        if (!is_overridden(spec, environ[i]))
            env[n++] = environ[i];
    for (size_t i = 0; i < spec->n_env; i++)
        if (!str_is(STR(INFO_NAME), spec->env[i].name))
            env[n++] = arena_printf(arena, "%s=%s", spec->env[i].name, spec->env[i].value).ptr;
    env[n] = arena_printf(arena, INFO_NAME "=%.*s", STR_FMT(info)).ptr;
    return arena_has_failed(arena) ? NULL : env;
}

static int explain_start(const ExecSpec *spec, int r, char *error) {
    if (r == -EPIPE)
        return message_fail(r, error,
            "credential plugin %s cannot run: the process that starts it has ended; restart berth",
            spec->command);
    if (r == -ENOENT)
        return message_fail(r, error, "credential plugin %s was not found%s%s%s", spec->command,
            strchr(spec->command, '/') ? "" : " in PATH", spec->install_hint ? ": " : "",
            spec->install_hint ? spec->install_hint : "");
    return message_fail(
        r, error, "credential plugin %s could not be started: %s", spec->command, strerror(-r));
}

/* Joins lines with blanks, in place. */
static Str fold_lines(char *text) {
    size_t n = 0;

    for (const char *at = text; *at; at++) {
        bool is_blank = strchr(" \t\r\n", *at) != NULL;

        if (is_blank && (n == 0 || text[n - 1] == ' '))
            continue;
        text[n++] = is_blank ? ' ' : *at;
    }
    return str_trim(str_of(text, n));
}

/* Explains a failed run, with the end of its standard error. 0 if it succeeded. */
static int explain_end(const ExecSpec *spec, ProcessResult *result, int timeout_msec, char *error) {
    char how[96] = "";
    Str words = fold_lines(result->errors);

    switch (result->end) {
    case PROCESS_EXITED:
        if (result->code == 0)
            return 0;
        message_set(how, sizeof(how), "failed with exit code %d", result->code);
        break;
    case PROCESS_SIGNALLED:
        message_set(how, sizeof(how), "was ended by signal %d", result->code);
        break;
    case PROCESS_TIMEOUT:
        message_set(how, sizeof(how), "did not end within %d s", (timeout_msec + 999) / 1000);
        break;
    case PROCESS_TOO_LOUD:
        message_set(how, sizeof(how), "printed more than %zu KiB", ACCESS_PLUGIN_OUTPUT_MAX >> 10);
        break;
    }
    return message_fail(result->end == PROCESS_TIMEOUT ? -ETIMEDOUT : -EIO, error,
        "credential plugin %s %s%s%.*s", spec->command, how, words.len > 0 ? ": " : "",
        STR_FMT(words));
}

/* Runs the plugin, or with @starts_helper forks the process that will run it. */
static int run_or_start(const Kubeconfig *config, int timeout_msec, bool starts_helper, Buf *output,
    ProcessResult *result) {
    const ExecSpec *spec = config->exec;
    _cleanup_(arena_freep) Arena *arena = arena_new(8 * ACCESS_FILE_MAX);
    _cleanup_(buf_done) Buf info = BUF_INIT(INFO_MAX);
    ProcessOptions options = {.command = spec->command, .timeout_msec = timeout_msec};
    const char **args;

    if (!starts_helper && process_helper_is_started())
        return process_helper_run(timeout_msec, output, result);
    exec_write_info(config, &info);
    options.env = arena && !buf_error(&info) ? build_env(spec, buf_str(&info), arena) : NULL;
    args = options.env ? ARENA_ARRAY(arena, const char *, spec->n_args + 2) : NULL;
    if (!args)
        return -ENOMEM;
    args[0] = spec->command;
    for (size_t i = 0; i < spec->n_args; i++)
        args[i + 1] = spec->args[i];
    options.args = args;
    return starts_helper ? process_helper_start(&options) : process_run(&options, output, result);
}

int exec_start_helper(const Kubeconfig *config) {
    return run_or_start(config, 0, /* starts_helper= */ true, NULL, NULL);
}

int exec_run(const Kubeconfig *config, int timeout_msec, ExecCredential *ret, char *error) {
    const ExecSpec *spec = config->exec;
    _cleanup_(secret_buf_done) Buf output = BUF_INIT(ACCESS_PLUGIN_OUTPUT_MAX);
    char what[ACCESS_ERROR_MAX];
    ProcessResult result;
    int r = run_or_start(config, timeout_msec, /* starts_helper= */ false, &output, &result);

    if (r < 0)
        return explain_start(spec, r, error);
    r = explain_end(spec, &result, timeout_msec, error);
    if (r < 0)
        return r;
    r = exec_read_credential(buf_str(&output), str_from_c(spec->api_version), ret, what);
    return r < 0 ? message_fail(r, error, "credential plugin %s: %s", spec->command, what) : 0;
}

/* The minimum time between runs, so that many rejected calls cause only one run. Doubles with every
 * failure in a row, because a run blocks the thread. */
#define PAUSE_NSEC (5 * NSEC_PER_SEC)
#define PAUSE_MAX_NSEC (60 * NSEC_PER_SEC)

/* A credential is replaced this long before it expires: a tenth of its life, at most a minute. */
#define MARGIN_PART 10
#define MARGIN_SEC_MAX 60

static bool text_eq(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Takes ownership of @credential. */
static void take(Plugin *plugin, ExecCredential *credential, int64_t wall_sec, bool *ret_changed) {
    int64_t expires = credential->expires_sec, life = expires > wall_sec ? expires - wall_sec : 0;
    int64_t margin = life / MARGIN_PART < MARGIN_SEC_MAX ? life / MARGIN_PART : MARGIN_SEC_MAX;

    if (!text_eq(plugin->credential.token, credential->token) ||
        !text_eq(plugin->credential.cert_pem, credential->cert_pem) ||
        !text_eq(plugin->credential.key_pem, credential->key_pem))
        *ret_changed = true;
    exec_credential_done(&plugin->credential);
    plugin->credential = *credential;
    *credential = (ExecCredential){.expires_sec = EXEC_NEVER};
    plugin->has_credential = true;
    plugin->refresh_at_sec = expires == EXEC_NEVER ? EXEC_NEVER : expires - margin;
}

/* Whether the credential can still be sent. */
static bool is_good(const Plugin *plugin, int64_t wall_sec, bool is_rejected) {
    return plugin->has_credential && !is_rejected && wall_sec < plugin->credential.expires_sec;
}

/* The pause after the last run. Failed refreshes, which have a short timeout, do not delay a run
 * that is needed. */
static int64_t pause_after(const Plugin *plugin, bool is_refresh) {
    unsigned n = plugin->was_refresh == is_refresh ? plugin->n_failures : 0;
    int64_t pause = PAUSE_NSEC;

    while (n-- > 1 && pause < PAUSE_MAX_NSEC)
        pause *= 2;
    return pause < PAUSE_MAX_NSEC ? pause : PAUSE_MAX_NSEC;
}

/* @is_refresh: the last credential is still valid. */
static void run_once(Plugin *plugin, const Kubeconfig *config, bool is_refresh, int64_t now_nsec,
    int64_t wall_sec, bool *ret_changed) {
    _cleanup_(exec_credential_done) ExecCredential credential = {.expires_sec = EXEC_NEVER};
    int timeout_msec = (is_refresh ? ACCESS_PLUGIN_REFRESH_SEC : ACCESS_PLUGIN_SEC) * 1000;
    int64_t start = clock_monotonic_nsec();

    plugin->failure = exec_run(config, timeout_msec, &credential, plugin->error);
    if (plugin->was_refresh != is_refresh || plugin->failure == 0)
        plugin->n_failures = 0;
    if (plugin->failure < 0 && plugin->n_failures < UINT_MAX)
        plugin->n_failures++;
    plugin->has_run = true;
    plugin->was_refresh = is_refresh;
    plugin->ran_at_nsec = now_nsec + (clock_monotonic_nsec() - start);
    if (plugin->failure == 0)
        take(plugin, &credential, wall_sec, ret_changed);
}

int plugin_refresh(Plugin *plugin, const Kubeconfig *config, int64_t now_nsec, int64_t wall_sec,
    bool *is_rejected, bool *ret_changed, char *error) {
    bool is_due = !plugin->has_credential || *is_rejected || wall_sec >= plugin->refresh_at_sec;
    bool is_refresh = is_good(plugin, wall_sec, *is_rejected);

    if (is_due &&
        (!plugin->has_run || now_nsec - plugin->ran_at_nsec >= pause_after(plugin, is_refresh))) {
        run_once(plugin, config, is_refresh, now_nsec, wall_sec, ret_changed);
        if (plugin->failure == 0)
            *is_rejected = false;
    }
    if (plugin->failure == 0 || is_good(plugin, wall_sec, *is_rejected))
        return 0;
    return message_fail(plugin->failure, error, "%s", plugin->error);
}
