#pragma once

/*
 * Archive: files into a .tar.gz, and back.
 *
 * gzip (RFC 1952, by zlib): a file is a sequence of members that are read as one. So the content of
 * a file is compressed as a member first, and its tar header, which needs the size, afterwards.
 *
 * tar (POSIX ustar): regular files with short names only. Other entries that a user's tar may have
 * added (folders, longer names, times to the nanosecond) are skipped when it is read.
 *
 * Pack writes one file after another and keeps only compressed data in memory. The same files give
 * the same bytes. A reader limits its memory by the size of the archive. So Pack adds up the memory
 * that a reader needs, and stores parts uncompressed while the archive is too small for it.
 */

#include "base/buf.h"

#define TAR_BLOCK 512u
#define TAR_NAME_MAX 99u

/* A reader accepts archives that unpack to at most ARCHIVE_SMALL bytes plus ARCHIVE_RATIO_MAX times
 * their own size: a larger one is rejected before it costs memory. */
#define ARCHIVE_SMALL ((size_t)256 * 1024)
#define ARCHIVE_RATIO_MAX 16u
#define ARCHIVE_LINE_COST 448u /* bytes of memory for the object that a line becomes */

typedef struct Pack Pack;

/* Writes to @out, which must outlive it. @mtime_sec: of all files. NULL when out of memory. */
Pack *pack_new(Buf *out, int64_t mtime_sec);
Pack *pack_free(Pack *pack); /* takes NULL, returns NULL */
DEFINE_CLEANUP(Pack *, pack_free)

/* Add a file: its name of at most TAR_NAME_MAX bytes, any number of writes, its end. The first
 * error is kept for pack_finish(). */
void pack_begin(Pack *pack, Str name);
void pack_write(Pack *pack, Str bytes);
void pack_end(Pack *pack);

/* Adds @bytes to the memory that a reader needs. */
void pack_charge(Pack *pack, uint64_t bytes);

/* Ends the archive. 0; -ENOMEM; or the error of the buffer. */
int pack_finish(Pack *pack) MUST_CHECK;

typedef struct Gzip Gzip;

/* Writes one member after another. NULL when out of memory. */
Gzip *gzip_new(void);
Gzip *gzip_free(Gzip *gzip); /* takes NULL, returns NULL */
DEFINE_CLEANUP(Gzip *, gzip_free)

/* Compresses @bytes into @out. 0, or the error of @out. */
int gzip_write(Gzip *gzip, Str bytes, Buf *out) MUST_CHECK;

/* Ends the member; the next byte begins another one. 0, or the error of @out. */
int gzip_end(Gzip *gzip, Buf *out) MUST_CHECK;

enum {
    _GUNZIP_E_SUCCESS,
    GUNZIP_E_OTHER,   /* not a gzip file */
    GUNZIP_E_DAMAGED, /* it cannot be read to its end, or a checksum is wrong */
    GUNZIP_E_LARGE,   /* it is larger than the limit of @out */
};

/* Unpacks all members of @file, appended to @out. 0, one of the above, or -ENOMEM. */
int gunzip(Str file, Buf *out) MUST_CHECK;

/* Makes the head of a file of @size bytes; @name has at most TAR_NAME_MAX bytes. */
void tar_head(Str name, uint64_t size, int64_t mtime_sec, char ret[static TAR_BLOCK]);

typedef struct TarFile {
    Str name; /* points into the archive */
    Str content;
} TarFile;

enum {
    _TAR_E_SUCCESS,
    TAR_E_END,       /* there are no more */
    TAR_E_MALFORMED, /* it is no archive, or it ends too early */
};

/* Sets the next regular file of @rest, which moves behind it. 0 or one of the above. */
int tar_next(Str *rest, TarFile *ret);
