#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/test-assert.h"
#include "wiring/scheduler-config.h"

#define BUDGET ((size_t)8 * 1024 * 1024)
#define TEXT_MAX ((size_t)1024 * 1024)

/* test/data/wiring: the messages about NAME.yaml or NAME.json and, if it is valid, the parsed
 * configuration are exactly the text in NAME.expected. With UPDATE_EXPECTED in the environment the
 * files are rewritten; read them as a user would before you commit them. */

static void read_file(const char *path, Buf *out) {
    FILE *file = fopen(path, "rb");
    char piece[4096];
    size_t n;

    if (!file)
        fail_msg("%s cannot be read", path);
    while ((n = fread(piece, 1, sizeof(piece), file)) > 0)
        buf_append(out, str_of(piece, n));
    assert_int_equal(fclose(file), 0);
    assert_int_equal(buf_error(out), 0);
}

static void write_file(const char *path, Str text) {
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(text.len > 0 ? text.ptr : "", 1, text.len, file), text.len);
    assert_int_equal(fclose(file), 0);
}

static void show_text(Buf *out, const char *name, Str text) {
    if (text.len > 0)
        buf_printf(out, " %s=%.*s", name, (int)(text.len > 60 ? 60 : text.len), text.ptr);
}

static void show_flag(Buf *out, const char *name, bool flag) {
    if (flag)
        buf_printf(out, " %s", name);
}

static void show_extender(const ExtenderEntry *entry, Buf *out) {
    buf_printf(out, "extender at line %zu:", entry->place.line);
    show_text(out, "url", entry->url_prefix);
    show_text(out, "filter", entry->filter_verb);
    show_text(out, "preempt", entry->preempt_verb);
    show_text(out, "prioritize", entry->prioritize_verb);
    show_text(out, "bind", entry->bind_verb);
    buf_printf(
        out, " weight=%lld nsec=%lld", (long long)entry->weight, (long long)entry->timeout_nsec);
    show_flag(out, "https", entry->is_https);
    show_flag(out, "names", entry->is_node_cache_capable);
    show_flag(out, "ignorable", entry->is_ignorable);
    show_flag(out, "tls", entry->tls.is_given);
    show_flag(out, "insecure", entry->tls.is_insecure);
    show_text(out, "server-name", entry->tls.server_name);
    show_text(out, "ca", entry->tls.ca_file);
    show_text(out, "ca-data", entry->tls.ca_data);
    show_text(out, "cert", entry->tls.cert_file);
    show_text(out, "cert-data", entry->tls.cert_data);
    show_text(out, "key", entry->tls.key_file);
    show_text(out, "key-data", entry->tls.key_data);
    for (size_t i = 0; i < entry->n_managed; i++) {
        show_text(out, "manages", entry->managed[i].name);
        show_flag(out, "(ignored)", entry->managed[i].is_ignored_by_scheduler);
    }
    buf_append_char(out, '\n');
}

static void show(const SchedulerConfig *config, Buf *out) {
    buf_printf(out, "%s", config->format == WIRING_POLICY ? "policy" : "configuration");
    show_text(out, "version", config->api_version);
    for (size_t i = 0; i < config->n_scheduler_names; i++)
        show_text(out, "for", config->scheduler_names[i]);
    buf_printf(out, " percentage=%d", config->percentage);
    show_flag(out, "leader", config->has_leader_election);
    show_text(out, "lease-namespace", config->lease_namespace);
    show_text(out, "lease", config->lease_name);
    show_text(out, "kubeconfig", config->kubeconfig);
    show_text(out, "policy-file", config->policy_file);
    show_text(out, "policy-namespace", config->policy_map_namespace);
    show_text(out, "policy-name", config->policy_map_name);
    buf_append_char(out, '\n');
    for (size_t i = 0; i < config->n_extenders; i++)
        show_extender(&config->extenders[i], out);
}

static void check_case(const char *name) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    _cleanup_(buf_done) Buf source = BUF_INIT(TEXT_MAX), got = BUF_INIT(TEXT_MAX);
    _cleanup_(buf_done) Buf want = BUF_INIT(TEXT_MAX);
    DiagList diags = DIAG_LIST_IN(arena);
    SchedulerConfig config;
    char expected[300];
    int r;

    read_file(name, &source);
    r = scheduler_config_read(str_from_c(name), buf_str(&source), arena, &diags, &config);
    assert_case(name, (r != 0) == (diags.n_errors > 0));
    diag_list_print(&diags, /* colour= */ false, &got);
    if (r == WIRING_E_UNREAD)
        buf_append(&got, STR("kube-scheduler may read it\n"));
    if (r == 0)
        show(&config, &got);
    (void)snprintf(
        expected, sizeof(expected), "%.*s.expected", (int)(strrchr(name, '.') - name), name);
    if (getenv("UPDATE_EXPECTED"))
        write_file(expected, buf_str(&got));
    read_file(expected, &want);
    buf_append_char(&want, '\0');
    assert_text(name, buf_str(&got), want.data);
    assert_case(name, !memmem(got.data, got.len, "sesame", 6)); /* keys */
}

static int is_input(const struct dirent *entry) {
    Str name = str_from_c(entry->d_name);

    return str_has_suffix(name, STR(".yaml")) || str_has_suffix(name, STR(".json"));
}

static void test_messages_and_configurations_are_as_expected(void **state) {
    struct dirent **entries = NULL;
    int n;

    (void)state;
    assert_int_equal(chdir(TEST_DATA "/wiring"), 0);
    n = scandir(".", &entries, is_input, alphasort);
    assert_true(n >= 25);
    for (int i = 0; i < n; i++) {
        check_case(entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
}

/* Any allocation may fail: the result is an error, never a partial configuration. */
static void test_reports_out_of_memory(void **state) {
    _cleanup_(buf_done) Buf source = BUF_INIT(TEXT_MAX);
    bool has_worked = false;

    (void)state;
    read_file(TEST_DATA "/wiring/good-v1.yaml", &source);
    for (size_t budget = 64; !has_worked && budget < BUDGET; budget += 256) {
        _cleanup_(arena_freep) Arena *arena = arena_new(budget);
        DiagList diags = DIAG_LIST_IN(arena);
        SchedulerConfig config = {0};
        int r = arena ? scheduler_config_read(STR("file"), buf_str(&source), arena, &diags, &config)
                      : -ENOMEM;

        assert_true(r == 0 || r == -ENOMEM);
        has_worked = r == 0;
        assert_true(!has_worked || (config.n_extenders == 1 && config.extenders[0].n_managed == 2));
    }
    assert_true(has_worked);
}

static void test_recognizes_the_same_server(void **state) {
    static const struct {
        const char *url, *prefix;
        bool is_same;
    } cases[] = {
        {"http://127.0.0.1:8080", "http://127.0.0.1:8080/", true},
        {"http://127.0.0.1:8080", "http://localhost:8080/scheduler", true},
        {"http://[::1]:8080", "http://127.0.0.2:8080", true},
        {"http://127.0.0.1:8080", "http://127.0.0.1:8081", false},
        {"http://127.0.0.1:8080", "https://127.0.0.1:8080", false},
        {"https://berth", "https://BERTH:443", true},
        {"http://berth", "http://berth:80/x", true},
        {"https://berth:8443", "https://berth.berth-system:8443", false},
        {"berth:8443", "berth:8443", false},
        {"", "", false},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Str url = str_from_c(cases[i].url), prefix = str_from_c(cases[i].prefix);

        assert_case(cases[i].url, wiring_is_same_server(url, prefix) == cases[i].is_same);
        assert_case(cases[i].prefix, wiring_is_same_server(prefix, url) == cases[i].is_same);
    }
}

static void test_computes_the_share_of_a_weight(void **state) {
    static const struct {
        int64_t weight;
        double percent;
    } cases[] = {{1, 7.7}, {5, 29.4}, {12, 50}, {13, 52}, {0, 0}, {-5, 0}, {INT64_MAX, 100}};

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        double difference = 100 * wiring_weight_share(cases[i].weight) - cases[i].percent;

        if (difference < -0.05 || difference > 0.05)
            fail_msg("weight %lld: %g more than %g", (long long)cases[i].weight, difference,
                cases[i].percent);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages_and_configurations_are_as_expected),
        cmocka_unit_test(test_reports_out_of_memory),
        cmocka_unit_test(test_recognizes_the_same_server),
        cmocka_unit_test(test_computes_the_share_of_a_weight),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
