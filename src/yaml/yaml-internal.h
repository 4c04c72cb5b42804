#pragma once

/* Shared by the files of this folder: the source text, the builder that turns libfyaml's events
 * into trees, scalars, and syntax errors. */

#include <libfyaml.h>

#include "base/ascii.h"
#include "base/map.h"
#include "yaml/document.h"

/* --- source.c: the text of a YAML file, and places in it ------------------------------------- */

typedef struct YamlSource {
    Str file;
    Str text;  /* without the byte order mark, which takes no column */
    Str shown; /* the text; empty if its lines are too long to show */

    /* Caches the line of the last place, because places are requested nearly in order. */
    size_t line, line_start, line_end;
} YamlSource;

YamlSource source_of(Str file, Str text);

/* Whether the text can be parsed; if not, reports the reason to @diags. */
bool source_check(YamlSource *source, DiagList *diags);

/* Returns the place of @width bytes from @offset on, limited to one line. */
Place source_place(YamlSource *source, size_t offset, size_t width);

/* Returns the offset, from @offset on, of the first byte that is neither blank nor comment. */
size_t source_skip_blank(const YamlSource *source, size_t offset);

/* --- scalar.c ------------------------------------------------------------------------------- */

/* Sets the kind of @node, and its boolean, integer and real, from its text by the core schema of
 * YAML 1.2. Words of YAML 1.1 only ("yes", "off", "1:30") are strings. */
void scalar_resolve(YamlNode *node);

/* --- syntax.c ------------------------------------------------------------------------------- */

typedef struct SyntaxError {
    Str text;
    Str hint; /* may be empty */
} SyntaxError;

/* Explains a message of libfyaml to authors of policies. Unknown messages are returned unchanged;
 * the result may point into @message. */
SyntaxError syntax_explain(Str message);

/* --- builder.c: events in, trees out. Aliases, merge keys, tags and duplicate keys are refused
 * here, where places are known. Building goes on after an error. ------------------------------- */

enum {
    _YAML_BUILDER_SUCCESS,
    YAML_BUILDER_STOPPED, /* reported; the rest of the document cannot be read */
};

/* An open collection. */
typedef struct YamlFrame {
    YamlNode *node;
    YamlNode *key; /* mapping: a key whose value is not yet read */
    Map keys;      /* mapping: text of a key → number of its pair */
    size_t first;  /* index of its first child in builder->children */
    size_t start;  /* offset */
    bool is_flow;  /* [ ] or { } */
} YamlFrame;

typedef struct YamlBuilder {
    YamlSource source;
    Arena *arena;
    DiagList *diags;
    VEC(YamlNode *) documents;
    size_t n_unsupported;
    size_t errors_max; /* number of errors in diags where building stops */
    YamlFrame frames[YAML_DEPTH_MAX];
    size_t n_frames;
    YamlPair *children; /* children of all open collections, outermost first; items have no key */
    size_t n_children, children_size;
    size_t base; /* offset in the source of libfyaml's offset 0 */
    size_t at;   /* the end of the last event */
    struct fy_token_iter *iterator;
    Buf text;    /* text of the scalar that is being read */
    char *texts; /* space for the next short texts */
    size_t texts_left;
    bool has_failed; /* an allocation outside the arena failed */
} YamlBuilder;

static inline bool builder_has_failed(const YamlBuilder *builder) {
    return builder->has_failed || arena_has_failed(builder->arena);
}

/* Handles one event. Returns 0, YAML_BUILDER_STOPPED, or -ENOMEM. */
int builder_take(YamlBuilder *builder, struct fy_event *event);

/* Opens a collection at @start; @end is after its bracket, or @start if it has none. Returns 0,
 * YAML_BUILDER_STOPPED (too deep), or -ENOMEM. */
int builder_open(YamlBuilder *builder, YamlKind kind, size_t start, size_t end);

/* Closes the innermost collection, which ends before @end. */
void builder_close(YamlBuilder *builder, size_t end);

/* Adds a complete node to the innermost collection, or to the documents. */
void builder_add(YamlBuilder *builder, YamlNode *node);

/* Reports a scalar's text if it is invalid UTF-8 or contains a NUL. */
void builder_check_text(YamlBuilder *builder, const YamlNode *node);

/* Returns a copy of @text followed by a NUL. If there is no memory, ptr is NULL. */
Str builder_keep_text(YamlBuilder *builder, Str text);

/* Frees everything that is not in the arena. */
void builder_done(YamlBuilder *builder);

/* Returns the innermost open collection; NULL: none. */
YamlFrame *builder_top(YamlBuilder *builder);

/* Discards all open collections. */
void builder_drop_frames(YamlBuilder *builder);

/* Returns the offset in the source of a libfyaml mark; builder->at if it is NULL. */
size_t builder_offset(const YamlBuilder *builder, const struct fy_mark *mark);

/* Returns where the next value begins: after blanks, comments, dashes and colons. */
size_t builder_next_value(const YamlBuilder *builder);

/* Returns the place of the text between two offsets. */
Place builder_place_between(YamlBuilder *builder, size_t start, size_t end);

/* Reports an error; @hint may be empty. */
void builder_complain(YamlBuilder *builder, Place place, Str text, Str hint);

/* --- json.c --------------------------------------------------------------------------------- */

#define YAML_NO_JSON 1

/* Builds the documents if each is a JSON object or array. Returns 0, also after a reported error;
 * YAML_NO_JSON if nothing was done and libfyaml must read the text; or -ENOMEM. */
int builder_read_json(YamlBuilder *builder);

/* --- feed.c --------------------------------------------------------------------------------- */

/* A text of n bytes may use YAML_COST_MIN + YAML_COST_FACTOR × n bytes of memory, for the tree and
 * libfyaml's tokens. */
#define YAML_COST_MIN ((size_t)512 * 1024)
#define YAML_COST_FACTOR 96u

static inline void fy_parser_freep(struct fy_parser **parser) {
    fy_parser_destroy(*parser);
}

/* Stores how many events of @text may be read before libfyaml would hold too much for the next;
 * SIZE_MAX: all. Returns 0, or -ENOMEM, also if it would hold more than @left bytes. */
int feed_count_events(Str text, size_t left, const struct fy_parse_cfg *config, size_t *ret);
