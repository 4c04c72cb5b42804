/* Strings, lists, maps and errors of a run, all in its arena. The error of a refused allocation or
 * charge, which ends the run, is kept in the run itself: there may be no memory for it. */

#include "cel/run.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"

#define ERROR_TEXT_MAX 1024 /* bytes of an error's text; longer ones are cut */
#define ERROR_VALUE_MAX 200 /* bytes of a value in an error's text */
#define EXCERPT_MAX 64      /* bytes of a text that an error quotes */

static CelValue error_value(const CelError *error) {
    return (CelValue){.kind = CEL_ERROR, .error = error};
}

static CelValue end_run(CelRun *run, Str text, Str hint) {
    if (!run->limit) { /* keep the first reason */
        run->over = (CelError){.text = text, .hint = hint, .is_limit = true};
        run->limit = &run->over;
    }
    return error_value(run->limit);
}

CelValue cel_exhausted(CelRun *run) {
    return end_run(run, STR("out of fuel: the expression does more work than one evaluation may"),
        STR("look at fewer elements, or put the cheap conditions first"));
}

const CelError *cel_memory_error(const Arena *arena) {
    static const CelError none = {
        .text = STR("out of memory for the evaluation"), .is_limit = true};
    static const CelError limit = {
        .text = STR("too much memory: the expression builds more than one evaluation may"),
        .hint = STR("build smaller strings, lists and maps"),
        .is_limit = true,
    };

    return arena_has_failed(arena) && arena_limit_reached(arena) == 0 ? &none : &limit;
}

CelValue cel_no_memory(CelRun *run) {
    const CelError *error = cel_memory_error(run->arena);

    return end_run(run, error->text, error->hint);
}

void *cel_alloc(CelRun *run, size_t size) {
    return arena_alloc(run->arena, size);
}

/* The texts of @what must outlive the run or be in its arena. */
static CelValue fail(CelRun *run, CelError what) {
    CelError *error = cel_alloc(run, sizeof(*error));

    if (!error)
        return cel_no_memory(run);
    *error = what;
    return error_value(error);
}

/* Most texts have no arguments and are used without a copy: an error that is absorbed should be
 * cheap. */
CelValue cel_fail(CelRun *run, const char *format, ...) {
    char text[ERROR_TEXT_MAX];
    va_list args;
    int n;

    if (!strchr(format, '%'))
        return fail(run, (CelError){.text = str_from_c(format)});
    va_start(args, format);
    n = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (n < 0)
        return cel_no_memory(run);
    if ((size_t)n >= sizeof(text)) /* cut: not in the middle of a character */
        n = (int)utf8_valid_length(str_of(text, sizeof(text) - 1));
    return cel_fail_hint(run, str_of(text, (size_t)n), STR_NULL);
}

CelValue cel_fail_hint(CelRun *run, Str text, Str hint) {
    text = arena_copy(run->arena, text);
    hint = hint.len > 0 ? arena_copy(run->arena, hint) : STR("");
    return text.ptr && hint.ptr ? fail(run, (CelError){.text = text, .hint = hint})
                                : cel_no_memory(run);
}

Str cel_excerpt(Str text) {
    return utf8_take(text, EXCERPT_MAX);
}

CelValue cel_no_overload(CelRun *run) {
    return fail(run, (CelError){.text = STR("no such overload")});
}

/* A missing key or field. @text is in the run's arena; NULL: out of memory. */
static CelValue fail_absent(CelRun *run, Str text) {
    static const Str hint =
        STR("if it may be absent: a[?key].orValue(…), a.?field.orValue(…), or has(a.field) first");

    if (!text.ptr)
        return cel_no_memory(run);
    return fail(run, (CelError){.text = text, .hint = hint, .is_absence = true});
}

/* @what, then the start of a key. ptr NULL: out of memory. */
static Str print_key(CelRun *run, Str what, CelValue key) {
    _cleanup_(buf_done) Buf out = BUF_INIT(ERROR_TEXT_MAX);

    buf_append(&out, what);
    cel_value_print(key, run, ERROR_VALUE_MAX, &out);
    return arena_copy(run->arena, buf_str(&out));
}

/* An absent key is the most frequent error, and mostly absorbed: no printf, for speed. */
CelValue cel_no_such_key(CelRun *run, CelValue key) {
    static const char what[] = "no such key: ";
    const size_t n_what = sizeof(what) - 1;
    char *text;

    if (key.kind != CEL_STRING || key.len > ERROR_VALUE_MAX)
        return fail_absent(run, print_key(run, STR("no such key: "), key));
    text = cel_alloc(run, n_what + key.len);
    if (!text)
        return cel_no_memory(run);
    memcpy(text, what, n_what);
    if (key.len > 0)
        memcpy(text + n_what, key.text, key.len);
    return fail_absent(run, str_of(text, n_what + key.len));
}

CelValue cel_no_such_thing(CelRun *run, const char *what, Str name) {
    return fail_absent(
        run, arena_printf(run->arena, "%s %.*s is absent", what, STR_FMT(cel_excerpt(name))));
}

char *cel_text_begin(CelRun *run, size_t len, CelValue *ret_error) {
    char *text;

    if (!cel_charge_bytes(run, len)) {
        *ret_error = cel_exhausted(run);
        return NULL;
    }
    text = len <= UINT32_MAX ? cel_alloc(run, len) : NULL;
    if (!text)
        *ret_error = cel_no_memory(run);
    return text;
}

static CelValue make_text(CelRun *run, CelKind kind, Str text) {
    CelValue error;
    char *copy = cel_text_begin(run, text.len, &error);

    if (!copy)
        return error;
    if (text.len > 0)
        memcpy(copy, text.ptr, text.len);
    return (CelValue){.kind = (uint8_t)kind, .len = (uint32_t)text.len, .text = copy};
}

CelValue cel_make_string(CelRun *run, Str text) {
    return make_text(run, CEL_STRING, text);
}

CelValue cel_make_bytes(CelRun *run, Str bytes) {
    return make_text(run, CEL_BYTES, bytes);
}

static CelValue too_deep(CelRun *run) {
    return cel_fail(run, "lists and maps inside each other deeper than %d", CEL_VALUE_DEPTH_MAX);
}

CelValue cel_make_opaque(CelRun *run, CelKind kind, const void *opaque, size_t size) {
    void *copy = cel_alloc(run, size);

    return copy ? cel_opaque(kind, memcpy(copy, opaque, size)) : cel_no_memory(run);
}

CelValue cel_make_optional(CelRun *run, CelValue v) {
    uint32_t depth = cel_depth(v) + 1;
    CelValue *inner;

    if (depth > CEL_VALUE_DEPTH_MAX)
        return too_deep(run);
    inner = cel_alloc(run, sizeof(*inner));
    if (!inner)
        return cel_no_memory(run);
    *inner = v;
    return (CelValue){.kind = CEL_OPTIONAL, .len = depth, .inner = inner};
}

CelValue *cel_list_begin(CelRun *run, size_t n) {
    return n <= UINT32_MAX ? cel_alloc(run, n * sizeof(CelValue)) : NULL;
}

CelValue cel_list_end(CelRun *run, const CelValue *items, size_t n) {
    CelList *list;
    uint32_t depth = 0;

    if (!cel_charge(run, n + 1))
        return cel_exhausted(run);
    for (size_t i = 0; i < n; i++) {
        uint32_t inside = cel_depth(items[i]);

        if (inside > depth)
            depth = inside;
    }
    if (depth >= CEL_VALUE_DEPTH_MAX)
        return too_deep(run);
    list = cel_alloc(run, sizeof(*list));
    if (!list)
        return cel_no_memory(run);
    *list = (CelList){.n = (uint32_t)n, .depth = depth + 1, .items = items};
    return cel_list(list);
}

CelEntry *cel_map_begin(CelRun *run, size_t n) {
    return n < UINT32_MAX / 4 ? cel_alloc(run, n * sizeof(CelEntry)) : NULL;
}

/* The number of the first entry whose key repeats an earlier one, or @n. For maps too small for an
 * index: hashing would take longer. */
static uint32_t find_repeated(const CelEntry *entries, uint32_t n) {
    for (uint32_t i = 1; i < n; i++) {
        for (uint32_t j = 0; j < i; j++) {
            if (cel_key_equal(entries[i].key, entries[j].key))
                return i;
        }
    }
    return n;
}

/* Checks the keys and computes the depth. Null or an error. */
static CelValue look_at_entries(CelRun *run, const CelEntry *entries, size_t n, uint32_t *depth) {
    for (size_t i = 0; i < n; i++) {
        uint32_t inside = cel_depth(entries[i].value);

        /* fields/qualified_identifier_resolution/map_key_float, map_key_null: errors */
        if (!cel_is_key(entries[i].key))
            return cel_fail(run, "unsupported key type");
        if (entries[i].key.kind == CEL_STRING && !cel_charge(run, entries[i].key.len / 8))
            return cel_exhausted(run);
        if (inside > *depth)
            *depth = inside;
    }
    return *depth < CEL_VALUE_DEPTH_MAX ? cel_null() : too_deep(run);
}

CelValue cel_map_end(CelRun *run, CelEntry *entries, size_t n) {
    uint32_t depth = 0, repeated = 0;
    CelMap *map;
    CelValue r;
    Str text;

    if (!cel_charge(run, n + 1))
        return cel_exhausted(run);
    r = look_at_entries(run, entries, n, &depth);
    if (r.kind == CEL_ERROR)
        return r;
    map = cel_alloc(run, sizeof(*map));
    if (!map)
        return cel_no_memory(run);
    *map = (CelMap){.n = (uint32_t)n, .depth = depth + 1, .entries = entries};
    if (!cel_map_make_index(map, run->arena, &repeated))
        return cel_no_memory(run);
    if (!map->index)
        repeated = find_repeated(entries, map->n);
    if (repeated == n)
        return cel_map(map);
    text = print_key(run, STR("repeated key: "), entries[repeated].key);
    return text.ptr ? fail(run, (CelError){.text = text}) : cel_no_memory(run);
}
