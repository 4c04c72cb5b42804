/* Arrays, order (a stable merge sort from the bottom up) and membership. All numbers are hashed as
 * doubles, as == compares an int with a double. Values are compared, and charged for, only if their
 * hashes are equal: the hash's key differs between processes, and the fuel used must not. */

#include "cel/elements.h"

#include <math.h>

#include "base/hash.h"
#include "cel/operators.h"

const CelValue *cel_items(CelRun *run, const CelList *list, CelValue *ret_error) {
    static const CelValue nothing;
    CelValue *items;

    if (!cel_charge(run, list->n)) {
        *ret_error = cel_exhausted(run);
        return NULL;
    }
    if (list->items || list->n == 0)
        return list->items ? list->items : &nothing;
    items = cel_list_begin(run, list->n);
    if (!items) {
        *ret_error = cel_no_memory(run);
        return NULL;
    }
    for (uint32_t i = 0; i < list->n; i++) {
        items[i] = cel_list_at(list, i, run);
        if (items[i].kind == CEL_ERROR) {
            *ret_error = items[i];
            return NULL;
        }
    }
    return items;
}

uint64_t cel_compare_price(CelValue a, CelValue b) {
    uint32_t len = a.len < b.len ? a.len : b.len;

    return 1 + (a.kind == CEL_STRING || a.kind == CEL_BYTES ? len / 8 : 0);
}

/* Merges [from, middle) and [middle, to) of @in into the same places of @out. */
static bool merge(CelRun *run, const CelValue *keys, const uint32_t *in, uint32_t *out, size_t from,
    size_t middle, size_t to) {
    size_t left = from, right = middle;

    for (size_t at = from; at < to; at++) {
        bool take_right = left == middle;

        if (left < middle && right < to) {
            CelValue a = keys[in[left]], b = keys[in[right]];

            if (!cel_charge(run, cel_compare_price(a, b)))
                return false;
            take_right = cel_compare(b, a) == CEL_LESS; /* equal: the left one first */
        }
        out[at] = take_right ? in[right++] : in[left++];
    }
    return true;
}

const uint32_t *cel_order(CelRun *run, const CelValue *keys, uint32_t n, CelValue *ret_error) {
    uint32_t *in = cel_alloc(run, 2 * (size_t)n * sizeof(*in)), *out;

    if (!in) {
        *ret_error = cel_no_memory(run);
        return NULL;
    }
    out = in + n;
    for (uint32_t i = 0; i < n; i++)
        in[i] = i;
    for (size_t width = 1; width < n; width *= 2) {
        uint32_t *swap = in;

        for (size_t from = 0; from < n; from += 2 * width) {
            size_t middle = from + width < n ? from + width : n;
            size_t to = middle + width < n ? middle + width : n;

            if (!merge(run, keys, in, out, from, middle, to)) {
                *ret_error = cel_exhausted(run);
                return NULL;
            }
        }
        in = out;
        out = swap;
    }
    return in;
}

static bool is_scalar(CelValue v) {
    return v.kind >= CEL_NULL && v.kind <= CEL_TIMESTAMP;
}

static uint64_t hash_bits(uint64_t bits) {
    return hash_str(str_of((const char *)&bits, sizeof(bits)));
}

static uint64_t hash_number(double d) {
    uint64_t bits;

    d += 0.0; /* -0.0 and 0.0 are equal */
    memcpy(&bits, &d, sizeof(bits));
    return hash_bits(bits);
}

/* Hashing reads a string from end to end. Returns false if out of fuel. */
static bool charge_hash(CelValue v, CelRun *run) {
    bool is_text = v.kind == CEL_STRING || v.kind == CEL_BYTES;

    return !is_text || v.len <= CEL_FREE_BYTES || cel_pay(run, v.len / 8);
}

static uint64_t hash_scalar(CelValue v) {
    switch (v.kind) {
    case CEL_INT:
    case CEL_UINT:
    case CEL_DOUBLE:
        return hash_number(cel_as_double(v));
    case CEL_STRING:
    case CEL_BYTES:
        return hash_str(cel_str(v));
    case CEL_BOOL:
        return hash_bits(v.boolean);
    case CEL_DURATION:
    case CEL_TIMESTAMP:
        return hash_bits((uint64_t)v.i ^ v.len);
    default:
        return 0;
    }
}

bool cel_members_begin(CelMembers *members, CelRun *run, const CelValue *values, uint32_t max) {
    size_t n_slots = 8;

    while (n_slots < 2 * (size_t)max)
        n_slots *= 2;
    *members = (CelMembers){
        .values = values,
        .slots = ARENA_ARRAY(run->arena, CelMemberSlot, n_slots),
        .n_slots = n_slots,
        .others = cel_alloc(run, max * sizeof(uint32_t)),
    };
    return members->slots && members->others;
}

/* cel_equal() does not charge for scalars by themselves. */
static bool is_same(CelValue a, CelValue b, CelRun *run) {
    return cel_pay(run, 1) && cel_equal(a, b, run);
}

/* The slot of the member that equals the scalar @v, or the free one where it would go. */
static CelMemberSlot *find_slot(const CelMembers *members, CelValue v, uint32_t hash, CelRun *run) {
    size_t mask = members->n_slots - 1, at = hash & mask;

    for (;; at = (at + 1) & mask) {
        CelMemberSlot *slot = &members->slots[at];

        if (slot->number == 0 || run->limit)
            return slot;
        if (slot->hash == hash && is_same(members->values[slot->number - 1], v, run))
            return slot;
    }
}

static bool is_among_others(const CelMembers *members, CelValue v, CelRun *run) {
    for (uint32_t i = 0; i < members->n_others && !run->limit; i++) {
        if (is_same(members->values[members->others[i]], v, run))
            return true;
    }
    return false;
}

static bool is_nan(CelValue v) {
    return v.kind == CEL_DOUBLE && isnan(v.d);
}

bool cel_members_add(CelMembers *members, uint32_t i, CelRun *run) {
    CelValue v = members->values[i];
    uint32_t hash;
    CelMemberSlot *slot;

    if (is_nan(v)) /* NaN equals nothing, so no lookup finds it */
        return true;
    if (!is_scalar(v)) {
        if (is_among_others(members, v, run) || run->limit)
            return false;
        members->others[members->n_others++] = i;
        return true;
    }
    if (!charge_hash(v, run))
        return false;
    hash = (uint32_t)hash_scalar(v);
    slot = find_slot(members, v, hash, run);
    if (slot->number != 0 || run->limit)
        return false;
    *slot = (CelMemberSlot){.number = i + 1, .hash = hash};
    return true;
}

bool cel_members_has(const CelMembers *members, CelValue v, CelRun *run) {
    if (is_nan(v))
        return false;
    if (!is_scalar(v))
        return is_among_others(members, v, run);
    if (!charge_hash(v, run))
        return false;
    return find_slot(members, v, (uint32_t)hash_scalar(v), run)->number != 0 && !run->limit;
}

bool cel_set_fits(const CelList *list) {
    if (!list->items)
        return false;
    for (uint32_t i = 0; i < list->n; i++) {
        if (!cel_is_key(list->items[i]))
            return false;
    }
    return true;
}

const CelSet *cel_set_new(const CelList *list, Arena *arena) {
    CelSet *set = ARENA_NEW(arena, CelSet);
    CelEntry *entries = ARENA_RAW(arena, CelEntry, list->n);
    uint32_t repeated;

    if (!set || !entries)
        return NULL;
    for (uint32_t i = 0; i < list->n; i++)
        entries[i] = (CelEntry){.key = list->items[i], .value = cel_bool(true)};
    set->list = list;
    set->map = (CelMap){.n = list->n, .depth = 1, .entries = entries};
    return cel_map_make_index(&set->map, arena, &repeated) && repeated == list->n ? set : NULL;
}

CelValue cel_set_has(const CelSet *set, CelValue v, CelRun *run) {
    CelValue found;

    if (v.kind == CEL_DOUBLE)
        return cel_op_in_list(run, v, cel_list(set->list));
    if (!cel_is_key(v))
        return cel_bool(false);
    found = cel_map_find(&set->map, v, run);
    return found.kind != CEL_ERROR ? cel_bool(found.kind != CEL_ABSENT) : found;
}
