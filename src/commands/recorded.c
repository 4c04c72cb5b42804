/* Loads recordings of one or several berths, and replays them. */

#include "commands/recorded.h"

#include "cli/bundle-source.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "input/zones.h"

const char *recorded_check(const RecordedSource *source) {
    if (source->n_bundles > 0 && (server_source_is_given(&source->server) ||
                                     cluster_source_is_live(&source->server.cluster)))
        return "--bundle is a file: no server is contacted";
    return server_source_check(&source->server);
}

void recorded_done(Recorded *recorded) {
    recording_done(&recorded->recording);
    for (size_t i = 0; i < recorded->n; i++)
        bundle_done(&recorded->bundles[i]);
}

/* Warns about replicas that gave none. If none gave one, the command fails with the first error. */
static void fetch_bundles(RecordedSource *source, Arena *arena, Recorded *ret) {
    _cleanup_(replicas_done) Replicas replicas = {0};
    const BundleRequest request = {.last = source->last};
    char errors[REPLICAS_MAX][BERTH_CLIENT_ERROR_MAX];
    size_t n_errors = 0;

    replicas_open(&source->server, &replicas);
    for (size_t i = 0; i < replicas.n; i++) {
        const BerthAccess *access = &replicas.items[i];
        Str file = STR_NULL;

        if (bundle_source_fetch(access, &request, arena, &file, errors[n_errors]))
            bundle_source_unpack(file, access->server, &ret->bundles[ret->n++]);
        else
            n_errors++;
    }
    if (ret->n == 0)
        terminal_fail("%s", errors[0]);
    for (size_t i = 0; i < n_errors; i++)
        replicas_complain(&replicas, errors[i]);
}

/* Keeps only the @last newest decisions; 0: all. */
static void keep_last(Recording *recording, int64_t last) {
    size_t from = recording->n;

    while (from > 0 && last > 0) {
        Verb verb = recording->decisions[--from].verb;

        last -= verb == VERB_FILTER || verb == VERB_PRIORITIZE;
    }
    recording->decisions += from;
    recording->n -= from;
}

Digest recorded_policy_digest(const Bundle *bundle) {
    Digest digest = DIGEST_NONE;

    for (size_t i = 0; i < bundle->n_policies; i++)
        digest = digest_chain(digest, bundle->policies[i].text);
    return digest;
}

/* Replicas may read their policies at different times, or from different files. */
static void warn_about_policies(const Recorded *recorded) {
    for (size_t i = 1; i < recorded->n; i++)
        if (!digest_equal(recorded_policy_digest(&recorded->bundles[i]),
                recorded_policy_digest(&recorded->bundles[0]))) {
            terminal_warn(
                "the recordings have different policies; those of the first count as in force");
            return;
        }
}

void recorded_load(RecordedSource *source, Arena *arena, Recorded *ret) {
    Recording parts[REPLICAS_MAX];

    progress_begin("reading decisions");
    for (size_t i = 0; i < source->n_bundles; i++)
        bundle_source_load(source->bundles[i], &ret->bundles[ret->n++]);
    if (source->n_bundles == 0)
        fetch_bundles(source, arena, ret);
    for (size_t i = 0; i < ret->n; i++)
        parts[i] = ret->bundles[i].recording;
    if (recording_merge(parts, ret->n, arena, &ret->recording) < 0)
        terminal_out_of_memory(RECORDED_MEMORY_FOR, arena);
    warn_about_policies(ret);
    keep_last(&ret->recording, source->last);
}

void recorded_replay(const Recorded *recorded, Program *program, Arena *arena, WhatIfReport *ret) {
    _cleanup_(zones_freep) Zones *zones = terminal_need(zones_new(), "the replayed decisions");
    RestoreOptions setting = {
        .zones = zones_finder(zones), .exemptions = &recorded->bundles[0].exemptions};

    arena_on_refusal(arena, terminal_out_of_memory, "the replayed decisions");
    progress_begin("replaying decisions");
    (void)terminal_check(
        what_if_run(&recorded->recording, program, &setting, progress_count, arena, ret),
        "the replayed decisions", arena);
    progress_end();
}
