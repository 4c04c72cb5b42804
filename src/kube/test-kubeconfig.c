/*
 * Kubeconfigs as data: the files NAME.test in test/data/kube/kubeconfig, one YAML document per
 * case:
 *
 *     case: what it tests
 *     files:                 # in order of precedence
 *       home/config: |
 *         current-context: dev
 *         ...
 *     context: dev           # default: the current one
 *     expect: |              # all values, one per line; or
 *       server https://...
 *     error: home/config:1:2: ...
 */

#include "kube/kubeconfig.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/test-assert.h"
#include "kube/access.h"
#include "yaml/document.h"

#define FOLDER TEST_DATA "/kube/kubeconfig"

static void show_text(Buf *out, const char *name, const char *text) {
    if (text)
        buf_printf(out, "%s %s\n", name, text);
}

/* Shows only the first line of PEM. */
static void show_secret(Buf *out, const char *name, const Secret *secret) {
    if (secret->text)
        buf_printf(out, "%s text %.*s\n", name, (int)strcspn(secret->text, "\n"), secret->text);
    if (secret->path)
        buf_printf(out, "%s file %s\n", name, secret->path);
}

static void show_exec(Buf *out, const ExecSpec *spec) {
    buf_printf(out, "exec %s %s", spec->api_version, spec->command);
    for (size_t i = 0; i < spec->n_args; i++)
        buf_printf(out, " [%s]", spec->args[i]);
    buf_append_char(out, '\n');
    for (size_t i = 0; i < spec->n_env; i++)
        buf_printf(out, "exec env %s=%s\n", spec->env[i].name, spec->env[i].value);
    if (spec->wants_cluster)
        buf_append(out, STR("exec wants cluster\n"));
    show_text(out, "exec config", spec->cluster_config);
    show_text(out, "exec hint", spec->install_hint);
}

static void show(Buf *out, const Kubeconfig *config) {
    buf_printf(out, "context %s of %s\n", config->context, config->file);
    show_text(out, "server", config->server);
    show_secret(out, "ca", &config->ca);
    if (config->is_insecure)
        buf_append(out, STR("insecure\n"));
    show_text(out, "tls-server-name", config->tls_server_name);
    show_text(out, "proxy", config->proxy_url);
    show_secret(out, "certificate", &config->client_cert);
    show_secret(out, "key", &config->client_key);
    show_secret(out, "token", &config->token);
    show_text(out, "user", config->user);
    show_text(out, "password", config->password);
    if (config->exec)
        show_exec(out, config->exec);
}

static const char *c_text(const YamlNode *document, Str key) {
    const YamlNode *node = yaml_find(document, key);

    return node ? node->text.ptr : NULL; /* YAML texts have a NUL after them */
}

static void run_case(const YamlNode *document) {
    const char *name = c_text(document, STR("case"));
    const char *expect = c_text(document, STR("expect"));
    const char *complaint = c_text(document, STR("error"));
    const YamlNode *files = yaml_find(document, STR("files"));
    KubeconfigFile given[8];
    _cleanup_(kubeconfig_done) Kubeconfig config = {0};
    _cleanup_(buf_done) Buf out = BUF_INIT(65536);
    char error[ACCESS_ERROR_MAX] = "";
    int r;

    assert_non_null(name);
    assert_case(name, files && files->n > 0 && files->n <= ELEMENTS_OF(given));
    assert_case(name, !expect != !complaint);
    for (size_t i = 0; i < files->n; i++)
        given[i] = (KubeconfigFile){
            .path = files->pairs[i].key->text.ptr, .text = files->pairs[i].value->text};
    r = kubeconfig_read(given, files->n, c_text(document, STR("context")), &config, error);
    if (complaint) {
        assert_text(name, str_from_c(error), complaint);
        assert_case(name, r < 0);
        return;
    }
    if (r < 0)
        fail_msg("%s: %s", name, error);
    show(&out, &config);
    assert_text(name, buf_str(&out), expect);
}

static size_t run_file(const char *path) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)64 << 20);
    DiagList diags = DIAG_LIST_IN(arena);
    char error[ACCESS_ERROR_MAX];
    YamlStream stream = {0};
    FileMark mark;
    Str text;

    if (secret_read_file(path, ACCESS_FILE_MAX, &text, &mark, error) < 0)
        fail_msg("%s", error);
    if (yaml_parse(str_from_c(path), text, arena, &diags, &stream) < 0) {
        _cleanup_(buf_done) Buf out = BUF_INIT(65536);

        diag_list_print(&diags, false, &out);
        fail_msg("%.*s", STR_FMT(buf_str(&out)));
    }
    for (size_t i = 0; i < stream.n_documents; i++)
        run_case(stream.documents[i]);
    free((void *)(uintptr_t)text.ptr);
    return stream.n_documents;
}

static void test_reads_contexts(void **state) {
    DIR *folder = opendir(FOLDER);
    struct dirent *entry;
    size_t n = 0;

    (void)state;
    assert_non_null(folder);
    while ((entry = readdir(folder))) {
        char path[1024];

        if (!str_has_suffix(str_from_c(entry->d_name), STR(".test")))
            continue;
        (void)snprintf(path, sizeof(path), FOLDER "/%s", entry->d_name);
        n += run_file(path);
    }
    (void)closedir(folder);
    assert_true(n > 0);
}

static void test_messages_keep_secrets(void **state) {
    static const char *const users[] = {
        "token: 's3cret with blanks'",
        "token: *s3cret",
        "token: !s3cret x",
        "token: [s3cret]",
        "token: 1234567890s3cret\n    token: s3cret2",
        "password: {s3cret: s3cret}",
        "client-key-data: s3cret!",
        "client-key-data: czNjcmV0",
        "username: 's3:cret'\n    password: s3cret",
        "token: \"s3cret\\q\"",
        "token: \"s3cret",
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(users); i++) {
        _cleanup_(kubeconfig_done) Kubeconfig config = {0};
        char text[1024], error[ACCESS_ERROR_MAX] = "";

        (void)snprintf(text, sizeof(text),
            "current-context: c\n"
            "contexts: [{name: c, context: {cluster: k, user: u}}]\n"
            "clusters: [{name: k, cluster: {server: 'https://h'}}]\n"
            "users:\n- name: u\n  user:\n    %s\n",
            users[i]);
        assert_case(
            users[i], kubeconfig_read(&(KubeconfigFile){.path = "f", .text = str_from_c(text)}, 1,
                          NULL, &config, error) < 0);
        assert_case(users[i], error[0] != '\0');
        if (strstr(error, "cret"))
            fail_msg("%s", error);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_contexts),
        cmocka_unit_test(test_messages_keep_secrets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
