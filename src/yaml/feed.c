/*
 * Finds out, before the text is parsed, where libfyaml would use too much memory.
 *
 * A [ or { may begin a key ("[a, b]: c"). libfyaml knows only at the closing bracket. Until then it
 * keeps each token, about 200 bytes for each byte of text, without a limit. But it can request its
 * input in pieces, and it holds only what it was given since the last event. The places of events
 * are wrong then (libfyaml forgets the text before 64 KiB), so events are only counted here, and
 * only for texts that could need too much.
 */

#include "yaml/yaml-internal.h"

#include <errno.h>

/* The most memory that libfyaml 0.7.12 was observed to hold for each of these bytes. Other bytes
 * begin a plain scalar after one of these, or hold nothing. */
static const uint16_t costs[256] = {
    ['['] = 360, /* including a possible key */
    ['{'] = 360,
    [']'] = 210,
    ['}'] = 210,
    [','] = 210,
    [':'] = 430, /* a key and a value */
    ['?'] = 210,
    ['#'] = 210, /* a comment ends a plain scalar */
    ['%'] = 210,
    ['&'] = 210,
    ['*'] = 210,
    ['!'] = 210,
    ['"'] = 105, /* a scalar has two */
    ['\''] = 105,
};

#define PLAIN_COST 210u
#define NO_KEY_COST 210u /* for a colon without a key before it */
#define DASH_COST 320u   /* for a dash before a blank */

/* The most memory of the tree for each byte of text ("[a,a,a]", "-\n-\n"). */
#define TREE_FACTOR 64u

typedef struct Feed {
    Str text;
    size_t held; /* upper estimate, for the bytes given since the last event */
    size_t held_max;
    bool is_over; /* stopped giving text, as if it ended here */
} Feed;

static size_t cost_of(Str text) {
    bool is_behind = true; /* after one of these bytes and blanks */
    size_t cost = 0;

    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];

        if (ascii_is_blank(c))
            continue;
        if (costs[(unsigned char)c] > 0) {
            cost += costs[(unsigned char)c] + (c == ':' && is_behind ? NO_KEY_COST : 0);
            is_behind |= c != '"' && c != '\'';
        } else if (c == '-' && (i == 0 || text.ptr[i - 1] != '-') &&
                   (i + 1 == text.len || ascii_is_blank(text.ptr[i + 1]))) {
            cost += DASH_COST;
            is_behind = true;
        } else if (is_behind) {
            cost += PLAIN_COST;
            is_behind = false;
        }
    }
    return cost;
}

static ssize_t read_piece(void *context, void *buffer, size_t size) {
    Feed *feed = context;
    Str piece = str_take(feed->text, size);

    feed->held += cost_of(piece);
    feed->is_over |= feed->held > feed->held_max;
    if (feed->is_over || str_is_empty(piece))
        return 0;
    memcpy(buffer, piece.ptr, piece.len);
    feed->text = str_skip(feed->text, piece.len);
    return (ssize_t)piece.len;
}

/* Counts up to the end, an error, nesting that the builder refuses, or feed->is_over. */
static int count_events(Feed *feed, const struct fy_parse_cfg *config, size_t *ret) {
    _cleanup_(fy_parser_freep) struct fy_parser *parser = fy_parser_create(config);
    enum fy_event_type type = FYET_NONE;
    struct fy_event *event;
    unsigned depth = 0;

    if (!parser || fy_parser_set_input_callback(parser, feed, read_piece) < 0)
        return -ENOMEM;
    for (*ret = 0; type != FYET_STREAM_END && depth <= YAML_DEPTH_MAX; (*ret)++) {
        feed->held = 0;
        event = fy_parser_parse(parser);
        if (!event || feed->is_over) {
            fy_parser_event_free(parser, event);
            return 0;
        }
        type = event->type;
        depth += type == FYET_MAPPING_START || type == FYET_SEQUENCE_START;
        depth -= type == FYET_MAPPING_END || type == FYET_SEQUENCE_END;
        fy_parser_event_free(parser, event);
    }
    return 0;
}

int feed_count_events(Str text, size_t left, const struct fy_parse_cfg *config, size_t *ret) {
    /* The tree needs at most two fifths of the tokens' cost, and at most TREE_FACTOR times the
     * text. */
    size_t cost = cost_of(text), tree = cost / 5 * 2, tree_max = TREE_FACTOR * text.len;
    Feed feed = {.text = text,
        .held_max =
            YAML_COST_MIN + YAML_COST_FACTOR * text.len - (tree < tree_max ? tree : tree_max)};
    bool is_left = feed.held_max <= left;
    int r;

    *ret = SIZE_MAX;
    if (!is_left)
        feed.held_max = left;
    if (cost <= feed.held_max)
        return 0;
    r = count_events(&feed, config, ret);
    if (r == 0 && !feed.is_over)
        *ret = SIZE_MAX;
    return r == 0 && feed.is_over && !is_left ? -ENOMEM : r;
}
