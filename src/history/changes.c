/*
 * A ring of entries, each with its own texts; and a short list of versions, newest first,
 * refcounted so that differences are computed without the lock.
 */

#include "history/changes.h"

#include <stdlib.h>

#include "base/linediff.h"
#include "base/ref.h"
#include "base/thread.h"
#include "base/utf8.h"

#define DIFF_MAX (2 * CHANGES_VERSIONS_BYTES + ((size_t)1 << 20))

/* The texts of all policy files at one time. */
typedef struct Version {
    Ref ref;
    Arena *arena; /* of the fields below */
    Digest digest;
    PolicySource *sources;
    size_t n;
    size_t bytes;
} Version;

typedef struct Entry {
    ChangeKind kind;
    int64_t at_nsec;
    char *texts; /* what and text, in one block */
    Str what, text;
    Digest digest, before; /* CHANGE_POLICY only */
} Entry;

struct Changes {
    pthread_mutex_t lock;
    Entry entries[CHANGES_MAX];              /* a ring: id - 1, modulo its size */
    uint64_t n;                              /* noted since the start */
    Version *versions[CHANGES_VERSIONS_MAX]; /* newest first; no two with the same digest */
    size_t n_versions, bytes;
    Digest digest;   /* of the policies in force */
    bool has_digest; /* ... once they are known */
};

const ChangeKindInfo change_kinds[] = {
    [CHANGE_STARTED] = {"started", false, "berth started"},
    [CHANGE_POLICY] = {"policy", false, "policies reloaded"},
    [CHANGE_POLICY_REJECTED] = {"policy-rejected", true,
        "new policies rejected, the last good ones stay in force"},
    [CHANGE_CONFIG] = {"config", false, "file reloaded"},
    [CHANGE_CONFIG_REJECTED] = {"config-rejected", true,
        "new file rejected, the last good one stays in force"},
    [CHANGE_WATCH_LOST] = {"watch-lost", true, "no updates from the API server"},
    [CHANGE_WATCH_BACK] = {"watch-back", false, "updates from the API server again"},
    [CHANGE_RELIST] = {"relist", false, "all objects listed again"},
    [CHANGE_METRIC_OLD] = {"metric-old", true, "metric expired"},
    [CHANGE_METRIC_BACK] = {"metric-back", false, "metric has values again"},
    [CHANGE_LEASE_TAKEN] = {"lease-taken", false, "this replica binds now"},
    [CHANGE_LEASE_LOST] = {"lease-lost", true, "this replica no longer binds"},
    [CHANGE_BYPASSED] = {"bypassed", true, "pods bypassed berth"},
};

static Version *version_unref(Version *version) {
    if (!version || !ref_drop(&version->ref))
        return NULL;
    arena_free(version->arena);
    free(version);
    return NULL;
}
DEFINE_CLEANUP(Version *, version_unref)

DEFINE_REF(Version, version)

/* Copies into @arena; NULL when out of memory. */
static PolicySource *copy_sources(Arena *arena, const PolicySource *sources, size_t n) {
    PolicySource *copies = ARENA_ARRAY(arena, PolicySource, n);

    for (size_t i = 0; copies && i < n; i++) {
        copies[i].file = arena_copy(arena, sources[i].file);
        copies[i].text = arena_copy(arena, sources[i].text);
    }
    return arena_has_failed(arena) ? NULL : copies;
}

/* NULL: too large to be kept, or out of memory. */
static Version *version_new(Digest digest, const PolicySource *sources, size_t n) {
    size_t bytes = sizeof(Version);
    Version *version;

    for (size_t i = 0; i < n; i++)
        bytes += sizeof(sources[i]) + sources[i].file.len + sources[i].text.len;
    version = bytes > CHANGES_VERSIONS_BYTES ? NULL : calloc(1, sizeof(*version));
    if (!version)
        return NULL;
    *version = (Version){.ref = REF_ONE, .digest = digest, .n = n, .bytes = bytes};
    version->arena = arena_new(2 * CHANGES_VERSIONS_BYTES);
    version->sources = version->arena ? copy_sources(version->arena, sources, n) : NULL;
    return version->sources ? version : version_unref(version);
}

/* Called with the lock held. The index in the list; n_versions: not found. */
static size_t find_version(const Changes *changes, Digest digest) {
    size_t i = 0;

    while (i < changes->n_versions && !digest_equal(changes->versions[i]->digest, digest))
        i++;
    return i;
}

static void drop_version(Changes *changes, size_t at) {
    changes->bytes -= changes->versions[at]->bytes;
    version_unref(changes->versions[at]);
    changes->n_versions--;
    for (size_t i = at; i < changes->n_versions; i++)
        changes->versions[i] = changes->versions[i + 1];
}

/* Takes @version as the newest, and drops an older one with the same digest. */
static void keep_version(Changes *changes, Version *version) {
    size_t at = find_version(changes, version->digest);

    if (at < changes->n_versions)
        drop_version(changes, at);
    while (changes->n_versions == CHANGES_VERSIONS_MAX ||
           (changes->n_versions > 0 && changes->bytes + version->bytes > CHANGES_VERSIONS_BYTES))
        drop_version(changes, changes->n_versions - 1);
    for (size_t i = changes->n_versions; i > 0; i--)
        changes->versions[i] = changes->versions[i - 1];
    changes->versions[0] = version;
    changes->n_versions++;
    changes->bytes += version->bytes;
}

Changes *changes_new(void) {
    Changes *changes = calloc(1, sizeof(*changes));

    if (changes)
        (void)pthread_mutex_init(&changes->lock, NULL);
    return changes;
}

Changes *changes_free(Changes *changes) {
    if (!changes)
        return NULL;
    for (size_t i = 0; i < CHANGES_MAX; i++)
        free(changes->entries[i].texts);
    for (size_t i = 0; i < changes->n_versions; i++)
        version_unref(changes->versions[i]);
    (void)pthread_mutex_destroy(&changes->lock);
    free(changes);
    return NULL;
}

/* The first line of @text, up to CHANGES_TEXT_MAX bytes. */
static Str cut(Str text) {
    return utf8_take(str_take(text, str_find(text, '\n')), CHANGES_TEXT_MAX);
}

/* Called with the lock held. If memory runs out, the change is noted without texts. */
static void add(Changes *changes, const Entry *about, Str what, Str text) {
    Entry *entry = &changes->entries[changes->n++ % CHANGES_MAX];
    Str first = cut(what), second = cut(text);
    char *at;

    free(entry->texts);
    *entry = *about;
    entry->texts = at = malloc(first.len + second.len + 1);
    if (!at)
        return;
    entry->what = str_carve(&at, first);
    entry->text = str_carve(&at, second);
}

void changes_note(Changes *changes, ChangeKind kind, int64_t at_nsec, Str what, Str text) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&changes->lock);

    add(changes, &(Entry){.kind = kind, .at_nsec = at_nsec}, what, text);
}

static const PolicySource *find_source(const Version *version, Str file) {
    for (size_t i = 0; i < version->n; i++)
        if (str_eq(version->sources[i].file, file))
            return &version->sources[i];
    return NULL;
}

static LinediffText text_of(const Version *version, Str file) {
    const PolicySource *source = find_source(version, file);

    return source ? (LinediffText){.name = file, .text = source->text}
                  : (LinediffText){.name = STR("/dev/null")};
}

/* Compares one file, which at least one of the two has. */
static bool diff_file(
    const Version *before, const Version *after, Str file, Buf *out, LinediffCounts *counts) {
    LinediffText old = text_of(before, file), new = text_of(after, file);

    return linediff_write(&old, &new, LINEDIFF_CONTEXT, out, counts) == 0;
}

static bool diff_versions(
    const Version *before, const Version *after, Buf *out, LinediffCounts *counts) {
    bool is_fine = true;

    for (size_t i = 0; i < after->n && is_fine; i++)
        is_fine = diff_file(before, after, after->sources[i].file, out, counts);
    for (size_t i = 0; i < before->n && is_fine; i++)
        is_fine = find_source(after, before->sources[i].file) ||
                  diff_file(before, after, before->sources[i].file, out, counts);
    return is_fine;
}

/* Called with the lock held. A reference to the version of @digest; NULL: it is not kept. */
static Version *take_version(const Changes *changes, Digest digest) {
    size_t at = find_version(changes, digest);

    return at < changes->n_versions ? version_ref(changes->versions[at]) : NULL;
}

static const Entry *entry_at(const Changes *changes, uint64_t id) {
    return &changes->entries[(id - 1) % CHANGES_MAX];
}

static uint64_t first_id(const Changes *changes) {
    return changes->n > CHANGES_MAX ? changes->n - CHANGES_MAX + 1 : 1;
}

/* Called with the lock held. The newest change to @digest; NULL: none is remembered. */
static const Entry *change_to(const Changes *changes, Digest digest) {
    for (uint64_t id = changes->n; id >= first_id(changes); id--) {
        const Entry *entry = entry_at(changes, id);

        if (entry->kind == CHANGE_POLICY && digest_equal(entry->digest, digest))
            return entry;
    }
    return NULL;
}

void changes_note_policies(
    Changes *changes, int64_t at_nsec, Digest digest, const PolicySource *sources, size_t n) {
    _cleanup_(buf_done) Buf diff = BUF_INIT(DIFF_MAX);
    _cleanup_(buf_done) Buf text = BUF_INIT(CHANGES_TEXT_MAX);
    _cleanup_(version_unrefp) Version *before = NULL;
    Version *version = version_new(digest, sources, n);
    LinediffCounts counts = {0};
    Entry about = {.kind = CHANGE_POLICY, .at_nsec = at_nsec, .digest = digest};

    (void)pthread_mutex_lock(&changes->lock);
    about.before = changes->digest;
    if (changes->has_digest && !digest_equal(about.before, digest))
        before = take_version(changes, about.before);
    (void)pthread_mutex_unlock(&changes->lock);

    if (before && version && diff_versions(before, version, &diff, &counts))
        buf_printf(&text, "%zu line%s added, %zu removed", counts.n_added, PLURAL(counts.n_added),
            counts.n_removed);

    (void)pthread_mutex_lock(&changes->lock);
    if (changes->has_digest && !digest_equal(changes->digest, digest))
        add(changes, &about, STR("policy"), buf_str(&text));
    changes->digest = digest;
    changes->has_digest = true;
    if (version)
        keep_version(changes, version);
    (void)pthread_mutex_unlock(&changes->lock);
}

bool changes_diff(Changes *changes, Digest digest, Buf *out) {
    _cleanup_(version_unrefp) Version *before = NULL;
    _cleanup_(version_unrefp) Version *after = NULL;
    const Entry *entry;

    (void)pthread_mutex_lock(&changes->lock);
    entry = change_to(changes, digest);
    if (entry) {
        before = take_version(changes, entry->before);
        after = take_version(changes, digest);
    }
    (void)pthread_mutex_unlock(&changes->lock);
    return before && after && diff_versions(before, after, out, /* counts= */ NULL);
}

bool changes_sources(
    Changes *changes, Digest digest, Arena *arena, const PolicySource **ret, size_t *ret_n) {
    _cleanup_(version_unrefp) Version *version = NULL;

    (void)pthread_mutex_lock(&changes->lock);
    version = take_version(changes, digest);
    (void)pthread_mutex_unlock(&changes->lock);
    *ret = version ? copy_sources(arena, version->sources, version->n) : NULL;
    *ret_n = *ret ? version->n : 0;
    return *ret != NULL;
}

/* Called with the lock held. False when out of memory. */
static bool read_entry(const Changes *changes, uint64_t id, Arena *arena, Change *ret) {
    const Entry *entry = entry_at(changes, id);

    *ret = (Change){
        .id = id,
        .kind = entry->kind,
        .at_nsec = entry->at_nsec,
        .what = arena_copy(arena, entry->what),
        .text = arena_copy(arena, entry->text),
        .digest = entry->digest,
    };
    ret->has_diff = entry->kind == CHANGE_POLICY && change_to(changes, entry->digest) == entry &&
                    find_version(changes, entry->digest) < changes->n_versions &&
                    find_version(changes, entry->before) < changes->n_versions;
    return ret->what.ptr && ret->text.ptr;
}

int64_t changes_last(Changes *changes, ChangeKind kind) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&changes->lock);

    for (uint64_t id = changes->n; id >= first_id(changes); id--)
        if (entry_at(changes, id)->kind == kind)
            return entry_at(changes, id)->at_nsec;
    return 0;
}

size_t changes_read(Changes *changes, Arena *arena, Change *ret, size_t n) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&changes->lock);
    size_t n_read = 0;

    for (uint64_t id = changes->n; id >= first_id(changes) && n_read < n; id--) {
        if (!read_entry(changes, id, arena, &ret[n_read]))
            break;
        n_read++;
    }
    return n_read;
}
