/* The options for a running berth, and bundles from it or from a file. */

#include "cli/server-source.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "input/file.h"

/* To make one of 10,000 decisions takes a berth some seconds. */
#define FETCH_TIMEOUT_SEC 120

int bundle_source_fetch(
    ServerSource *source, const BundleRequest *request, const char *who, Arena *arena, Str *ret) {
    Str path = arena_printf(arena, "/api/v1/bundle?last=%" PRId64 "%s%s", request->last,
        request->is_anonymous ? "&anonymize=true" : "",
        request->only_digest ? "&cluster=digest" : "");
    int r = server_source_open(source, who);
    char error[BERTH_CLIENT_ERROR_MAX];

    if (r != 0)
        return r;
    source->access.timeout_sec = FETCH_TIMEOUT_SEC;
    r = path.ptr ? berth_client_get(&source->access, path, arena, ret, error) : -ENOMEM;
    if (r < 0)
        return terminal_out_of_memory(who, "berth's reply", arena);
    if (r > 0)
        terminal_complain(who, error);
    return r > 0 ? EXIT_UNREACHABLE : 0;
}

int bundle_source_unpack(Str file, const char *name, const char *who, Bundle *ret) {
    char error[BUNDLE_ERROR_MAX], text[2 * BUNDLE_ERROR_MAX];
    int r = bundle_read(file, ret, error);

    if (r == 0)
        return 0;
    if (r < 0)
        return terminal_failed(who, "the bundle", r, NULL);
    (void)snprintf(text, sizeof(text), "%s: %s", name, error);
    return terminal_complain(who, text);
}

int bundle_source_load(const char *path, const char *who, Bundle *ret) {
    _cleanup_(buf_done) Buf file = BUF_INIT(BUNDLE_MAX);
    char error[FILE_ERROR_MAX];

    if (file_read(path, &file, error) < 0)
        return terminal_complain(who, error);
    return bundle_source_unpack(buf_str(&file), path, who, ret);
}

bool server_source_is_given(const ServerSource *source) {
    const BerthAccess *access = &source->access;

    return access->server || access->ca || access->cert || access->key || access->token_file;
}

const char *server_source_check(const ServerSource *source) {
    return !source->access.cert == !source->access.key ? NULL : "--cert and --key go together";
}

int server_source_open(ServerSource *source, const char *who) {
    _cleanup_(buf_done) Buf token = BUF_INIT(ACCESS_TOKEN_MAX);
    char error[FILE_ERROR_MAX];

    if (!source->access.server)
        source->access.server = SERVER_SOURCE_DEFAULT;
    if (!source->access.token_file || file_read(source->access.token_file, &token, error) == 0)
        return EXIT_FINE;
    return terminal_complain(who, error);
}
