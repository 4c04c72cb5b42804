/* Writes the cluster of the first saved view as a dump, and the steps to those of the others. */

#include "bundle/bundle-internal.h"
#include "cluster/delta.h"
#include "cluster/dump.h"

static int put(void *context, Str bytes) {
    pack_write(context, bytes);
    return 0;
}

/* The first saved view that has one. */
static size_t find_first(const Recording *recording) {
    size_t i = 0;

    while (i < recording->n_saved_views && !recording->saved_views[i]->snapshot)
        i++;
    return i;
}

static void write_dump(BundleWrite *write, const Snapshot *snapshot) {
    int r;

    bundle_begin(write, STR("cluster.json"));
    r = dump_write(snapshot, write->mask, (DumpSink){.write = put, .context = write->pack});
    if (r < 0)
        write->error = r;
    pack_end(write->pack);
}

static void write_changes(BundleWrite *write, size_t first) {
    const Recording *recording = write->parts->recording;
    const Snapshot *before = NULL;

    bundle_begin(write, STR("changes.jsonl"));
    for (size_t i = 0; i < recording->n_saved_views; i++) {
        const SavedView *saved_view = recording->saved_views[i];
        JsonWriter writer = bundle_line(write);
        int r = 0;

        json_write(&writer, "scene: %zu, generation: %zu, madeNsec: %jd, uptimeNsec: %jd", i,
            saved_view->generation, saved_view->made_at_nsec, saved_view->uptime_nsec);
        bundle_write_digest(&writer, STR("policy"), saved_view->policy);
        json_write(&writer, "noCluster?: %i", !saved_view->snapshot);
        if (i == first)
            r = delta_write_order(&writer, saved_view->snapshot, write->mask);
        else if (saved_view->snapshot)
            r = delta_write(&writer, before, saved_view->snapshot, write->mask);
        if (r < 0)
            write->error = r;
        if (saved_view->snapshot)
            before = saved_view->snapshot;
        bundle_end_line(write, &writer);
    }
    pack_end(write->pack);
}

void bundle_write_cluster(BundleWrite *write) {
    const Recording *recording = write->parts->recording;
    size_t first = find_first(recording);

    if (first < recording->n_saved_views)
        write_dump(write, recording->saved_views[first]->snapshot);
    write_changes(write, first);
}
