/*
 * Reads saved views. The changes of each line are applied to one store, so that snapshots share
 * unchanged chunks, as they did in the daemon.
 */

#include <errno.h>
#include <stdlib.h>

#include "bundle/bundle-internal.h"
#include "cluster/delta.h"
#include "cluster/store.h"
#include "json/fields.h"

#define OBJECT_BYTES 1024u /* approximate size of a node or pod in the store */

typedef struct ClusterRead {
    BundleRead *read;
    Store *store;
    Arena *scratch; /* for one line */
    VEC(SavedView *) saved_views;
    Snapshot *newest; /* a reference; NULL: none yet */
    size_t spare;     /* free rows that the bundle may still add */
    size_t bytes;     /* approximate size of all saved views */
} ClusterRead;

static void cluster_done(ClusterRead *cluster) {
    store_free(cluster->store);
    snapshot_unref(cluster->newest);
    arena_free(cluster->scratch);
}

typedef struct SceneLine {
    int64_t saved_view, generation;
    SavedView made; /* only its times and policy */
    bool has_no_cluster;
    Delta delta;
} SceneLine;

static void read_line(JsonReader *reader, Arena *arena, SceneLine *ret) {
    static const JsonField fields[] = {
        JSON_MEMBER("scene", INT, SceneLine, saved_view),
        JSON_MEMBER("generation", INT, SceneLine, generation),
        JSON_MEMBER("madeNsec", INT, SceneLine, made.made_at_nsec),
        JSON_MEMBER("uptimeNsec", INT, SceneLine, made.uptime_nsec),
        JSON_CUSTOM("policy", SceneLine, made.policy, bundle_read_digest),
        JSON_MEMBER("noCluster", BOOL, SceneLine, has_no_cluster),
    };
    Str key;

    json_object(reader);
    while (json_key(reader, &key))
        if (!json_read_key(reader, arena, fields, ELEMENTS_OF(fields), key, ret) &&
            !delta_read(&ret->delta, reader, arena, key))
            json_skip(reader, NULL);
    json_end(reader);
}

/* Reads cluster.json; the additions of the first line come after it. */
static int read_dump(ClusterRead *cluster, Delta *delta) {
    Str text = bundle_file(cluster->read, STR("cluster.json"));
    JsonReader reader;

    if (!text.ptr)
        return bundle_wrong(cluster->read, "cluster.json is not in it");
    json_reader_init(&reader, text);
    delta_read_list(delta, &reader, cluster->scratch);
    json_end(&reader);
    return json_error(&reader) ? bundle_bad_json(cluster->read, "cluster.json", &reader) : 0;
}

static int apply(ClusterRead *cluster, Delta *delta, bool is_first) {
    size_t n_objects = delta->nodes.n + delta->pods.n;
    int r = is_first ? delta_put_in_order(delta, cluster->scratch) : 0;

    if (n_objects > cluster->read->cluster_budget / OBJECT_BYTES)
        return bundle_wrong_line(
            cluster->read, "%zu nodes and pods are more than a bundle of this size has", n_objects);
    if (r == DELTA_E_MALFORMED)
        return bundle_wrong_line(cluster->read, "the order does not fit cluster.json");
    if (r == 0)
        r = delta_apply(delta, cluster->store, cluster->newest, cluster->scratch, &cluster->spare);
    if (r == DELTA_E_FULL)
        return bundle_wrong_line(
            cluster->read, "more than %u nodes or %u pods", STORE_NODES_MAX, STORE_PODS_MAX);
    if (r < 0)
        return r;
    cluster->newest = snapshot_unref(cluster->newest);
    return store_publish(cluster->store, &cluster->newest);
}

static int add_scene(ClusterRead *cluster, const SceneLine *line) {
    const SavedView *before =
        cluster->saved_views.n > 0 ? cluster->saved_views.items[cluster->saved_views.n - 1] : NULL;
    Recording *recording = &cluster->read->bundle->recording;
    SavedView *saved_view = calloc(1, sizeof(*saved_view));

    if (!saved_view || !VEC_ADD(&cluster->saved_views, cluster->read->arena, saved_view)) {
        free(saved_view);
        return -ENOMEM;
    }
    *saved_view = line->made;
    saved_view->ref = REF_ONE;
    saved_view->generation = (uint64_t)line->generation;
    saved_view->snapshot = line->has_no_cluster ? NULL : snapshot_ref(cluster->newest);
    recording->saved_views = cluster->saved_views.items; /* owns them, also after an error */
    recording->n_saved_views = cluster->saved_views.n;
    cluster->bytes += saved_view_bytes(saved_view, before);
    if (cluster->bytes > BUNDLE_SCENES_BYTES_MAX)
        return bundle_wrong_line(
            cluster->read, "the cluster changes too much to be held in memory");
    return 0;
}

static int read_scene(ClusterRead *cluster, Str text) {
    static const JsonField no_cluster = JSON_MEMBER("noCluster", BOOL, SceneLine, has_no_cluster);
    SceneLine line = {.saved_view = -1};
    bool is_first = !cluster->newest;
    JsonReader reader;
    int r = 0;

    /* The dump has the numbers from 0 on, so it must be read before the rest of the line, which
     * says whether it is needed. */
    json_reader_init(&reader, text);
    json_read_fields(&reader, cluster->scratch, &no_cluster, 1, &line);
    if (is_first && !line.has_no_cluster && !json_error(&reader))
        r = read_dump(cluster, &line.delta);
    if (r != 0)
        return r;
    json_reader_init(&reader, text);
    read_line(&reader, cluster->scratch, &line);
    if (json_error(&reader))
        return bundle_bad_json(cluster->read, NULL, &reader);
    if (line.saved_view != (int64_t)cluster->saved_views.n || line.saved_view >= BUNDLE_SCENES_MAX)
        return bundle_wrong_line(cluster->read, "scene %zu was expected", cluster->saved_views.n);
    if (!line.has_no_cluster)
        r = apply(cluster, &line.delta, is_first);
    return r == 0 ? add_scene(cluster, &line) : r;
}

int bundle_read_cluster(BundleRead *read) {
    _cleanup_(cluster_done) ClusterRead cluster = {
        .read = read,
        .store = store_new(),
        .scratch = arena_new(read->line_budget),
        .spare = BUNDLE_ROWS_HELD_MAX,
    };
    Str line;
    int r = 0;

    if (!cluster.store || !cluster.scratch)
        return -ENOMEM;
    bundle_open_lines(read, "changes.jsonl");
    while (r == 0 && bundle_next_line(read, &line)) {
        arena_reset(cluster.scratch);
        r = read_scene(&cluster, line);
    }
    return bundle_check_limit(read, r, cluster.scratch);
}
