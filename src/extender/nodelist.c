/* Reads node names: compares them with the order in earlier requests, and hashes only the
 * others. */

#include "extender/nodelist.h"

#include "base/bytes.h"
#include "base/wide-loops.h"

#define NODE_LIST_FIRST 256u

/* Names of the sequence that are compared at once. */
#define STRETCH 32u

/* Nodes of the sequence that may be missing in a row; for more, hashing is faster. */
#define GAP_MAX 16u

/* Makes room for @size entries. False if over the memory budget: the reader has the error. */
static bool reserve(JsonReader *reader, Arena *arena, NodeList *list, size_t size) {
    BodySpan *spans = ARENA_RAW(arena, BodySpan, size);
    uint32_t *rows = ARENA_RAW(arena, uint32_t, size);

    if (!spans || !rows) {
        json_fail(reader, JSON_E_MEMORY, "too many nodes");
        return false;
    }
    if (list->n > 0) {
        memcpy(spans, list->spans, list->n * sizeof(*spans));
        memcpy(rows, list->rows, list->n * sizeof(*rows));
    }
    list->spans = spans;
    list->rows = rows;
    list->size = size;
    return true;
}

bool node_list_add(JsonReader *reader, Arena *arena, NodeList *list, Str raw, uint32_t row) {
    if (list->n == list->size &&
        !reserve(reader, arena, list, list->size ? list->size * 2 : NODE_LIST_FIRST))
        return false;
    list->spans[list->n] = (BodySpan){(uint32_t)(raw.ptr - reader->data), (uint32_t)raw.len};
    list->rows[list->n++] = row;
    return true;
}

void name_check(JsonReader *reader, Str name) {
    if (json_error(reader) == JSON_OK && (str_is_empty(name) || str_has_control(name)))
        json_fail(reader, JSON_E_TYPE, "a node name is empty or holds a control character");
}

/* The row of the last name; before the first, the unknown node's. */
static uint32_t last_row(const View *view, const NodeList *list) {
    return list->n > 0 ? list->rows[list->n - 1] : (uint32_t)view->table->n_rows;
}

/* Reads one name and finds its row by hashing. */
static uint32_t look_up_name(const View *view, JsonReader *reader, Arena *arena, Str *ret_raw) {
    bool escaped = false;
    Str raw = STR_NULL, name;

    json_string_raw(reader, &raw, &escaped);
    if (json_error(reader) != JSON_OK)
        return (uint32_t)view->table->n_rows;
    *ret_raw = str_of(raw.ptr - 1, raw.len + 2);
    name = escaped ? json_unescape(raw, arena) : raw;
    if (!name.ptr)
        json_fail(reader, JSON_E_MEMORY, "over the memory budget");
    name_check(reader, name);
    return table_find(view->table, name);
}

/* Reads a name that was not expected, and stores it as the follower of the last one. */
static bool add_other_name(const View *view, JsonReader *reader, Arena *arena, NodeList *list) {
    uint32_t unknown = (uint32_t)view->table->n_rows, last = last_row(view, list);
    Str raw = STR_NULL;
    uint32_t row = look_up_name(view, reader, arena, &raw);

    if (json_error(reader) != JSON_OK)
        return false;
    list->n_unknown += row == unknown;
    if (row != unknown && last != unknown)
        atomic_store_explicit(&view->hints[last].follower, row, memory_order_relaxed);
    return node_list_add(reader, arena, list, raw, row);
}

/* Sets the list's length to @n, and the reader's position to @at. */
static void note_taken(JsonReader *reader, NodeList *list, size_t n, const char *at) {
    if (n == list->n)
        return;
    list->n = n;
    json_take_elements(reader, (size_t)(at - reader->data) - reader->at, list->spans[n - 1].at);
}

/* The place of the last name in the sequence, or SEQUENCE_NOWHERE. */
static uint32_t find_place(const View *view, const NodeList *list, const NameSequence *sequence) {
    return sequence ? sequence->places[last_row(view, list)] : SEQUENCE_NOWHERE;
}

/* Stores the spans of a stretch, without commas: positions in the sequence plus @shift. */
WIDE_LOOPS static void put_spans(
    BodySpan *restrict spans, const uint32_t *restrict at, uint32_t shift) {
    for (size_t i = 0; i < STRETCH; i++)
        spans[i] = (BodySpan){at[i] + shift + 1, at[i + 1] - at[i] - 1};
}

/* Takes names that follow the learned sequence without gaps, STRETCH at once. */
static void take_stretches(const View *view, JsonReader *reader, NodeList *list) {
    const NameSequence *sequence = names_sequence(view->table->names);
    Str ahead = json_ahead(reader);
    const char *at = ahead.ptr, *end = at + ahead.len;
    size_t n = list->n, place = find_place(view, list, sequence);

    if (place == SEQUENCE_NOWHERE)
        return;
    place++;
    while (place + STRETCH <= sequence->n && n + STRETCH <= list->size) {
        const uint32_t *from = &sequence->at[place];
        size_t len = from[STRETCH] - from[0];
        uint32_t shift = (uint32_t)(at - reader->data) - from[0];

        if (len > (size_t)(end - at) || memcmp(at, sequence->text + from[0], len) != 0)
            break;
        put_spans(&list->spans[n], from, shift);
        memcpy(&list->rows[n], &sequence->rows[place], STRETCH * sizeof(*list->rows));
        n += STRETCH;
        place += STRETCH;
        at += len;
    }
    note_taken(reader, list, n, at);
}

/* Takes up to STRETCH names, while each is the one that followed its predecessor last time. The
 * loop uses local variables, for speed, and updates reader and list at the end. */
static void take_expected(const View *view, JsonReader *reader, NodeList *list) {
    const NameHint *hints = view->hints;
    Str ahead = json_ahead(reader);
    const char *body = reader->data, *at = ahead.ptr, *end = at + ahead.len;
    uint32_t *rows = list->rows, row = last_row(view, list);
    BodySpan *spans = list->spans;
    size_t n = list->n, limit = n + STRETCH < list->size ? n + STRETCH : list->size;

    while (n < limit) {
        const NameHint *hint;

        row = atomic_load_explicit(&hints[row].follower, memory_order_relaxed);
        hint = &hints[row];
        if (hint->len == 0 || hint->len > (size_t)(end - at) ||
            !bytes_equal(at, hint->literal, hint->len))
            break;
        spans[n] = (BodySpan){(uint32_t)(at + 1 - body), hint->len - 1};
        rows[n++] = row;
        at += hint->len;
    }
    list->n_expected += n - list->n;
    note_taken(reader, list, n, at);
}

/* Takes up to STRETCH names in the order of the sequence, of which some may be missing. */
static void take_with_gaps(const View *view, JsonReader *reader, NodeList *list) {
    const NameSequence *sequence = names_sequence(view->table->names);
    Str ahead = json_ahead(reader);
    const char *at = ahead.ptr, *end = at + ahead.len;
    size_t n = list->n, limit = n + STRETCH < list->size ? n + STRETCH : list->size;
    size_t place = find_place(view, list, sequence);

    if (place == SEQUENCE_NOWHERE)
        return;
    for (size_t n_left_out = 0; n < limit && ++place < sequence->n && n_left_out <= GAP_MAX;) {
        const uint32_t *from = &sequence->at[place];
        uint32_t len = from[1] - from[0];

        if (len > (size_t)(end - at) || !bytes_equal(at, sequence->text + from[0], len)) {
            n_left_out++;
            continue;
        }
        list->spans[n] = (BodySpan){(uint32_t)(at + 1 - reader->data), len - 1};
        list->rows[n++] = sequence->rows[place];
        at += len;
        n_left_out = 0;
    }
    note_taken(reader, list, n, at);
}

/* The most expensive loop of berth: tries the fastest way first. */
static void take_names(const View *view, JsonReader *reader, Arena *arena, NodeList *list) {
    for (;;) {
        size_t before = list->n;

        take_stretches(view, reader, list);
        take_expected(view, reader, list);
        if (list->n == before)
            take_with_gaps(view, reader, list);
        if (list->n == before &&
            (!json_element(reader) || !add_other_name(view, reader, arena, list)))
            return;
    }
}

void node_list_decode_names(const View *view, JsonReader *reader, Arena *arena, NodeList *list) {
    if (json_null(reader))
        return;
    list->is_given = true;
    if (!reserve(reader, arena, list, view->table->n_rows + NODE_LIST_FIRST))
        return;
    json_array(reader);
    take_names(view, reader, arena, list);
    if (json_error(reader) == JSON_OK && list->n_expected > list->n / 2)
        names_learn(view->table->names, list->rows, list->n);
}
