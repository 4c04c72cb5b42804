#include "serve/files.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "input/file.h"
#include "input/objects.h"
#include "input/policies.h"

#define DIAGS_TEXT_MAX ((size_t)8 * 1024 * 1024)
#define DIAGS_BUDGET ((size_t)16 * 1024 * 1024)

static int64_t now_sec(void) {
    return clock_wall_nsec() / NSEC_PER_SEC;
}

static uint64_t policy_fingerprint(const DaemonOptions *options) {
    uint64_t sum = 0;

    for (size_t i = 0; i < options->n_policy_paths; i++)
        sum = sum * 31 + file_fingerprint(options->policy_paths[i]);
    return sum;
}

static uint64_t tls_fingerprint(const TlsFiles *files) {
    return file_fingerprint(files->certificate) * 961 + file_fingerprint(files->key) * 31 +
           (files->client_ca ? file_fingerprint(files->client_ca) : 0);
}

/* All problems as text, for the log and for the person at the terminal. */
static void describe_diags(const DiagList *diags, char *text, size_t size) {
    _cleanup_(buf_done) Buf out = BUF_INIT(DIAGS_TEXT_MAX);

    diag_list_print(diags, /* colour= */ false, &out);
    (void)snprintf(text, size, "%.*s", STR_FMT(str_trim(buf_str(&out))));
}

static int load_policy(const DaemonOptions *options, Program **ret, char *error, size_t size) {
    _cleanup_(arena_freep) Arena *arena = arena_new(DIAGS_BUDGET);
    DiagList diags = DIAG_LIST_IN(arena);
    int r;

    (void)snprintf(error, size, "out of memory");
    if (!arena)
        return error_origin(-ENOMEM);
    r = policies_load(options->policy_paths, options->n_policy_paths, &diags, ret);
    if (r > 0) {
        describe_diags(&diags, error, size);
        return error_origin(r == POLICIES_E_UNREADABLE ? -ENOENT : -EINVAL);
    }
    for (size_t i = 0; r == 0 && i < diags.diags.n; i++)
        log_warn("policy warning",
            LOG_STR("file", diags.diags.items[i].place.file),
            LOG_INT("line", diags.diags.items[i].place.line),
            LOG_STR("warning", diags.diags.items[i].text));
    return error_fold(r);
}

/* --- at the start ------------------------------------------------------------------------ */

static int load_cluster(Files *files, Snapshot **ret, char *error) {
    int r;

    *ret = NULL;
    if (!files->options->cluster_path)
        return 0;
    files->fingerprints[RELOAD_CLUSTER] = file_fingerprint(files->options->cluster_path);
    r = cluster_load(files->options->cluster_path, ret, error);
    if (r < 0)
        return error_trace(r);
    reloads_note_good(&files->reloads, RELOAD_CLUSTER, now_sec());
    return 0;
}

static int load_tls(Files *files, char *error) {
    int r;

    if (!files->options->tls.certificate)
        return 0;
    files->fingerprints[RELOAD_CERTIFICATES] = tls_fingerprint(&files->options->tls);
    r = tls_store_new(&files->options->tls, &files->tls, error, DAEMON_ERROR_MAX);
    if (r < 0)
        return error_trace(r);
    reloads_note_good(&files->reloads, RELOAD_CERTIFICATES, now_sec());
    return 0;
}

static int load_token(Files *files, char *error) {
    const char *path = files->options->pages.token_path;
    int r;

    if (!path)
        return 0;
    files->fingerprints[RELOAD_PAGES_TOKEN] = file_fingerprint(path);
    r = token_new(path, &files->token, error, DAEMON_ERROR_MAX);
    if (r < 0)
        return error_trace(r);
    reloads_note_good(&files->reloads, RELOAD_PAGES_TOKEN, now_sec());
    return 0;
}

int files_load(Files *files, Program **ret_program, Snapshot **ret_snapshot, char *error) {
    _cleanup_(program_unrefp) Program *program = NULL;
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    int r;

    files->fingerprints[RELOAD_POLICY] = policy_fingerprint(files->options);
    r = load_policy(files->options, &program, error, DAEMON_ERROR_MAX);
    if (r == 0 && files->options->n_policy_paths > 0)
        reloads_note_good(&files->reloads, RELOAD_POLICY, now_sec());
    if (r == 0)
        r = load_cluster(files, &snapshot, error);
    if (r == 0)
        r = load_tls(files, error);
    if (r == 0)
        r = load_token(files, error);
    if (r < 0)
        return error_trace(r);
    *ret_program = TAKE_PTR(program);
    *ret_snapshot = TAKE_PTR(snapshot);
    return 0;
}

void files_done(Files *files) {
    files->tls = tls_store_free(files->tls);
    files->token = token_free(files->token);
}

void files_note_sources(Files *files, uint64_t fingerprint) {
    files->fingerprints[RELOAD_SOURCES] = fingerprint;
    reloads_note_good(&files->reloads, RELOAD_SOURCES, now_sec());
}

/* --- when they have changed --------------------------------------------------------------- */

/* Where the last error of this thread came from, for whoever debugs berth itself. */
static void log_error_trace(void) {
    char trace[1024];

    error_describe(trace, sizeof(trace));
    log_debug("error trace", LOG_CSTR("trace", trace));
}

static void refuse_reload(Files *files, ReloadKind kind, const char *error) {
    reloads_note_bad(&files->reloads, kind, error);
    log_error("new configuration refused, the last good one stays in force",
        LOG_CSTR("config", reload_kind_name(kind)),
        LOG_CSTR("error", error));
    log_error_trace();
}

static void reload_policy(Files *files) {
    _cleanup_(program_unrefp) Program *program = NULL;
    char error[DAEMON_ERROR_MAX];

    if (load_policy(files->options, &program, error, sizeof(error)) < 0) {
        refuse_reload(files, RELOAD_POLICY, error);
        return;
    }
    assert(program);
    if (current_set_program(files->current, program, error, sizeof(error)) < 0) {
        refuse_reload(files, RELOAD_POLICY, error);
        return;
    }
    reloads_note_good(&files->reloads, RELOAD_POLICY, now_sec());
    log_info("policy reloaded",
        LOG_INT("policies", program->n_policies),
        LOG_INT("filters", program->n_filters),
        LOG_INT("scores", program->n_scores));
}

static void reload_cluster(Files *files) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    char error[OBJECTS_ERROR_MAX];

    if (cluster_load(files->options->cluster_path, &snapshot, error) < 0) {
        refuse_reload(files, RELOAD_CLUSTER, error);
        return;
    }
    if (current_set_snapshot(files->current, snapshot) < 0) {
        refuse_reload(files, RELOAD_CLUSTER, "out of memory");
        return;
    }
    reloads_note_good(&files->reloads, RELOAD_CLUSTER, now_sec());
    log_info("cluster reloaded", LOG_INT("nodes", snapshot_table(snapshot)->names->n_nodes));
}

/* A refused file was put back as it was: nothing to load, but nothing wrong any more. */
static void note_restored(Files *files, ReloadKind kind) {
    ReloadState state;

    reloads_get(&files->reloads, kind, &state);
    if (state.is_good)
        return;
    reloads_note_good(&files->reloads, kind, state.good_at_sec);
    log_info("what is on disk is in force again", LOG_CSTR("config", reload_kind_name(kind)));
}

static void reload_tls(Files *files) {
    char error[DAEMON_ERROR_MAX];

    switch (tls_store_reload(files->tls, error, sizeof(error))) {
    case TLS_UNCHANGED:
        note_restored(files, RELOAD_CERTIFICATES);
        break;
    case TLS_RELOADED:
        reloads_note_good(&files->reloads, RELOAD_CERTIFICATES, now_sec());
        log_info("certificates reloaded", LOG_INT("expiry_sec", tls_store_expiry(files->tls)));
        break;
    case TLS_REFUSED:
        refuse_reload(files, RELOAD_CERTIFICATES, error);
        break;
    }
}

static void reload_token(Files *files) {
    char error[DAEMON_ERROR_MAX];

    if (token_reload(files->token, error, sizeof(error)) < 0) {
        refuse_reload(files, RELOAD_PAGES_TOKEN, error);
        return;
    }
    reloads_note_good(&files->reloads, RELOAD_PAGES_TOKEN, now_sec());
    log_info("token of the pages reloaded");
}

static void reload_sources(Files *files) {
    char error[DAEMON_ERROR_MAX];

    if (measuring_reload(files->measuring, error, sizeof(error)) < 0) {
        refuse_reload(files, RELOAD_SOURCES, error);
        return;
    }
    reloads_note_good(&files->reloads, RELOAD_SOURCES, now_sec());
    log_info("metrics sources reloaded", LOG_INT("sources", measuring_n_sources(files->measuring)));
}

void files_reload(Files *files, bool force) {
    const DaemonOptions *options = files->options;
    uint64_t now[_RELOAD_MAX] = {0};
    bool changed[_RELOAD_MAX];

    if (options->n_policy_paths > 0)
        now[RELOAD_POLICY] = policy_fingerprint(options);
    if (options->cluster_path)
        now[RELOAD_CLUSTER] = file_fingerprint(options->cluster_path);
    if (files->tls)
        now[RELOAD_CERTIFICATES] = tls_fingerprint(&options->tls);
    if (options->sources_path)
        now[RELOAD_SOURCES] = file_fingerprint(options->sources_path);
    if (files->token)
        now[RELOAD_PAGES_TOKEN] = file_fingerprint(options->pages.token_path);
    for (size_t i = 0; i < _RELOAD_MAX; i++) {
        changed[i] = force || now[i] != files->fingerprints[i];
        files->fingerprints[i] = now[i];
    }
    if (changed[RELOAD_POLICY] && options->n_policy_paths > 0)
        reload_policy(files);
    if (changed[RELOAD_CLUSTER] && options->cluster_path)
        reload_cluster(files);
    if (changed[RELOAD_CERTIFICATES] && files->tls)
        reload_tls(files);
    if (changed[RELOAD_SOURCES] && options->sources_path)
        reload_sources(files);
    if (changed[RELOAD_PAGES_TOKEN] && files->token)
        reload_token(files);
}
