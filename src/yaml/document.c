/*
 * From libfyaml's events to our tree.
 *
 * The events, not libfyaml's documents: an event parser keeps its state on a
 * heap stack, so no nesting can overrun ours, and what we refuse (aliases, depth,
 * tags) is refused before anything is built for it. Duplicate keys are found
 * here too, because here both places are known.
 *
 * libfyaml counts columns in characters and leaves quotes, "|" and empty values
 * out of its marks; but each mark has a byte offset, and from that and the text
 * the exact place follows.
 *
 * A syntax error ends libfyaml's parse. We then start again at the next "---",
 * which nothing can swallow, so that each document gets to report its first.
 */

#include "yaml/document.h"

#include <errno.h>
#include <libfyaml.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/map.h"
#include "base/utf8.h"
#include "yaml/scalar.h"
#include "yaml/source.h"
#include "yaml/syntax.h"

#define SHOWN_MAX 64u /* bytes of a key or tag quoted in a message */

enum {
    _YAML_E_SUCCESS,
    YAML_E_STOPPED, /* reported; the rest of the document cannot be read */
};

/* A collection whose end has not come. */
typedef struct Frame {
    YamlNode *node;
    YamlNode *key; /* mapping: the key that waits for its value */
    VEC(YamlNode *) items;
    VEC(YamlPair) pairs;
    Map keys;     /* mapping: key text → index in pairs */
    size_t start; /* offset */
    bool is_flow; /* [ ] or { } */
} Frame;

typedef struct Parse {
    Source source;
    Str input; /* what libfyaml is given: the text, and a line break at its end */
    Arena *arena;
    DiagList *diags;
    VEC(YamlNode *) documents;
    size_t n_unsupported;
    Frame frames[YAML_DEPTH_MAX];
    size_t n_frames;
    size_t base; /* where in the source libfyaml's offset 0 is */
    size_t at;   /* end of what has been read: what has no mark is behind it */
    struct fy_token_iter *iterator;
    Buf text; /* of the scalar being read */
} Parse;

static inline void fy_parser_freep(struct fy_parser **parser) {
    fy_parser_destroy(*parser);
}

static inline void fy_token_iter_freep(struct fy_token_iter **iterator) {
    fy_token_iter_destroy(*iterator);
}

static inline void fy_diag_freep(struct fy_diag **diag) {
    fy_diag_destroy(*diag);
}

/* Places */

static Place place_at(Parse *parse, size_t offset, size_t width) {
    return source_place(&parse->source, offset, width);
}

static Place place_of_range(Parse *parse, size_t start, size_t end) {
    return place_at(parse, start, end > start ? end - start : 0);
}

static size_t offset_of(const Parse *parse, const struct fy_mark *mark) {
    size_t offset = mark ? parse->base + mark->input_pos : parse->at;

    return offset < parse->source.text.len ? offset : parse->source.text.len;
}

/* The "|" or ">" of the block scalar that comes next. */
static size_t find_block_indicator(const Parse *parse) {
    Str source = parse->source.text;
    size_t offset = source_skip_blank(&parse->source, parse->at);

    while (offset < source.len && memchr(":-?", source.ptr[offset], 3))
        offset = source_skip_blank(&parse->source, offset + 1);
    return offset;
}

/* Complaints */

static void complain(Parse *parse, Place place, Str text, Str hint) {
    diag_add(parse->diags, DIAG_ERROR, place, parse->source.shown, text, hint);
}

/* The same, with a word of the source in it, cut to a length people read. */
static void complain_about(
    Parse *parse, Place place, const char *before, Str word, Str after, Str hint) {
    Buf text = BUF_INIT(512);
    size_t len = word.len;

    if (len > SHOWN_MAX) {
        len = SHOWN_MAX;
        while (len > 0 && ((unsigned char)word.ptr[len] & 0xc0) == 0x80)
            len--;
    }
    buf_printf(&text, "%s\"%.*s%s\"", before, (int)len, word.ptr, len < word.len ? "…" : "");
    buf_append(&text, after);
    complain(parse, place, buf_str(&text), hint);
    buf_done(&text);
}

/* Building */

static void frames_drop(Parse *parse) {
    while (parse->n_frames > 0)
        map_done(&parse->frames[--parse->n_frames].keys);
}

static Frame *frame_top(Parse *parse) {
    return parse->n_frames > 0 ? &parse->frames[parse->n_frames - 1] : NULL;
}

static bool is_key_next(Parse *parse) {
    Frame *top = frame_top(parse);

    return top && top->node->kind == YAML_MAPPING && !top->key;
}

/* A key may stand only once; numbers and strings that read alike are the same
 * key, as they are in JSON. */
static int key_check(Parse *parse, Frame *frame, const YamlNode *key) {
    uint32_t first = map_find(&frame->keys, key->text);

    if (first != MAP_NONE) {
        char hint[64];
        int len = snprintf(hint,
            sizeof(hint),
            "first given at line %zu",
            frame->pairs.items[first].key->place.line);

        complain_about(parse,
            key->place,
            "duplicate key ",
            key->text,
            STR_NULL,
            str_of(hint, len > 0 ? (size_t)len : 0));
        return 0;
    }
    return error_trace(map_add(&frame->keys, key->text, (uint32_t)frame->pairs.n));
}

static int mapping_add_key(Parse *parse, Frame *frame, YamlNode *key) {
    /* Where a block mapping, or the {} that [a: 1] implies, starts, libfyaml
     * marks with no width. */
    if (frame->pairs.n == 0 && !frame->is_flow)
        frame->node->place = key->place;
    frame->key = key;
    if (key->kind == YAML_SEQUENCE || key->kind == YAML_MAPPING) {
        complain(parse,
            key->place,
            key->kind == YAML_SEQUENCE ? STR("a sequence cannot be a key")
                                       : STR("a mapping cannot be a key"),
            STR("keys are strings; quote one that starts with { or ["));
        return 0;
    }
    return key_check(parse, frame, key);
}

/* Puts a complete node where it belongs. */
static int node_add(Parse *parse, YamlNode *node) {
    Frame *top = frame_top(parse);
    YamlNode **slot;
    YamlPair *pair;

    if (!top) {
        /* "---" with nothing after it */
        if (node->kind == YAML_NULL && str_is_empty(node->text))
            return 0;
        slot = VEC_PUSH(&parse->documents, parse->arena);
    } else if (top->node->kind == YAML_SEQUENCE) {
        slot = VEC_PUSH(&top->items, parse->arena);
    } else if (!top->key) {
        return mapping_add_key(parse, top, node);
    } else {
        pair = VEC_PUSH(&top->pairs, parse->arena);
        if (!pair)
            return error_origin(-ENOMEM);
        pair->key = TAKE_PTR(top->key);
        slot = &pair->value;
    }
    if (!slot)
        return error_origin(-ENOMEM);
    *slot = node;
    return 0;
}

static int collection_open(Parse *parse, YamlKind kind, struct fy_event *event) {
    size_t start = offset_of(parse, fy_event_start_mark(event));
    size_t end = offset_of(parse, fy_event_end_mark(event));
    YamlNode *node;

    if (parse->n_frames == YAML_DEPTH_MAX) {
        diag_addf(parse->diags,
            DIAG_ERROR,
            place_at(parse, start, 1),
            parse->source.shown,
            "nested deeper than %u levels",
            YAML_DEPTH_MAX);
        return YAML_E_STOPPED;
    }
    node = ARENA_NEW(parse->arena, YamlNode);
    if (!node)
        return error_origin(-ENOMEM);
    node->kind = kind;
    node->place = place_at(parse, start, 1);
    parse->frames[parse->n_frames++] =
        (Frame){.node = node, .keys = MAP_INIT, .start = start, .is_flow = end > start};
    parse->at = end;
    return 0;
}

static int collection_close(Parse *parse, struct fy_event *event) {
    Frame *frame = frame_top(parse);
    YamlNode *node = frame->node;
    size_t end = offset_of(parse, fy_event_end_mark(event));

    if (frame->is_flow) {
        node->place = place_of_range(parse, frame->start, end);
        parse->at = end;
    }
    node->items = frame->items.items;
    node->pairs = frame->pairs.items;
    node->n = node->kind == YAML_SEQUENCE ? frame->items.n : frame->pairs.n;
    map_done(&frame->keys);
    parse->n_frames--;
    return node_add(parse, node);
}

/* A value that is not there has its key's place; an item its dash's. */
static Place place_of_nothing(Parse *parse) {
    Frame *top = frame_top(parse);
    size_t offset;

    if (top && top->key)
        return top->key->place;
    offset = source_skip_blank(&parse->source, parse->at);
    if (offset < parse->source.text.len)
        parse->at = offset + 1;
    return place_at(parse, offset, 1);
}

static Place place_of_scalar(Parse *parse, struct fy_token *token, enum fy_scalar_style style) {
    size_t start = offset_of(parse, fy_token_start_mark(token));
    size_t end = offset_of(parse, fy_token_end_mark(token));
    size_t indicator;

    switch (style) {
    case FYSS_LITERAL:
    case FYSS_FOLDED:
        indicator = find_block_indicator(parse);
        parse->at = end;
        return place_at(parse, indicator, 1);
    case FYSS_SINGLE_QUOTED:
    case FYSS_DOUBLE_QUOTED:
        start -= start > 0 ? 1 : 0;
        end += end < parse->source.text.len ? 1 : 0;
        break;
    default:
        break;
    }
    parse->at = end;
    return place_of_range(parse, start, end);
}

/* Escapes can make what the source itself may not hold. */
static void check_text(Parse *parse, const YamlNode *node) {
    if (utf8_valid_length(node->text) < node->text.len)
        complain(parse, node->place, STR("the escapes in this string are no UTF-8"), STR_NULL);
    else if (str_find(node->text, '\0') != SIZE_MAX)
        complain(parse, node->place, STR("NUL character in a string"), STR_NULL);
}

/* Piece by piece: fy_token_get_text() fills a buffer of the size that the scanner
 * guessed, and with some multi-line scalars that is too small; in 0.7.12 the text
 * is then garbage, and memory is lost. */
static int scalar_read_text(Parse *parse, struct fy_token *token, YamlNode *node) {
    const struct fy_iter_chunk *chunk = NULL;
    int error = 0;

    buf_reset(&parse->text);
    fy_token_iter_start(token, parse->iterator);
    while ((chunk = fy_token_iter_chunk_next(parse->iterator, chunk, &error)))
        buf_append(&parse->text, str_of(chunk->str, chunk->len));
    fy_token_iter_finish(parse->iterator);
    if (error)
        complain(parse, node->place, STR("this text cannot be read"), STR_NULL);
    node->text = arena_copy(parse->arena, buf_str(&parse->text));
    if (!node->text.ptr || buf_error(&parse->text))
        return error_origin(-ENOMEM);
    return 0;
}

static int scalar_read(Parse *parse, struct fy_token *token, YamlNode *node) {
    enum fy_scalar_style style = fy_token_scalar_style(token);
    int r;

    node->place = place_of_scalar(parse, token, style);
    r = scalar_read_text(parse, token, node);
    if (r < 0)
        return error_trace(r);
    check_text(parse, node);
    node->is_plain = style == FYSS_PLAIN;
    if (node->is_plain)
        scalar_resolve(node);
    else
        node->kind = YAML_STRING;
    if (node->is_plain && is_key_next(parse) && str_eq(node->text, STR("<<"))) {
        complain(parse,
            node->place,
            STR("merge keys are not supported"),
            STR("write the merged keys out"));
        parse->n_unsupported++;
    }
    return 0;
}

static int scalar_add(Parse *parse, struct fy_event *event) {
    struct fy_token *token = fy_event_get_token(event);
    YamlNode *node = ARENA_NEW(parse->arena, YamlNode);
    int r;

    if (!node)
        return error_origin(-ENOMEM);
    if (token) {
        r = scalar_read(parse, token, node);
        if (r < 0)
            return error_trace(r);
    } else {
        node->place = place_of_nothing(parse);
        node->text = STR("");
    }
    return error_trace(node_add(parse, node));
}

/* An alias is refused and stands for null, so that the rest can be checked. */
static int alias_add(Parse *parse, struct fy_event *event) {
    size_t start = offset_of(parse, fy_event_start_mark(event));
    size_t end = offset_of(parse, fy_event_end_mark(event));
    YamlNode *node = ARENA_NEW(parse->arena, YamlNode);

    if (!node)
        return error_origin(-ENOMEM);
    start -= start > 0 ? 1 : 0; /* the mark leaves the star out */
    node->place = place_of_range(parse, start, end);
    node->text =
        arena_copy(parse->arena, str_take(str_skip(parse->source.text, start), end - start));
    if (!node->text.ptr)
        return error_origin(-ENOMEM);
    complain_about(parse,
        node->place,
        "alias ",
        node->text,
        STR(" is not supported"),
        STR("write the value out"));
    parse->n_unsupported++;
    parse->at = end;
    return error_trace(node_add(parse, node));
}

/* Anchor and tag come before the node. An anchor without an alias does nothing;
 * a tag would change what the value means. */
static void check_properties(Parse *parse, struct fy_event *event) {
    struct fy_token *anchor = fy_event_get_anchor_token(event);
    struct fy_token *tag = fy_event_get_tag_token(event);
    size_t start, end;

    if (anchor && event->type != FYET_ALIAS)
        parse->at = offset_of(parse, fy_token_end_mark(anchor));
    if (!tag)
        return;
    start = offset_of(parse, fy_token_start_mark(tag));
    end = offset_of(parse, fy_token_end_mark(tag));
    complain_about(parse,
        place_of_range(parse, start, end),
        "tag ",
        str_take(str_skip(parse->source.text, start), end > start ? end - start : 0),
        STR(" is not supported"),
        STR("quote a value to make it a string"));
    parse->n_unsupported++;
    if (end > parse->at)
        parse->at = end;
}

static int event_take(Parse *parse, struct fy_event *event) {
    switch (event->type) {
    case FYET_MAPPING_START:
        check_properties(parse, event);
        return collection_open(parse, YAML_MAPPING, event);
    case FYET_SEQUENCE_START:
        check_properties(parse, event);
        return collection_open(parse, YAML_SEQUENCE, event);
    case FYET_MAPPING_END:
    case FYET_SEQUENCE_END:
        return error_trace(collection_close(parse, event));
    case FYET_SCALAR:
        check_properties(parse, event);
        return error_trace(scalar_add(parse, event));
    case FYET_ALIAS:
        return error_trace(alias_add(parse, event));
    case FYET_DOCUMENT_START:
        parse->at = offset_of(parse, fy_event_end_mark(event));
        return 0;
    default:
        return 0;
    }
}

/* Syntax errors */

/* At the end of the document inside brackets, what is missing is the bracket;
 * where it was opened is the place to look. */
static bool complain_unclosed(Parse *parse, size_t offset) {
    Str rest = str_skip(parse->source.text, source_skip_blank(&parse->source, offset));
    Frame *top = frame_top(parse);

    if (!top || !top->is_flow)
        return false;
    if (rest.len > 0 && !str_has_prefix(rest, STR("---")) && !str_has_prefix(rest, STR("...")))
        return false;
    complain(parse,
        place_at(parse, top->start, 1),
        top->node->kind == YAML_SEQUENCE ? STR("the closing ] is missing")
                                         : STR("the closing } is missing"),
        STR_NULL);
    return true;
}

/* libfyaml's first error; those after it only follow from it. */
static void complain_syntax(Parse *parse, struct fy_diag *diag) {
    struct fy_diag_error *error;
    void *previous = NULL;
    size_t start, end;
    SyntaxError why;

    do
        error = fy_diag_errors_iterate(diag, &previous);
    while (error && error->type != FYET_ERROR);
    if (!error || !error->fyt) {
        parse->at = source_skip_blank(&parse->source, parse->at);
        complain(parse,
            place_at(parse, parse->at, 1),
            error && error->msg ? syntax_explain(str_from_c(error->msg)).text
                                : STR("not valid YAML"),
            STR("berth reads YAML 1.2"));
        return;
    }
    start = offset_of(parse, fy_token_start_mark(error->fyt));
    end = offset_of(parse, fy_token_end_mark(error->fyt));
    parse->at = start;
    if (complain_unclosed(parse, start))
        return;
    why = syntax_explain(str_from_c(error->msg));
    if (start > parse->base && memchr("\"'", parse->source.text.ptr[start - 1], 2))
        start--; /* what is wrong with a quoted text is shown with its quote */
    complain(parse, place_of_range(parse, start, end), why.text, why.hint);
}

/* libfyaml ends the stream, as if all was well, at bytes it cannot read. None
 * should get past check_source(); a file half read must never pass for whole. */
static int check_all_read(Parse *parse, struct fy_event *event) {
    size_t end = source_skip_blank(&parse->source, offset_of(parse, fy_event_end_mark(event)));

    if (end == parse->source.text.len)
        return 0;
    complain(parse, place_at(parse, end, 1), STR("cannot be read from here on"), STR_NULL);
    parse->at = end;
    return YAML_E_STOPPED;
}

static struct fy_diag *quiet_diag_new(void) {
    struct fy_diag_cfg config;
    struct fy_diag *diag;

    fy_diag_cfg_default(&config);
    config.fp = NULL; /* stderr by default */
    config.colorize = false;
    diag = fy_diag_create(&config);
    if (diag)
        fy_diag_set_collect_errors(diag, true);
    return diag;
}

/* Reads the source from parse->base on. YAML_E_STOPPED: an error was reported,
 * and parse->at is where. */
static int parse_rest(Parse *parse) {
    _cleanup_(fy_diag_freep) struct fy_diag *diag = quiet_diag_new();
    _cleanup_(fy_parser_freep) struct fy_parser *parser = NULL;
    _cleanup_(fy_token_iter_freep) struct fy_token_iter *iterator = fy_token_iter_create(NULL);
    struct fy_parse_cfg config = {
        .flags = FYPCF_DEFAULT_VERSION_1_2 | FYPCF_JSON_NONE,
        .diag = diag,
    };
    Str rest = str_skip(parse->input, parse->base);
    bool is_over = false;
    int r = 0;

    if (!diag || !iterator)
        return error_origin(-ENOMEM);
    parse->iterator = iterator;
    parser = fy_parser_create(&config);
    if (!parser || fy_parser_set_string(parser, rest.ptr, rest.len) < 0)
        return error_origin(-ENOMEM);
    while (r == 0 && !is_over) {
        struct fy_event *event = fy_parser_parse(parser);

        if (!event) {
            complain_syntax(parse, diag);
            return YAML_E_STOPPED;
        }
        is_over = event->type == FYET_STREAM_END;
        r = is_over ? check_all_read(parse, event) : event_take(parse, event);
        fy_parser_event_free(parser, event);
    }
    return r;
}

/* Moves on to the next "---" after where the last parse stopped; an error may lie
 * on the marker itself. Never back to the one that parse began with. */
static bool find_document(Parse *parse) {
    Str source = parse->source.text;
    size_t offset = parse->at > parse->base ? parse->at - 1 : parse->base;
    const char *found;

    while ((found = memmem(source.ptr + offset, source.len - offset, "\n---", 4))) {
        offset = (size_t)(found - source.ptr) + 4;
        if (offset == source.len || source_is_blank(source.ptr[offset])) {
            parse->base = offset - 3;
            return true;
        }
    }
    return false;
}

static int parse_documents(Parse *parse) {
    int r = parse_rest(parse);

    while (r == YAML_E_STOPPED && parse->diags->n_errors < DIAG_MAX && find_document(parse)) {
        frames_drop(parse);
        parse->at = parse->base;
        r = parse_rest(parse);
    }
    frames_drop(parse);
    return r < 0 ? error_trace(r) : 0;
}

/* Of a last line that only has blanks and no line break, libfyaml 0.7.12 reads
 * memory that it never set. */
static int input_prepare(Parse *parse, Buf *copy) {
    Str text = parse->source.text;

    parse->input = text;
    if (str_is_empty(text) || text.ptr[text.len - 1] == '\n')
        return 0;
    buf_append(copy, text);
    buf_append_char(copy, '\n');
    parse->input = buf_str(copy);
    return buf_error(copy) ? error_origin(-ENOMEM) : 0;
}

int yaml_parse(Str file, Str source, Arena *arena, DiagList *diags, YamlStream *ret) {
    Parse parse = {
        .source = source_of(file, source),
        .arena = arena,
        .diags = diags,
        .text = BUF_INIT(2 * YAML_SOURCE_MAX), /* an escape may be shorter than its character */
    };
    _cleanup_(buf_done) Buf copy = BUF_INIT(YAML_SOURCE_MAX + 1);
    size_t errors_before = diags->n_errors;
    int r;

    ret->n_unsupported = 0;
    if (!source_check(&parse.source, diags))
        return -EINVAL;
    r = input_prepare(&parse, &copy);
    if (r == 0 && !str_is_empty(parse.input))
        r = parse_documents(&parse);
    buf_done(&parse.text);
    if (r < 0)
        return error_trace(r);
    ret->n_unsupported = parse.n_unsupported;
    if (diags->n_errors > errors_before)
        return -EINVAL;
    *ret = (YamlStream){
        .file = file,
        .source = parse.source.text,
        .n_documents = parse.documents.n,
        .documents = parse.documents.items,
    };
    return 0;
}

const YamlNode *yaml_find(const YamlNode *node, Str key) {
    if (!node || node->kind != YAML_MAPPING)
        return NULL;
    for (size_t i = 0; i < node->n; i++)
        if (str_eq(node->pairs[i].key->text, key))
            return node->pairs[i].value;
    return NULL;
}

const char *yaml_kind_name(YamlKind kind) {
    switch (kind) {
    case YAML_NULL:
        return "nothing";
    case YAML_BOOL:
        return "a boolean";
    case YAML_INT:
        return "a whole number";
    case YAML_FLOAT:
        return "a number";
    case YAML_STRING:
        return "a string";
    case YAML_SEQUENCE:
        return "a sequence";
    case YAML_MAPPING:
        return "a mapping";
    }
    return "nothing";
}
