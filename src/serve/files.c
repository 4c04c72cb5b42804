/* Loads, watches and reloads the daemon's files; the last good ones stay in force. */

#include "serve/files.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/message.h"
#include "cluster/related-objects.h"
#include "input/file.h"
#include "input/objects.h"
#include "input/policies.h"

#define DIAGS_TEXT_MAX ((size_t)8 * 1024 * 1024)
#define DIAGS_BUDGET ((size_t)16 * 1024 * 1024)

/* A fingerprint of all @paths together; NULL: no file. */
static uint64_t fingerprint(const char *const *paths, size_t n) {
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum = sum * 31 + (paths[i] ? file_fingerprint(paths[i]) : 0);
    return sum;
}

/* A program that was read, and its sources. */
typedef struct ReadPolicy {
    Arena *arena; /* of the texts */
    Program *program;
    const PolicySource *sources;
    size_t n_sources;
    bool is_new; /* has versions of cluster policies that are not in force yet */
} ReadPolicy;

static void read_policy_done(ReadPolicy *read) {
    program_unref(read->program);
    arena_free(read->arena);
}

/* Replaces the program of files by that of files and cluster policies. Returns like
 * policies_compile(). */
static int add_objects(Files *files, DiagList *diags, ReadPolicy *policy) {
    _cleanup_(program_unrefp) Program *of_files = policy->program;
    int r;

    policy->program = NULL;
    r = cluster_policies_choose(files->cluster, of_files, policy->sources, policy->n_sources,
        policy->arena, &policy->sources, &policy->n_sources, &policy->is_new);
    return r < 0 ? r
                 : policies_compile(policy->sources, policy->n_sources, diags, &policy->program);
}

static int load_policy(Files *files, ReadPolicy *ret, char *error, size_t size) {
    _cleanup_(arena_freep) Arena *arena = arena_new(DIAGS_BUDGET);
    _cleanup_(buf_done) Buf text = BUF_INIT(DIAGS_TEXT_MAX); /* all problems */
    const DaemonOptions *options = files->options;
    DiagList diags = DIAG_LIST_IN(arena);
    bool is_listed = files->objects && policy_objects_version(files->objects) > 0;
    size_t n_labels;
    int r;

    ret->arena = arena_new(POLICIES_BUDGET);
    if (!arena || !ret->arena) {
        (void)message_no_memory(error, size, "the policies", NULL);
        return -ENOMEM;
    }
    r = policies_load_texts(options->policy_paths, options->n_policy_paths, ret->arena, &diags,
        &ret->program, &ret->sources, &ret->n_sources);
    if (r == 0)
        log_warnings("policy warning", &diags);
    if (r == 0 && is_listed)
        r = add_objects(files, &diags, ret);
    if (r > 0) {
        diag_list_print(&diags, /* colour= */ false, &text);
        (void)snprintf(error, size, "%.*s", STR_FMT(str_trim(buf_str(&text))));
        return r == POLICIES_E_UNREADABLE ? -ENOENT : -EINVAL;
    }
    assert(r < 0 || ret->program);
    if (r == 0)
        ret->program->is_partial = files->objects && !is_listed;
    if (r == 0 && !options->live.watcher.publishes &&
        program_count_published(ret->program, &n_labels) > 0)
        log_warn("policies publish filters, but this berth runs without --publish: no node shows "
                 "them");
    if (r < 0)
        (void)message_failed(error, size, "the policies", r, ret->arena);
    return error_fold(r);
}

static void note_policy(Files *files, const ReadPolicy *read) {
    changes_note_policies(
        files->changes, clock_wall_nsec(), read->program->digest, read->sources, read->n_sources);
}

static void note_config(Files *files, ReloadKind kind, const char *text) {
    changes_note(files->changes, CHANGE_CONFIG, clock_wall_nsec(),
        str_from_c(reload_kind_names[kind]), str_from_c(text));
}

/* --- at the start ------------------------------------------------------------------------ */

/* Called before anything is read, so that a change during the read is seen later. */
static void take_fingerprints(const DaemonOptions *options, uint64_t ret[_RELOAD_MAX]) {
    const TlsFiles *tls = &options->tls;
    const char *const tokens[] = {options->pages.token_path, options->pages.viewer_token_path};
    const char *const pair[] = {tls->certificate, tls->key, tls->client_ca, tls->client_crl};

    ret[RELOAD_POLICY] = fingerprint(options->policy_paths, options->n_policy_paths);
    ret[RELOAD_CLUSTER] = fingerprint(&options->cluster_path, 1);
    ret[RELOAD_CERTIFICATES] = fingerprint(pair, ELEMENTS_OF(pair));
    ret[RELOAD_SOURCES] = fingerprint(&options->measuring.sources_path, 1);
    ret[RELOAD_PAGES_TOKEN] = fingerprint(tokens, ELEMENTS_OF(tokens));
}

static void note_good(Files *files, ReloadKind kind) {
    reloads_note_good(&files->reloads, kind, clock_wall_nsec() / NSEC_PER_SEC);
}

/* Called once for each pair in use. */
static void warn_about_key(const Files *files) {
    char text[DAEMON_ERROR_MAX];

    if (tls_store_key_warning(files->tls, text, sizeof(text)))
        log_warn("private key is not private", LOG_CSTR("warning", text));
}

/* Warns once, when a CRL in use expires. */
static void warn_about_crl(Files *files) {
    char text[DAEMON_ERROR_MAX];
    bool is_overdue =
        tls_store_crl_warning(files->tls, clock_wall_nsec() / NSEC_PER_SEC, text, sizeof(text));

    if (is_overdue && !files->is_crl_overdue)
        log_warn("client CRL has expired, it still applies", LOG_CSTR("warning", text));
    files->is_crl_overdue = is_overdue;
}

/* Starts the budget of a load. */
static PolicyLoad begin_load(const Files *files) {
    return (PolicyLoad){
        .begun_cpu_nsec = clock_thread_cpu_nsec(), .is_cancelled = &files->is_cancelled};
}

static bool has_tokens(const Files *files) {
    return files->tokens.full || files->tokens.viewer;
}

int files_load(Files *files, Program **ret_program, Snapshot **ret_snapshot, PolicyLoad *ret_load,
    char *error) {
    _cleanup_(read_policy_done) ReadPolicy policy = {0};
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    const DaemonOptions *options = files->options;
    int r = 0;

    take_fingerprints(options, files->fingerprints);
    if (options->cluster_path)
        r = cluster_load(options->cluster_path, &snapshot, error);
    if (r < 0)
        return r;
    if (options->policies_from_cluster) {
        files->objects = policy_objects_new();
        files->cluster = files->objects ? cluster_policies_new(files->objects) : NULL;
        if (!files->cluster)
            return message_no_memory(error, DAEMON_ERROR_MAX, "the policies", NULL);
    }
    *ret_load = begin_load(files);
    r = load_policy(files, &policy, error, DAEMON_ERROR_MAX);
    if (r == 0 && options->tls.certificate)
        r = tls_store_new(&options->tls, &files->tls, error, DAEMON_ERROR_MAX);
    if (r == 0 && options->pages.token_path)
        r = token_new(options->pages.token_path, &files->tokens.full, error, DAEMON_ERROR_MAX);
    if (r == 0 && options->pages.viewer_token_path)
        r = token_new(
            options->pages.viewer_token_path, &files->tokens.viewer, error, DAEMON_ERROR_MAX);
    if (r < 0)
        return r;
    if (options->n_policy_paths > 0)
        note_good(files, RELOAD_POLICY);
    if (snapshot)
        note_good(files, RELOAD_CLUSTER);
    if (files->tls) {
        note_good(files, RELOAD_CERTIFICATES);
        warn_about_key(files);
        warn_about_crl(files);
    }
    if (has_tokens(files))
        note_good(files, RELOAD_PAGES_TOKEN);
    note_policy(files, &policy);
    *ret_program = TAKE_PTR(policy.program);
    *ret_snapshot = TAKE_PTR(snapshot);
    return 0;
}

void files_done(Files *files) {
    files_cancel(files);
    files->task = task_free(files->task);
    files->tls = tls_store_free(files->tls);
    files->tokens.full = token_free(files->tokens.full);
    files->tokens.viewer = token_free(files->tokens.viewer);
    files->cluster = cluster_policies_free(files->cluster);
    files->objects = policy_objects_free(files->objects);
}

/* --- when they have changed --------------------------------------------------------------- */

/* Sets the state last, so that a page that shows it already has its log line. */
static void reject_reload(Files *files, ReloadKind kind, const char *error) {
    log_error("new configuration rejected, the last good one stays in force",
        LOG_CSTR("config", reload_kind_names[kind]), LOG_CSTR("error", error));
    changes_note(files->changes,
        kind == RELOAD_POLICY ? CHANGE_POLICY_REJECTED : CHANGE_CONFIG_REJECTED, clock_wall_nsec(),
        str_from_c(reload_kind_names[kind]), str_from_c(error));
    reloads_note_bad(&files->reloads, kind, error);
}

/* A rejected file was restored. */
#define IN_FORCE_AGAIN "configuration on disk is in force again"

#define AWAIT_PAUSE_USEC 20000

/* Describes what a program waits for, and the error that delays it: "nodes: connection refused". */
static void describe_wait(
    Files *files, const Program *program, bool has_fields, char *ret, size_t size) {
    bool is_of_pods = !pod_parts_is_empty(&program->needs.pods);
    LiveStatus status;
    const WatcherKindStatus *kind = &status.watcher.kinds[WATCHER_PODS];
    const char *name = watcher_kind_name(WATCHER_PODS);

    live_status(files->live, &status);
    if (!is_of_pods || (program->needs.node_details && !kind->last_error[0])) {
        kind = &status.watcher.kinds[WATCHER_NODES];
        name = is_of_pods ? "nodes and pods" : watcher_kind_name(WATCHER_NODES);
    }
    for (unsigned i = 0; has_fields && i < _RELATED_KINDS; i++)
        if ((program->related & RELATED_BIT(i)) &&
            !status.watcher.kinds[_WATCHER_KINDS + i].is_synced) {
            kind = &status.watcher.kinds[_WATCHER_KINDS + i];
            name = related_kind_name((RelatedKind)i);
            break;
        }
    message_set(ret, size, "the new policies wait for the list of %s%s%s", name,
        kind->last_error[0] ? ": " : "", kind->last_error);
}

/* Waits, on the thread of reloads, for parts of the cluster that the program reads and that were
 * not kept or watched so far. The program in force keeps its watches. 0, or -ECANCELED. */
static int await_cluster(Files *files, const Program *program, const Program *before) {
    char text[RELOAD_ERROR_MAX];
    bool is_reported = false;

    while (files->live) {
        bool has_fields = live_want(files->live, &program->needs);
        bool has_related =
            live_want_related(files->live, before->related | program->related, program->related);

        if (has_fields && has_related)
            break;
        if (atomic_load(&files->is_cancelled))
            return -ECANCELED;
        describe_wait(files, program, has_fields, text, sizeof(text));
        reloads_note_waiting(&files->reloads, RELOAD_POLICY, text);
        if (!is_reported)
            log_info("the new policies read parts of the cluster that were not kept: listing them",
                LOG_CSTR("waiting", text));
        is_reported = true;
        (void)usleep(AWAIT_PAUSE_USEC);
    }
    return 0;
}

/* Keeps only the watches of the program in force, the new one or that of @before. */
static void end_await(Files *files, const Program *in_force) {
    if (files->live)
        (void)live_want_related(files->live, in_force->related, 0);
    reloads_note_waiting(&files->reloads, RELOAD_POLICY, "");
}

/* Reads policies, puts them in force. 0; -ECANCELED; or a negative errno with a message. */
static int try_policy(Files *files, const View *before, PolicyLoad *load, ReadPolicy *policy,
    char *error, size_t size) {
    int r = load_policy(files, policy, error, size);

    if (r == 0)
        r = await_cluster(files, policy->program, before->program);
    if (r == 0)
        r = current_set_program(files->current, policy->program, load, error, size);
    if (r == 0 && files->cluster)
        cluster_policies_commit(files->cluster, clock_wall_nsec());
    return r;
}

/* Reports policies of the cluster that are not used. Others are in force. */
static void note_objects(Files *files) {
    char error[RELOAD_ERROR_MAX];
    ReloadState state;

    cluster_policies_describe(files->cluster, error, sizeof(error));
    reloads_get(&files->reloads, RELOAD_POLICY, &state);
    if (!error[0]) {
        note_good(files, RELOAD_POLICY);
    } else if (strcmp(error, state.error) != 0) {
        note_good(files, RELOAD_POLICY);
        reject_reload(files, RELOAD_POLICY, error);
    }
}

static void reload_policy(Files *files) {
    _cleanup_(read_policy_done) ReadPolicy policy = {0};
    _cleanup_(view_unrefp) View *before = current_view(files->current);
    PolicyLoad load = begin_load(files);
    const Program *program;
    ReloadState state;
    char error[DAEMON_ERROR_MAX];
    int r;

    atomic_store(&files->is_cancelled, false);
    log_debug("loading policies");
    r = try_policy(files, before, &load, &policy, error, sizeof(error));
    if (r < 0 && r != -ECANCELED && policy.is_new) { /* try without the new versions */
        cluster_policies_reject(files->cluster, str_from_c(error));
        read_policy_done(&policy);
        policy = (ReadPolicy){0};
        load = begin_load(files);
        r = try_policy(files, before, &load, &policy, error, sizeof(error));
    }
    end_await(files, r == 0 ? policy.program : before->program);
    if (r == -ECANCELED) {
        log_info("loading of policies cancelled");
        return;
    }
    atomic_store(&files->is_exceeded, false);
    if (r < 0) {
        reject_reload(files, RELOAD_POLICY, error);
        return;
    }
    program = policy.program;
    reloads_get(&files->reloads, RELOAD_POLICY, &state);
    if (!files->cluster && !state.is_good && digest_equal(before->program->digest, program->digest))
        note_config(files, RELOAD_POLICY, IN_FORCE_AGAIN);
    note_policy(files, &policy);
    log_info("policy reloaded", LOG_INT("policies", program->n_policies),
        LOG_INT("filters", program->n_filters), LOG_INT("scores", program->n_scores),
        LOG_INT("cpu_ms", (clock_thread_cpu_nsec() - load.begun_cpu_nsec) / NSEC_PER_MSEC));
    if (files->cluster)
        note_objects(files);
    else
        note_good(files, RELOAD_POLICY);
}

static void reload_cluster(Files *files) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    char error[OBJECTS_ERROR_MAX];

    if (cluster_load(files->options->cluster_path, &snapshot, error) < 0) {
        reject_reload(files, RELOAD_CLUSTER, error);
        return;
    }
    if (current_set_snapshot(files->current, snapshot) < 0) {
        reject_reload(files, RELOAD_CLUSTER, "out of memory for the view of the new cluster");
        return;
    }
    note_config(files, RELOAD_CLUSTER, "read anew");
    log_info("cluster reloaded", LOG_INT("nodes", snapshot_table(snapshot)->names->n_nodes));
    note_good(files, RELOAD_CLUSTER);
}

/* Nothing has to be loaded, but the file is good again. */
static void note_restored(Files *files, ReloadKind kind) {
    ReloadState state;

    reloads_get(&files->reloads, kind, &state);
    if (state.is_good)
        return;
    note_config(files, kind, IN_FORCE_AGAIN);
    log_info(IN_FORCE_AGAIN, LOG_CSTR("config", reload_kind_names[kind]));
    reloads_note_good(&files->reloads, kind, state.good_at_sec);
}

/* @is_retry: a rejected pair may become valid without a change of its files. */
static void read_tls(Files *files, bool is_retry) {
    char error[DAEMON_ERROR_MAX];
    TlsReload result = tls_store_reload(files->tls, error, sizeof(error));

    if (result == TLS_UNCHANGED) {
        note_restored(files, RELOAD_CERTIFICATES);
    } else if (result == TLS_RELOADED) {
        note_config(files, RELOAD_CERTIFICATES, "read anew");
        log_info("certificates reloaded", LOG_INT("expiry_sec", tls_store_expiry(files->tls)));
        note_good(files, RELOAD_CERTIFICATES);
        files->is_crl_overdue = false;
        warn_about_key(files);
    } else if (!is_retry) {
        reject_reload(files, RELOAD_CERTIFICATES, error);
    }
}

static void reload_tls(Files *files) {
    read_tls(files, /* is_retry= */ false);
}

static void reload_token(Files *files) {
    PagesTokens *tokens = &files->tokens;
    char error[DAEMON_ERROR_MAX];

    if ((tokens->full && token_reload(tokens->full, error, sizeof(error)) < 0) ||
        (tokens->viewer && token_reload(tokens->viewer, error, sizeof(error)) < 0)) {
        reject_reload(files, RELOAD_PAGES_TOKEN, error);
        return;
    }
    note_config(files, RELOAD_PAGES_TOKEN, "read anew");
    log_info("pages token reloaded");
    note_good(files, RELOAD_PAGES_TOKEN);
}

static void reload_sources(Files *files) {
    char error[DAEMON_ERROR_MAX];

    if (measuring_reload(files->measuring, error, sizeof(error)) < 0) {
        reject_reload(files, RELOAD_SOURCES, error);
        return;
    }
    note_config(files, RELOAD_SOURCES, "read anew");
    log_info("metrics sources reloaded", LOG_INT("sources", measuring_n_sources(files->measuring)));
    note_good(files, RELOAD_SOURCES);
}

void files_note_exceeded(Files *files, const char *message) {
    if (message) {
        log_error("policies exceed their budget: no rule is evaluated, onTimeout decides",
            LOG_CSTR("error", message));
        changes_note(files->changes, CHANGE_POLICY_REJECTED, clock_wall_nsec(),
            str_from_c(reload_kind_names[RELOAD_POLICY]), str_from_c(message));
        reloads_note_bad(&files->reloads, RELOAD_POLICY, message);
        atomic_store(&files->is_exceeded, true);
    } else if (atomic_exchange(&files->is_exceeded, false)) {
        note_restored(files, RELOAD_POLICY);
    }
}

static void (*const reload[_RELOAD_MAX])(Files *files) = {
    [RELOAD_POLICY] = reload_policy,
    [RELOAD_CLUSTER] = reload_cluster,
    [RELOAD_CERTIFICATES] = reload_tls,
    [RELOAD_SOURCES] = reload_sources,
    [RELOAD_PAGES_TOKEN] = reload_token,
};

#define BIT(kind) (1u << (kind))
#define TAKES_LONG (BIT(RELOAD_POLICY) | BIT(RELOAD_CLUSTER) | BIT(RELOAD_SOURCES))

static void reload_wanted(void *context, unsigned wanted) {
    for (size_t i = 0; i < _RELOAD_MAX; i++)
        if (wanted & BIT(i))
            reload[i](context);
}

int files_start(Files *files) {
    return task_new("berth-load", reload_wanted, files, &files->task);
}

void files_cancel(Files *files) {
    atomic_store(&files->is_cancelled, true);
}

bool files_stop(Files *files, int64_t timeout_nsec) {
    files_cancel(files);
    return task_stop(files->task, timeout_nsec);
}

/* Does not cancel a running load: changes faster than loads must not starve them. */
void files_reload_objects(Files *files) {
    uint64_t version = files->objects ? policy_objects_version(files->objects) : 0;

    if (version == files->objects_version)
        return;
    files->objects_version = version;
    task_request(files->task, BIT(RELOAD_POLICY));
}

void files_reload(Files *files, bool force) {
    const bool is_used[_RELOAD_MAX] = {
        [RELOAD_POLICY] = files->options->n_policy_paths > 0 || files->objects,
        [RELOAD_CLUSTER] = files->options->cluster_path != NULL,
        [RELOAD_CERTIFICATES] = files->tls != NULL,
        [RELOAD_SOURCES] = files->options->measuring.sources_path != NULL,
        [RELOAD_PAGES_TOKEN] = has_tokens(files),
    };
    uint64_t now[_RELOAD_MAX];
    unsigned wanted = 0;
    ReloadState certificates;

    take_fingerprints(files->options, now);
    if (is_used[RELOAD_POLICY] && now[RELOAD_POLICY] != files->fingerprints[RELOAD_POLICY])
        files_cancel(files); /* they have changed during the load */
    for (size_t i = 0; i < _RELOAD_MAX; i++) {
        if (is_used[i] && (force || now[i] != files->fingerprints[i]))
            wanted |= BIT(i);
        files->fingerprints[i] = now[i];
    }
    if (wanted & TAKES_LONG)
        task_request(files->task, wanted & TAKES_LONG);
    reload_wanted(files, wanted & ~TAKES_LONG);
    if (files->tls) {
        reloads_get(&files->reloads, RELOAD_CERTIFICATES, &certificates);
        if (!certificates.is_good)
            read_tls(files, /* is_retry= */ true);
        warn_about_crl(files);
    }
}
