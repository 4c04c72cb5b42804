#pragma once

/* Checks of the fuzzers of bundles: a bundle is read or rejected with a message; a bundle that was
 * read can be replayed, written, and read again. */

#include "base/fuzz.h"
#include "base/hash.h"
#include "bundle/archive.h"
#include "bundle/bundle.h"

#define FUZZ_ROOM ((size_t)64 * 1024 * 1024)

static inline void fuzz_replay(const Bundle *bundle) {
    _cleanup_(arena_freep) Arena *arena = arena_new(FUZZ_ROOM);

    for (size_t i = 0; arena && i < bundle->recording.n; i++) {
        const RecordedDecision *decision = &bundle->recording.decisions[i];

        if (!recorded_obstacle(decision))
            (void)recorded_request(&bundle->recording, decision, arena);
    }
}

static inline void fuzz_write_again(const Bundle *bundle) {
    const BundleParts parts = {
        .version = bundle->version,
        .made_at_nsec = bundle->made_at_nsec,
        .policies = bundle->policies,
        .n_policies = bundle->n_policies,
        .exemptions = &bundle->exemptions,
        .recording = &bundle->recording,
        .pages = bundle->pages,
        .n_pages = bundle->n_pages,
        .only_digest = !bundle->has_cluster,
    };
    _cleanup_(buf_done) Buf file = BUF_INIT(FUZZ_ROOM);
    _cleanup_(bundle_done) Bundle again = {0};
    char error[BUNDLE_ERROR_MAX];

    require(bundle_write(&parts, &file) == 0);
    require(bundle_read(buf_str(&file), &again, error) == 0);
    require(again.recording.n == bundle->recording.n);
    require(again.recording.n_saved_views == bundle->recording.n_saved_views || !again.has_cluster);
}

/* @file is freed before the bundle is used. */
static inline void fuzz_bundle(Buf *file) {
    _cleanup_(bundle_done) Bundle bundle = {0};
    char error[BUNDLE_ERROR_MAX] = "";
    int r;

    hash_set_key(1);
    r = bundle_read(buf_str(file), &bundle, error);
    buf_done(file);
    require(r == 0 || (r == BUNDLE_E_MALFORMED && error[0] != '\0'));
    if (r != 0)
        return;
    fuzz_replay(&bundle);
    fuzz_write_again(&bundle);
}
