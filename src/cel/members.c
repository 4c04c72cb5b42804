/*
 * The hash has to agree with ==, which compares an integer with a double as doubles: so all
 * numbers are hashed as doubles. Integers that are one double (2^62 and 2^62 + 1) collide and
 * are told apart by == afterwards.
 *
 * Only what has the hash that is looked for is compared and charged: the hash's key differs from
 * process to process, and what a run uses up must not.
 */
#include "cel/members.h"

#include <math.h>

#include "base/hash.h"

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

/* Hashing reads a text from end to end. False: the run is over. */
static bool charge_hash(CelValue v, CelRun *run) {
    bool is_text = v.kind == CEL_STRING || v.kind == CEL_BYTES;

    if (!is_text || v.len <= CEL_FREE_BYTES || cel_charge(run, v.len / 8))
        return true;
    (void)cel_exhausted(run);
    return false;
}

static uint64_t hash_scalar(CelValue v) {
    switch (v.kind) {
    case CEL_INT:
        return hash_number((double)v.i);
    case CEL_UINT:
        return hash_number((double)v.u);
    case CEL_DOUBLE:
        return hash_number(v.d);
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
    if (!cel_charge(run, 1)) {
        (void)cel_exhausted(run);
        return false;
    }
    return cel_equal(a, b, run);
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

    if (is_nan(v)) /* nothing will ever find it */
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
