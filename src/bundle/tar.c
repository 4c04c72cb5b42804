/* Heads of tar files: written, and read with their checksum. */

#include "bundle/tar.h"

#include <stdio.h>
#include <string.h>

/* Where the fields of a head are. */
enum {
    NAME_AT = 0,
    MODE_AT = 100,
    UID_AT = 108,
    GID_AT = 116,
    SIZE_AT = 124,
    MTIME_AT = 136,
    SUM_AT = 148,
    TYPE_AT = 156,
    MAGIC_AT = 257,
    SIZE_LEN = 12,
    SUM_LEN = 8,
};

static unsigned sum_of(const char *head) {
    unsigned sum = 0;

    for (size_t i = 0; i < TAR_BLOCK; i++) {
        bool is_sum = i >= SUM_AT && i < SUM_AT + SUM_LEN; /* counts as blanks */

        sum += is_sum ? ' ' : (unsigned char)head[i];
    }
    return sum;
}

/* @width digits, then a NUL. */
static void put_octal(char *at, size_t width, uint64_t value) {
    for (size_t i = width; i-- > 0; value >>= 3)
        at[i] = (char)('0' + (value & 7));
}

void tar_head(Str name, uint64_t size, int64_t mtime_sec, char ret[static TAR_BLOCK]) {
    Str fits = str_take(name, TAR_NAME_MAX);

    memset(ret, 0, TAR_BLOCK);
    if (fits.len > 0)
        memcpy(ret + NAME_AT, fits.ptr, fits.len);
    put_octal(ret + MODE_AT, 7, 0644);
    put_octal(ret + UID_AT, 7, 0);
    put_octal(ret + GID_AT, 7, 0);
    put_octal(ret + SIZE_AT, SIZE_LEN - 1, size);
    put_octal(ret + MTIME_AT, 11, mtime_sec > 0 ? (uint64_t)mtime_sec : 0);
    ret[TYPE_AT] = '0';
    memcpy(ret + MAGIC_AT, "ustar\00000", 8);
    put_octal(ret + SUM_AT, 6, sum_of(ret));
    ret[SUM_AT + 7] = ' ';
}

/* Octal digits between blanks and NULs. False: it is anything else. */
static bool get_octal(const char *at, size_t width, uint64_t *ret) {
    uint64_t value = 0;
    size_t i = 0;

    while (i < width && at[i] == ' ')
        i++;
    for (; i < width && at[i] >= '0' && at[i] <= '7'; i++)
        value = value << 3 | (uint64_t)(at[i] - '0');
    for (; i < width; i++)
        if (at[i] != ' ' && at[i] != '\0')
            return false;
    *ret = value;
    return true;
}

static bool is_zero(const char *head) {
    for (size_t i = 0; i < TAR_BLOCK; i++)
        if (head[i] != 0)
            return false;
    return true;
}

/* False: it is no head. */
static bool read_head(const char *head, uint64_t *ret_size, bool *ret_is_file) {
    uint64_t sum;

    if (!get_octal(head + SUM_AT, SUM_LEN, &sum) || sum != sum_of(head) ||
        !get_octal(head + SIZE_AT, SIZE_LEN, ret_size))
        return false;
    *ret_is_file = head[TYPE_AT] == '0' || head[TYPE_AT] == '\0';
    return true;
}

int tar_next(Str *rest, TarFile *ret) {
    while (rest->len >= TAR_BLOCK && !is_zero(rest->ptr)) {
        const char *head = rest->ptr;
        bool is_file;
        uint64_t size, whole;

        if (!read_head(head, &size, &is_file))
            return TAR_E_MALFORMED;
        *rest = str_skip(*rest, TAR_BLOCK);
        if (size > rest->len)
            return TAR_E_MALFORMED;
        whole = size + tar_padding(size);
        *ret = (TarFile){
            .name = str_of(head + NAME_AT, strnlen(head + NAME_AT, TAR_NAME_MAX + 1)),
            .content = str_take(*rest, (size_t)size),
        };
        *rest = str_skip(*rest, (size_t)(whole < rest->len ? whole : rest->len));
        if (is_file)
            return 0;
    }
    return rest->len >= TAR_BLOCK ? TAR_E_END : TAR_E_MALFORMED;
}
