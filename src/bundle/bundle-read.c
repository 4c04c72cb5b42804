/*
 * Reads an untrusted bundle: unpacks it within a limit, finds its files by name and reads each to
 * its end. Errors name the file and the line.
 */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "bundle/bundle-internal.h"
#include "json/fields.h"

/* Memory for a bundle of n bytes: at most 16 × n for its text; for decisions, policies and metrics
 * READ_FACTOR × n; while a line is read, LINE_FACTOR × n; for the nodes and pods of a line
 * CLUSTER_FACTOR × n. Snapshots that share chunks have a limit of their own
 * (BUNDLE_SCENES_BYTES_MAX). */
#define READ_MAX ((size_t)4 * 1024 * 1024 * 1024)
#define READ_MIN ((size_t)256 * 1024)
#define READ_FACTOR 52u
#define LINE_FACTOR 32u
#define CLUSTER_FACTOR 28u
#define FILES_MAX 4096u

typedef VEC(TarFile) Files;

/* --- errors ------------------------------------------------------------------------------ */

int bundle_wrong(BundleRead *read, const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(read->error, BUNDLE_ERROR_MAX, format, arguments);
    va_end(arguments);
    return BUNDLE_E_MALFORMED;
}

int bundle_bad_json(BundleRead *read, const char *file, size_t number, const JsonReader *reader) {
    char text[BUNDLE_ERROR_MAX / 2];

    if (json_error(reader) == JSON_E_MEMORY)
        return -ENOMEM;
    json_describe(reader, text, sizeof(text));
    if (number == 0)
        return bundle_wrong(read, "%s, %s", file, text);
    return bundle_wrong(read, "%s, line %zu, %s", file, number, text);
}

int bundle_check_limit(BundleRead *read, int r, const Arena *scratch) {
    bool is_limit =
        arena_limit_reached(read->arena) > 0 || (scratch && arena_limit_reached(scratch) > 0);

    if (r != -ENOMEM || !is_limit)
        return r;
    return bundle_wrong(
        read, "reading it takes more memory than a bundle of %zu bytes may use", read->file_size);
}

bool bundle_next_line(Str *rest, size_t *number, Str *ret) {
    while (rest->len > 0 && str_split(rest, '\n', ret)) {
        (*number)++;
        if (str_trim(*ret).len > 0)
            return true;
    }
    return false;
}

void bundle_read_digest(JsonReader *reader, Arena *arena, void *target) {
    Str text = STR_NULL;

    json_string(reader, arena, &text);
    if (!digest_parse(text, target))
        json_fail(reader, JSON_E_TYPE, "a digest was expected: 32 hexadecimal digits");
}

/* --- files ------------------------------------------------------------------------------- */

static size_t least_of(size_t a, size_t b) {
    return a < b ? a : b;
}

static int unpack(BundleRead *read, Str file) {
    size_t size_max = least_of(ARCHIVE_SMALL + ARCHIVE_RATIO_MAX * file.len, BUNDLE_UNPACKED_MAX);
    int r;

    read->bundle->text = BUF_INIT(size_max);
    r = gunzip(file, &read->bundle->text);
    if (r < 0)
        return r;
    if (r == GUNZIP_E_OTHER)
        return bundle_wrong(
            read, "it is no bundle: a .tar.gz was expected (berth bundle makes one)");
    if (r == GUNZIP_E_DAMAGED)
        return bundle_wrong(
            read, "it is damaged, or not all of it is there: it cannot be unpacked");
    if (r == GUNZIP_E_LARGE && size_max < BUNDLE_UNPACKED_MAX)
        return bundle_wrong(read,
            "unpacked it is larger than %u times its size: berth bundle makes no such file",
            ARCHIVE_RATIO_MAX);
    if (r == GUNZIP_E_LARGE)
        return bundle_wrong(read,
            "unpacked it is larger than %zu MiB; take fewer decisions (berth bundle --last N)",
            BUNDLE_UNPACKED_MAX / 1024 / 1024);
    return 0;
}

static int list_files(BundleRead *read, Files *files) {
    Str rest = buf_str(&read->bundle->text);
    TarFile file;
    int r;

    while ((r = tar_next(&rest, &file)) == 0) {
        TarFile *added;

        if (files->n == FILES_MAX)
            return bundle_wrong(read, "it has more than %u files: it is no bundle", FILES_MAX);
        added = VEC_PUSH(files, read->arena);
        if (!added)
            return -ENOMEM;
        *added = file;
    }
    if (r == TAR_E_MALFORMED)
        return bundle_wrong(read, "it is no bundle, or it is damaged: a tar archive was expected");
    return 0;
}

/* The file @name in the folder of a bundle, whatever the folder's name. */
static Str find_file(const Files *files, Str name) {
    for (size_t i = 0; i < files->n; i++) {
        Str path = files->items[i].name;

        if (str_has_prefix(path, STR("./")))
            path = str_skip(path, 2);
        if (str_eq(str_skip(path, str_find(path, '/') + 1), name))
            return files->items[i].content.ptr ? files->items[i].content : STR("");
    }
    return STR_NULL;
}

/* --- about.json -------------------------------------------------------------------------- */

typedef struct About {
    int64_t form, made_at_nsec;
    Str version, cluster;
    bool is_anonymous;
    VEC(Str) paths;
    VEC(PolicySource) policies;
    VEC(Str) exemptions;
} About;

typedef struct PolicyEntry {
    Str path, file;
} PolicyEntry;

static void read_policy(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        {"path", JSON_FIELD_TEXT, offsetof(PolicyEntry, path)},
        {"file", JSON_FIELD_TEXT, offsetof(PolicyEntry, file)},
    };
    About *about = target;
    bool has_room = about->policies.n < BUNDLE_POLICIES_MAX;
    Str *path = has_room ? VEC_PUSH(&about->paths, arena) : NULL;
    PolicySource *policy = path ? VEC_PUSH(&about->policies, arena) : NULL;
    PolicyEntry entry = {0};

    JSON_READ_FIELDS(reader, arena, fields, &entry);
    if (!policy) {
        json_fail(reader, has_room ? JSON_E_MEMORY : JSON_E_RANGE, "too many policies");
        return;
    }
    *path = entry.path;
    policy->file = entry.file;
}

static void read_exemption(JsonReader *reader, Arena *arena, void *target) {
    About *about = target;
    bool has_room = about->exemptions.n < EXEMPTIONS_MAX;
    Str *text = has_room ? VEC_PUSH(&about->exemptions, arena) : NULL;

    if (text)
        json_string(reader, arena, text);
    else
        json_fail(reader, has_room ? JSON_E_MEMORY : JSON_E_RANGE, "too many exemptions");
}

static const JsonField about_fields[] = {
    {"bundle", JSON_FIELD_INT, offsetof(About, form)},
    {"berth", JSON_FIELD_TEXT, offsetof(About, version)},
    {"madeNsec", JSON_FIELD_INT, offsetof(About, made_at_nsec)},
    {"anonymous", JSON_FIELD_BOOL, offsetof(About, is_anonymous)},
    {"cluster", JSON_FIELD_TEXT, offsetof(About, cluster)},
    {"policies", JSON_FIELD_ARRAY, 0, read_policy},
    {"exemptions", JSON_FIELD_ARRAY, 0, read_exemption},
};

static int read_about(BundleRead *read, Str text, About *about) {
    Bundle *bundle = read->bundle;
    JsonReader reader;

    json_reader_init(&reader, text);
    JSON_READ_FIELDS(&reader, read->arena, about_fields, about);
    json_end(&reader);
    if (json_error(&reader))
        return bundle_bad_json(read, "about.json", 0, &reader);
    bundle->version = about->version;
    bundle->made_at_nsec = about->made_at_nsec;
    bundle->is_anonymous = about->is_anonymous;
    if (about->form < 1 || about->form > BUNDLE_FORM)
        return bundle_wrong(read,
            "its format %lld is unknown to this berth: use berth %.*s, which made it, or later",
            (long long)about->form, STR_FMT(str_take(bundle->version, 32)));
    return 0;
}

/* --- what about.json names --------------------------------------------------------------- */

static int take_policies(BundleRead *read, const Files *files, About *about) {
    for (size_t i = 0; i < about->policies.n; i++) {
        Str text = find_file(files, about->paths.items[i]);

        if (!text.ptr)
            return bundle_wrong(read, "%.*s is missing, but about.json names it",
                STR_FMT(str_take(about->paths.items[i], 128)));
        about->policies.items[i].text = text;
    }
    read->bundle->policies = about->policies.items;
    read->bundle->n_policies = about->policies.n;
    return 0;
}

static int take_exemptions(BundleRead *read, const About *about) {
    Exemption *items = ARENA_ARRAY(read->arena, Exemption, about->exemptions.n);

    if (!items)
        return -ENOMEM;
    for (size_t i = 0; i < about->exemptions.n; i++)
        if (!exemption_parse(about->exemptions.items[i], &items[i]))
            return bundle_wrong(read, "about.json: exemption %zu is invalid", i + 1);
    read->bundle->exemptions = (Exemptions){.items = items, .n = about->exemptions.n};
    return 0;
}

static int take_pages(BundleRead *read, const Files *files) {
    static const Str names[] = {
        STR("status.json"), STR("sources.json"), STR("metrics.txt"), STR("changes.json")};
    BundlePage *pages = ARENA_ARRAY(read->arena, BundlePage, ELEMENTS_OF(names));
    size_t n = 0;

    if (!pages)
        return -ENOMEM;
    for (size_t i = 0; i < ELEMENTS_OF(names); i++) {
        Str text = find_file(files, names[i]);

        if (text.ptr)
            pages[n++] = (BundlePage){.name = names[i], .text = text};
    }
    read->bundle->pages = pages;
    read->bundle->n_pages = n;
    return 0;
}

static void take_files(BundleRead *read, const Files *files, const About *about) {
    read->pod_lines = find_file(files, STR("pods.jsonl"));
    read->decisions = find_file(files, STR("decisions.jsonl"));
    read->bundle->has_cluster = !str_eq(about->cluster, STR("digest"));
    if (!read->bundle->has_cluster)
        return;
    read->clusters = find_file(files, STR("cluster.json"));
    read->changes = find_file(files, STR("changes.jsonl"));
    read->metrics = find_file(files, STR("metrics.jsonl"));
}

static int read_all(BundleRead *read, Str file) {
    About about = {0};
    Files files = {0};
    Str text;
    int r = unpack(read, file);

    if (r == 0)
        r = list_files(read, &files);
    if (r != 0)
        return r;
    text = find_file(&files, STR("about.json"));
    if (!text.ptr)
        return bundle_wrong(read, "it is no bundle: about.json is not in it");
    r = read_about(read, text, &about);
    if (r == 0)
        r = take_policies(read, &files, &about);
    if (r == 0)
        r = take_exemptions(read, &about);
    if (r == 0)
        r = take_pages(read, &files);
    if (r != 0)
        return r;
    take_files(read, &files, &about);
    r = bundle_read_cluster(read);
    if (r == 0)
        r = bundle_read_metrics(read);
    if (r == 0)
        r = bundle_read_pods(read);
    return r == 0 ? bundle_read_decisions(read) : r;
}

int bundle_read(Str file, Bundle *ret, char *error) {
    BundleRead read = {.bundle = ret, .error = error, .file_size = file.len};
    size_t budget = least_of(READ_MIN + READ_FACTOR * file.len, READ_MAX);

    read.line_budget = least_of(READ_MIN + LINE_FACTOR * file.len, READ_MAX);
    read.cluster_budget = least_of(READ_MIN + CLUSTER_FACTOR * file.len, READ_MAX);
    *ret = (Bundle){0};
    if (file.len > BUNDLE_MAX)
        return bundle_wrong(&read, "it is larger than %zu MiB", BUNDLE_MAX / 1024 / 1024);
    read.arena = ret->arena = arena_new(budget);
    if (!ret->arena)
        return -ENOMEM;
    return bundle_check_limit(&read, read_all(&read, file), NULL);
}

void bundle_done(Bundle *bundle) {
    recording_done(&bundle->recording);
    buf_done(&bundle->text);
    arena_free(bundle->arena);
    *bundle = (Bundle){0};
}
