/*
 * Builds nodes from libfyaml's events. Each open collection has a frame; when it ends, its node is
 * added to the enclosing frame, or to the documents.
 *
 * libfyaml counts columns in characters, and its marks do not include quotes, "|" and empty values.
 * So exact places are computed from each mark's byte offset and the text.
 */

#include "yaml/yaml-internal.h"

#include <errno.h>
#include <stdlib.h>

#include "base/utf8.h"

#define SHOWN_MAX 64u /* bytes of a key or tag quoted in a message */
#define TEXTS_SIZE ((size_t)4 * 1024)
#define CHILDREN_FIRST 64u /* initial capacity for children of open collections */

Place builder_place_between(YamlBuilder *builder, size_t start, size_t end) {
    return source_place(&builder->source, start, end > start ? end - start : 0);
}

size_t builder_offset(const YamlBuilder *builder, const struct fy_mark *mark) {
    size_t offset = mark ? builder->base + mark->input_pos : builder->at;

    return offset < builder->source.text.len ? offset : builder->source.text.len;
}

size_t builder_next_value(const YamlBuilder *builder) {
    Str source = builder->source.text;
    size_t offset = source_skip_blank(&builder->source, builder->at);

    while (offset < source.len && memchr(":-?.", source.ptr[offset], 4)) /* also "..." */
        offset = source_skip_blank(&builder->source, offset + 1);
    return offset;
}

void builder_complain(YamlBuilder *builder, Place place, Str text, Str hint) {
    diag_add(builder->diags, DIAG_ERROR, place, builder->source.shown, text, hint);
}

/* Reports an error with a word of the source, shortened to a readable length. */
static void complain_about(
    YamlBuilder *builder, Place place, const char *before, Str word, Str after, Str hint) {
    Str shown = utf8_take(word, SHOWN_MAX);

    builder_complain(builder, place,
        arena_printf(builder->diags->arena, "%s\"%.*s%s\"%.*s", before, STR_FMT(shown),
            shown.len < word.len ? "…" : "", STR_FMT(after)),
        hint);
}

void builder_drop_frames(YamlBuilder *builder) {
    while (builder->n_frames > 0)
        map_done(&builder->frames[--builder->n_frames].keys);
    builder->n_children = 0;
}

void builder_done(YamlBuilder *builder) {
    builder_drop_frames(builder);
    free(builder->children);
    buf_done(&builder->text);
}

YamlFrame *builder_top(YamlBuilder *builder) {
    return builder->n_frames > 0 ? &builder->frames[builder->n_frames - 1] : NULL;
}

/* Reports duplicate keys. A number and a string with the same text are the same key, as in JSON. */
static void key_check(YamlBuilder *builder, YamlFrame *frame, const YamlNode *key) {
    uint32_t first = map_find(&frame->keys, key->text);

    if (first == MAP_NONE)
        builder->has_failed |=
            map_add(&frame->keys, key->text, (uint32_t)(builder->n_children - frame->first)) < 0;
    else
        complain_about(builder, key->place, "duplicate key ", key->text, STR_NULL,
            arena_printf(builder->diags->arena, "first given at line %zu",
                builder->children[frame->first + first].key->place.line));
}

static void mapping_add_key(YamlBuilder *builder, YamlFrame *frame, YamlNode *key) {
    /* libfyaml's mark at the start of a block mapping, or of the {} implied by [a: 1], has no
     * width. */
    if (builder->n_children == frame->first && !frame->is_flow)
        frame->node->place = key->place;
    frame->key = key;
    if (yaml_is_scalar(key))
        key_check(builder, frame, key);
    else
        builder_complain(builder, key->place,
            key->kind == YAML_SEQUENCE ? STR("a sequence cannot be a key")
                                       : STR("a mapping cannot be a key"),
            STR("keys are strings; quote one that starts with { or ["));
}

/* Adds a child to the innermost open collection. The children of all open collections are one stack
 * on the heap; when a collection ends, its array in the arena has the right size. */
static void push_child(YamlBuilder *builder, YamlPair child) {
    if (builder->n_children == builder->children_size) {
        size_t size = builder->children_size ? 2 * builder->children_size : CHILDREN_FIRST;
        YamlPair *larger = realloc(builder->children, size * sizeof(*larger));

        builder->has_failed |= !larger;
        if (!larger)
            return;
        builder->children = larger;
        builder->children_size = size;
    }
    builder->children[builder->n_children++] = child;
}

void builder_add(YamlBuilder *builder, YamlNode *node) {
    YamlFrame *top = builder_top(builder);

    if (top && top->node->kind == YAML_MAPPING && !top->key)
        mapping_add_key(builder, top, node);
    else if (top)
        push_child(builder, (YamlPair){.key = TAKE_PTR(top->key), .value = node});
    else if (node->kind != YAML_NULL || !str_is_empty(node->text)) /* skips empty ones */
        (void)VEC_ADD(&builder->documents, builder->arena, node);
}

int builder_open(YamlBuilder *builder, YamlKind kind, size_t start, size_t end) {
    YamlNode *node;

    if (builder->n_frames == YAML_DEPTH_MAX) {
        diag_addf(builder->diags, DIAG_ERROR, source_place(&builder->source, start, 1),
            builder->source.shown, "nested deeper than %u levels", YAML_DEPTH_MAX);
        return YAML_BUILDER_STOPPED;
    }
    node = ARENA_NEW(builder->arena, YamlNode);
    if (!node)
        return -ENOMEM;
    node->kind = kind;
    node->place = source_place(&builder->source, start, 1);
    builder->frames[builder->n_frames++] = (YamlFrame){
        .node = node,
        .keys = MAP_INIT,
        .first = builder->n_children,
        .start = start,
        .is_flow = end > start,
    };
    builder->at = end;
    return 0;
}

/* Moves the children from number @first on to @node. */
static void take_children(YamlBuilder *builder, YamlNode *node, size_t first) {
    const YamlPair *children;

    node->n = builder->n_children - first;
    builder->n_children = first;
    if (node->n == 0)
        return;
    children = builder->children + first;
    if (node->kind == YAML_MAPPING) {
        node->pairs = ARENA_RAW(builder->arena, YamlPair, node->n);
        if (node->pairs)
            memcpy(node->pairs, children, node->n * sizeof(*children));
        return;
    }
    node->items = ARENA_RAW(builder->arena, YamlNode *, node->n);
    for (size_t i = 0; node->items && i < node->n; i++)
        node->items[i] = children[i].value;
}

void builder_close(YamlBuilder *builder, size_t end) {
    YamlFrame *frame = builder_top(builder);

    if (frame->is_flow) {
        frame->node->place = builder_place_between(builder, frame->start, end);
        builder->at = end;
    }
    take_children(builder, frame->node, frame->first);
    map_done(&frame->keys);
    builder->n_frames--;
    builder_add(builder, frame->node);
}

/* Whether a value is missing: libfyaml 0.7 returns no token then, 0.8 an empty one. */
static bool is_nothing(const YamlBuilder *builder, struct fy_token *token) {
    return !token || (fy_token_scalar_style(token) == FYSS_PLAIN &&
                         builder_offset(builder, fy_token_start_mark(token)) ==
                             builder_offset(builder, fy_token_end_mark(token)));
}

/* Returns the place for a missing value: that of its key, or for an item that of its dash. */
static Place place_of_nothing(YamlBuilder *builder) {
    YamlFrame *top = builder_top(builder);
    size_t offset;

    if (top && top->key)
        return top->key->place;
    offset = source_skip_blank(&builder->source, builder->at);
    if (offset < builder->source.text.len)
        builder->at = offset + 1;
    return source_place(&builder->source, offset, 1);
}

static Place place_of_scalar(
    YamlBuilder *builder, struct fy_token *token, enum fy_scalar_style style) {
    size_t start = builder_offset(builder, fy_token_start_mark(token));
    size_t end = builder_offset(builder, fy_token_end_mark(token));

    if (style == FYSS_LITERAL || style == FYSS_FOLDED) {
        size_t indicator = builder_next_value(builder);

        builder->at = end;
        return source_place(&builder->source, indicator, 1);
    }
    if (style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED) {
        start -= start > 0 ? 1 : 0;
        end += end < builder->source.text.len ? 1 : 0;
    }
    builder->at = end;
    return builder_place_between(builder, start, end);
}

/* Escapes can produce characters that are not allowed in the source. */
void builder_check_text(YamlBuilder *builder, const YamlNode *node) {
    if (utf8_valid_length(node->text) < node->text.len)
        builder_complain(
            builder, node->place, STR("the escapes in this string are not UTF-8"), STR_NULL);
    else if (str_find(node->text, '\0') != SIZE_MAX)
        builder_complain(builder, node->place, STR("NUL character in a string"), STR_NULL);
}

/* Short texts share a block; a separate allocation for each would need four times the memory. */
Str builder_keep_text(YamlBuilder *builder, Str text) {
    char *kept;

    if (text.len >= TEXTS_SIZE / 4)
        return arena_copy(builder->arena, text);
    if (builder->texts_left <= text.len) {
        builder->texts = arena_alloc(builder->arena, TEXTS_SIZE);
        builder->texts_left = builder->texts ? TEXTS_SIZE : 0;
        if (!builder->texts)
            return STR_NULL;
    }
    kept = builder->texts;
    if (text.len > 0)
        memcpy(kept, text.ptr, text.len);
    kept[text.len] = '\0';
    builder->texts += text.len + 1;
    builder->texts_left -= text.len + 1;
    return str_of(kept, text.len);
}

/* Reads a single-quoted text of one line, because libfyaml 0.7.12 reads '''' in it (two quotes) as
 * three. Returns false for a text of several lines, which libfyaml folds. */
static bool scalar_read_quoted(YamlBuilder *builder, struct fy_token *token) {
    size_t start = builder_offset(builder, fy_token_start_mark(token));
    size_t end = builder_offset(builder, fy_token_end_mark(token));
    Str raw = str_skip(str_take(builder->source.text, end), start);

    if (fy_token_scalar_style(token) != FYSS_SINGLE_QUOTED || str_find(raw, '\n') != SIZE_MAX ||
        str_find(raw, '\r') != SIZE_MAX)
        return false;
    for (size_t i = 0; i < raw.len; i++) {
        buf_append_char(&builder->text, raw.ptr[i]);
        i += raw.ptr[i] == '\'';
    }
    return true;
}

/* Copies the text in pieces: fy_token_get_text() uses a buffer of the size that the scanner
 * estimated, which is too small for some multi-line scalars. In 0.7.12 the text is then garbage,
 * and memory leaks. */
static void scalar_read_text(YamlBuilder *builder, struct fy_token *token, YamlNode *node) {
    const struct fy_iter_chunk *chunk = NULL;
    int error = 0;

    buf_reset(&builder->text);
    if (!scalar_read_quoted(builder, token)) {
        fy_token_iter_start(token, builder->iterator);
        while ((chunk = fy_token_iter_chunk_next(builder->iterator, chunk, &error)))
            buf_append(&builder->text, str_of(chunk->str, chunk->len));
        fy_token_iter_finish(builder->iterator);
    }
    if (error)
        builder_complain(builder, node->place, STR("this text cannot be read"), STR_NULL);
    builder->has_failed |= buf_error(&builder->text) != 0;
    node->text = builder_keep_text(builder, buf_str(&builder->text));
}

static void scalar_read(YamlBuilder *builder, struct fy_token *token, YamlNode *node) {
    enum fy_scalar_style style = fy_token_scalar_style(token);
    const YamlFrame *top = builder_top(builder);

    node->place = place_of_scalar(builder, token, style);
    scalar_read_text(builder, token, node);
    builder_check_text(builder, node);
    node->kind = YAML_STRING;
    node->is_plain = style == FYSS_PLAIN;
    if (node->is_plain)
        scalar_resolve(node);
    if (node->is_plain && top && top->node->kind == YAML_MAPPING && !top->key &&
        str_eq(node->text, STR("<<"))) {
        builder_complain(builder, node->place, STR("merge keys are not supported"),
            STR("write the merged keys out"));
        builder->n_unsupported++;
    }
}

static void scalar_add(YamlBuilder *builder, struct fy_event *event) {
    struct fy_token *token = fy_event_get_token(event);
    YamlNode *node = ARENA_NEW(builder->arena, YamlNode);

    if (!node)
        return;
    if (is_nothing(builder, token)) {
        node->place = place_of_nothing(builder);
        node->text = STR("");
    } else {
        scalar_read(builder, token, node);
    }
    builder_add(builder, node);
}

/* An alias is reported as an error and read as null, so that the rest is still checked. */
static void alias_add(YamlBuilder *builder, struct fy_event *event) {
    size_t start = builder_offset(builder, fy_event_start_mark(event));
    size_t end = builder_offset(builder, fy_event_end_mark(event));
    YamlNode *node = ARENA_NEW(builder->arena, YamlNode);

    if (!node)
        return;
    start -= start > 0 ? 1 : 0; /* the mark does not include the star */
    node->place = builder_place_between(builder, start, end);
    node->text =
        arena_copy(builder->arena, str_take(str_skip(builder->source.text, start), end - start));
    complain_about(builder, node->place, "alias ", node->text, STR(" is not supported"),
        STR("write the value out"));
    builder->n_unsupported++;
    builder->at = end;
    builder_add(builder, node);
}

/* Checks the anchor and tag before a node. An unused anchor has no effect. A tag is an error,
 * because it would change the value's type. */
static void check_properties(YamlBuilder *builder, struct fy_event *event) {
    struct fy_token *anchor = fy_event_get_anchor_token(event);
    struct fy_token *tag = fy_event_get_tag_token(event);
    size_t start, end;

    if (anchor && event->type != FYET_ALIAS)
        builder->at = builder_offset(builder, fy_token_end_mark(anchor));
    if (!tag)
        return;
    start = builder_offset(builder, fy_token_start_mark(tag));
    end = builder_offset(builder, fy_token_end_mark(tag));
    complain_about(builder, builder_place_between(builder, start, end), "tag ",
        str_take(str_skip(builder->source.text, start), end > start ? end - start : 0),
        STR(" is not supported"), STR("quote a value to make it a string"));
    builder->n_unsupported++;
    if (end > builder->at)
        builder->at = end;
}

int builder_take(YamlBuilder *builder, struct fy_event *event) {
    /* Stops at the maximum number of errors: no more are shown, so nodes would only use memory. */
    if (builder->diags->n_errors >= builder->errors_max)
        return YAML_BUILDER_STOPPED;
    switch (event->type) {
    case FYET_MAPPING_START:
    case FYET_SEQUENCE_START:
        check_properties(builder, event);
        return builder_open(builder,
            event->type == FYET_MAPPING_START ? YAML_MAPPING : YAML_SEQUENCE,
            builder_offset(builder, fy_event_start_mark(event)),
            builder_offset(builder, fy_event_end_mark(event)));
    case FYET_MAPPING_END:
    case FYET_SEQUENCE_END:
        builder_close(builder, builder_offset(builder, fy_event_end_mark(event)));
        break;
    case FYET_SCALAR:
        check_properties(builder, event);
        scalar_add(builder, event);
        break;
    case FYET_ALIAS:
        alias_add(builder, event);
        break;
    case FYET_DOCUMENT_START:
        /* The mark of an implicit start may be after the next text. */
        if (!event->document_start.implicit)
            builder->at = builder_offset(builder, fy_event_end_mark(event));
        break;
    default:
        break;
    }
    return builder_has_failed(builder) ? -ENOMEM : 0;
}
