/*
 * Reads an untrusted bundle: unpacks it within a limit, finds its files by name and reads each to
 * its end. Errors name the file and the line.
 */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "bundle/bundle-internal.h"
#include "json/fields.h"

/* Limits of memory for a bundle of n bytes: 16 × n for its text; READ_FACTOR × n for decisions,
 * policies and metrics; LINE_FACTOR × n while a line is read; CLUSTER_FACTOR × n for the nodes and
 * pods of a line. Snapshots, which share chunks, have a limit of their own
 * (BUNDLE_SCENES_BYTES_MAX). */
#define READ_MAX ((size_t)4 * 1024 * 1024 * 1024)
#define READ_MIN ((size_t)256 * 1024)
#define READ_FACTOR 52u
#define LINE_FACTOR 32u
#define CLUSTER_FACTOR 28u
#define FILES_MAX 4096u

int bundle_wrong(BundleRead *read, const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(read->error, BUNDLE_ERROR_MAX, format, arguments);
    va_end(arguments);
    return BUNDLE_E_MALFORMED;
}

int bundle_wrong_line(BundleRead *read, const char *format, ...) {
    char text[BUNDLE_ERROR_MAX / 2];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    return bundle_wrong(read, "%s, line %zu: %s", read->file, read->line, text);
}

int bundle_bad_json(BundleRead *read, const char *file, const JsonReader *reader) {
    char text[BUNDLE_ERROR_MAX / 2];

    if (json_error(reader) == JSON_E_MEMORY)
        return -ENOMEM;
    json_describe(reader, text, sizeof(text));
    if (file)
        return bundle_wrong(read, "%s, %s", file, text);
    return bundle_wrong(read, "%s, line %zu, %s", read->file, read->line, text);
}

int bundle_check_limit(BundleRead *read, int r, const Arena *scratch) {
    bool is_limit =
        arena_limit_reached(read->arena) > 0 || (scratch && arena_limit_reached(scratch) > 0);

    if (r != -ENOMEM || !is_limit)
        return r;
    return bundle_wrong(
        read, "reading it takes more memory than a bundle of %zu bytes may use", read->file_size);
}

void bundle_open_lines(BundleRead *read, const char *name) {
    read->file = name;
    read->rest = bundle_file(read, str_from_c(name));
    read->line = 0;
}

bool bundle_next_line(BundleRead *read, Str *ret) {
    while (read->rest.len > 0 && str_split(&read->rest, '\n', ret)) {
        read->line++;
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

static int list_files(BundleRead *read) {
    Str rest = buf_str(&read->bundle->text);
    TarFile file;
    int r;

    while ((r = tar_next(&rest, &file)) == 0) {
        if (read->files.n == FILES_MAX)
            return bundle_wrong(read, "it has more than %u files: it is no bundle", FILES_MAX);
        if (!VEC_ADD(&read->files, read->arena, file))
            return -ENOMEM;
    }
    if (r == TAR_E_MALFORMED)
        return bundle_wrong(read, "it is no bundle, or it is damaged: a tar archive was expected");
    return 0;
}

/* The name of the bundle's folder does not matter. */
Str bundle_file(const BundleRead *read, Str name) {
    for (size_t i = 0; i < read->files.n; i++) {
        const TarFile *file = &read->files.items[i];
        Str path = str_skip(file->name, str_has_prefix(file->name, STR("./")) ? 2 : 0);

        if (str_eq(str_skip(path, str_find(path, '/') + 1), name))
            return file->content.ptr ? file->content : STR("");
    }
    return STR_NULL;
}

typedef struct About {
    int64_t form, made_at_nsec;
    Str version, cluster;
    bool is_anonymous, is_cut; /* is_cut: there are more policies or exemptions */
    PolicySource *policies;
    Str *exemptions;
    size_t n_policies, n_exemptions;
} About;

/* PolicySource.text is the path until take_policies() replaces it. */
static const JsonField policy_fields[] = {
    JSON_MEMBER("path", TEXT, PolicySource, text),
    JSON_MEMBER("file", TEXT, PolicySource, file),
};

static const JsonField about_fields[] = {
    JSON_MEMBER("bundle", INT, About, form),
    JSON_MEMBER("berth", TEXT, About, version),
    JSON_MEMBER("madeNsec", INT, About, made_at_nsec),
    JSON_MEMBER("anonymous", BOOL, About, is_anonymous),
    JSON_MEMBER("cluster", TEXT, About, cluster),
    JSON_LIST_CUT("policies", About, policies, n_policies, is_cut, BUNDLE_POLICIES_MAX, NULL,
        JSON_FIELDS(policy_fields)),
    JSON_LIST_CUT(
        "exemptions", About, exemptions, n_exemptions, is_cut, EXEMPTIONS_MAX, json_read_text),
};

static int read_about(BundleRead *read, Str text, About *about) {
    Bundle *bundle = read->bundle;
    JsonReader reader;

    json_reader_init(&reader, text);
    JSON_READ_FIELDS(&reader, read->arena, about_fields, about);
    json_end(&reader);
    if (json_error(&reader))
        return bundle_bad_json(read, "about.json", &reader);
    bundle->version = about->version;
    bundle->made_at_nsec = about->made_at_nsec;
    bundle->is_anonymous = about->is_anonymous;
    if (about->form < 1 || about->form > BUNDLE_FORM)
        return bundle_wrong(read,
            "its format %lld is unknown to this berth: use berth %.*s, which made it, or later",
            (long long)about->form, STR_FMT(str_take(bundle->version, 32)));
    return about->is_cut ? bundle_wrong(read, "about.json: too many policies or exemptions") : 0;
}

static int take_policies(BundleRead *read, About *about) {
    for (size_t i = 0; i < about->n_policies; i++) {
        Str path = about->policies[i].text, text = bundle_file(read, path);

        if (!text.ptr)
            return bundle_wrong(
                read, "%.*s is missing, but about.json names it", STR_FMT(str_take(path, 128)));
        about->policies[i].text = text;
    }
    read->bundle->policies = about->policies;
    read->bundle->n_policies = about->n_policies;
    return 0;
}

static int take_exemptions(BundleRead *read, const About *about) {
    Exemption *items = ARENA_ARRAY(read->arena, Exemption, about->n_exemptions);

    if (!items)
        return -ENOMEM;
    for (size_t i = 0; i < about->n_exemptions; i++)
        if (!exemption_parse(about->exemptions[i], &items[i]))
            return bundle_wrong(read, "about.json: exemption %zu is invalid", i + 1);
    read->bundle->exemptions = (Exemptions){.items = items, .n = about->n_exemptions};
    return 0;
}

static int take_pages(BundleRead *read) {
    static const Str names[] = {
        STR("status.json"), STR("sources.json"), STR("metrics.txt"), STR("changes.json")};
    BundlePage *pages = ARENA_ARRAY(read->arena, BundlePage, ELEMENTS_OF(names));
    size_t n = 0;

    if (!pages)
        return -ENOMEM;
    for (size_t i = 0; i < ELEMENTS_OF(names); i++) {
        Str text = bundle_file(read, names[i]);

        if (text.ptr)
            pages[n++] = (BundlePage){.name = names[i], .text = text};
    }
    read->bundle->pages = pages;
    read->bundle->n_pages = n;
    return 0;
}

static int read_all(BundleRead *read, Str file) {
    About about = {0};
    Str text;
    int r = unpack(read, file);

    if (r == 0)
        r = list_files(read);
    if (r != 0)
        return r;
    text = bundle_file(read, STR("about.json"));
    if (!text.ptr)
        return bundle_wrong(read, "it is no bundle: about.json is not in it");
    r = read_about(read, text, &about);
    if (r == 0)
        r = take_policies(read, &about);
    if (r == 0)
        r = take_exemptions(read, &about);
    if (r == 0)
        r = take_pages(read);
    read->bundle->has_cluster = !str_eq(about.cluster, STR("digest"));
    if (r == 0 && read->bundle->has_cluster)
        r = bundle_read_cluster(read);
    if (r == 0 && read->bundle->has_cluster)
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
