/*
 * Reads any bytes as a bundle. Bytes that begin with "=" are files as text, which are packed first,
 * so that the fuzzer gets past the checksums:
 *
 *     =about.json
 *     {"bundle":1,…}
 *     =decisions.jsonl
 *     …
 *
 * See fuzz-bundle.h.
 */

#include "bundle/fuzz-bundle.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    _cleanup_(buf_done) Buf file = BUF_INIT(FUZZ_ROOM);
    Str input = str_of((const char *)data, size);

    if (str_has_prefix(input, STR("=")))
        pack_files(input, &file);
    else
        buf_append(&file, input);
    fuzz_bundle(&file);
    return 0;
}
