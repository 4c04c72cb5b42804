/*
 * Any bytes as a bundle. What begins with "=" is files as text, which are packed first, so that a
 * search gets past the check sums:
 *
 *     =about.json
 *     {"bundle":1,…}
 *     =decisions.jsonl
 *     …
 *
 * What can be read is asked for what a replay asks.
 */

#include "base/buf.h"
#include "base/fuzz.h"
#include "base/hash.h"
#include "bundle/archive.h"
#include "bundle/bundle.h"

#define ROOM ((size_t)64 * 1024 * 1024)

static void begin_file(Pack *pack, Str name) {
    char path[TAR_NAME_MAX + 1] = "b/";

    name = str_take(name, TAR_NAME_MAX - 2);
    if (name.len > 0)
        memcpy(path + 2, name.ptr, name.len);
    pack_begin(pack, str_of(path, name.len + 2));
}

static void pack_files(Str text, Buf *out) {
    Pack *pack = pack_new(out, 0);
    bool is_open = false;
    Str line;

    require(pack);
    while (text.len > 0 && str_split(&text, '\n', &line)) {
        if (is_open && !str_has_prefix(line, STR("="))) {
            pack_write(pack, line);
            pack_write(pack, STR("\n"));
            continue;
        }
        if (is_open)
            pack_end(pack);
        begin_file(pack, str_skip(line, 1));
        is_open = true;
    }
    if (is_open)
        pack_end(pack);
    require(pack_finish(pack) >= 0);
    pack_free(pack);
}

static void look_at(const Bundle *bundle) {
    Arena *arena = arena_new(ROOM);

    for (size_t i = 0; arena && i < bundle->recording.n; i++) {
        const RecordedDecision *decision = &bundle->recording.decisions[i];

        if (!recorded_obstacle(decision))
            (void)recorded_request(&bundle->recording, decision, arena);
    }
    arena_free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Str input = str_of((const char *)data, size);
    Buf packed = BUF_INIT(ROOM);
    char error[BUNDLE_ERROR_MAX];
    Bundle bundle;
    int r;

    hash_set_key(1);
    if (str_has_prefix(input, STR("="))) {
        pack_files(input, &packed);
        input = buf_str(&packed);
    }
    r = bundle_read(input, &bundle, error);
    buf_done(&packed); /* it may be gone */
    if (r == 0)
        look_at(&bundle);
    bundle_done(&bundle);
    return 0;
}
