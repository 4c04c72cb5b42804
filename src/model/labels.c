/* Labels of objects: decoded, sorted, found. */

#include "model/labels.h"

#include <stdlib.h>

/* Labels are collected on the stack first, so that the arena gets one array of the right
 * size, and not the smaller arrays of a growing vector. Hardly any object has more. */
#define LABELS_NEAR 64u

typedef VEC(Label) LabelVec;

/* A label and its index: of equal keys the last one counts, but qsort() need not keep
 * their order. */
typedef struct Placed {
    Label label;
    size_t at;
} Placed;

static int placed_cmp(const void *a, const void *b) {
    const Placed *left = a, *right = b;
    int r = str_cmp(left->label.key, right->label.key);

    return r != 0 ? r : (left->at > right->at) - (left->at < right->at);
}

/* Sorts @items, drops all but the last of equal keys. Returns how many are left;
 * 0 when out of memory. */
static size_t sort_unique(Label *items, size_t n, Arena *arena) {
    Placed *placed = ARENA_ARRAY(arena, Placed, n);
    size_t n_unique = 0;

    if (!placed)
        return 0;
    for (size_t i = 0; i < n; i++)
        placed[i] = (Placed){.label = items[i], .at = i};
    qsort(placed, n, sizeof(*placed), placed_cmp);
    for (size_t i = 0; i < n; i++) {
        bool is_last = i + 1 == n || !str_eq(placed[i].label.key, placed[i + 1].label.key);

        if (is_last)
            items[n_unique++] = placed[i].label;
    }
    return n_unique;
}

/* Whether the last label is in order, as Go writes them. */
static bool is_in_order(const LabelVec *labels) {
    return labels->n < 2 ||
           str_cmp(labels->items[labels->n - 2].key, labels->items[labels->n - 1].key) < 0;
}

/* Moves the collected labels to their array, sorted. */
static void finish(JsonReader *reader, Arena *arena, LabelVec *labels, bool is_sorted,
    const Label *near, Labels *ret) {
    Label *items = labels->items;

    if (!is_sorted)
        labels->n = sort_unique(items, labels->n, arena);
    if (items == near) {
        items = ARENA_RAW(arena, Label, labels->n);
        if (items)
            memcpy(items, near, labels->n * sizeof(*items));
    }
    if (items && (is_sorted || labels->n > 0))
        *ret = (Labels){.items = items, .n = labels->n};
    else
        json_fail(reader, JSON_E_MEMORY, "too many labels");
}

/* An escape is at most six times as long as its bytes ("\u0041"). */
static bool is_over(Str raw, bool is_escaped, size_t max) {
    return is_escaped ? raw.len / 6 > max : raw.len > max;
}

/* Leaves out values that are too long, without copying them. */
static void label_decode(
    JsonReader *reader, Str key, Arena *arena, size_t value_max, LabelVec *labels) {
    bool key_is_escaped = reader->escaped, is_escaped = false;
    Str value = STR_NULL;

    if (!json_null(reader))
        json_string_raw(reader, &value, &is_escaped);
    if (json_error(reader) || is_over(value, is_escaped, value_max))
        return;
    if (key_is_escaped)
        key = json_unescape(key, arena);
    if (is_escaped)
        value = json_unescape(value, arena);
    if (value.len > value_max)
        return;
    if (!key.ptr || (is_escaped && !value.ptr))
        json_fail(reader, JSON_E_MEMORY, "too many labels");
    else
        JSON_ADD(reader, arena, labels, "too many labels", (Label){key, value});
}

/* The first @max whose value has at most @value_max bytes. */
static void decode_bounded(
    JsonReader *reader, Arena *arena, size_t max, size_t value_max, Labels *ret) {
    SCRATCH Label near[LABELS_NEAR];
    LabelVec labels = {.items = near, .size = LABELS_NEAR};
    bool is_sorted = true;
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (labels.n < max)
            label_decode(reader, key, arena, value_max, &labels);
        else
            json_skip(reader, NULL);
        is_sorted &= is_in_order(&labels);
    }
    if (!json_error(reader))
        finish(reader, arena, &labels, is_sorted, near, ret);
}

void labels_decode(JsonReader *reader, Arena *arena, void *target) {
    decode_bounded(reader, arena, SIZE_MAX, SIZE_MAX, target);
}

void annotations_decode(JsonReader *reader, Arena *arena, void *target) {
    decode_bounded(reader, arena, ANNOTATIONS_MAX, ANNOTATION_VALUE_MAX, target);
}

/* Sets the label of @key to the value that comes next. @items are sorted, and have room for it. */
static void keep_label(JsonReader *reader, Arena *arena, Str key, Label *items, size_t *n) {
    size_t i = 0;

    while (i < *n && str_cmp(items[i].key, key) < 0)
        i++;
    if (i == *n || !str_eq(items[i].key, key)) {
        memmove(&items[i + 1], &items[i], (*n - i) * sizeof(*items));
        items[i] = (Label){.key = key};
        (*n)++;
    }
    json_string(reader, arena, &items[i].value);
}

void labels_decode_some(
    JsonReader *reader, Arena *arena, const Str *keys, size_t n_keys, Labels *ret) {
    Label *items = ARENA_ARRAY(arena, Label, n_keys);
    size_t n = 0;
    Str key;

    if (!items) {
        json_fail(reader, JSON_E_MEMORY, "too many labels");
        return;
    }
    json_object(reader);
    while (json_key(reader, &key)) {
        size_t i = 0;

        while (i < n_keys && !json_key_is(reader, key, keys[i]))
            i++;
        if (i < n_keys)
            keep_label(reader, arena, keys[i], items, &n);
        else
            json_skip_fast(reader, NULL);
    }
    *ret = (Labels){.items = items, .n = n};
}

const Str *labels_find(const Labels *labels, Str key) {
    size_t low = 0, high = labels->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int r = str_cmp(key, labels->items[middle].key);

        if (r == 0)
            return &labels->items[middle].value;
        if (r < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}
