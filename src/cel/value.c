/* Equality, order and keys. An int and a uint compare exactly; an integer and a double compare as
 * doubles, which loses precision (comparisons/lt_literal/not_lt_dyn_int_big_lossy_double). Keys
 * compare exactly: 1, 1u and 1.0 are one key, 1.5 is none. */

#include "cel/value.h"

#include <math.h>

#include "base/hash.h"
#include "cel/run.h"
#include "cel/type.h"

#define TWO_63 0x1p63
#define TWO_64 0x1p64

/* The order of two numbers of one type. */
#define ORDER(a, b) ((a) < (b) ? CEL_LESS : (a) > (b) ? CEL_GREATER : CEL_SAME)

static CelOrder order_double(double a, double b) {
    return isnan(a) || isnan(b) ? CEL_UNORDERED : ORDER(a, b);
}

/* The order of an integer, as the double @a, and a double @b. Outside of the integers' range @b is
 * compared without rounding. */
static CelOrder order_mixed(double a, double b, double min, double max) {
    return b < min ? CEL_GREATER : b > max ? CEL_LESS : order_double(a, b);
}

static CelOrder reversed(CelOrder order) {
    return order == CEL_LESS ? CEL_GREATER : order == CEL_GREATER ? CEL_LESS : order;
}

/* Both are numbers. */
static CelOrder order_numbers(CelValue a, CelValue b) {
    if (a.kind > b.kind)
        return reversed(order_numbers(b, a)); /* recurses once: then the kinds are in order */
    if (a.kind == CEL_INT)
        return b.kind == CEL_INT      ? ORDER(a.i, b.i)
               : b.kind == CEL_DOUBLE ? order_mixed((double)a.i, b.d, -TWO_63, TWO_63)
               : a.i < 0              ? CEL_LESS
                                      : ORDER(a.u, b.u);
    if (a.kind == CEL_UINT)
        return b.kind == CEL_UINT ? ORDER(a.u, b.u) : order_mixed((double)a.u, b.d, 0, TWO_64);
    return order_double(a.d, b.d);
}

CelOrder cel_compare(CelValue a, CelValue b) {
    if (cel_is_number(a) && cel_is_number(b))
        return order_numbers(a, b);
    if (a.kind != b.kind)
        return CEL_NO_ORDER;
    switch (a.kind) {
    case CEL_BOOL:
        return ORDER(a.boolean, b.boolean);
    case CEL_DURATION:
        return ORDER(a.i, b.i);
    case CEL_TIMESTAMP:
        return a.i != b.i ? ORDER(a.i, b.i) : ORDER(a.len, b.len);
    case CEL_STRING: /* bytes of UTF-8 sort as their code points do */
    case CEL_BYTES:
        return ORDER(str_cmp(cel_str(a), cel_str(b)), 0);
    default:
        return CEL_NO_ORDER;
    }
}

static CelValue whole_key(double d) {
    if (!(d >= -TWO_63 && d < TWO_64) || d != trunc(d))
        return cel_absent();
    return d < TWO_63 ? cel_int((int64_t)d) : cel_uint((uint64_t)d);
}

CelValue cel_map_key(CelValue key) {
    switch (key.kind) {
    case CEL_STRING:
    case CEL_INT:
    case CEL_BOOL:
        return key;
    case CEL_UINT:
        return key.u <= INT64_MAX ? cel_int((int64_t)key.u) : key;
    case CEL_DOUBLE:
        return whole_key(key.d);
    default:
        return cel_absent();
    }
}

/* Both keys are results of cel_map_key(). */
static bool key_equal(CelValue a, CelValue b) {
    if (a.kind != b.kind)
        return false;
    if (a.kind == CEL_STRING)
        return str_eq(cel_str(a), cel_str(b));
    return a.kind == CEL_BOOL ? a.boolean == b.boolean : a.u == b.u;
}

bool cel_key_equal(CelValue a, CelValue b) {
    CelValue key = cel_map_key(a);

    return key.kind != CEL_ABSENT && key_equal(key, cel_map_key(b));
}

static uint64_t key_hash(CelValue key) {
    if (key.kind == CEL_STRING)
        return hash_str(cel_str(key));
    if (key.kind == CEL_BOOL)
        return key.boolean;
    return hash_str(str_of((const char *)&key.u, sizeof(key.u)));
}

/* The place of @key in the index, or the free place where it belongs. */
static uint32_t index_place(
    const CelEntry *entries, const uint32_t *index, uint32_t n_index, CelValue key) {
    uint32_t mask = n_index - 1;
    uint32_t place = (uint32_t)key_hash(key) & mask;

    while (index[place] != 0 && !key_equal(cel_map_key(entries[index[place] - 1].key), key))
        place = (place + 1) & mask;
    return place;
}

#define INDEX_MIN 9 /* entries; among fewer a linear search is faster */

bool cel_map_make_index(CelMap *map, Arena *arena, uint32_t *ret_repeated) {
    uint32_t n_index = 32, *index;

    *ret_repeated = map->n;
    if (map->n < INDEX_MIN)
        return true;
    while (n_index < map->n * 2)
        n_index *= 2;
    index = ARENA_ARRAY(arena, uint32_t, n_index);
    if (!index)
        return false;
    map->index = index;
    map->n_index = n_index;
    for (uint32_t i = 0; i < map->n; i++) {
        uint32_t place =
            index_place(map->entries, index, n_index, cel_map_key(map->entries[i].key));

        if (index[place] != 0) {
            *ret_repeated = i;
            break;
        }
        index[place] = i + 1;
    }
    return true;
}

static CelValue find_in_order(const CelMap *map, CelValue key) {
    for (uint32_t i = 0; i < map->n; i++) {
        if (key_equal(cel_map_key(map->entries[i].key), key))
            return map->entries[i].value;
    }
    return cel_absent();
}

CelValue cel_map_find(const CelMap *map, CelValue key, CelRun *run) {
    key = cel_map_key(key);
    if (key.kind == CEL_ABSENT)
        return key;
    if (!map->entries)
        return map->n || map->otherwise ? map->find(map, key, run) : cel_absent();
    if (key.kind == CEL_STRING && key.len > CEL_FREE_BYTES && !cel_charge_bytes(run, key.len))
        return cel_exhausted(run);
    if (!map->index)
        return find_in_order(map, key);

    uint32_t place = index_place(map->entries, map->index, map->n_index, key);

    return map->index[place] == 0 ? cel_absent() : map->entries[map->index[place] - 1].value;
}

/* Equality, by recursion. The depth is counted; beyond CEL_VALUE_DEPTH_MAX, which only a host's
 * records can reach, the run ends. */

static bool equal_at(CelValue a, CelValue b, CelRun *run, uint32_t depth);

static bool equal_lists(const CelList *a, const CelList *b, CelRun *run, uint32_t depth) {
    if (a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n; i++) {
        if (!equal_at(cel_list_at(a, i, run), cel_list_at(b, i, run), run, depth))
            return false;
    }
    return true;
}

/* The order does not matter. With equal sizes it suffices that each entry of @a is in @b. */
static bool equal_maps(const CelMap *a, const CelMap *b, CelRun *run, uint32_t depth) {
    if (a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n; i++) {
        CelEntry entry = cel_map_at(a, i, run);
        CelValue other = cel_map_find(b, entry.key, run);

        if (other.kind == CEL_ABSENT || !equal_at(entry.value, other, run, depth))
            return false;
    }
    return true;
}

static bool equal_records(const CelRecord *a, const CelRecord *b, CelRun *run, uint32_t depth) {
    if (a == b)
        return true;
    if (a->type != b->type)
        return false;
    for (uint32_t i = 0; i < a->type->n_fields; i++) {
        CelValue in_a = a->type->get(a, i, run), in_b = b->type->get(b, i, run);

        if (in_a.kind == CEL_ABSENT && in_b.kind == CEL_ABSENT)
            continue;
        if (!equal_at(in_a, in_b, run, depth))
            return false;
    }
    return true;
}

static bool equal_optionals(CelValue a, CelValue b, CelRun *run, uint32_t depth) {
    if (!a.inner || !b.inner)
        return !a.inner && !b.inner;
    return equal_at(*a.inner, *b.inner, run, depth);
}

static bool equal_text(CelValue a, CelValue b, CelRun *run) {
    return a.len == b.len && (a.len <= CEL_FREE_BYTES || cel_pay(run, 1 + a.len / 8)) &&
           str_eq(cel_str(a), cel_str(b));
}

/* Charges for the shorter one: no more of the longer one is read. */
static bool equal_opaques(CelValue a, CelValue b, CelRun *run) {
    const CelOpaque *kind = cel_opaque_of_kind(a.kind);
    size_t in_a = kind->size ? kind->size(a.opaque) : 0,
           in_b = kind->size ? kind->size(b.opaque) : 0;

    return cel_pay(run, (in_a < in_b ? in_a : in_b) / 8) && kind->equal(a.opaque, b.opaque);
}

static bool equal_at(CelValue a, CelValue b, CelRun *run, uint32_t depth) {
    if (depth > 0 && !cel_pay(run, 1))
        return false;
    if (cel_is_number(a) && cel_is_number(b))
        return order_numbers(a, b) == CEL_SAME;
    if (a.kind != b.kind)
        return false;
    if (a.kind >= CEL_LIST && !cel_pay(run, depth > CEL_VALUE_DEPTH_MAX ? UINT64_MAX : 1))
        return false;
    switch (a.kind) {
    case CEL_ABSENT:
    case CEL_ERROR:
        return false;
    case CEL_NULL:
        return true;
    case CEL_BOOL:
        return a.boolean == b.boolean;
    case CEL_STRING:
    case CEL_BYTES:
        return equal_text(a, b, run);
    case CEL_DURATION:
        return a.i == b.i;
    case CEL_TIMESTAMP:
        return a.i == b.i && a.len == b.len;
    case CEL_TYPE:
        return cel_type_equal(a.type, b.type);
    case CEL_LIST:
        return equal_lists(a.list, b.list, run, depth + 1);
    case CEL_MAP:
        return equal_maps(a.map, b.map, run, depth + 1);
    case CEL_RECORD:
        return equal_records(a.record, b.record, run, depth + 1);
    case CEL_OPTIONAL:
        return equal_optionals(a, b, run, depth + 1);
    default:
        return equal_opaques(a, b, run);
    }
}

bool cel_equal(CelValue a, CelValue b, CelRun *run) {
    return equal_at(a, b, run, 0);
}

const CelOpaque *cel_opaque_of_kind(CelKind kind) {
    static const CelOpaque *const opaques[CEL_N_KINDS] = {
        [CEL_QUANTITY] = &cel_quantity_opaque,
        [CEL_SEMVER] = &cel_semver_opaque,
        [CEL_IP] = &cel_ip_opaque,
        [CEL_CIDR] = &cel_cidr_opaque,
        [CEL_URL] = &cel_url_opaque,
        [CEL_FORMAT] = &cel_format_opaque,
    };

    return opaques[kind];
}

const CelType *cel_type_of(CelValue v) {
    static const CelType *const types[CEL_N_KINDS] = {[CEL_ABSENT] = &cel_error_type,
        [CEL_ERROR] = &cel_error_type,
        [CEL_RECORD] = &cel_dyn_type,
#define X(name, type_kind, value_kind, text) [CEL_##value_kind] = &cel_##name##_type,
        CEL_TYPES(X)
#undef X
    };

    return types[v.kind];
}

/* Copies into another arena, and their sizes. */

static bool take_size(CelValue v, size_t *left, bool *has_opaque) {
    size_t own = sizeof(CelValue) + (v.kind == CEL_STRING || v.kind == CEL_BYTES ? v.len : 0);

    if (own > *left)
        return false;
    *left -= own;
    *has_opaque |= v.kind >= CEL_QUANTITY || v.kind == CEL_RECORD;
    if (v.kind == CEL_OPTIONAL && v.inner)
        return take_size(*v.inner, left, has_opaque);
    for (uint32_t i = 0; v.kind == CEL_LIST && i < v.list->n; i++)
        if (!v.list->items || !take_size(v.list->items[i], left, has_opaque))
            return false;
    for (uint32_t i = 0; v.kind == CEL_MAP && i < v.map->n; i++)
        if (!v.map->entries || !take_size(v.map->entries[i].key, left, has_opaque) ||
            !take_size(v.map->entries[i].value, left, has_opaque))
            return false;
    return true;
}

bool cel_value_fits(CelValue v, size_t max, bool *ret_has_opaque) {
    *ret_has_opaque = false;
    return take_size(v, &max, ret_has_opaque);
}

static bool copy_list(const CelList *from, Arena *arena, CelValue *ret) {
    CelList *list;
    CelValue *items;

    if (!from->items && from->n > 0) /* the host's */
        return true;
    list = ARENA_NEW(arena, CelList);
    items = ARENA_RAW(arena, CelValue, from->n);
    if (!list || !items)
        return false;
    for (uint32_t i = 0; i < from->n; i++) {
        if (!cel_value_copy(from->items[i], arena, &items[i]))
            return false;
    }
    *list = *from;
    list->items = items;
    *ret = cel_list(list);
    return true;
}

static bool copy_map(const CelMap *from, Arena *arena, CelValue *ret) {
    CelMap *map;
    CelEntry *entries;
    uint32_t repeated;

    if (!from->entries && (from->n > 0 || from->find)) /* the host's */
        return true;
    map = ARENA_NEW(arena, CelMap);
    entries = ARENA_RAW(arena, CelEntry, from->n);
    if (!map || !entries)
        return false;
    for (uint32_t i = 0; i < from->n; i++) {
        if (!cel_value_copy(from->entries[i].key, arena, &entries[i].key) ||
            !cel_value_copy(from->entries[i].value, arena, &entries[i].value))
            return false;
    }
    *map = *from;
    map->entries = entries;
    *ret = cel_map(map);
    return cel_map_make_index(map, arena, &repeated);
}

static bool copy_inner(CelValue v, Arena *arena, CelValue *ret) {
    CelValue *inner = ARENA_NEW(arena, CelValue);

    if (!inner || !cel_value_copy(*v.inner, arena, inner))
        return false;
    *ret = v;
    ret->inner = inner;
    return true;
}

bool cel_value_copy(CelValue v, Arena *arena, CelValue *ret) {
    Str text;

    *ret = v;
    switch (v.kind) {
    case CEL_STRING:
    case CEL_BYTES:
        text = arena_copy(arena, cel_str(v));
        ret->text = text.ptr;
        return text.ptr != NULL;
    case CEL_LIST:
        return copy_list(v.list, arena, ret);
    case CEL_MAP:
        return copy_map(v.map, arena, ret);
    case CEL_OPTIONAL:
        return !v.inner || copy_inner(v, arena, ret);
    default:
        return true;
    }
}
