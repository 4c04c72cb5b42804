/* URLs (url.h), as in Kubernetes' library. */
#include "base/map.h"
#include "base/vec.h"
#include "cel/library.h"
#include "cel/url.h"

#define BUILD_FUEL 10 /* for the parts of a URL, however short */
#define PARAMETER_FUEL 4

static const CelUrl *url_of(CelValue v) {
    return v.opaque;
}

static CelValue no_url(CelRun *run, Str text, const CelUrlFault *fault) {
    _cleanup_(buf_done) Buf out = BUF_INIT(CEL_URL_FAULT_MAX);

    if (!cel_charge(run, (text.len < CEL_URL_QUOTED_MAX ? text.len : CEL_URL_QUOTED_MAX) / 2))
        return cel_exhausted(run);
    cel_url_fault_print(text, fault, &out);
    if (buf_error(&out))
        return cel_no_memory(run);
    return cel_fail(
        run, "URL parse error during conversion from string: %.*s", STR_FMT(buf_str(&out)));
}

CEL_FUNCTION(url_from_string) {
    Str text = cel_str(args[0]);
    CelUrlFault fault;
    const CelUrl *url;

    if (!cel_charge(run, BUILD_FUEL + text.len / 2)) /* several passes */
        return cel_exhausted(run);
    url = cel_url_parse(text, run->arena, &fault);
    if (!url)
        return fault.before ? no_url(run, text, &fault) : cel_no_memory(run);
    return cel_opaque(CEL_URL, url);
}

CEL_CHARGED(is_url, args[0].len) {
    return cel_bool(cel_url_check(cel_str(args[0]), NULL));
}

CEL_RETURNS(get_scheme, cel_string(url_of(args[0])->scheme))
CEL_RETURNS(get_host, cel_string(url_of(args[0])->host))
CEL_RETURNS(get_hostname, cel_string(url_of(args[0])->hostname))
CEL_RETURNS(get_port, cel_string(url_of(args[0])->port))
CEL_RETURNS(get_path, cel_string(url_of(args[0])->path))

/* A parameter and its values, in order. */
typedef struct Parameter {
    CelValue name;
    VEC(CelValue) values;
} Parameter;

typedef struct Query {
    CelRun *run;
    Map index; /* from a name to the number of its parameter */
    VEC(Parameter) parameters;
} Query;

/* A part of the query as a string; CEL_ABSENT when its escapes are bad. */
static CelValue unescaped(CelRun *run, Str text) {
    _cleanup_(buf_done) Buf out = BUF_INIT(text.len * 3); /* a bad byte becomes three */

    if (!cel_url_unescape_query(text, &out))
        return cel_absent();
    return buf_error(&out) ? cel_no_memory(run) : cel_make_string(run, buf_str(&out));
}

static bool add_parameter(Query *query, CelValue name, CelValue value) {
    uint32_t number = map_find(&query->index, cel_str(name));

    if (number == MAP_NONE) {
        number = (uint32_t)query->parameters.n;
        if (map_add(&query->index, cel_str(name), number) < 0 ||
            !VEC_ADD(&query->parameters, query->run->arena, (Parameter){.name = name}))
            return false;
    }
    return VEC_ADD(&query->parameters.items[number].values, query->run->arena, value);
}

/* "name=value" or "name". A parameter with a semicolon or bad escapes is skipped, as in Go. Null or
 * an error. */
static CelValue read_parameter(Query *query, Str part) {
    size_t equals = str_find(part, '=');
    CelValue name, value;

    if (part.len == 0 || str_find(part, ';') != SIZE_MAX)
        return cel_null();
    name = unescaped(query->run, str_take(part, equals));
    if (name.kind != CEL_STRING)
        return name.kind == CEL_ERROR ? name : cel_null();
    value = unescaped(query->run, equals == SIZE_MAX ? STR_NULL : str_skip(part, equals + 1));
    if (value.kind != CEL_STRING)
        return value.kind == CEL_ERROR ? value : cel_null();
    return add_parameter(query, name, value) ? cel_null() : cel_no_memory(query->run);
}

static CelValue make_map(const Query *query) {
    CelEntry *entries = cel_map_begin(query->run, query->parameters.n);

    if (!entries)
        return cel_no_memory(query->run);
    for (size_t i = 0; i < query->parameters.n; i++) {
        const Parameter *parameter = &query->parameters.items[i];

        entries[i].key = parameter->name;
        entries[i].value = cel_list_end(query->run, parameter->values.items, parameter->values.n);
        if (entries[i].value.kind == CEL_ERROR)
            return entries[i].value;
    }
    return cel_map_end(query->run, entries, query->parameters.n);
}

CEL_CHARGED(get_query, url_of(args[0])->query.len) {
    Query query = {.run = run, .index = MAP_INIT_IN(run->arena)};
    Str rest = url_of(args[0])->query, part;

    while (str_split(&rest, '&', &part)) {
        CelValue read;

        if (!cel_charge(run, PARAMETER_FUEL))
            return cel_exhausted(run);
        read = read_parameter(&query, part);
        if (read.kind == CEL_ERROR)
            return read;
    }
    return make_map(&query);
}

static bool url_equal(const void *a, const void *b) {
    return str_eq(((const CelUrl *)a)->text, ((const CelUrl *)b)->text);
}

static size_t url_size(const void *opaque) {
    return ((const CelUrl *)opaque)->text.len;
}

static void url_print(const void *opaque, Buf *out) {
    const CelUrl *url = opaque;

    buf_append(out, STR("url(\""));
    for (size_t i = 0; i < url->text.len; i++) { /* only an opaque part can have these */
        if (url->text.ptr[i] == '"' || url->text.ptr[i] == '\\')
            buf_append_char(out, '\\');
        buf_append_char(out, url->text.ptr[i]);
    }
    buf_append(out, STR("\")"));
}

const CelOpaque cel_url_opaque = {.equal = url_equal, .size = url_size, .print = url_print};

static const CelOverloadSpec overloads[] = {
    {"url", "(string) -> kubernetes.URL", url_from_string, CEL_SIZED(BYTES, FIRST),
        .reads_text = true},
    {"isURL", "(string) -> bool", is_url, CEL_READS},
    {"getScheme", "kubernetes.URL.() -> string", get_scheme},
    {"getHost", "kubernetes.URL.() -> string", get_host},
    {"getHostname", "kubernetes.URL.() -> string", get_hostname},
    {"getPort", "kubernetes.URL.() -> string", get_port},
    {"getEscapedPath", "kubernetes.URL.() -> string", get_path},
    {"getQuery", "kubernetes.URL.() -> map(string, list(string))", get_query},
};

CEL_LIBRARY(cel_url_library, "url", overloads);
