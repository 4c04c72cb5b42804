/*
 * Reads a file of metric sources. Tables declare its fields, as for policies. Checks of several
 * fields are in load/source.h, which names the wrong field; its place in the file is found here.
 */

#include "input/sources.h"

#include <errno.h>
#include <stdio.h>

#include "policy/reader.h"

/* The whole file. */
typedef struct SourcesFile {
    Str folder; /* of the file, with the slash; empty: the current one */
    unsigned api_version, kind;
    MetricSource *sources;
    const YamlNode **nodes; /* of each source */
    size_t n;
} SourcesFile;

/* Checks a text that becomes a C string. */
static bool check_text(YamlReader *reader, const YamlNode *value) {
    if (str_is_empty(value->text))
        return reader_error(reader, value, "the value must not be empty");
    return !str_has_control(value->text) ||
           reader_error(reader, value, "the value contains a control character");
}

static void read_headers(YamlReader *reader, const YamlNode *value, void *into) {
    MetricSource *source = into;
    Header *headers;

    headers = ARENA_ARRAY(reader->arena, Header, value->n);
    for (size_t i = 0; headers && i < value->n; i++) {
        Header *header = &headers[source->server.n_headers];

        header->name = value->pairs[i].key->text;
        if (reader_label_value(reader, value->pairs[i].value, "a header's value", &header->value))
            source->server.n_headers++;
    }
    source->server.headers = headers;
}

static const Shape text_shape = {.kind = SHAPE_STRING, .is_c = true, .check = check_text};

static const Field basic_fields[] = {
    {REQUIRED("user"), INTO(MetricSource, server.user, text_shape), "user name"},
    {REQUIRED("passwordFile"), INTO(MetricSource, server.password_file, text_shape),
        "file with the password, read again when it changes"},
};
static const Shape basic_shape = {SHAPE_OF(basic_fields)};

static const Field tls_fields[] = {
    {OPTIONAL("caFile"), INTO(MetricSource, server.ca_file, text_shape),
        "CA certificates of the server; default: those that the system trusts"},
    {OPTIONAL("certFile"), INTO(MetricSource, server.cert_file, text_shape), "client certificate"},
    {OPTIONAL("keyFile"), INTO(MetricSource, server.key_file, text_shape),
        "key of the client certificate"},
    {OPTIONAL("serverName"), INTO(MetricSource, server.server_name, text_shape),
        "name in the server's certificate; default: the host of the url"},
    {OPTIONAL("insecureSkipVerify"), INTO(MetricSource, server.is_insecure, shape_bool),
        "do not verify the server's certificate"},
};
static const Shape tls_shape = {SHAPE_OF(tls_fields)};

static const Shape headers_shape = {
    .kind = SHAPE_MAP, .of = &shape_scalar, .max = SOURCE_HEADERS_MAX};

static const Field source_fields[] = {
    {REQUIRED("name"), INTO(MetricSource, name, shape_name),
        "name in policies; a metric without a source uses `default`"},
    {REQUIRED("url"), INTO(MetricSource, server.url, text_shape),
        "http:// or https:// URL of the server, without /api/v1"},
    {OPTIONAL("bearerTokenFile"), INTO(MetricSource, server.token_file, text_shape),
        "file with a token, read again when it changes"},
    {OPTIONAL("basicAuth"), .shape = &basic_shape, .about = "user name and password"},
    {OPTIONAL("tls"), .shape = &tls_shape, .about = "for https://"},
    {OPTIONAL("headers"), .shape = &headers_shape,
        .about = "sent with every request, such as X-Scope-OrgID", .read = read_headers},
    {OPTIONAL("allowLinkLocal"), INTO(MetricSource, may_be_link_local, shape_bool),
        "allow link-local addresses, from which clouds serve credentials"},
};
static const Shape source_shape = {SHAPE_OF(source_fields)};

/* Paths are relative to the file. */
static void resolve_paths(YamlReader *reader, Str folder, AccessServer *server) {
    const char **const paths[] = {&server->token_file, &server->password_file, &server->ca_file,
        &server->cert_file, &server->key_file};

    for (size_t i = 0; i < ELEMENTS_OF(paths); i++)
        if (*paths[i] && **paths[i] != '/')
            *paths[i] = arena_printf(reader->arena, "%.*s%s", STR_FMT(folder), *paths[i]).ptr;
}

/* The value of a path such as "tls.keyFile", or of its longest part that exists. */
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

/* A line with a password is never shown. */
static void hide_line(DiagList *diags, Place place) {
    for (size_t i = 0; i < diags->diags.n; i++) {
        Diag *diag = &diags->diags.items[i];

        if (diag->place.line == place.line && str_eq(diag->place.file, place.file))
            diag->source = STR_NULL;
    }
}

/* Hides unknown fields into which users may have written secrets. */
static void hide_secrets(DiagList *diags, const YamlNode *mapping) {
    static const Str words[] = {
        STR("password"), STR("token"), STR("bearerToken"), STR("Authorization")};

    for (size_t i = 0; mapping->kind == YAML_MAPPING && i < mapping->n; i++)
        for (size_t j = 0; j < ELEMENTS_OF(words); j++)
            if (str_eq_nocase(mapping->pairs[i].key->text, words[j]))
                hide_line(diags, mapping->pairs[i].value->place);
}

static void report_faults(YamlReader *reader, const YamlNode *node, const AccessServer *server) {
    SourceFault faults[SOURCE_FAULTS_MAX];
    size_t n = server->url ? source_faults(server, faults) : 0;

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

static void check_name(YamlReader *reader, const SourcesFile *document, size_t number) {
    Str name = document->sources[number].name;

    for (size_t i = 0; i < number; i++)
        if (!str_is_empty(name) && str_eq(document->sources[i].name, name)) {
            reader_error_hint(reader, find_field(document->nodes[number], "name"),
                arena_printf(reader->arena, "the other is in line %zu",
                    find_field(document->nodes[i], "name")->place.line),
                "there are two sources named \"%.*s\"", STR_FMT(name));
            return;
        }
}

static void read_sources(YamlReader *reader, const YamlNode *value, void *into) {
    SourcesFile *document = into;

    document->sources = ARENA_ARRAY(reader->arena, MetricSource, value->n);
    document->nodes = ARENA_ARRAY(reader->arena, const YamlNode *, value->n);
    if (!document->sources || !document->nodes)
        return;
    for (size_t i = 0; i < value->n; i++) {
        document->nodes[i] = value->items[i];
        reader_fields(reader, value->items[i], "a source", &source_shape, &document->sources[i]);
        resolve_paths(reader, document->folder, &document->sources[i].server);
        report_faults(reader, value->items[i], &document->sources[i].server);
        check_name(reader, document, i);
        hide_secrets(reader->diags, value->items[i]);
        for (size_t j = 0; value->items[i]->kind == YAML_MAPPING && j < value->items[i]->n; j++)
            hide_secrets(reader->diags, value->items[i]->pairs[j].value);
    }
    document->n = value->n;
}

static const Shape api_version_shape = {SHAPE_WORDS("berth.dev/v1alpha1")};
static const Shape kind_shape = {SHAPE_WORDS("MetricSources")};
static const Shape sources_shape = {
    .kind = SHAPE_LIST, .of = &source_shape, .min = 1, .max = SOURCES_MAX};

static const Field document_fields[] = {
    {REQUIRED("apiVersion"), INTO(SourcesFile, api_version, api_version_shape)},
    {REQUIRED("kind"), INTO(SourcesFile, kind, kind_shape)},
    {REQUIRED("sources"), .shape = &sources_shape, .read = read_sources},
};
static const Shape document_shape = {SHAPE_OF(document_fields)};

int sources_load(const char *path, Arena *arena, DiagList *diags, MetricSources *ret) {
    Str file = str_from_c(path);
    YamlReader reader = {.arena = arena, .diags = diags};
    size_t n_before = diags->diags.n, n_errors = diags->n_errors;
    SourcesFile document = {.folder = str_folder(file)};
    YamlStream stream;
    int r = file_read_yaml(path, &reader, &stream);

    if (r != 0)
        return r;
    if (stream.n_documents == 0)
        diag_add(diags, DIAG_ERROR, (Place){.file = stream.file}, STR_NULL,
            STR("contains no sources"), STR_NULL);
    else
        reader_fields(
            &reader, stream.documents[0], "a file of sources", &document_shape, &document);
    if (stream.n_documents > 1)
        reader_error_hint(&reader, stream.documents[1], STR("put all sources in one list"),
            "a file of sources has one document");
    diag_list_sort(diags, n_before);
    if (arena_has_failed(arena))
        return -ENOMEM;
    if (diags->n_errors > n_errors)
        return FILE_E_INVALID;
    *ret = (MetricSources){.items = document.sources, .n = document.n};
    return 0;
}

/* Makes the default source from its URL. */
static void read_url(const char *url, Arena *arena, DiagList *diags, MetricSource *ret) {
    SourceFault faults[SOURCE_FAULTS_MAX];
    size_t n;

    *ret = (MetricSource){
        .name = STR(SOURCE_DEFAULT_NAME), .server.url = arena_copy(arena, str_from_c(url)).ptr};
    n = ret->server.url ? source_faults(&ret->server, faults) : 0;
    for (size_t i = 0; i < n; i++) {
        char text[SOURCE_TEXT_MAX + 32];

        (void)snprintf(text, sizeof(text), "--prometheus: the %s", faults[i].text);
        diag_add(
            diags, DIAG_ERROR, (Place){0}, STR_NULL, str_from_c(text), str_from_c(faults[i].hint));
    }
}

int sources_gather(
    const char *url, const char *path, Arena *arena, DiagList *diags, MetricSources *ret) {
    size_t n_errors = diags->n_errors, n_flags = url != NULL;
    MetricSources file = {0};
    MetricSource flag = {0}, *all;
    int r = 0;

    if (url)
        read_url(url, arena, diags, &flag);
    if (path)
        r = sources_load(path, arena, diags, &file);
    if (url && sources_find(&file, STR_NULL))
        diag_add(diags, DIAG_ERROR, (Place){0}, STR_NULL,
            STR("there are two sources named \"" SOURCE_DEFAULT_NAME
                "\": --prometheus, and one in the file"),
            arena_printf(
                diags->arena, "remove --prometheus, or call the one in %s another name", path));
    if (n_flags + file.n > SOURCES_MAX)
        diag_addf(diags, DIAG_ERROR, (Place){0}, STR_NULL,
            "there are more than %u sources: --prometheus is one, too", SOURCES_MAX);
    all = ARENA_ARRAY(arena, MetricSource, n_flags + file.n);
    if (r < 0 || !all || arena_has_failed(arena))
        return r < 0 ? r : -ENOMEM;
    if (diags->n_errors > n_errors)
        return r != 0 ? r : FILE_E_INVALID;
    if (url)
        all[0] = flag;
    for (size_t i = 0; i < file.n; i++)
        all[n_flags + i] = file.items[i];
    *ret = (MetricSources){.items = all, .n = n_flags + file.n};
    return 0;
}
