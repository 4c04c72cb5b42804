#pragma once

/*
 * Value: a value of an expression. 16 bytes, passed by value.
 *
 * Small kinds live in the value itself; the others point to something immutable that belongs to the
 * arena of the run, the program (constants) or the host, the caller of cel_run() (bindings). Lists
 * and maps are plain arrays, or the host's, as records are: callbacks then fetch only the parts
 * that are read.
 *
 * CEL_ERROR is a value too, but only && and ||, all() and exists() receive one (code.h); functions
 * only return it. CEL_ABSENT means no value: an unbound variable, a field that is not set.
 */

#include "base/arena.h"
#include "base/buf.h"

typedef enum CelKind {
    CEL_ABSENT,
    CEL_ERROR,
    CEL_NULL,
    CEL_BOOL,
    CEL_INT,
    CEL_UINT,
    CEL_DOUBLE,
    CEL_STRING,
    CEL_BYTES,
    CEL_DURATION,
    CEL_TIMESTAMP,
    CEL_TYPE,
    CEL_LIST,
    CEL_MAP,
    CEL_RECORD,
    CEL_OPTIONAL,
    /* Kinds of the libraries, opaque to the rest of the language. */
    CEL_QUANTITY,
    CEL_SEMVER,
    CEL_IP,
    CEL_CIDR,
    CEL_URL,
    CEL_FORMAT,
    CEL_N_KINDS,
} CelKind;

typedef struct CelValue CelValue;
typedef struct CelList CelList;
typedef struct CelMap CelMap;
typedef struct CelEntry CelEntry;
typedef struct CelRecord CelRecord;
typedef struct CelError CelError;
typedef struct CelType CelType;             /* type.h */
typedef struct CelRecordType CelRecordType; /* type.h */
typedef struct CelRun CelRun;               /* run.h */

struct CelValue {
    uint8_t kind;
    uint32_t len; /* string, bytes: bytes; timestamp: nanoseconds, 0 to 999,999,999; optional: the
                     depth of its value (cel_depth) */
    union {
        bool boolean;
        int64_t i; /* int; duration in nanoseconds; timestamp in seconds since 1970 */
        uint64_t u;
        double d;
        const char *text; /* string (valid UTF-8), bytes */
        const CelList *list;
        const CelMap *map;
        const CelRecord *record;
        const CelValue *inner; /* optional: its value; NULL: none */
        const CelType *type;
        const CelError *error;
        const void *opaque; /* quantity, semver, …: see the library */
    };
};

struct CelEntry {
    CelValue key, value;
};

/* A plain list has @items. In a list of the host @items is NULL, and @at fetches. */
struct CelList {
    uint32_t n;
    uint32_t depth; /* nesting of lists and maps, itself included; at most CEL_VALUE_DEPTH_MAX */
    const CelValue *items;
    CelValue (*at)(const CelList *list, uint32_t i, CelRun *run);
};

/* A plain map has @entries in the order they were written; above a few entries it has an @index. In
 * a map of the host @entries is NULL; @find (CEL_ABSENT: no such key) and @at fetch. With
 * @otherwise, m[key] and m.key never fail; in, has() and m[?key] still test for the key. Keys are
 * bool, int, uint or string; 1, 1u and 1.0 find the same entry. */
struct CelMap {
    uint32_t n;
    uint32_t depth;
    const CelEntry *entries;
    const uint32_t *index; /* open addressing, entry number + 1; NULL: search in order */
    uint32_t n_index;      /* a power of two, or 0 */
    CelValue (*find)(const CelMap *map, CelValue key, CelRun *run);
    CelEntry (*at)(const CelMap *map, uint32_t i, CelRun *run);
    const CelValue *otherwise; /* the value of an absent key; NULL: an error */
};

/* The head of a host's object; its type's get() reads the rest. */
struct CelRecord {
    const CelRecordType *type;
};

struct CelError {
    Str text;        /* "no such key: 'zone'" */
    Str hint;        /* how to fix it; may be empty */
    uint32_t at;     /* offset in the source; set by the machine */
    bool is_limit;   /* out of fuel or memory: nothing absorbs it */
    bool is_placed;  /* @at is set: a machine that gets it as a value keeps the position */
    bool is_absence; /* an absent key or field was read */
};

static inline CelValue cel_absent(void) {
    return (CelValue){.kind = CEL_ABSENT};
}
static inline CelValue cel_null(void) {
    return (CelValue){.kind = CEL_NULL};
}
static inline CelValue cel_bool(bool b) {
    return (CelValue){.kind = CEL_BOOL, .u = b};
}
static inline CelValue cel_int(int64_t i) {
    return (CelValue){.kind = CEL_INT, .i = i};
}
static inline CelValue cel_uint(uint64_t u) {
    return (CelValue){.kind = CEL_UINT, .u = u};
}
static inline CelValue cel_double(double d) {
    return (CelValue){.kind = CEL_DOUBLE, .d = d};
}
static inline CelValue cel_string(Str s) {
    return (CelValue){.kind = CEL_STRING, .len = (uint32_t)s.len, .text = s.ptr};
}
static inline CelValue cel_bytes(Str s) {
    return (CelValue){.kind = CEL_BYTES, .len = (uint32_t)s.len, .text = s.ptr};
}
static inline CelValue cel_duration(int64_t ns) {
    return (CelValue){.kind = CEL_DURATION, .i = ns};
}
static inline CelValue cel_timestamp(int64_t sec, uint32_t nanos) {
    return (CelValue){.kind = CEL_TIMESTAMP, .len = nanos, .i = sec};
}
static inline CelValue cel_type(const CelType *type) {
    return (CelValue){.kind = CEL_TYPE, .type = type};
}
static inline CelValue cel_list(const CelList *list) {
    return (CelValue){.kind = CEL_LIST, .list = list};
}
static inline CelValue cel_map(const CelMap *map) {
    return (CelValue){.kind = CEL_MAP, .map = map};
}
static inline CelValue cel_record(const CelRecord *record) {
    return (CelValue){.kind = CEL_RECORD, .record = record};
}
static inline CelValue cel_none(void) {
    return (CelValue){.kind = CEL_OPTIONAL, .inner = NULL};
}
static inline CelValue cel_opaque(CelKind kind, const void *opaque) {
    return (CelValue){.kind = (uint8_t)kind, .opaque = opaque};
}

/* The text of a string or the bytes of bytes. */
static inline Str cel_str(CelValue v) {
    return str_of(v.text, v.len);
}
static inline bool cel_is_number(CelValue v) {
    return v.kind >= CEL_INT && v.kind <= CEL_DOUBLE;
}
/* The double nearest to a number of any type. */
static inline double cel_as_double(CelValue v) {
    return v.kind == CEL_INT ? (double)v.i : v.kind == CEL_UINT ? (double)v.u : v.d;
}
static inline bool cel_is_true(CelValue v) {
    return v.kind == CEL_BOOL && v.boolean;
}

/* How deep lists, maps and optionals are nested, @v itself included; 0 for other kinds. */
static inline uint32_t cel_depth(CelValue v) {
    return v.kind == CEL_LIST       ? v.list->depth
           : v.kind == CEL_MAP      ? v.map->depth
           : v.kind == CEL_OPTIONAL ? v.len
                                    : 0;
}

/* Part @i, which is within bounds, of any list or map. A part that the host fetches may be an error
 * (out of memory). */
static inline CelValue cel_list_at(const CelList *list, uint32_t i, CelRun *run) {
    return list->items ? list->items[i] : list->at(list, i, run);
}
static inline CelEntry cel_map_at(const CelMap *map, uint32_t i, CelRun *run) {
    return map->entries ? map->entries[i] : map->at(map, i, run);
}

/* The value under @key; CEL_ABSENT: no such key, or of a kind that no map has. 1, 1u and 1.0 are
 * one key: a whole double finds an integer. */
CelValue cel_map_find(const CelMap *map, CelValue key, CelRun *run);

/* The canonical form of a key: 1u and 1.0 become 1; CEL_ABSENT when no map can have it. A host's
 * find() gets this form. */
CelValue cel_map_key(CelValue key);

/* Whether @v is of a kind that keys of maps have. */
static inline bool cel_is_key(CelValue v) {
    return v.kind == CEL_STRING || v.kind == CEL_INT || v.kind == CEL_UINT || v.kind == CEL_BOOL;
}

/* Whether two keys are equal: 1 and 1u are. */
bool cel_key_equal(CelValue a, CelValue b);

/* Makes the index of @map in @arena, unless it has too few entries. Returns false if out of memory.
 * @ret_repeated: number of the first entry whose key an earlier entry has; map->n: all keys differ,
 * or there is no index. */
bool cel_map_make_index(CelMap *map, Arena *arena, uint32_t *ret_repeated) MUST_CHECK;

/* ==: values of different kinds are unequal, never an error; numbers compare across kinds by value;
 * NaN equals nothing. Charges for the values it reads; out of fuel it returns false and sets
 * run->limit. */
bool cel_equal(CelValue a, CelValue b, CelRun *run);

/* The order of two values. Numbers of different kinds: a range check, then the integer as a double
 * (conformance vectors `*_lossy_double`). */
typedef enum CelOrder {
    CEL_LESS = -1,
    CEL_SAME = 0,
    CEL_GREATER = 1,
    CEL_UNORDERED = 2, /* one of the values is NaN */
    CEL_NO_ORDER = 3,  /* a kind without an order, or two different kinds */
} CelOrder;
CelOrder cel_compare(CelValue a, CelValue b);

/* The value of type(v): `list`, not list(int). Static; never NULL. dyn for records: their types are
 * made by cel_record_of(). */
const CelType *cel_type_of(CelValue v);

/* Functions of the libraries' own kinds; each library has its own. print() writes a CEL expression:
 * quantity("1Gi"). */
typedef struct CelOpaque {
    bool (*equal)(const void *a, const void *b);
    size_t (*size)(const void *opaque); /* bytes that equal() reads; NULL: a few */
    void (*print)(const void *opaque, Buf *out);
} CelOpaque;
extern const CelOpaque cel_quantity_opaque, cel_semver_opaque, cel_ip_opaque, cel_cidr_opaque,
    cel_url_opaque, cel_format_opaque;

/* NULL: not an opaque kind. */
const CelOpaque *cel_opaque_of_kind(CelKind kind);

/* The value as a CEL expression would write it ("ab\n", [1, 2u], {"a": 1.5}, timestamp("…"),
 * optional.of(1)); a record by its type and the fields that are set. Cut with "…" after @max bytes;
 * 0: not cut. Without a @run (NULL) parts that the host must fetch are printed as "…". */
void cel_value_print(CelValue v, CelRun *run, size_t max, Buf *out);

/* Copies go down into lists, maps and optionals by recursion, as deep as values are. */

/* Whether a copy of @v takes at most @max bytes and contains no list or map of the host, except
 * empty ones. A part that is shared counts once for each use. @ret_has_opaque: whether a library's
 * own kind or a host's record is in it. */
bool cel_value_fits(CelValue v, size_t max, bool *ret_has_opaque);

/* A copy of @v in @arena. Some parts are not copied: the libraries' own kinds, types, and the
 * host's lists, maps and records. Returns false if out of memory. */
bool cel_value_copy(CelValue v, Arena *arena, CelValue *ret) MUST_CHECK;
