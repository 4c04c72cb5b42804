/* Reads a trace: lines of JSON, or a list in JSON or YAML. */

#include "simulate/trace.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/diag.h"
#include "input/file.h"
#include "simulate/simulation-input.h"
#include "yaml/document.h"
#include "json/read.h"

#define YAML_BUDGET ((size_t)512 * 1024 * 1024)

typedef struct Trace {
    const char *path;
    const char *unit; /* "line" or "entry", for messages */
    size_t n;         /* the current one, from 1 */
    TraceVisit visit;
    void *context;
    Arena *arena; /* for one line */
    char *error;
} Trace;

static int set_error(Trace *trace, const char *what) {
    (void)snprintf(trace->error, SIMULATION_ERROR_MAX, "%s: %s %zu: %s", trace->path, trace->unit,
        trace->n, what);
    return -EINVAL;
}

static void decode_line(JsonReader *reader, Arena *arena, TraceLine *ret) {
    Str key;

    *ret = (TraceLine){.lifetime = INFINITY, .count = 1};
    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("at")))
            json_double(reader, &ret->at);
        else if (json_key_is(reader, key, STR("lifetime")))
            json_double(reader, &ret->lifetime);
        else if (json_key_is(reader, key, STR("count")))
            json_int64(reader, &ret->count);
        else if (json_key_is(reader, key, STR("name")))
            json_string(reader, arena, &ret->name);
        else if (json_key_is(reader, key, STR("pod")))
            json_skip(reader, &ret->pod);
        else
            json_fail(
                reader, JSON_E_TYPE, "unknown field; there are at, lifetime, count, name and pod");
    }
}

/* The problem with @line, for users; NULL: none. */
static const char *check_line(const TraceLine *line) {
    if (str_is_empty(line->pod) || line->pod.ptr[0] != '{')
        return "has no pod: write pod: {metadata: {name: …}, spec: {…}}";
    if (!(line->at >= 0 && line->at <= SIMULATION_SECONDS_MAX))
        return "at is in seconds since the start, 0 or more";
    if (!(line->lifetime > 0))
        return "lifetime is in seconds, more than 0; leave it out for a pod that stays";
    if (line->count < 0 || line->count > SIMULATION_PODS_MAX)
        return "count is 0 to 1000000";
    return NULL;
}

static int read_line(Trace *trace, Str text) {
    const char *wrong;
    JsonReader reader;
    TraceLine line;

    arena_reset(trace->arena);
    json_reader_init(&reader, text);
    if (json_peek(&reader) != JSON_OBJECT_BEGIN)
        return set_error(trace, "expected an object: {\"at\": 0, \"pod\": {…}}");
    decode_line(&reader, trace->arena, &line);
    json_end(&reader);
    if (json_error(&reader) == JSON_E_MEMORY)
        return -ENOMEM;
    if (json_error(&reader) != JSON_OK)
        return set_error(trace, reader.error_text);
    wrong = check_line(&line);
    return wrong ? set_error(trace, wrong) : trace->visit(trace->context, &line);
}

static int read_lines(Trace *trace, Str text) {
    Str line;
    int r = 0;

    trace->unit = "line";
    while (r == 0 && str_split(&text, '\n', &line)) {
        trace->n++;
        line = str_trim(line);
        if (!str_is_empty(line))
            r = read_line(trace, line);
    }
    return r;
}

static int read_list(Trace *trace, Str text) {
    JsonReader reader;

    trace->unit = "entry";
    json_reader_init(&reader, text);
    if (json_peek(&reader) != JSON_ARRAY_BEGIN)
        return set_error(trace, "expected a list: [{at: 0, pod: {…}}, …]");
    json_array(&reader);
    while (json_element(&reader)) {
        Str item = STR_NULL;
        int r;

        trace->n++;
        json_skip(&reader, &item);
        if (json_error(&reader) != JSON_OK)
            break;
        r = read_line(trace, item);
        if (r < 0)
            return r;
    }
    json_end(&reader);
    return json_error(&reader) == JSON_OK ? 0 : set_error(trace, reader.error_text);
}

static int read_yaml(Trace *trace, Str text) {
    _cleanup_(arena_freep) Arena *arena = arena_new(YAML_BUDGET);
    _cleanup_(buf_done) Buf json = BUF_INIT(TRACE_FILE_MAX);
    DiagList diags = DIAG_LIST_IN(arena);
    YamlStream stream;
    int r = arena ? yaml_parse(str_from_c(trace->path), text, arena, &diags, &stream) : -ENOMEM;

    if (r == -EINVAL && diags.diags.n > 0)
        (void)snprintf(trace->error, SIMULATION_ERROR_MAX, "%s:%zu:%zu: %.*s", trace->path,
            diags.diags.items[0].place.line, diags.diags.items[0].place.column,
            STR_FMT(diags.diags.items[0].text));
    if (r < 0)
        return r;
    for (size_t i = 0; r == 0 && i < stream.n_documents; i++) {
        buf_reset(&json);
        yaml_to_json(stream.documents[i], &json);
        r = buf_error(&json) ? buf_error(&json) : read_list(trace, buf_str(&json));
    }
    return r;
}

int trace_each(const char *path, TraceVisit visit, void *context, char *error) {
    _cleanup_(buf_done) Buf text = BUF_INIT(TRACE_FILE_MAX);
    _cleanup_(arena_freep) Arena *arena = arena_new(TRACE_LINE_BUDGET);
    Trace trace = {
        .path = path,
        .unit = "entry",
        .visit = visit,
        .context = context,
        .arena = arena,
        .error = error,
    };
    Str trimmed;
    int r = arena ? file_read(path, &text, error) : -ENOMEM;

    if (r < 0)
        return r;
    trimmed = str_trim(buf_str(&text));
    if (str_has_prefix(trimmed, STR("{")))
        return read_lines(&trace, buf_str(&text));
    if (str_has_prefix(trimmed, STR("[")))
        return read_list(&trace, trimmed);
    return read_yaml(&trace, buf_str(&text));
}
