#include "input/sources.h"

#include <errno.h>

#include "base/test-folder.h"
#include "input/file.h"

#define HEAD "apiVersion: berth.dev/v1alpha1\nkind: MetricSources\nsources:\n"

/* The messages, with @folder for the path of the folder. */
static void show(const Folder *folder, const DiagList *diags, Buf *shown) {
    _cleanup_(buf_done) Buf text = BUF_INIT(65536);
    Str rest, place = str_from_c(folder->path);
    const char *found;

    diag_list_print(diags, /* colour= */ false, &text);
    rest = buf_str(&text);
    while (rest.len > 0 && (found = memmem(rest.ptr, rest.len, place.ptr, place.len))) {
        buf_append(shown, str_of(rest.ptr, (size_t)(found - rest.ptr)));
        buf_append(shown, STR("@folder"));
        rest = str_skip(rest, (size_t)(found - rest.ptr) + place.len);
    }
    buf_append(shown, rest);
}

/* --- valid files ----------- */

static void assert_path(const Folder *folder, const char *got, const char *want) {
    char path[512];

    (void)snprintf(path, sizeof(path), "%s/%s", folder->path, want);
    assert_string_equal(got, path);
}

static void test_all_fields(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
    _cleanup_(buf_done) Buf text = BUF_INIT(65536);
    DiagList diags = DIAG_LIST_IN(arena);
    MetricSources sources = {0};
    const MetricSource *source;
    Folder folder;
    int r;

    (void)state;
    folder_init(&folder);
    (void)folder_write(&folder, "sources.yaml",
        STR(HEAD
            "  - name: default\n"
            "    url: https://thanos.monitoring.svc:9091/thanos/\n"
            "    bearerTokenFile: /var/run/token\n"
            "    tls: {caFile: ca.pem, certFile: ../c.pem, keyFile: k.pem, serverName: thanos}\n"
            "    headers: {X-Scope-OrgID: tenant-1, X-Number: 7}\n"
            "    allowLinkLocal: true\n"
            "  - name: other_1.x\n"
            "    url: https://h\n"
            "    basicAuth: {user: 'jane doe', passwordFile: password}\n"));
    r = sources_load(folder_path(&folder, "sources.yaml"), arena, &diags, &sources);
    show(&folder, &diags, &text);
    assert_text("messages", buf_str(&text), "");
    assert_int_equal(r, 0);
    assert_int_equal(sources.n, 2);

    source = sources_find(&sources, STR_NULL);
    assert_ptr_equal(source, &sources.items[0]);
    assert_string_equal(source->server.url, "https://thanos.monitoring.svc:9091/thanos/");
    assert_string_equal(source->server.token_file, "/var/run/token");
    assert_path(&folder, source->server.ca_file, "ca.pem");
    assert_path(&folder, source->server.cert_file, "../c.pem");
    assert_path(&folder, source->server.key_file, "k.pem");
    assert_string_equal(source->server.server_name, "thanos");
    assert_int_equal(source->server.n_headers, 2);
    assert_text("header", source->server.headers[0].name, "X-Scope-OrgID");
    assert_text("header", source->server.headers[0].value, "tenant-1");
    assert_text("header", source->server.headers[1].value, "7");
    assert_true(source->may_be_link_local);
    assert_false(source->server.is_insecure);
    assert_null(source->server.user);

    source = sources_find(&sources, STR("other_1.x"));
    assert_non_null(source);
    assert_string_equal(source->server.user, "jane doe");
    assert_path(&folder, source->server.password_file, "password");
    assert_null(source->server.token_file);
    assert_null(source->server.ca_file);
    assert_false(source->may_be_link_local);
    folder_done(&folder);
}

/* --- messages ---------------- */

/* test/data/sources: NAME.yaml gives exactly the text in NAME.expected, empty without messages.
 * With UPDATE_EXPECTED in the environment the files are rewritten; read them as a user would before
 * you commit them. */

static int is_input(const struct dirent *entry) {
    return str_has_suffix(str_from_c(entry->d_name), STR(".yaml"));
}

static void read_expected(const char *path, Buf *out) {
    char error[FILE_ERROR_MAX];

    if (file_read(path, out, error) < 0)
        fail_msg("%s", error);
}

static void update(const char *path, Str text) {
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(text.len > 0 ? text.ptr : "", 1, text.len, file), text.len);
    assert_int_equal(fclose(file), 0);
}

static void check_messages(const char *name) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
    _cleanup_(buf_done) Buf text = BUF_INIT(65536), want = BUF_INIT(65536);
    DiagList diags = DIAG_LIST_IN(arena);
    MetricSources sources = {0};
    char expected[256];
    int r;

    (void)snprintf(
        expected, sizeof(expected), "%.*s.expected", (int)(strlen(name) - strlen(".yaml")), name);
    r = sources_load(name, arena, &diags, &sources);
    assert_case(name, r == (diags.n_errors > 0 ? FILE_E_INVALID : 0));
    assert_case(name, (sources.n > 0) == (r == 0));
    diag_list_print(&diags, /* colour= */ false, &text);
    if (getenv("UPDATE_EXPECTED"))
        update(expected, buf_str(&text));
    read_expected(expected, &want);
    buf_append_char(&want, '\0');
    assert_text(name, buf_str(&text), want.data);
    assert_case(name, text.len == 0 || !memmem(text.data, text.len, "sesame", 6)); /* passwords */
}

static void test_messages(void **state) {
    struct dirent **entries = NULL;
    int n;

    (void)state;
    assert_int_equal(chdir(TEST_DATA "/sources"), 0);
    n = scandir(".", &entries, is_input, alphasort);
    assert_true(n > 0);
    for (int i = 0; i < n; i++) {
        check_messages(entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
}

static void test_unreadable(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
    _cleanup_(buf_done) Buf text = BUF_INIT(65536);
    DiagList diags = DIAG_LIST_IN(arena);
    MetricSources sources = {0};
    Folder folder;

    (void)state;
    folder_init(&folder);
    assert_int_equal(
        sources_load(folder_path(&folder, "none"), arena, &diags, &sources), FILE_E_UNREADABLE);
    assert_int_equal(sources_load(folder.path, arena, &diags, &sources), FILE_E_UNREADABLE);
    show(&folder, &diags, &text);
    assert_text("messages", buf_str(&text),
        "error: @folder/none: No such file or directory\n"
        "error: @folder: is a folder, not a file\n"
        "2 errors\n");
    folder_done(&folder);
}

/* Any allocation may fail: never half a list, never a crash. */
static void test_small_budgets(void **state) {
    bool has_worked = false;

    (void)state;
    assert_int_equal(chdir(TEST_DATA "/sources"), 0);
    for (size_t budget = 64; !has_worked && budget < ((size_t)1 << 20); budget += 512) {
        _cleanup_(arena_freep) Arena *arena = arena_new(budget);
        DiagList diags = DIAG_LIST_IN(arena);
        MetricSources sources = {0};
        int r = arena ? sources_load("good.yaml", arena, &diags, &sources) : -ENOMEM;

        assert_true(r == 0 || r == -ENOMEM || r == FILE_E_INVALID);
        assert_int_equal(sources.n, r == 0 ? 2 : 0);
        has_worked = r == 0;
    }
    assert_true(has_worked);
}

/* --- the flag --- */

static void test_urls(void **state) {
    static const struct {
        const char *url, *expected; /* NULL: valid */
    } cases[] = {
        {"http://prometheus:9090", NULL},
        {"https://h/prometheus/", NULL},
        {"prometheus:9090", "error: --prometheus: the url must begin with https:// (or http://)\n"
                            "  = for example https://prometheus.monitoring.svc:9090\n"
                            "1 error\n"},
        {"", "error: --prometheus: the url must begin with https:// (or http://)\n"
             "  = for example https://prometheus.monitoring.svc:9090\n"
             "1 error\n"},
        {"http://jane:sesame@h",
            "error: --prometheus: the url has a user in it\n"
            "  = basicAuth: {user: …, passwordFile: …} or bearerTokenFile: …, in a file of "
            "sources\n"
            "1 error\n"},
        {"http://h/api/v1", "error: --prometheus: the url ends in /api/v1\n"
                            "  = leave it out: berth appends it\n"
                            "1 error\n"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
        _cleanup_(buf_done) Buf text = BUF_INIT(65536);
        DiagList diags = DIAG_LIST_IN(arena);
        MetricSources sources = {0};
        int r = sources_gather(cases[i].url, NULL, arena, &diags, &sources);

        diag_list_print(&diags, /* colour= */ false, &text);
        assert_text(cases[i].url, buf_str(&text), cases[i].expected ? cases[i].expected : "");
        assert_case(cases[i].url, r == (cases[i].expected ? FILE_E_INVALID : 0));
        assert_case(cases[i].url, (sources.n == 1) == (r == 0));
        if (r == 0)
            assert_string_equal(sources_find(&sources, STR("default"))->server.url, cases[i].url);
    }
}

static void test_gathered(void **state) {
    static const struct {
        const char *name, *url, *file, *expected;
        int r;
        size_t n;
    } cases[] = {
        {"nothing", NULL, NULL, "", 0, 0},
        {"the flag", "http://h", NULL, "", 0, 1},
        {"the file", NULL, HEAD "  - {name: default, url: 'http://h'}\n", "", 0, 1},
        {"both", "http://h", HEAD "  - {name: b, url: 'http://h'}\n", "", 0, 2},
        {"two defaults", "http://h", HEAD "  - {name: default, url: 'http://h'}\n",
            "error: there are two sources named \"default\": --prometheus, and one in the file\n"
            "  = remove --prometheus, or call the one in @folder/s.yaml another name\n"
            "1 error\n",
            FILE_E_INVALID, 0},
        {"both are wrong", "h", HEAD "  - {name: b, url: h}\n",
            "error: --prometheus: the url must begin with https:// (or http://)\n"
            "  = for example https://prometheus.monitoring.svc:9090\n"
            "@folder/s.yaml:4:20: error: url must begin with https:// (or http://)\n"
            "  4 |   - {name: b, url: h}\n"
            "    |                    ^\n"
            "  = for example https://prometheus.monitoring.svc:9090\n"
            "2 errors\n",
            FILE_E_INVALID, 0},
    };
    Folder folder;

    (void)state;
    folder_init(&folder);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
        _cleanup_(buf_done) Buf text = BUF_INIT(65536);
        DiagList diags = DIAG_LIST_IN(arena);
        const char *path =
            cases[i].file ? folder_write(&folder, "s.yaml", str_from_c(cases[i].file)) : NULL;
        MetricSources sources = {0};
        int r = sources_gather(cases[i].url, path, arena, &diags, &sources);

        show(&folder, &diags, &text);
        assert_text(cases[i].name, buf_str(&text), cases[i].expected);
        assert_case(cases[i].name, r == cases[i].r && sources.n == cases[i].n);
        if (cases[i].url && r == 0)
            assert_ptr_equal(sources_find(&sources, STR_NULL), &sources.items[0]);
    }
    folder_done(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_fields),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_unreadable),
        cmocka_unit_test(test_small_budgets),
        cmocka_unit_test(test_urls),
        cmocka_unit_test(test_gathered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
