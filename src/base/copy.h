#pragma once

/*
 * Copy: memcpy for names.
 *
 * Most of what a reply is made of is 16 to 128 bytes long. A call to memcpy costs
 * about as much as copying that; here two overlapping blocks of fixed size, which
 * the compiler turns into a few moves, cover each range. Nothing beyond @len is
 * read or written.
 */

#include <stddef.h>
#include <string.h>

static inline void copy_short(char *to, const char *from, size_t len) {
    if (len > 128 || len < 16) {
        memcpy(to, from, len);
    } else if (len > 64) {
        memcpy(to, from, 64);
        memcpy(to + len - 64, from + len - 64, 64);
    } else if (len > 32) {
        memcpy(to, from, 32);
        memcpy(to + len - 32, from + len - 32, 32);
    } else {
        memcpy(to, from, 16);
        memcpy(to + len - 16, from + len - 16, 16);
    }
}
