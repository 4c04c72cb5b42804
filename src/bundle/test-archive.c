/* Files into a .tar.gz and back, and invalid archives. */

#include "base/test-assert.h"
#include "bundle/archive.h"
#include "bundle/siphash.h"

#define BYTES_MAX ((size_t)1 << 24)

static void pack_two(Buf *out) {
    _cleanup_(pack_freep) Pack *pack = pack_new(out, 1000);
    char large[5000];

    for (size_t i = 0; i < sizeof(large); i++)
        large[i] = (char)(i * i);
    pack_begin(pack, STR("b/empty"));
    pack_end(pack);
    pack_begin(pack, STR("b/large"));
    pack_write(pack, str_of(large, 100));
    pack_write(pack, str_of(large + 100, sizeof(large) - 100));
    pack_end(pack);
    assert_int_equal(pack_finish(pack), 0);
}

static void test_round_trip(void **state) {
    _cleanup_(buf_done) Buf file = BUF_INIT(BYTES_MAX), again = BUF_INIT(BYTES_MAX),
                            text = BUF_INIT(BYTES_MAX);
    TarFile found;
    Str rest;

    pack_two(&file);
    pack_two(&again);
    assert_true(str_eq(buf_str(&file), buf_str(&again)));
    assert_int_equal(gunzip(buf_str(&file), &text), 0);
    assert_int_equal(text.len % TAR_BLOCK, 0);
    rest = buf_str(&text);
    assert_int_equal(tar_next(&rest, &found), 0);
    assert_text("name", found.name, "b/empty");
    assert_int_equal(found.content.len, 0);
    assert_int_equal(tar_next(&rest, &found), 0);
    assert_text("name", found.name, "b/large");
    assert_int_equal(found.content.len, 5000);
    for (size_t i = 0; i < 5000; i++)
        assert_int_equal(found.content.ptr[i], (char)(i * i));
    assert_int_equal(tar_next(&rest, &found), TAR_E_END);
    assert_int_equal(tar_next(&rest, &found), TAR_E_END);
}

/* Cut anywhere, or with an extra byte, an archive is damaged. */
static void test_cut_archive_is_damaged(void **state) {
    _cleanup_(buf_done) Buf file = BUF_INIT(BYTES_MAX);

    pack_two(&file);
    for (size_t len = 0; len < file.len; len++) {
        _cleanup_(buf_done) Buf text = BUF_INIT(BYTES_MAX);
        int r = gunzip(str_of(file.data, len), &text);
        Str rest = buf_str(&text);
        TarFile found;

        if (r != 0) {
            assert_int_equal(r, len < 2 ? GUNZIP_E_OTHER : GUNZIP_E_DAMAGED);
            continue;
        }
        while (r == 0) /* between two members: the archive ends too early */
            r = tar_next(&rest, &found);
        assert_int_equal(r, TAR_E_MALFORMED);
    }
    buf_append_char(&file, 'x');
    {
        _cleanup_(buf_done) Buf text = BUF_INIT(BYTES_MAX);

        assert_int_equal(gunzip(buf_str(&file), &text), GUNZIP_E_DAMAGED);
    }
}

/* Endless zeros in a small file. */
static void test_zip_bomb_is_rejected(void **state) {
    _cleanup_(buf_done) Buf file = BUF_INIT(BYTES_MAX), text = BUF_INIT(1 << 20);
    _cleanup_(gzip_freep) Gzip *gzip = gzip_new();
    static const char zeros[1 << 16];

    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(gzip_write(gzip, str_of(zeros, sizeof(zeros)), &file), 0);
    assert_int_equal(gzip_end(gzip, &file), 0);
    assert_int_equal(gunzip(buf_str(&file), &text), GUNZIP_E_LARGE);
    assert_true(text.len <= 1 << 20);
}

static void test_rejects_malformed_tar(void **state) {
    char block[2 * TAR_BLOCK] = "no tar at all";
    Str rest = str_of(block, sizeof(block));
    TarFile found;

    assert_int_equal(tar_next(&rest, &found), TAR_E_MALFORMED);
    tar_head(STR("b/x"), 1000, 0, block);
    rest = str_of(block, sizeof(block)); /* 1,000 bytes are missing */
    assert_int_equal(tar_next(&rest, &found), TAR_E_MALFORMED);
    tar_head(STR("b/x"), TAR_BLOCK, 0, block);
    block[0] = 'c'; /* the checksum is of another name */
    rest = str_of(block, sizeof(block));
    assert_int_equal(tar_next(&rest, &found), TAR_E_MALFORMED);
}

/* The vector of the SipHash paper: key and text are 0, 1, 2, … */
static void test_siphash(void **state) {
    const uint64_t key[2] = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
    char text[15];

    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (char)i;
    assert_true(siphash(str_of(text, sizeof(text)), key) == UINT64_C(0xa129ca6149be45e5));
    assert_true(siphash(STR_NULL, key) == UINT64_C(0x726fdb47dd0e0e31));
}

/* An archive is never so small that a reader rejects it as a zip bomb. */
static void test_ratio_is_bounded(void **state) {
    _cleanup_(buf_done) Buf file = BUF_INIT(BYTES_MAX), text = BUF_INIT(BYTES_MAX),
                            content = BUF_INIT(BYTES_MAX);
    _cleanup_(pack_freep) Pack *pack = pack_new(&file, 1000);
    TarFile found;
    Str rest;

    buf_append_repeat(&content, 'p', 8000000);
    for (unsigned i = 0; i < 100000; i++) /* and text that compresses less */
        buf_append_int(&content, (int64_t)i * i * i);
    pack_begin(pack, STR("b/a"));
    pack_write(pack, buf_str(&content));
    pack_end(pack);
    assert_int_equal(pack_finish(pack), 0);
    assert_true(file.len < content.len / 6);
    assert_int_equal(gunzip(buf_str(&file), &text), 0);
    assert_true(text.len < ARCHIVE_RATIO_MAX * file.len);
    rest = buf_str(&text);
    assert_int_equal(tar_next(&rest, &found), 0);
    assert_true(str_eq(found.content, buf_str(&content)));
    assert_int_equal(tar_next(&rest, &found), TAR_E_END);
}

/* Levels change in the middle of a file; the text stays as it was. */
static void test_text_survives_changes_of_level(void **state) {
    _cleanup_(buf_done) Buf file = BUF_INIT(BYTES_MAX), text = BUF_INIT(BYTES_MAX),
                            content = BUF_INIT(BYTES_MAX);
    _cleanup_(pack_freep) Pack *pack = pack_new(&file, 1000);
    TarFile found;
    uint64_t seed = 1;
    Str rest;

    pack_begin(pack, STR("b/a"));
    for (unsigned i = 0; i < 3000; i++) {
        size_t at = content.len;

        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        if (seed >> 63)
            buf_append_repeat(&content, 'p', (size_t)(seed >> 52 & 2047));
        else
            for (unsigned j = 0; j < (seed >> 52 & 127); j++)
                buf_append_int(&content, (int64_t)(seed >> j % 60));
        buf_append_char(&content, '\n');
        pack_write(pack, str_skip(buf_str(&content), at));
    }
    pack_end(pack);
    assert_int_equal(pack_finish(pack), 0);
    assert_int_equal(gunzip(buf_str(&file), &text), 0);
    rest = buf_str(&text);
    assert_int_equal(tar_next(&rest, &found), 0);
    assert_true(str_eq(found.content, buf_str(&content)));
    assert_true(text.len < ARCHIVE_RATIO_MAX * file.len);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_cut_archive_is_damaged),
        cmocka_unit_test(test_zip_bomb_is_rejected),
        cmocka_unit_test(test_ratio_is_bounded),
        cmocka_unit_test(test_text_survives_changes_of_level),
        cmocka_unit_test(test_rejects_malformed_tar),
        cmocka_unit_test(test_siphash),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
