#include "cel/test-library.h"

#define VALIDATE "kubernetes.NamedFormat.(string) -> optional_type(list(string))"

static CelValue format(const char *name, CelRun *run) {
    LibraryCase wanted = {
        "format.named", "(string) -> optional_type(kubernetes.NamedFormat)", {text(name)}, NULL};
    CelValue v = library_call(&cel_formats_library, &wanted, run);

    assert_case(name, v.kind == CEL_OPTIONAL && v.inner != NULL);
    return v.inner ? *v.inner : cel_absent();
}

#define TEN "a234567890"
#define SIXTY TEN TEN TEN TEN TEN TEN
#define LONG_LABEL SIXTY "1234"
#define LONG_SUBDOMAIN SIXTY "." SIXTY "." SIXTY "." SIXTY "." TEN

/* A part of each expected message; {0}: the text is valid. */
static void test_validates_texts(void **state) {
    static const struct {
        const char *format, *text;
        const char *wanted_parts[4];
    } cases[] = {
        {"dns1123Label", "my-name", {0}},
        {"dns1123Label", "1", {0}},
        {"dns1123Label", SIXTY "123", {0}},
        {"dns1123Label", LONG_LABEL, {"must be no more than 63 characters"}},
        {"dns1123Label", "a.b", {"must not contain dots"}},
        {"dns1123Label", "", {"a lowercase RFC 1123 label must consist"}},
        {"dns1123Label", "A", {"a lowercase RFC 1123 label must consist"}},
        {"dns1123Label", "a-", {"a lowercase RFC 1123 label must consist"}},
        {"dns1123Label", "-a", {"a lowercase RFC 1123 label must consist"}},
        {"dns1123Label", "\xc3\xa9", {"a lowercase RFC 1123 label must consist"}},
        {"dns1123Label", LONG_LABEL "_", {"63 characters", "a lowercase RFC 1123 label"}},
        {"dns1123Subdomain", "example.com", {0}},
        {"dns1123Subdomain", "a.b-c.1", {0}},
        {"dns1123Subdomain", "a..b", {"a lowercase RFC 1123 subdomain must consist"}},
        {"dns1123Subdomain", ".a", {"a lowercase RFC 1123 subdomain must consist"}},
        {"dns1123Subdomain", "a.", {"a lowercase RFC 1123 subdomain must consist"}},
        {"dns1123Subdomain", "", {"a lowercase RFC 1123 subdomain must consist"}},
        {"dns1123Subdomain", LONG_SUBDOMAIN, {"must be no more than 253 characters"}},
        {"dns1035Label", "abc-123", {0}},
        {"dns1035Label", "1abc", {"a DNS-1035 label must consist"}},
        {"dns1035Label", "", {"a DNS-1035 label must consist"}},
        {"dns1035Label", LONG_LABEL, {"must be no more than 63 characters"}},
        {"dns1123LabelPrefix", "a-", {0}},
        {"dns1123LabelPrefix", "--", {0}}, /* Kubernetes accepts it too */
        {"dns1123LabelPrefix", "-", {"a lowercase RFC 1123 label"}},
        {"dns1123LabelPrefix", SIXTY "123-", {0}},
        {"dns1123SubdomainPrefix", "a.-", {0}},
        {"dns1123SubdomainPrefix", LONG_SUBDOMAIN LONG_SUBDOMAIN "-", {"253 characters"}},
        {"dns1035LabelPrefix", "1-", {0}},
        {"dns1035LabelPrefix", "1--", {"a DNS-1035 label"}},
        {"qualifiedName", "MyName", {0}},
        {"qualifiedName", "example.com/My_Name.x", {0}},
        {"qualifiedName", "", {"name part must be non-empty", "name part must consist"}},
        {"qualifiedName", "/a", {"prefix part must be non-empty"}},
        {"qualifiedName", "a/b/c", {"a valid label key must consist"}},
        {"qualifiedName", "A/", {"prefix part a lowercase", "non-empty", "must consist"}},
        {"qualifiedName", LONG_SUBDOMAIN "_/" LONG_LABEL "_",
            {"253 bytes", "prefix part a lowercase", "63 bytes", "name part must consist"}},
        {"labelValue", "", {0}},
        {"labelValue", "My_Value.1", {0}},
        {"labelValue", "_a", {"a valid label must be an empty string or consist"}},
        {"labelValue", LONG_LABEL, {"must be no more than 63 bytes"}},
        {"uri", "http://x", {0}},
        {"uri", "abc", {"parse \"abc\": invalid URI for request"}},
        {"uuid", "12345678-1234-1234-1234-123456789ABC", {0}},
        {"uuid", "12345678123412341234123456789abc", {0}},
        {"uuid", "123456781234-12341234-123456789abc", {0}},
        {"uuid", "12345678-1234-1234-1234-123456789ab", {"does not match the UUID format"}},
        {"uuid", "12345678-1234-1234-1234-123456789abcd", {"does not match the UUID format"}},
        {"uuid", "12345678--1234-1234-1234-123456789abc", {"does not match the UUID format"}},
        {"uuid", "g2345678-1234-1234-1234-123456789abc", {"does not match the UUID format"}},
        {"uuid", "", {"does not match the UUID format"}},
        {"byte", "YQ==", {0}},
        {"byte", "YWI=", {0}},
        {"byte", "YR==", {0}}, /* bits left over */
        {"byte", "", {"invalid base64"}},
        {"byte", "=", {"invalid base64"}},
        {"byte", "Y===", {"invalid base64"}},
        {"byte", "YQ=", {"invalid base64"}},
        {"byte", "YQ==YQ==", {"invalid base64"}},
        {"byte", "Y-==", {"invalid base64"}},
        {"date", "2024-02-29", {0}},
        {"date", "0000-01-01", {0}},
        {"date", "2023-02-29", {"invalid date"}},
        {"date", "2024-2-9", {"invalid date"}},
        {"date", "2024-02-29T", {"invalid date"}},
        {"datetime", "2024-02-29T23:59:59Z", {0}},
        {"datetime", "2024-02-29t23:59:59.123456789012z", {0}},
        {"datetime", "2024-02-29T10:00:00+99:99", {0}},
        {"datetime", "2024-02-29T10:00:00,5Z", {0}},
        {"datetime", "2024-02-29T10:00:0012Z", {0}},
        {"datetime",
            "2024-02-29T10:00:00\xc3\xa9"
            "5Z",
            {0}},
        {"datetime", "2024-02-29T10:00:00+12Z", {0}},
        {"datetime", "2024-02-29T10:00:00Ztea", {0}},
        {"datetime", "2024-02-29T10:00:00.Z", {"invalid datetime"}},
        {"datetime", "2024-02-29T10:00:00\n5Z", {"invalid datetime"}},
        {"datetime", "2024-02-29T24:00:00Z", {"invalid datetime"}},
        {"datetime", "2024-02-29T10:60:00Z", {"invalid datetime"}},
        {"datetime", "2024-02-29T10:00:60Z", {"invalid datetime"}},
        {"datetime", "2024-02-29T10-00-00Z", {"invalid datetime"}},
        {"datetime", "2024-02-29T10:00:00", {"invalid datetime"}},
        {"datetime", "2024-02-29 10:00:00Z", {"invalid datetime"}},
        {"datetime", "2024-02-30T10:00:00Z", {"invalid datetime"}},
        {"datetime", "2024-02-29T", {"invalid datetime"}},
        {"datetime", "", {"invalid datetime"}},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(1 << 20);
        CelRun run = CEL_RUN(arena);
        LibraryCase wanted = {
            "validate", VALIDATE, {format(cases[i].format, &run), text(cases[i].text)}, ""};
        CelValue v = library_call(&cel_formats_library, &wanted, &run);
        const char *name = cases[i].text;
        size_t n = 0;

        assert_case(name, v.kind == CEL_OPTIONAL);
        for (; n < 4 && cases[i].wanted_parts[n]; n++) {
            Str got;

            assert_case(name, v.inner && n < v.inner->list->n);
            got = cel_str(v.inner->list->items[n]);
            assert_case(name, memmem(got.ptr, got.len, cases[i].wanted_parts[n],
                                  strlen(cases[i].wanted_parts[n])));
        }
        assert_case(name, (v.inner ? v.inner->list->n : 0) == n);
        library_starve(&cel_formats_library, &wanted);
    }
}

/* Messages are compared word for word. */
static void test_messages_word_for_word(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 20);
    CelRun run = CEL_RUN(arena);
    const LibraryCase cases[] = {
        {"validate", VALIDATE, {format("dns1035Label", &run), text("1")},
            "optional.of([\"a DNS-1035 label must consist of lower case alphanumeric characters "
            "or '-', start with an alphabetic character, and end with an alphanumeric character "
            "(e.g. 'my-name',  or 'abc-123', regex used for validation is "
            "'[a-z]([-a-z0-9]*[a-z0-9])?')\"])"},
        {"validate", VALIDATE, {format("labelValue", &run), text("-")},
            "optional.of([\"a valid label must be an empty string or consist of alphanumeric "
            "characters, '-', '_' or '.', and must start and end with an alphanumeric character "
            "(e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
            "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')\"])"},
        {"validate", VALIDATE, {format("uuid", &run), text("x")},
            "optional.of([\"does not match the UUID format\"])"},
        {"validate", VALIDATE, {format("uuid", &run), text("12345678123412341234123456789ABC")},
            "optional.none()"},
    };

    (void)state;
    library_check_all(cel_formats_library, cases);
}

static void test_finds_formats_by_name(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 20);
    CelRun run = CEL_RUN(arena);
    const LibraryCase cases[] = {
        {"format.named", "(string) -> optional_type(kubernetes.NamedFormat)", {text("uri")},
            "optional.of(format.uri())"},
        {"format.named", "(string) -> optional_type(kubernetes.NamedFormat)", {text("URI")},
            "optional.none()"},
        {"format.dns1123Label", "() -> kubernetes.NamedFormat", {cel_null()},
            "format.dns1123Label()"},
    };

    (void)state;
    library_check_all(cel_formats_library, cases);
    assert_true(cel_equal(format("uri", &run), format("uri", &run), &run));
    assert_false(cel_equal(format("uri", &run), format("uuid", &run), &run));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_validates_texts),
        cmocka_unit_test(test_messages_word_for_word),
        cmocka_unit_test(test_finds_formats_by_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
