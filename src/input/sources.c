/*
 * The fields of a source are a table, like a policy's. What one field alone cannot tell is asked of
 * load/source.h, which names the field that is to blame; here that is turned back into a place.
 */

#include "input/sources.h"

#include <errno.h>
#include <stdio.h>

#include "input/file.h"
#include "policy/reader.h"
#include "policy/rules.h"
#include "yaml/document.h"

#define API_VERSION "berth.dev/v1alpha1"
#define KIND "MetricSources"

/* One source while it is read. */
typedef struct Draft {
    MetricSource *source;
    Str folder; /* of the file, with the slash; empty: the current one */
} Draft;

/* The whole file. */
typedef struct Document {
    Str folder;
    MetricSource *sources;
    const YamlNode **nodes; /* of each source */
    size_t n;
} Document;

/* --- values --------------------------------------------------------------------- */

/* A string that can be a C string: not empty, no control characters. NULL after an error. */
static const char *read_text(PolicyReader *reader, const YamlNode *value, const char *what) {
    Str text;

    if (!reader_string(reader, value, what, &text))
        return NULL;
    if (str_is_empty(text)) {
        reader_error(reader, value, "%s must not be empty", what);
        return NULL;
    }
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] < ' ' || text.ptr[i] == 0x7f) {
            reader_error(reader, value, "%s has a control character in it", what);
            return NULL;
        }
    return arena_copy(reader->arena, text).ptr;
}

static const char *read_path(
    PolicyReader *reader, const YamlNode *value, const char *what, const Draft *draft) {
    const char *path = read_text(reader, value, what);

    if (!path || path[0] == '/' || str_is_empty(draft->folder))
        return path;
    return arena_printf(reader->arena, "%.*s%s", STR_FMT(draft->folder), path).ptr;
}

static void read_name(PolicyReader *reader, const YamlNode *value, void *into) {
    (void)reader_name(reader, value, &((Draft *)into)->source->name);
}

static void read_url(PolicyReader *reader, const YamlNode *value, void *into) {
    ((Draft *)into)->source->url = read_text(reader, value, "url");
}

static void read_token_file(PolicyReader *reader, const YamlNode *value, void *into) {
    ((Draft *)into)->source->token_file = read_path(reader, value, "bearerTokenFile", into);
}

static void read_user(PolicyReader *reader, const YamlNode *value, void *into) {
    ((Draft *)into)->source->user = read_text(reader, value, "user");
}

static void read_password_file(PolicyReader *reader, const YamlNode *value, void *into) {
    ((Draft *)into)->source->password_file = read_path(reader, value, "passwordFile", into);
}

static void read_ca_file(PolicyReader *reader, const YamlNode *value, void *into) {
    ((Draft *)into)->source->ca_file = read_path(reader, value, "caFile", into);
}

static void read_cert_file(PolicyReader *reader, const YamlNode *value, void *into) {
    ((Draft *)into)->source->cert_file = read_path(reader, value, "certFile", into);
}

static void read_key_file(PolicyReader *reader, const YamlNode *value, void *into) {
    ((Draft *)into)->source->key_file = read_path(reader, value, "keyFile", into);
}

static void read_server_name(PolicyReader *reader, const YamlNode *value, void *into) {
    ((Draft *)into)->source->server_name = read_text(reader, value, "serverName");
}

static void read_insecure(PolicyReader *reader, const YamlNode *value, void *into) {
    (void)reader_bool(reader, value, "insecureSkipVerify", &((Draft *)into)->source->is_insecure);
}

static void read_link_local(PolicyReader *reader, const YamlNode *value, void *into) {
    (void)reader_bool(reader, value, "allowLinkLocal", &((Draft *)into)->source->may_be_link_local);
}

static void read_headers(PolicyReader *reader, const YamlNode *value, void *into) {
    MetricSource *source = ((Draft *)into)->source;
    Header *headers;

    if (!reader_mapping(reader, value, "headers"))
        return;
    if (value->n > SOURCE_HEADERS_MAX) {
        reader_error(reader, value, "at most %u headers", SOURCE_HEADERS_MAX);
        return;
    }
    headers = ARENA_ARRAY(reader->arena, Header, value->n);
    for (size_t i = 0; headers && i < value->n; i++) {
        Header *header = &headers[source->n_headers];

        header->name = value->pairs[i].key->text;
        if (reader_label_value(reader, value->pairs[i].value, "a header's value", &header->value))
            source->n_headers++;
    }
    source->headers = headers;
}

/* --- tables ----------------------------------------------------------------------- */

static const Field basic_fields[] = {
    {.name = STR("user"),
        .is_required = true,
        .shape = &shape_string,
        .about = "the name to log in with",
        .read = read_user},
    {.name = STR("passwordFile"),
        .is_required = true,
        .shape = &shape_string,
        .about = "a file with the password, read again when it changes",
        .read = read_password_file},
};
static const Shape basic_shape = {
    .kind = SHAPE_OBJECT, .fields = basic_fields, .n_fields = ELEMENTS_OF(basic_fields)};

static void read_basic(PolicyReader *reader, const YamlNode *value, void *into) {
    reader_fields(reader, value, "basicAuth", basic_fields, ELEMENTS_OF(basic_fields), into);
}

static const Field tls_fields[] = {
    {.name = STR("caFile"),
        .shape = &shape_string,
        .about = "who signs the server's certificate; without it those that the system trusts",
        .read = read_ca_file},
    {.name = STR("certFile"),
        .shape = &shape_string,
        .about = "a certificate of our own",
        .read = read_cert_file},
    {.name = STR("keyFile"), .shape = &shape_string, .about = "its key", .read = read_key_file},
    {.name = STR("serverName"),
        .shape = &shape_string,
        .about = "whom the server's certificate is for, if that is not the url's host",
        .read = read_server_name},
    {.name = STR("insecureSkipVerify"),
        .shape = &shape_bool,
        .about = "the server's certificate is not verified",
        .read = read_insecure},
};
static const Shape tls_shape = {
    .kind = SHAPE_OBJECT, .fields = tls_fields, .n_fields = ELEMENTS_OF(tls_fields)};

static void read_tls(PolicyReader *reader, const YamlNode *value, void *into) {
    reader_fields(reader, value, "tls", tls_fields, ELEMENTS_OF(tls_fields), into);
}

static const Shape headers_shape = {
    .kind = SHAPE_MAP, .of = &shape_scalar, .max = SOURCE_HEADERS_MAX};

static const Field source_fields[] = {
    {.name = STR("name"),
        .is_required = true,
        .shape = &shape_name,
        .about = "what policies call it; default: where they call none",
        .read = read_name},
    {.name = STR("url"),
        .is_required = true,
        .shape = &shape_string,
        .about = "where the server is: http:// or https://, up to what is in front of /api/v1",
        .read = read_url},
    {.name = STR("bearerTokenFile"),
        .shape = &shape_string,
        .about = "a file with a token, read again when it changes",
        .read = read_token_file},
    {.name = STR("basicAuth"),
        .shape = &basic_shape,
        .about = "a user and a password",
        .read = read_basic},
    {.name = STR("tls"), .shape = &tls_shape, .about = "for https://", .read = read_tls},
    {.name = STR("headers"),
        .shape = &headers_shape,
        .about = "sent with every request: X-Scope-OrgID",
        .read = read_headers},
    {.name = STR("allowLinkLocal"),
        .shape = &shape_bool,
        .about = "it may be at an address that clouds serve credentials from",
        .read = read_link_local},
};

/* --- what spans several fields -------------------------------------------------------- */

/* The value of "tls.keyFile"; as much of the way as there is. */
static const YamlNode *find_field(const YamlNode *source, const char *field) {
    Str rest = str_from_c(field), part;

    while (str_split(&rest, '.', &part)) {
        const YamlNode *inner = yaml_find(source, part);

        if (!inner)
            break;
        source = inner;
    }
    return source;
}

static const YamlNode *find_header(const YamlNode *headers, Str name) {
    for (size_t i = headers->n; headers->kind == YAML_MAPPING && i-- > 0;)
        if (str_eq(headers->pairs[i].key->text, name))
            return headers->pairs[i].key;
    return headers;
}

/* Where a password stands nothing is shown, whatever the message is about. */
static void hide_line(DiagList *diags, Place place) {
    for (size_t i = 0; i < diags->diags.n; i++) {
        Diag *diag = &diags->diags.items[i];

        if (diag->place.line == place.line && str_eq(diag->place.file, place.file))
            diag->source = STR_NULL;
    }
}

/* Fields that there are not, but that people write secrets into. */
static void hide_secrets(DiagList *diags, const YamlNode *mapping) {
    static const Str words[] = {
        STR("password"), STR("token"), STR("bearerToken"), STR("Authorization")};

    for (size_t i = 0; mapping->kind == YAML_MAPPING && i < mapping->n; i++)
        for (size_t j = 0; j < ELEMENTS_OF(words); j++)
            if (str_eq_nocase(mapping->pairs[i].key->text, words[j]))
                hide_line(diags, mapping->pairs[i].value->place);
}

static void hide_all_secrets(DiagList *diags, const YamlNode *source) {
    hide_secrets(diags, source);
    for (size_t i = 0; source->kind == YAML_MAPPING && i < source->n; i++)
        hide_secrets(diags, source->pairs[i].value);
}

static void report_faults(PolicyReader *reader, const YamlNode *node, const MetricSource *source) {
    SourceFault faults[SOURCE_FAULTS_MAX];
    size_t n = source->url ? source_faults(source, faults) : 0;

    for (size_t i = 0; i < n; i++) {
        const YamlNode *at = find_field(node, faults[i].field);
        Str hint = str_from_c(faults[i].hint);

        if (!str_is_empty(faults[i].header))
            at = find_header(at, faults[i].header);
        if (faults[i].is_warning)
            reader_warning(reader, at, hint, "%s", faults[i].text);
        else
            reader_error_hint(reader, at, hint, "%s", faults[i].text);
    }
    for (size_t i = 0; i < n; i++)
        if (faults[i].is_secret)
            hide_line(reader->diags, find_field(node, faults[i].field)->place);
}

static void check_name(PolicyReader *reader, const Document *document, size_t number) {
    Str name = document->sources[number].name;

    for (size_t i = 0; i < number; i++) {
        char hint[64];

        if (str_is_empty(name) || !str_eq(document->sources[i].name, name))
            continue;
        (void)snprintf(hint,
            sizeof(hint),
            "the other is in line %zu",
            find_field(document->nodes[i], "name")->place.line);
        reader_error_hint(reader,
            find_field(document->nodes[number], "name"),
            str_from_c(hint),
            "there are two sources named \"%.*s\"",
            STR_FMT(name));
        return;
    }
}

/* --- the document ----------------------------------------------------------------------- */

static void read_sources(PolicyReader *reader, const YamlNode *value, void *into) {
    Document *document = into;

    if (!reader_sequence(reader, value, "sources"))
        return;
    if (value->n == 0)
        reader_error(reader, value, "sources must not be empty");
    if (value->n > SOURCES_MAX) {
        reader_error(reader, value, "at most %u sources", SOURCES_MAX);
        return;
    }
    document->sources = ARENA_ARRAY(reader->arena, MetricSource, value->n);
    document->nodes = ARENA_ARRAY(reader->arena, const YamlNode *, value->n);
    if (!document->sources || !document->nodes)
        return;
    for (size_t i = 0; i < value->n; i++) {
        Draft draft = {.source = &document->sources[i], .folder = document->folder};

        document->nodes[i] = value->items[i];
        reader_fields(
            reader, value->items[i], "a source", source_fields, ELEMENTS_OF(source_fields), &draft);
        report_faults(reader, value->items[i], draft.source);
        check_name(reader, document, i);
        hide_all_secrets(reader->diags, value->items[i]);
    }
    document->n = value->n;
}

static void read_api_version(PolicyReader *reader, const YamlNode *value, void *into) {
    (void)into;
    reader_constant(reader, value, "apiVersion", API_VERSION);
}

static void read_kind(PolicyReader *reader, const YamlNode *value, void *into) {
    (void)into;
    reader_constant(reader, value, "kind", KIND);
}

static const Shape source_shape = {
    .kind = SHAPE_OBJECT, .fields = source_fields, .n_fields = ELEMENTS_OF(source_fields)};
static const Shape sources_shape = {
    .kind = SHAPE_LIST, .of = &source_shape, .min = 1, .max = SOURCES_MAX};

static const Field document_fields[] = {
    {.name = STR("apiVersion"),
        .is_required = true,
        .shape = &shape_string,
        .read = read_api_version},
    {.name = STR("kind"), .is_required = true, .shape = &shape_string, .read = read_kind},
    {.name = STR("sources"), .is_required = true, .shape = &sources_shape, .read = read_sources},
};

static void read_document(PolicyReader *reader, const YamlStream *stream, Document *document) {
    if (stream->n_documents == 0)
        diag_add(reader->diags,
            DIAG_ERROR,
            (Place){.file = stream->file},
            STR_NULL,
            STR("holds no sources"),
            STR_NULL);
    else
        reader_fields(reader,
            stream->documents[0],
            "a file of sources",
            document_fields,
            ELEMENTS_OF(document_fields),
            document);
    if (stream->n_documents > 1)
        reader_error_hint(reader,
            stream->documents[1],
            STR("one list holds them all"),
            "a file of sources has one document");
}

static Str folder_of(Str path) {
    size_t slash = str_find_last(path, '/');

    return slash == SIZE_MAX ? STR_NULL : str_take(path, slash + 1);
}

/* --- from outside ------------------------------------------------------------------------- */

static int read_file(const char *path, Arena *arena, DiagList *diags, Str *ret) {
    _cleanup_(buf_done) Buf text = BUF_INIT(YAML_SOURCE_MAX);
    char error[FILE_ERROR_MAX];
    int r = file_read(path, &text, error);

    if (r == -ENOMEM)
        return r;
    if (r < 0) {
        diag_add(diags, DIAG_ERROR, (Place){0}, STR_NULL, str_from_c(error), STR_NULL);
        return SOURCES_E_UNREADABLE;
    }
    *ret = arena_copy(arena, buf_str(&text));
    return ret->ptr ? 0 : -ENOMEM;
}

int sources_load(const char *path, Arena *arena, DiagList *diags, MetricSources *ret) {
    Str file = arena_copy(arena, str_from_c(path));
    PolicyReader reader = {.arena = arena, .diags = diags};
    size_t n_before = diags->diags.n, n_errors = diags->n_errors;
    Document document = {.folder = folder_of(file)};
    YamlStream stream = {0};
    int r;

    if (!file.ptr)
        return -ENOMEM;
    r = read_file(path, arena, diags, &reader.source);
    if (r != 0)
        return r;
    r = yaml_parse(file, reader.source, arena, diags, &stream);
    if (r == -EINVAL)
        return SOURCES_E_INVALID;
    if (r < 0)
        return r;
    read_document(&reader, &stream, &document);
    diag_list_sort(diags, n_before);
    if (arena_has_failed(arena))
        return -ENOMEM;
    if (diags->n_errors > n_errors)
        return SOURCES_E_INVALID;
    *ret = (MetricSources){.items = document.sources, .n = document.n};
    return 0;
}

int sources_from_url(const char *url, Arena *arena, DiagList *diags, MetricSources *ret) {
    MetricSource *source = ARENA_NEW(arena, MetricSource);
    Str copy = arena_copy(arena, str_from_c(url));
    SourceFault faults[SOURCE_FAULTS_MAX];
    size_t n;

    if (!source || !copy.ptr)
        return -ENOMEM;
    *source = (MetricSource){.name = STR(SOURCE_DEFAULT_NAME), .url = copy.ptr};
    n = source_faults(source, faults);
    for (size_t i = 0; i < n; i++) {
        char text[SOURCE_TEXT_MAX + 32];

        (void)snprintf(text, sizeof(text), "--prometheus: the %s", faults[i].text);
        diag_add(
            diags, DIAG_ERROR, (Place){0}, STR_NULL, str_from_c(text), str_from_c(faults[i].hint));
    }
    if (n > 0)
        return SOURCES_E_INVALID;
    *ret = (MetricSources){.items = source, .n = 1};
    return 0;
}

static void report_two_defaults(const char *path, DiagList *diags) {
    char hint[512];

    (void)snprintf(
        hint, sizeof(hint), "remove --prometheus, or call the one in %s another name", path);
    diag_add(diags,
        DIAG_ERROR,
        (Place){0},
        STR_NULL,
        STR("there are two sources named \"" SOURCE_DEFAULT_NAME "\": --prometheus, and one in "
            "the file"),
        str_from_c(hint));
}

int sources_gather(
    const char *url, const char *path, Arena *arena, DiagList *diags, MetricSources *ret) {
    MetricSources flag = {0}, file = {0};
    MetricSource *all;
    int of_flag = url ? sources_from_url(url, arena, diags, &flag) : 0;
    int of_file = path ? sources_load(path, arena, diags, &file) : 0;

    if (of_flag < 0 || of_file < 0)
        return of_flag < 0 ? of_flag : of_file;
    if (url && sources_find(&file, STR_NULL)) {
        report_two_defaults(path, diags);
        of_file = SOURCES_E_INVALID;
    }
    if (flag.n + file.n > SOURCES_MAX) {
        diag_addf(diags,
            DIAG_ERROR,
            (Place){0},
            STR_NULL,
            "there are more than %u sources: --prometheus is one, too",
            SOURCES_MAX);
        of_file = SOURCES_E_INVALID;
    }
    if (of_flag != 0 || of_file != 0)
        return of_file != 0 ? of_file : of_flag;
    all = ARENA_ARRAY(arena, MetricSource, flag.n + file.n);
    if (!all)
        return -ENOMEM;
    for (size_t i = 0; i < flag.n + file.n; i++)
        all[i] = i < flag.n ? flag.items[i] : file.items[i - flag.n];
    *ret = (MetricSources){.items = all, .n = flag.n + file.n};
    return 0;
}
