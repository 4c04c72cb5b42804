/*
 * Passes libfyaml's parser events to the builder.
 *
 * Uses events instead of libfyaml's documents: the event parser keeps its state on the heap, so
 * nesting cannot overflow the stack, and aliases, tags and deep nesting are refused before nodes
 * are built for them.
 *
 * A syntax error stops libfyaml. Parsing restarts at the next "---", which is always a document
 * marker, so that the first error of each document is reported.
 */

#include "yaml/document.h"

#include <errno.h>
#include <stdio.h>

#include "yaml/yaml-internal.h"

#define PARSE_FLAGS ((enum fy_parse_cfg_flags)(FYPCF_DEFAULT_VERSION_1_2 | FYPCF_JSON_NONE))

#define TRIM_MIN ((size_t)64 * 1024) /* bytes; shorter texts use little memory */

static inline void fy_token_iter_freep(struct fy_token_iter **iterator) {
    fy_token_iter_destroy(*iterator);
}

static inline void fy_diag_freep(struct fy_diag **diag) {
    fy_diag_destroy(*diag);
}

/* Reports a document that ends inside brackets, at the opening bracket. */
static bool complain_unclosed(YamlBuilder *builder, size_t offset) {
    Str rest = str_skip(builder->source.text, source_skip_blank(&builder->source, offset));
    YamlFrame *top = builder_top(builder);

    if (!top || !top->is_flow)
        return false;
    if (rest.len > 0 && !str_has_prefix(rest, STR("---")) && !str_has_prefix(rest, STR("...")))
        return false;
    builder_complain(builder, source_place(&builder->source, top->start, 1),
        top->node->kind == YAML_SEQUENCE ? STR("the closing ] is missing")
                                         : STR("the closing } is missing"),
        STR_NULL);
    return true;
}

/* Reports only libfyaml's first error; later ones are consequences of it. */
static void complain_syntax(YamlBuilder *builder, struct fy_diag *diag) {
    struct fy_diag_error *error;
    void *previous = NULL;
    size_t start, end;
    SyntaxError why;

    do
        error = fy_diag_errors_iterate(diag, &previous);
    while (error && error->type != FYET_ERROR);
    if (!error || !error->fyt) {
        builder->at = source_skip_blank(&builder->source, builder->at);
        builder_complain(builder, source_place(&builder->source, builder->at, 1),
            error && error->msg ? syntax_explain(str_from_c(error->msg)).text
                                : STR("not valid YAML"),
            STR("berth reads YAML 1.2"));
        return;
    }
    start = builder_offset(builder, fy_token_start_mark(error->fyt));
    end = builder_offset(builder, fy_token_end_mark(error->fyt));
    builder->at = start;
    if (complain_unclosed(builder, start))
        return;
    why = syntax_explain(str_from_c(error->msg));
    if (start > builder->base && memchr("\"'", builder->source.text.ptr[start - 1], 2))
        start--; /* include the opening quote */
    builder_complain(builder, builder_place_between(builder, start, end), why.text, why.hint);
}

/* Reports bytes where libfyaml ended the stream without an error. source_check() should refuse all
 * such texts, but half a file must never be taken for the whole. */
static int check_all_read(YamlBuilder *builder, struct fy_event *event) {
    size_t end =
        source_skip_blank(&builder->source, builder_offset(builder, fy_event_end_mark(event)));

    if (end == builder->source.text.len)
        return 0;
    builder_complain(builder, source_place(&builder->source, end, 1),
        STR("cannot be read from here on"), STR_NULL);
    builder->at = end;
    return YAML_BUILDER_STOPPED;
}

static struct fy_diag *quiet_diag_new(void) {
    struct fy_diag_cfg config;
    struct fy_diag *diag;

    fy_diag_cfg_default(&config);
    config.fp = NULL; /* the default is stderr */
    config.colorize = false;
    diag = fy_diag_create(&config);
    if (diag)
        fy_diag_set_collect_errors(diag, true);
    return diag;
}

/* Errors are not reported here: they occur again when the text is read. */
static int count_events(const YamlBuilder *builder, Str text, size_t *ret) {
    _cleanup_(fy_diag_freep) struct fy_diag *diag = quiet_diag_new();
    struct fy_parse_cfg config = {.flags = PARSE_FLAGS, .diag = diag};

    if (!diag)
        return -ENOMEM;
    return feed_count_events(text, arena_left(builder->arena), &config, ret);
}

static int complain_held(YamlBuilder *builder) {
    size_t size = builder->source.text.len;
    Str hint = arena_printf(builder->diags->arena,
        "reading it would take more than %zu KiB of memory, the limit for a text of %zu bytes; "
        "write lists and mappings in block style, one entry a line, or the whole file as JSON",
        (YAML_COST_MIN + YAML_COST_FACTOR * size) / 1024, size);

    builder->at = builder_next_value(builder);
    builder_complain(builder, source_place(&builder->source, builder->at, 1),
        STR("too many brackets, commas and colons in one value to read"), hint);
    return YAML_BUILDER_STOPPED;
}

/* Reads @input, the source's text plus a line break, from builder->base on. Returns
 * YAML_BUILDER_STOPPED if an error was reported, at builder->at. */
static int parse_rest(YamlBuilder *builder, Str input) {
    _cleanup_(fy_diag_freep) struct fy_diag *diag = quiet_diag_new();
    _cleanup_(fy_parser_freep) struct fy_parser *parser = NULL;
    _cleanup_(fy_token_iter_freep) struct fy_token_iter *iterator = fy_token_iter_create(NULL);
    struct fy_parse_cfg config = {
        .flags = PARSE_FLAGS,
        .diag = diag,
    };
    Str rest = str_skip(input, builder->base);
    size_t events_left;
    bool is_over = false;
    int r = 0;

    if (!diag || !iterator)
        return -ENOMEM;
    r = count_events(builder, rest, &events_left);
    if (r < 0)
        return r;
    builder->iterator = iterator;
    parser = fy_parser_create(&config);
    if (!parser || fy_parser_set_string(parser, rest.ptr, rest.len) < 0)
        return -ENOMEM;
    while (r == 0 && !is_over) {
        struct fy_event *event;

        if (events_left-- == 0)
            return complain_held(builder);
        event = fy_parser_parse(parser);
        if (!event) {
            complain_syntax(builder, diag);
            return YAML_BUILDER_STOPPED;
        }
        is_over = event->type == FYET_STREAM_END;
        r = is_over ? check_all_read(builder, event) : builder_take(builder, event);
        fy_parser_event_free(parser, event);
    }
    return r;
}

/* Moves to the next "---" after the point where the last parse stopped, or at it, if that marker is
 * the error; never back to the marker where the last parse started. */
static bool find_document(YamlBuilder *builder) {
    Str source = builder->source.text;
    size_t offset = builder->at > builder->base ? builder->at - 1 : builder->base;
    const char *found;

    while ((found = memmem(source.ptr + offset, source.len - offset, "\n---", 4))) {
        offset = (size_t)(found - source.ptr) + 4;
        if (offset == source.len || ascii_is_blank(source.ptr[offset])) {
            builder->base = offset - 3;
            return true;
        }
    }
    return false;
}

static int parse_documents(YamlBuilder *builder, Str input) {
    int r = parse_rest(builder, input);

    while (r == YAML_BUILDER_STOPPED && builder->diags->n_errors < builder->errors_max &&
           find_document(builder)) {
        builder_drop_frames(builder);
        builder->at = builder->base;
        r = parse_rest(builder, input);
    }
    return r < 0 ? r : 0;
}

int yaml_parse(Str file, Str source, Arena *arena, DiagList *diags, YamlStream *ret) {
    YamlBuilder builder = {
        .source = source_of(file, source),
        .arena = arena,
        .diags = diags,
        .errors_max = diags->n_errors + DIAG_MAX,
        .text = BUF_INIT(2 * YAML_SOURCE_MAX), /* an escape can be shorter than its character */
    };
    _cleanup_(buf_done) Buf copy = BUF_INIT(YAML_SOURCE_MAX + 1);
    size_t errors_before = diags->n_errors;
    Str input;
    int r = 0;

    ret->n_unsupported = 0;
    if (!source_check(&builder.source, diags))
        return -EINVAL;
    r = builder_read_json(&builder);
    if (r == YAML_NO_JSON) {
        input = builder.source.text;
        /* libfyaml 0.7.12 reads uninitialized memory if the last line has only blanks and no line
         * break. */
        if (!str_has_suffix(input, STR("\n")) && !str_is_empty(input)) {
            buf_append(&copy, input);
            buf_append_char(&copy, '\n');
            input = buf_str(&copy);
        }
        r = buf_error(&copy) ? -ENOMEM : parse_documents(&builder, input);
    }
    builder_done(&builder);
    if (source.len > TRIM_MIN)
        trim_heap();
    if (r < 0)
        return r;
    ret->n_unsupported = builder.n_unsupported;
    if (diags->n_errors > errors_before)
        return -EINVAL;
    *ret = (YamlStream){
        .file = file,
        .source = builder.source.text,
        .n_documents = builder.documents.n,
        .documents = builder.documents.items,
    };
    return 0;
}

YamlNode *yaml_find(const YamlNode *node, Str key) {
    for (size_t i = 0; node && node->kind == YAML_MAPPING && i < node->n; i++)
        if (str_eq(node->pairs[i].key->text, key))
            return node->pairs[i].value;
    return NULL;
}

const char *yaml_kind_name(YamlKind kind) {
    static const char *const names[] = {
        [YAML_NULL] = "nothing",
        [YAML_BOOL] = "a boolean",
        [YAML_INT] = "a whole number",
        [YAML_FLOAT] = "a number",
        [YAML_STRING] = "a string",
        [YAML_SEQUENCE] = "a sequence",
        [YAML_MAPPING] = "a mapping",
    };

    return names[kind];
}

/* Whether @node begins at or before @place. A value extends to where the next one begins. */
static bool begins_by(const YamlNode *node, Place place) {
    return node->place.line < place.line ||
           (node->place.line == place.line && node->place.column <= place.column);
}

void yaml_path_at(const YamlNode *document, Place place, Buf *out) {
    const YamlNode *node = document;

    while (begins_by(node, place)) {
        bool is_mapping = node->kind == YAML_MAPPING;
        size_t n = 0; /* number, from 1, of the last child that begins at or before @place */

        while (n < node->n && begins_by(is_mapping ? node->pairs[n].key : node->items[n], place))
            n++;
        if (n == 0)
            return;
        if (is_mapping)
            buf_printf(
                out, "%s%.*s", out->len > 0 ? "." : "", STR_FMT(node->pairs[n - 1].key->text));
        else
            buf_printf(out, "[%zu]", n - 1);
        node = yaml_child(node, n - 1);
    }
}
