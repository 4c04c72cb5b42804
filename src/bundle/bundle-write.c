/* Writes the files of a bundle, those that explain the others first. Large files are written and
 * compressed line by line. */

#include <errno.h>
#include <stdio.h>

#include "base/ascii.h"
#include "base/nsec.h"
#include "bundle/bundle-internal.h"
#include "cluster/delta.h"
#include "cluster/dump.h"
#include "cluster/fingerprint.h"

/* The memory of numbers of pods, saved views and measurements. */
#define WRITE_BUDGET ((size_t)1024 * 1024 * 1024)
#define NAME_MAX_BYTES 64u /* of a policy's file, in the archive */

static Str checked(BundleWrite *write, Str before, Str after) {
    if (!after.ptr && before.len > 0)
        write->error = -ENOMEM;
    return after;
}

Str bundle_show(BundleWrite *write, Str (*show)(Anonymous *anonymous, Str text), Str text) {
    return write->anonymous ? checked(write, text, show(write->anonymous, text)) : text;
}

void bundle_write_digest(JsonWriter *writer, Str key, Digest digest) {
    char text[DIGEST_TEXT_MAX];

    json_write_member(writer, key, str_from_c(digest_print(digest, text)));
}

void bundle_begin(BundleWrite *write, Str name) {
    Str path = arena_printf(write->arena, BUNDLE_FOLDER "%.*s", STR_FMT(name));

    pack_begin(write->pack, path.ptr ? path : STR(BUNDLE_FOLDER));
}

JsonWriter bundle_line(BundleWrite *write) {
    JsonWriter writer = JSON_WRITER(&write->line);

    buf_reset(&write->line);
    json_write_object(&writer);
    return writer;
}

void bundle_end_line(BundleWrite *write, JsonWriter *writer) {
    json_write(writer, "}\n");
    if (buf_error(&write->line))
        write->error = buf_error(&write->line);
    pack_write(write->pack, buf_str(&write->line));
}

static void write_file(BundleWrite *write, Str name, Str content) {
    bundle_begin(write, name);
    pack_write(write->pack, content);
    pack_end(write->pack);
}

static bool is_plain(char c) {
    return ascii_is_alnum(c) || c == '-' || c == '_' || c == '.';
}

/* "policy/003-pool.yaml": a unique name without special characters. */
static Str policy_path(BundleWrite *write, size_t i) {
    Str name = str_take(str_file_name(write->parts->policies[i].file), NAME_MAX_BYTES);
    char plain[NAME_MAX_BYTES + 1];

    for (size_t j = 0; j < name.len; j++)
        plain[j] = is_plain(name.ptr[j]) ? name.ptr[j] : '_';
    plain[name.len] = '\0';
    return arena_printf(write->arena, "policy/%03zu-%s%s", i + 1, plain,
        str_has_suffix(name, STR(".yaml")) || str_has_suffix(name, STR(".yml")) ? "" : ".yaml");
}

static void write_policy_list(BundleWrite *write, JsonWriter *writer) {
    json_member_array(writer, "policies");
    for (size_t i = 0; i < write->parts->n_policies; i++) {
        Str file = write->parts->policies[i].file, path = policy_path(write, i);

        json_write(writer, "{path: %.*s, file: %.*s}", STR_FMT(path),
            STR_FMT(write->anonymous ? str_file_name(file) : file));
    }
    json_write_end_array(writer);
    bundle_write_digest(writer, STR("policyDigest"), write->policy);
}

static void write_exemptions(BundleWrite *write, JsonWriter *writer) {
    const Exemptions *exemptions = write->parts->exemptions;

    json_member_array(writer, "exemptions");
    for (size_t i = 0; exemptions && i < exemptions->n; i++) {
        const Exemption *exemption = &exemptions->items[i];

        json_write_string(writer,
            write->anonymous
                ? checked(write, exemption->text, anonymous_exemption(write->anonymous, exemption))
                : exemption->text);
    }
    json_write_end_array(writer);
}

static void write_anonymity(BundleWrite *write, JsonWriter *writer) {
    Str functions[ANONYMOUS_FUNCTIONS_MAX];
    size_t n;

    json_member_bool(writer, "anonymous", write->anonymous);
    if (!write->anonymous)
        return;
    n = anonymous_functions(write->parts->program, functions);
    json_write_member(writer, STR("hashed"),
        STR("names, UIDs, keys and values of labels and annotations, images and addresses that "
            "policies do not mention; equal ones are equal hashes. Numbers, amounts, times and the "
            "order of nodes are as they were; what is sorted by name comes in another order, so of "
            "equals another may be named first. Pages of the daemon are left out."));
    json_member_texts(writer, "functionsOnStrings", functions, n);
    if (n > 0)
        json_write_member(writer, STR("caution"),
            STR("policies call functionsOnStrings, which see hashes here: decisions may come out "
                "otherwise"));
}

/* Writes the fingerprint of the newest cluster. */
static void write_fingerprint(BundleWrite *write, JsonWriter *writer) {
    const Recording *recording = write->parts->recording;
    const SavedView *newest =
        recording->n_saved_views > 0 ? recording->saved_views[recording->n_saved_views - 1] : NULL;
    Digest digest = DIGEST_NONE;
    int r = 0;

    if (newest && newest->snapshot)
        r = table_fingerprint(snapshot_table(newest->snapshot), &digest);
    if (r < 0)
        write->error = r;
    json_write_member(
        writer, STR("cluster"), write->parts->only_digest ? STR("digest") : STR("whole"));
    if (!write->anonymous && !digest_equal(digest, DIGEST_NONE))
        bundle_write_digest(writer, STR("clusterDigest"), digest);
}

static void write_about(BundleWrite *write) {
    _cleanup_(buf_done) Buf text = BUF_INIT(BUNDLE_LINE_MAX);
    JsonWriter writer = {.out = &text, .indent = 2};
    const BundleParts *parts = write->parts;

    json_write(&writer,
        "{bundle: %d, berth: %.*s, made: %.0td, madeNsec: %jd, decisions: %zu, scenes: %zu",
        BUNDLE_FORM, STR_FMT(parts->version), parts->made_at_nsec, parts->made_at_nsec,
        parts->recording->n, parts->recording->n_saved_views);
    write_fingerprint(write, &writer);
    write_policy_list(write, &writer);
    write_exemptions(write, &writer);
    write_anonymity(write, &writer);
    json_write(&writer, "}\n");
    if (buf_error(&text))
        write->error = buf_error(&text);
    write_file(write, STR("about.json"), buf_str(&text));
}

static int put(void *context, Str bytes) {
    pack_write(context, bytes);
    return 0;
}

/* The index of the first saved view with a cluster. */
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

/* Writes the cluster of the first saved view as a dump, and the changes to later ones. */
static void write_cluster(BundleWrite *write) {
    const Recording *recording = write->parts->recording;
    size_t first = find_first(recording);

    if (first < recording->n_saved_views)
        write_dump(write, recording->saved_views[first]->snapshot);
    write_changes(write, first);
}

static void write_all(BundleWrite *write) {
    const BundleParts *parts = write->parts;

    write_about(write);
    for (size_t i = 0; i < parts->n_policies; i++)
        write_file(write, policy_path(write, i), parts->policies[i].text);
    bundle_write_pods(write);
    bundle_write_decisions(write);
    if (!parts->only_digest) {
        write_cluster(write);
        bundle_write_metrics(write);
    }
    for (size_t i = 0; !write->anonymous && i < parts->n_pages; i++)
        write_file(write, parts->pages[i].name, parts->pages[i].text);
}

int bundle_write(const BundleParts *parts, Buf *out) {
    _cleanup_(pack_freep) Pack *pack = pack_new(out, parts->made_at_nsec / NSEC_PER_SEC);
    _cleanup_(arena_freep) Arena *arena = arena_new(WRITE_BUDGET);
    _cleanup_(anonymous_freep) Anonymous *anonymous = NULL;
    ObjectMask mask;
    BundleWrite write = {
        .parts = parts,
        .pack = pack,
        .arena = arena,
        .line = BUF_INIT(BUNDLE_LINE_MAX),
        .policy = DIGEST_NONE,
    };
    int r;

    for (size_t i = 0; i < parts->n_policies; i++)
        write.policy = digest_chain(write.policy, parts->policies[i].text);
    if (parts->is_anonymous)
        anonymous = anonymous_new(parts->policies, parts->n_policies, parts->salt);
    if (!pack || !arena || (parts->is_anonymous && !anonymous))
        return -ENOMEM;
    if (anonymous) {
        write.anonymous = anonymous;
        mask = anonymous_mask(anonymous);
        write.mask = &mask;
    }
    write_all(&write);
    buf_done(&write.line);
    r = pack_finish(pack);
    if (arena_has_failed(arena))
        return -ENOMEM;
    return write.error ? write.error : r;
}
