#pragma once

/*
 * Builder: libfyaml's events in, trees out. Only yaml/document.c includes this.
 *
 * What we refuse (aliases, merge keys, tags, keys that are no scalars or stand twice) is refused
 * here, because here the places are known. Building goes on after it: the rest is checked, too.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/diag.h"
#include "base/map.h"
#include "base/vec.h"
#include "yaml/document.h"
#include "yaml/source.h"

struct fy_event;
struct fy_mark;
struct fy_token_iter;

enum {
    _BUILDER_E_SUCCESS,
    BUILDER_E_STOPPED, /* reported; the rest of the document cannot be read */
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

typedef struct Builder {
    Source source;
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
} Builder;

/* 0, BUILDER_E_STOPPED, or -ENOMEM. */
int builder_take(Builder *builder, struct fy_event *event);

/* The collection that is open, innermost; NULL: none is. */
Frame *builder_top(Builder *builder);

/* Whatever is open is given up. */
void builder_drop_frames(Builder *builder);

/* The offset in the source of a mark of libfyaml's; without one, builder->at. */
size_t builder_offset(const Builder *builder, const struct fy_mark *mark);

/* Where @width bytes from @offset on are, and what is between two offsets. */
Place builder_place(Builder *builder, size_t offset, size_t width);
Place builder_place_between(Builder *builder, size_t start, size_t end);

/* Reports an error; @hint may be empty. */
void builder_complain(Builder *builder, Place place, Str text, Str hint);
