#pragma once

/*
 * Str: a string is a pointer and a length, passed by value.
 *
 * A Str never owns its bytes and is not NUL-terminated; it may hold any byte,
 * NUL included. The owner of the bytes is documented where a Str is stored. C strings
 * appear only at the edge to libc.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct Str {
    const char *ptr; /* may be NULL when len is 0 */
    size_t len;
} Str;

/* A Str over a string literal; usable in static initialisers. */
#define STR(literal) ((Str){.ptr = (literal), .len = sizeof(literal) - 1})
#define STR_NULL ((Str){.ptr = NULL, .len = 0})

/* printf("%.*s", STR_FMT(s)); lengths over INT_MAX are cut. */
#define STR_FMT(str)                                                                               \
    ((int)((str).len > INT32_MAX ? INT32_MAX : (str).len)), ((str).ptr ? (str).ptr : "")

static inline Str str_of(const char *ptr, size_t len) {
    return (Str){.ptr = ptr, .len = len};
}

static inline Str str_from_c(const char *c) {
    return (Str){.ptr = c, .len = c ? strlen(c) : 0};
}

/* Compares the first byte before calling memcmp: keys of one length mostly differ there. With a
 * literal as @b the compiler knows the length. */
static inline bool str_eq(Str a, Str b) {
    return a.len == b.len &&
           (b.len == 0 || (a.ptr[0] == b.ptr[0] && memcmp(a.ptr, b.ptr, b.len) == 0));
}

static inline bool str_is(Str a, const char *c) {
    return str_eq(a, str_from_c(c));
}

static inline bool str_is_empty(Str a) {
    return a.len == 0;
}

/* Copies @s to *@at, where the caller has room, and moves *@at to the byte after it. The copy of an
 * empty @s is STR_NULL. */
static inline Str str_carve(char **at, Str s) {
    Str copy = s.len > 0 ? str_of(*at, s.len) : STR_NULL;

    if (s.len > 0)
        memcpy(*at, s.ptr, s.len);
    *at += s.len;
    return copy;
}

/* Bytewise order; a prefix sorts first. */
int str_cmp(Str a, Str b);

/* Whether one of the bytes is a control character of ASCII. */
bool str_has_control(Str s);

/* Whether @s is a token of HTTP (RFC 9110, 5.6.2), such as the name of a header. */
bool str_is_token(Str s);

/* ASCII letters compare without regard to case; all other bytes exactly. */
bool str_eq_nocase(Str a, Str b);
bool str_contains_nocase(Str s, Str part); /* an empty part is in everything */

/* The index of @s in @list, or SIZE_MAX. */
size_t str_index(Str s, const Str *list, size_t n);

static inline bool str_is_one_of(Str s, const Str *list, size_t n) {
    return str_index(s, list, n) < n;
}

bool str_has_prefix(Str s, Str prefix);
bool str_has_suffix(Str s, Str suffix);

/* The offset of the first, or of the last, @c; SIZE_MAX: none. */
size_t str_find(Str s, char c);
size_t str_find_last(Str s, char c);

/* @s without its first @from bytes; only the first @len bytes. Both are clamped to s.len. */
Str str_skip(Str s, size_t from);
Str str_take(Str s, size_t len);

/* Cuts @c off the front of @s. False: it begins otherwise. */
bool str_cut_char(Str *s, char c);

/* The part of a path after its last '/'; the part up to it, with the '/'. */
static inline Str str_file_name(Str path) {
    return str_skip(path, str_find_last(path, '/') + 1); /* SIZE_MAX + 1 is 0 */
}

static inline Str str_folder(Str path) {
    return str_take(path, str_find_last(path, '/') + 1);
}

/* The end of a noun: "2 nodes". */
#define PLURAL(n) ((n) == 1 ? "" : "s")

/* @s without spaces, tabs, CR and LF at both ends. */
Str str_trim(Str s);

/* Cuts the part before the first @sep off the front of @s. The last part is
 * returned when no @sep is left; false when @s is used up (its ptr is NULL). */
bool str_split(Str *s, char sep, Str *ret_part);

/* A decimal whole number, nothing before or after it. False, and @ret untouched,
 * when it is anything else or does not fit. */
bool str_to_int64(Str s, int64_t *ret);

/* The number of single-character edits (insert, delete, replace, swap of neighbours)
 * that turn @a into @b, at most @limit + 1; SIZE_MAX when either is longer than 64. Case does not
 * count. */
size_t str_edit_distance(Str a, Str b, size_t limit);

/* Line @number (from 1) of @text, without its end; past the last it is empty. */
Str str_line(Str text, size_t number);

/* The entry of @known that a user who wrote @word most likely meant, or
 * STR_NULL when none is close: "did you mean …?". */
Str str_nearest(Str word, const Str *known, size_t n_known);
