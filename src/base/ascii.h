#pragma once

/*
 * Ascii: character classes. libc's ctype.h depends on the locale, and is undefined for bytes over
 * 0x7f in a char; here those are in no class.
 */

#include <stdbool.h>

static inline bool ascii_is_digit(char c) {
    return c >= '0' && c <= '9';
}

static inline bool ascii_is_lower(char c) {
    return c >= 'a' && c <= 'z';
}

static inline bool ascii_is_letter(char c) {
    return ascii_is_lower(c) || (c >= 'A' && c <= 'Z');
}

static inline bool ascii_is_alnum(char c) {
    return ascii_is_letter(c) || ascii_is_digit(c);
}

/* The white space of JSON and YAML. */
static inline bool ascii_is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static inline char ascii_lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* 0 to 15; -1 when it is no hexadecimal digit. */
static inline int ascii_hex_value(char c) {
    char lower = ascii_lower(c);

    if (ascii_is_digit(c))
        return c - '0';
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}
