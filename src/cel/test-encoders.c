#include "cel/test-library.h"

#define DECODE "base64.decode", "(string) -> bytes"
#define ENCODE "base64.encode", "(bytes) -> string"

static void test_encodes_and_decodes(void **state) {
    const LibraryCase cases[] = {
        {ENCODE, {cel_bytes(STR("hello"))}, "\"aGVsbG8=\""},
        {ENCODE, {cel_bytes(STR_NULL)}, "\"\""},
        {ENCODE, {cel_bytes(STR("\0"))}, "\"AA==\""},
        {DECODE, {text("aGVsbG8=")}, "b\"hello\""},
        {DECODE, {text("aGVsbG8")}, "b\"hello\""},
        {DECODE, {text("Zh==")}, "b\"f\""},
        {DECODE, {text("aGVs\r\nbG8=\n")}, "b\"hello\""},
        {DECODE, {cel_string(STR_NULL)}, "b\"\""},
        {DECODE, {text("aGVsbG8==")}, "error: illegal base64 data"},
        {DECODE, {text("Z")}, "error: illegal base64 data"},
        {DECODE, {text("--__")}, "error: illegal base64 data"},
    };

    (void)state;
    library_check_all(cel_encoders_library, cases);
    library_starve_all(cel_encoders_library, cases);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_encodes_and_decodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
