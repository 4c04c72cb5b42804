#include "kube/access.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/buf.h"
#include "base/test-folder.h"

#define SEC NSEC_PER_SEC
#define PEM(text) "-----BEGIN X-----\n" text "\n-----END X-----\n"
#define V1 "client.authentication.k8s.io/v1"

static char error[ACCESS_ERROR_MAX];

static void assert_says(const char *part) {
    if (!strstr(error, part))
        fail_msg("\"%s\" is not in \"%s\"", part, error);
}

/* One context with this cluster and this user. */
static const char *write_config(Folder *folder, const char *cluster, const char *user) {
    char text[8192];

    (void)snprintf(text,
        sizeof(text),
        "current-context: c\n"
        "contexts: [{name: c, context: {cluster: k, user: u}}]\n"
        "clusters: [{name: k, cluster: {server: 'https://h'%s%s}}]\n"
        "users: [{name: u, user: {%s}}]\n",
        cluster[0] ? ", " : "",
        cluster,
        user);
    return folder_replace(folder, "config", text);
}

static Access *open_config(const char *path) {
    Access *access = NULL;

    if (access_from_kubeconfig(path, NULL, &access, error) < 0)
        fail_msg("%s", error);
    return access;
}

static Credentials authorize(Access *access, int64_t now_nsec, int64_t wall_sec) {
    Credentials credentials;

    if (access_authorize(access, now_nsec, wall_sec, &credentials, error) < 0)
        fail_msg("%s", error);
    return credentials;
}

/* --- where it is looked for --- */

static void test_default_places(void **state) {
    char list[512], want[256];
    Folder folder;
    Access *access = NULL;

    (void)state;
    folder_init(&folder);
    assert_int_equal(setenv("HOME", folder.path, 1), 0);
    assert_int_equal(unsetenv("KUBECONFIG"), 0);
    assert_int_equal(access_from_kubeconfig(NULL, NULL, &access, error), -ENOENT);
    assert_says("/.kube/config is not there");

    assert_int_equal(mkdir(folder_path(&folder, ".kube"), 0700), 0);
    (void)snprintf(list, sizeof(list), "%s", write_config(&folder, "", "token: abc"));
    assert_int_equal(rename(list, folder_path(&folder, ".kube/config")), 0);
    access = open_config(NULL);
    assert_string_equal(access_server(access), "https://h");
    (void)snprintf(want, sizeof(want), "context c of %s/.kube/config", folder.path);
    assert_string_equal(access_origin(access), want);
    assert_false(access_is_insecure(access));
    access = access_free(access);

    assert_int_equal(setenv("KUBECONFIG", "/nowhere/a:/nowhere/b", 1), 0);
    assert_int_equal(access_from_kubeconfig(NULL, NULL, &access, error), -ENOENT);
    assert_says("no file of KUBECONFIG is there: /nowhere/a:/nowhere/b");

    /* Those that are not there do not count; empty names neither. */
    (void)write_config(&folder, "insecure-skip-tls-verify: true", "");
    (void)snprintf(list, sizeof(list), ":/nowhere/a::%s/config:", folder.path);
    assert_int_equal(setenv("KUBECONFIG", list, 1), 0);
    access = open_config(NULL);
    (void)snprintf(want, sizeof(want), "context c of %s/config", folder.path);
    assert_string_equal(access_origin(access), want);
    assert_true(access_is_insecure(access));
    access = access_free(access);

    /* One that is there is not read if it cannot be. */
    (void)snprintf(list, sizeof(list), "%s/config:%s", folder.path, folder.path);
    assert_int_equal(setenv("KUBECONFIG", list, 1), 0);
    assert_int_equal(access_from_kubeconfig(NULL, NULL, &access, error), -EISDIR);
    assert_says("is a folder, not a file");

    assert_int_equal(unsetenv("KUBECONFIG"), 0);
    assert_int_equal(unsetenv("HOME"), 0);
    assert_int_equal(access_from_kubeconfig(NULL, NULL, &access, error), -ENOENT);
    assert_says("KUBECONFIG and HOME are not set");
    folder_done(&folder);
}

static void test_too_many_files(void **state) {
    _cleanup_(buf_done) Buf list = BUF_INIT(65536);
    Folder folder;
    Access *access = NULL;

    (void)state;
    folder_init(&folder);
    (void)write_config(&folder, "", "token: abc");
    for (int i = 0; i < 65; i++)
        buf_printf(&list, "%s/config:", folder.path);
    buf_append_char(&list, '\0');
    assert_int_equal(setenv("KUBECONFIG", list.data, 1), 0);
    assert_int_equal(access_from_kubeconfig(NULL, NULL, &access, error), -E2BIG);
    assert_string_equal(error, "KUBECONFIG names more than 64 files");
    assert_int_equal(unsetenv("KUBECONFIG"), 0);
    folder_done(&folder);
}

/* With a kubeconfig that, without one what a pod has; which this is none of. */
static void test_find(void **state) {
    Folder folder;
    Access *access = NULL;

    (void)state;
    folder_init(&folder);
    assert_int_equal(access_find(write_config(&folder, "", "token: abc"), "c", &access, error), 0);
    assert_string_equal(access_server(access), "https://h");
    access = access_free(access);
    (void)unsetenv("KUBERNETES_SERVICE_HOST");
    assert_int_equal(access_find(NULL, NULL, &access, error), -ENOENT);
    assert_says("not in a pod");
    folder_done(&folder);
}

static void test_refused(void **state) {
    static const struct {
        const char *name, *cluster, *user, *says;
        int r;
    } cases[] = {
        {"no CA file", "certificate-authority: none", "", "none: No such file", -ENOENT},
        {"a CA that is none", "certificate-authority: text", "", "text: is not PEM", -EINVAL},
        {"a folder", "certificate-authority: .", "", "is a folder, not a file", -EISDIR},
        {"no token file", "", "tokenFile: none", "none: No such file", -ENOENT},
        {"an empty token", "", "tokenFile: empty", "empty: is empty", -EINVAL},
        {"two tokens", "", "tokenFile: lines", "lines: is no token", -EINVAL},
        {"a long token", "", "tokenFile: long", "long: is larger than 64 KiB", -EFBIG},
        {"a long CA", "certificate-authority: longer", "", "is larger than 1024 KiB", -EFBIG},
    };
    Folder folder;
    char *many = malloc(2000000);

    (void)state;
    assert_non_null(many);
    folder_init(&folder);
    memset(many, 'x', 2000000);
    many[1999999] = '\0';
    (void)folder_replace(&folder, "longer", many);
    many[ACCESS_TOKEN_MAX + 1] = '\0';
    (void)folder_replace(&folder, "long", many);
    (void)folder_replace(&folder, "text", "hello");
    (void)folder_replace(&folder, "empty", "\n");
    (void)folder_replace(&folder, "lines", "one\ntwo\n");
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Access *access = NULL;
        const char *path = write_config(&folder, cases[i].cluster, cases[i].user);

        assert_case(
            cases[i].name, access_from_kubeconfig(path, NULL, &access, error) == cases[i].r);
        assert_says(cases[i].says);
        assert_says("context c of /tmp/");
    }
    free(many);
    folder_done(&folder);
}

static void test_no_file(void **state) {
    Access *access = NULL;

    (void)state;
    assert_int_equal(access_from_kubeconfig("/nowhere/x", NULL, &access, error), -ENOENT);
    assert_string_equal(error, "/nowhere/x: No such file or directory");
}

/* --- files that change --- */

static void test_rotation(void **state) {
    Folder folder;
    _cleanup_(access_freep) Access *access = NULL;
    Credentials first, second;

    (void)state;
    folder_init(&folder);
    (void)folder_replace(&folder, "ca", PEM("one"));
    (void)folder_replace(&folder, "token", "  first\n");
    access = open_config(write_config(&folder, "certificate-authority: ca", "tokenFile: token"));
    first = authorize(access, 0, 0);
    assert_string_equal(first.token, "first");
    assert_string_equal(first.ca_pem, PEM("one"));
    assert_null(first.user);
    assert_null(first.client_cert_pem);

    /* Looked at once a second. */
    (void)folder_replace(&folder, "token", "second");
    second = authorize(access, SEC / 2, 0);
    assert_string_equal(second.token, "first");
    assert_int_equal(second.version, first.version);
    second = authorize(access, SEC, 0);
    assert_string_equal(second.token, "second");
    assert_int_not_equal(second.version, first.version);
    first = second;

    /* The same text again is no change. */
    (void)folder_replace(&folder, "token", "second\n");
    assert_int_equal(authorize(access, 2 * SEC, 0).version, first.version);

    /* Gone, or broken, for a moment: what was there stays. */
    assert_int_equal(unlink(folder_path(&folder, "token")), 0);
    assert_string_equal(authorize(access, 3 * SEC, 0).token, "second");
    (void)folder_replace(&folder, "token", "");
    assert_int_equal(authorize(access, 4 * SEC, 0).version, first.version);

    /* Unless the API server does not take it any more. */
    access_reject(access);
    assert_int_equal(access_authorize(access, 4 * SEC, 0, &second, error), -EINVAL);
    assert_says("token: is empty");
    (void)folder_replace(&folder, "token", "third");
    second = authorize(access, 4 * SEC, 0);
    assert_string_equal(second.token, "third");
    assert_int_not_equal(second.version, first.version);
    first = second;

    (void)folder_replace(&folder, "ca", PEM("two"));
    second = authorize(access, 5 * SEC, 0);
    assert_string_equal(second.ca_pem, PEM("two"));
    assert_int_not_equal(second.version, first.version);
    folder_done(&folder);
}

/* Nothing else can be had: the same version says so. */
static void test_rejected_for_good(void **state) {
    Folder folder;
    _cleanup_(access_freep) Access *access = NULL;
    Credentials first;

    (void)state;
    folder_init(&folder);
    access = open_config(write_config(&folder, "", "username: jane"));
    first = authorize(access, 0, 0);
    assert_string_equal(first.user, "jane");
    assert_string_equal(first.password, "");
    access_reject(access);
    assert_int_equal(authorize(access, 0, 0).version, first.version);
    folder_done(&folder);
}

/* A token is good until its file was read, and stays when the file is not there. */
static void test_token_and_file(void **state) {
    Folder folder;
    _cleanup_(access_freep) Access *access = NULL;

    (void)state;
    folder_init(&folder);
    access = open_config(write_config(&folder, "", "token: inline, tokenFile: token"));
    assert_string_equal(authorize(access, 0, 0).token, "inline");
    (void)folder_replace(&folder, "token", "filed");
    assert_string_equal(authorize(access, SEC, 0).token, "filed");
    folder_done(&folder);
}

/* --- plugins --- */

/* Writes a plugin that counts its runs and gives token-N until @expires. */
static void write_plugin(Folder *folder, const char *expires) {
    char script[2048];

    (void)snprintf(script,
        sizeof(script),
        "cd %s; echo x >>runs; [ -e fail ] && { echo broken >&2; exit 1; }\n"
        "[ -e slow ] && sleep %d\n"
        "printf '{\"apiVersion\":\"" V1 "\",\"kind\":\"ExecCredential\",\"status\":{"
        "\"token\":\"token-%%s\",\"expirationTimestamp\":%s}}' $(wc -l <runs)",
        folder->path,
        ACCESS_PLUGIN_REFRESH_SEC + 1,
        expires);
    (void)folder_write_script(folder, "plugin", script);
}

static unsigned count_runs(Folder *folder) {
    FILE *file = fopen(folder_path(folder, "runs"), "r");
    unsigned n = 0;
    int c;

    while (file && (c = fgetc(file)) != EOF)
        n += c == 'x';
    if (file)
        (void)fclose(file);
    return n;
}

static Access *open_plugin(Folder *folder, const char *expires) {
    folder_init(folder);
    write_plugin(folder, expires);
    return open_config(write_config(
        folder, "", "exec: {apiVersion: " V1 ", command: ./plugin, interactiveMode: Never}"));
}

static void test_plugin_is_asked_once(void **state) {
    Folder folder;
    _cleanup_(access_freep) Access *access = open_plugin(&folder, "null");

    (void)state;
    assert_int_equal(count_runs(&folder), 0); /* not before it is needed */
    for (int i = 0; i < 3; i++)
        assert_string_equal(authorize(access, i * 100 * SEC, i * 1000000).token, "token-1");
    assert_int_equal(count_runs(&folder), 1);
    folder_done(&folder);
}

/* Good until 1970-01-01T00:16:40Z = 1000; a tenth of its life before that it is replaced. */
static void test_plugin_expiry(void **state) {
    Folder folder;
    _cleanup_(access_freep) Access *access = open_plugin(&folder, "\"1970-01-01T00:16:40Z\"");
    Credentials first = authorize(access, 0, 800), second;

    (void)state;
    assert_string_equal(first.token, "token-1");
    assert_string_equal(authorize(access, 100 * SEC, 979).token, "token-1");
    second = authorize(access, 101 * SEC, 980);
    assert_string_equal(second.token, "token-2");
    assert_int_not_equal(second.version, first.version);
    folder_done(&folder);
}

/* The same token, and a certificate that is another one: another identity. */
static void test_plugin_gives_another_certificate(void **state) {
    Folder folder;
    _cleanup_(access_freep) Access *access = NULL;
    Credentials first, second;
    char script[2048];

    (void)state;
    folder_init(&folder);
    (void)snprintf(script,
        sizeof(script),
        "cd %s; echo x >>runs\n"
        "printf '{\"apiVersion\":\"" V1 "\",\"kind\":\"ExecCredential\",\"status\":{\"token\":"
        "\"t\",\"clientCertificateData\":\"-----BEGIN C%%s\",\"clientKeyData\":\"-----BEGIN K\","
        "\"expirationTimestamp\":\"1970-01-01T00:16:40Z\"}}' $(wc -l <runs)",
        folder.path);
    (void)folder_write_script(&folder, "plugin", script);
    access = open_config(write_config(
        &folder, "", "exec: {apiVersion: " V1 ", command: ./plugin, interactiveMode: Never}"));
    first = authorize(access, 0, 0);
    assert_string_equal(first.client_cert_pem, "-----BEGIN C1");
    second = authorize(access, 100 * SEC, 990);
    assert_string_equal(second.client_cert_pem, "-----BEGIN C2");
    assert_string_equal(second.token, "t");
    assert_int_equal(second.version, first.version + 1);
    folder_done(&folder);
}

/* When it cannot be replaced in time the old one is used to its end. */
static void test_plugin_fails_later(void **state) {
    Folder folder;
    _cleanup_(access_freep) Access *access = open_plugin(&folder, "\"1970-01-01T00:16:40Z\"");
    Credentials credentials;

    (void)state;
    assert_string_equal(authorize(access, 0, 0).token, "token-1");
    (void)folder_replace(&folder, "fail", "");
    assert_string_equal(authorize(access, 100 * SEC, 990).token, "token-1");
    assert_int_equal(count_runs(&folder), 2);
    assert_string_equal(authorize(access, 101 * SEC, 991).token, "token-1");
    assert_int_equal(count_runs(&folder), 2); /* not again so soon */
    assert_int_equal(access_authorize(access, 200 * SEC, 1000, &credentials, error), -EIO);
    assert_says("failed with exit code 1: broken");
    assert_int_equal(count_runs(&folder), 3);

    /* The failure is remembered for a while, and then it may be over. */
    assert_int_equal(access_authorize(access, 201 * SEC, 1001, &credentials, error), -EIO);
    assert_says("failed with exit code 1: broken");
    assert_int_equal(count_runs(&folder), 3);
    assert_int_equal(unlink(folder_path(&folder, "fail")), 0);
    assert_string_equal(authorize(access, 300 * SEC, 1100).token, "token-4");
    folder_done(&folder);
}

/* A slow plugin holds nobody up as long as there is something to be going on with; when there
 * is not, it gets its time. */
static void test_plugin_is_slow(void **state) {
    Folder folder;
    _cleanup_(access_freep) Access *access = open_plugin(&folder, "\"1970-01-01T00:16:40Z\"");

    (void)state;
    assert_string_equal(authorize(access, 0, 0).token, "token-1");
    (void)folder_replace(&folder, "slow", "");
    assert_string_equal(authorize(access, 100 * SEC, 990).token, "token-1");
    assert_int_equal(count_runs(&folder), 2);
    assert_string_equal(authorize(access, 110 * SEC, 1000).token, "token-3");
    folder_done(&folder);
}

/* Runs of a plugin that fails at each second from @from on, until @to. */
static void count_tries(Access *access, Folder *folder, int from, int to, int64_t wall_sec,
    bool is_good, unsigned want) {
    unsigned before = count_runs(folder);
    Credentials credentials;

    for (int i = from; i < to; i++)
        assert_int_equal(
            access_authorize(access, i * SEC, wall_sec, &credentials, error) == 0, is_good);
    assert_int_equal(count_runs(folder) - before, want);
}

/* Less and less often, but at once when the credential is needed. */
static void test_plugin_keeps_failing(void **state) {
    Folder folder;
    _cleanup_(access_freep) Access *access = open_plugin(&folder, "\"1970-01-01T00:16:40Z\"");

    (void)state;
    assert_string_equal(authorize(access, 0, 0).token, "token-1");
    (void)folder_replace(&folder, "fail", "");
    /* About 100, 106, 117, 138, 179, 240, 301. */
    count_tries(access, &folder, 100, 103, 990, /* is_good= */ true, 1);
    count_tries(access, &folder, 103, 340, 990, /* is_good= */ true, 6);
    count_tries(access, &folder, 340, 343, 1000, /* is_good= */ false, 1);
    count_tries(access, &folder, 343, 580, 1000, /* is_good= */ false, 6);
    assert_int_equal(unlink(folder_path(&folder, "fail")), 0);
    assert_string_equal(authorize(access, 700 * SEC, 1000).token, "token-16");
    folder_done(&folder);
}

static void test_plugin_rejected(void **state) {
    Folder folder;
    _cleanup_(access_freep) Access *access = open_plugin(&folder, "null");
    Credentials first = authorize(access, 0, 0), second;

    (void)state;
    /* A fresh one is not fetched at once: it would be no other. */
    access_reject(access);
    second = authorize(access, SEC, 1);
    assert_int_equal(second.version, first.version);
    assert_int_equal(count_runs(&folder), 1);
    second = authorize(access, 100 * SEC, 100);
    assert_string_equal(second.token, "token-2");
    assert_int_not_equal(second.version, first.version);
    assert_string_equal(authorize(access, 200 * SEC, 200).token, "token-2");

    /* Rejected, and no other to be had: an error, not the old one. */
    access_reject(access);
    (void)folder_replace(&folder, "fail", "");
    assert_int_equal(access_authorize(access, 300 * SEC, 300, &second, error), -EIO);
    assert_says("context c of /tmp/");
    folder_done(&folder);
}

/* One that is over when it comes is used, and the plugin asked again, but not all the time. */
static void test_plugin_gives_old_ones(void **state) {
    Folder folder;
    _cleanup_(access_freep) Access *access = open_plugin(&folder, "\"1970-01-01T00:16:40Z\"");

    (void)state;
    assert_string_equal(authorize(access, 0, 5000).token, "token-1");
    assert_string_equal(authorize(access, SEC, 5001).token, "token-1");
    assert_string_equal(authorize(access, 100 * SEC, 5100).token, "token-2");
    folder_done(&folder);
}

/* --- in a pod --- */

static void make_mount(Folder *folder) {
    static const char *const parts[] = {"var",
        "var/run",
        "var/run/secrets",
        "var/run/secrets/kubernetes.io",
        "var/run/secrets/kubernetes.io/serviceaccount",
        "var/run/secrets/kubernetes.io/serviceaccount/..1",
        "var/run/secrets/kubernetes.io/serviceaccount/..2"};

    for (size_t i = 0; i < ELEMENTS_OF(parts); i++)
        assert_int_equal(mkdir(folder_path(folder, parts[i]), 0700), 0);
}

#define MOUNT "var/run/secrets/kubernetes.io/serviceaccount/"

static void link_to(Folder *folder, const char *name, const char *target) {
    (void)unlink(folder_path(folder, MOUNT "new"));
    assert_int_equal(symlink(target, folder_path(folder, MOUNT "new")), 0);
    {
        char from[512];

        (void)snprintf(from, sizeof(from), "%s", folder->file);
        assert_int_equal(rename(from, folder_path(folder, name)), 0);
    }
}

static void test_in_cluster(void **state) {
    Folder folder;
    _cleanup_(access_freep) Access *access = NULL;
    Credentials first, second;

    (void)state;
    folder_init(&folder);
    make_mount(&folder);
    assert_int_equal(setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1", 1), 0);
    assert_int_equal(setenv("KUBERNETES_SERVICE_PORT", "443", 1), 0);
    assert_int_equal(access_in_cluster(folder.path, &access, error), -ENOENT);
    assert_says("serviceaccount/ca.crt: No such file");

    (void)folder_replace(&folder, MOUNT "..1/token", "one");
    (void)folder_replace(&folder, MOUNT "..1/ca.crt", PEM("one"));
    (void)folder_replace(&folder, MOUNT "..2/token", "two");
    (void)folder_replace(&folder, MOUNT "..2/ca.crt", PEM("two"));
    link_to(&folder, MOUNT "..data", "..1");
    link_to(&folder, MOUNT "token", "..data/token");
    link_to(&folder, MOUNT "ca.crt", "..data/ca.crt");
    if (access_in_cluster(folder.path, &access, error) < 0)
        fail_msg("%s", error);
    assert_string_equal(access_server(access), "https://10.96.0.1:443");
    assert_string_equal(access_origin(access), "service account of this pod");
    first = authorize(access, 0, 0);
    assert_string_equal(first.token, "one");

    /* As the kubelet replaces it: one symlink, both files. */
    link_to(&folder, MOUNT "..data", "..2");
    second = authorize(access, SEC, 0);
    assert_string_equal(second.token, "two");
    assert_string_equal(second.ca_pem, PEM("two"));
    assert_int_equal(second.version, first.version + 1);
    folder_done(&folder);
}

static void test_in_cluster_environment(void **state) {
    static const struct {
        const char *host, *port;
        int r;
        const char *server, *says;
    } cases[] = {
        {NULL, NULL, -ENOENT, NULL, "not in a pod"},
        {"10.0.0.1", NULL, -ENOENT, NULL, "not in a pod"},
        {"", "443", -ENOENT, NULL, "not in a pod"},
        {"10.0.0.1", "x", -EINVAL, NULL, "KUBERNETES_SERVICE_PORT is no port: x"},
        {"10.0.0.1", "65536", -EINVAL, NULL, "is no port"},
        {"10.0.0.1@evil", "443", -EINVAL, NULL, "KUBERNETES_SERVICE_HOST is no address"},
        {"fd00::1", "6443", 0, "https://[fd00::1]:6443", NULL},
        {"api.example", "6443", 0, "https://api.example:6443", NULL},
    };
    Folder folder;

    (void)state;
    folder_init(&folder);
    make_mount(&folder);
    (void)folder_replace(&folder, MOUNT "token", "one");
    (void)folder_replace(&folder, MOUNT "ca.crt", PEM("one"));
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(access_freep) Access *access = NULL;

        (void)unsetenv("KUBERNETES_SERVICE_HOST");
        (void)unsetenv("KUBERNETES_SERVICE_PORT");
        if (cases[i].host)
            (void)setenv("KUBERNETES_SERVICE_HOST", cases[i].host, 1);
        if (cases[i].port)
            (void)setenv("KUBERNETES_SERVICE_PORT", cases[i].port, 1);
        assert_int_equal(access_in_cluster(folder.path, &access, error), cases[i].r);
        if (cases[i].says)
            assert_says(cases[i].says);
        if (cases[i].server)
            assert_string_equal(access_server(access), cases[i].server);
    }
    folder_done(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default_places),
        cmocka_unit_test(test_too_many_files),
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_no_file),
        cmocka_unit_test(test_rotation),
        cmocka_unit_test(test_rejected_for_good),
        cmocka_unit_test(test_token_and_file),
        cmocka_unit_test(test_plugin_is_asked_once),
        cmocka_unit_test(test_plugin_expiry),
        cmocka_unit_test(test_plugin_gives_another_certificate),
        cmocka_unit_test(test_plugin_fails_later),
        cmocka_unit_test(test_plugin_is_slow),
        cmocka_unit_test(test_plugin_keeps_failing),
        cmocka_unit_test(test_plugin_rejected),
        cmocka_unit_test(test_plugin_gives_old_ones),
        cmocka_unit_test(test_in_cluster),
        cmocka_unit_test(test_in_cluster_environment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
