/* Collects the files that a running berth reads again, and enters the sandbox with them. */

#include "commands/serve-sandbox.h"

#include <errno.h>
#include <stdio.h>

#include "base/log.h"
#include "base/vec.h"
#include "input/sources.h"
#include "kube/access.h"

#define FILES_BUDGET ((size_t)4 * 1024 * 1024)

typedef struct FileList {
    Arena *arena;
    VEC(SandboxPath) paths;
} FileList;

static void file_list_done(FileList *list) {
    list->arena = arena_free(list->arena);
}

static void add(FileList *list, const char *path, bool is_written) {
    SandboxPath *place = path ? VEC_PUSH(&list->paths, list->arena) : NULL;
    size_t size = path ? strlen(path) + 1 : 0;

    if (place)
        *place = (SandboxPath){
            .path = arena_copy(list->arena, str_of(path, size)).ptr, .is_written = is_written};
}

/* All options that take files, so that a new one is never forgotten here. */
static void add_options(FileList *list, const Option *options, const void *settings) {
    for (const Option *option = options; option->name; option++) {
        const char *const *items = (const char *const *)((const char *)settings + option->offset);
        size_t n = option->kind == OPTION_FILE ? 1 : 0;

        if (option->kind == OPTION_LIST && option->complete == COMPLETE_FILES)
            n = *(const size_t *)((const char *)settings + option->count);
        for (size_t i = 0; i < n; i++)
            add(list, items[i], strcmp(option->name, SERVE_DUMP_OPTION) == 0);
    }
}

static void add_sources(FileList *list, const char *path) {
    DiagList diags = DIAG_LIST_IN(list->arena);
    MetricSources sources = {0};

    if (!path || sources_load(path, list->arena, &diags, &sources) != 0)
        return;
    for (size_t i = 0; i < sources.n; i++) {
        const MetricSource *source = &sources.items[i];

        add(list, source->token_file, false);
        add(list, source->password_file, false);
        add(list, source->ca_file, false);
        add(list, source->cert_file, false);
        add(list, source->key_file, false);
    }
}

/* Also starts the process for credential plugins: later, threads and the sandbox prevent it. */
static int add_access(FileList *list, const LiveOptions *live, char *error) {
    _cleanup_(access_freep) Access *access = NULL;
    const char *files[ACCESS_FILES_MAX];
    char text[ACCESS_ERROR_MAX];
    size_t n;
    int r;

    if (!live_is_wanted(live) || access_find(live->kubeconfig, live->context, &access, text) < 0)
        return 0;
    n = access_files(access, files);
    for (size_t i = 0; i < n; i++)
        add(list, files[i], false);
    r = access_start_helper(access);
    if (r < 0)
        (void)snprintf(error, DAEMON_ERROR_MAX,
            "cannot start the process that runs credential plugins: %s", strerror(-r));
    return r;
}

int serve_sandbox_enter(const Option *options, const void *settings, const DaemonOptions *daemon,
    Sandbox *ret, char *error) {
    _cleanup_(file_list_done) FileList list = {.arena = arena_new(FILES_BUDGET)};
    int r;

    (void)snprintf(error, DAEMON_ERROR_MAX, "out of memory for the files that the sandbox allows");
    if (!list.arena)
        return -ENOMEM;
    add_options(&list, options, settings);
    add(&list, daemon->state_dir, true);
    add_sources(&list, daemon->sources_path);
    r = add_access(&list, &daemon->live, error);
    if (r < 0)
        return r;
    if (arena_has_failed(list.arena))
        return -ENOMEM;
    sandbox_enter(list.paths.items, list.paths.n, ret);
    for (size_t i = 0; i < list.paths.n; i++)
        if (list.paths.items[i].is_refused && !list.paths.items[i].is_written)
            log_warn("the sandbox does not allow this file: its folder is missing, or is the root "
                     "folder",
                LOG_CSTR("file", list.paths.items[i].path));
    return 0;
}

void serve_sandbox_log(const Sandbox *sandbox) {
    static const char incomplete[] = "parts of the sandbox are not active";

    if (sandbox->active[0])
        log_info("sandbox", LOG_CSTR("active", sandbox->active));
    if (sandbox->missing[0] && sandbox->active[0])
        log_warn(incomplete, LOG_CSTR("missing", sandbox->missing));
    else if (sandbox->missing[0])
        log_info(incomplete, LOG_CSTR("missing", sandbox->missing));
}
