/* Bundles of a running berth, or from a file. */

#include "cli/bundle-source.h"

#include <inttypes.h>

#include "cli/terminal.h"

/* A berth takes some seconds for a bundle of 10,000 decisions. */
#define FETCH_TIMEOUT_SEC 120

bool bundle_source_fetch(
    const BerthAccess *access, const BundleRequest *request, Arena *arena, Str *ret, char *error) {
    Str path = arena_printf(arena, "/api/v1/bundle?last=%" PRId64 "%s%s", request->last,
        request->is_anonymous ? "&anonymize=true" : "",
        request->only_digest ? "&cluster=digest" : "");
    BerthAccess patient = *access;

    patient.timeout_sec = FETCH_TIMEOUT_SEC;
    return berth_client_get(&patient, path, arena, ret, error);
}

void bundle_source_unpack(Str file, const char *name, Bundle *ret) {
    char error[BUNDLE_ERROR_MAX];

    if (terminal_check(bundle_read(file, ret, error), "the bundle", NULL) > 0)
        terminal_fail("%s: %s", name, error);
}

void bundle_source_load(const char *path, Bundle *ret) {
    _cleanup_(buf_done) Buf file = BUF_INIT(BUNDLE_MAX);

    terminal_read_file(path, &file);
    bundle_source_unpack(buf_str(&file), path, ret);
}
