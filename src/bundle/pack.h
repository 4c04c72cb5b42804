#pragma once

/*
 * Pack: files into a .tar.gz, one after another.
 *
 * A file is made smaller while it is written: what is held in memory is what goes out. The same
 * files give the same bytes.
 */

#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/str.h"

typedef struct Pack Pack;

/* Into @out, which must outlive it. NULL when out of memory. */
Pack *pack_new(Buf *out, int64_t mtime_sec);
Pack *pack_free(Pack *pack); /* takes NULL, returns NULL */
DEFINE_CLEANUP(Pack *, pack_free)

/* A file: a beginning, any number of pieces, an end. The first failure sticks. */
void pack_begin(Pack *pack, Str name);
void pack_write(Pack *pack, Str bytes);
void pack_end(Pack *pack);

/* Ends the archive. 0; -ENOMEM; or the error of the buffer. */
int pack_finish(Pack *pack) MUST_CHECK;
