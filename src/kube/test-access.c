#include "kube/access.h"

#include <errno.h>

#include "base/buf.h"
#include "kube/test-access-scene.h"

/* --- places of a kubeconfig --- */

static void test_default_places_of_a_kubeconfig(void **state) {
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

    /* Files that do not exist are skipped, and so are empty names. */
    (void)write_config(&folder, "insecure-skip-tls-verify: true", "");
    (void)snprintf(list, sizeof(list), ":/nowhere/a::%s/config:", folder.path);
    assert_int_equal(setenv("KUBECONFIG", list, 1), 0);
    access = open_config(NULL);
    (void)snprintf(want, sizeof(want), "context c of %s/config", folder.path);
    assert_string_equal(access_origin(access), want);
    assert_true(access_is_insecure(access));
    access = access_free(access);

    /* A file that exists but cannot be read is an error. */
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

static void test_too_many_files_are_an_error(void **state) {
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

/* There is no service account here. */
static void test_service_account_is_used_without_a_kubeconfig(void **state) {
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

/* A named file, $KUBECONFIG, ~/.kube/config; a pod's service account only if neither file nor
 * context was named. */
static void test_search_order_is_that_of_kubectl(void **state) {
    Folder folder;
    Access *access = NULL;

    (void)state;
    folder_init(&folder);
    assert_int_equal(setenv("HOME", "/nowhere", 1), 0);
    assert_int_equal(setenv("KUBECONFIG", write_config(&folder, "", "token: abc"), 1), 0);
    assert_int_equal(access_search(NULL, NULL, &access, error), 0);
    assert_string_equal(access_server(access), "https://h");
    access = access_free(access);
    assert_int_equal(access_search(NULL, "c", &access, error), 0);
    access = access_free(access);
    assert_int_equal(access_search(NULL, "other", &access, error), -EINVAL);
    assert_int_equal(unsetenv("KUBECONFIG"), 0);

    assert_int_equal(setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1", 1), 0);
    assert_int_equal(setenv("KUBERNETES_SERVICE_PORT", "443", 1), 0);
    assert_int_equal(access_search(NULL, "c", &access, error), -ENOENT);
    assert_says("/nowhere/.kube/config is not there");
    assert_int_equal(access_search("/nowhere/k", NULL, &access, error), -ENOENT);
    (void)unsetenv("KUBERNETES_SERVICE_HOST");
    assert_int_equal(access_search(NULL, NULL, &access, error), -ENOENT);
    assert_says("/nowhere/.kube/config is not there");
    folder_done(&folder);
}

static void test_unusable_files_are_errors(void **state) {
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

static void test_missing_kubeconfig_is_an_error(void **state) {
    Access *access = NULL;

    (void)state;
    assert_int_equal(access_from_kubeconfig("/nowhere/x", NULL, &access, error), -ENOENT);
    assert_string_equal(error, "/nowhere/x: No such file or directory");
}

/* --- files that change --- */

static void test_changed_files_are_read_again(void **state) {
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

    /* Files are checked once a second. */
    (void)folder_replace(&folder, "token", "second");
    second = authorize(access, SEC / 2, 0);
    assert_string_equal(second.token, "first");
    assert_int_equal(second.version, first.version);
    second = authorize(access, SEC, 0);
    assert_string_equal(second.token, "second");
    assert_int_not_equal(second.version, first.version);
    first = second;

    /* Writing the same text is no change. */
    (void)folder_replace(&folder, "token", "second\n");
    assert_int_equal(authorize(access, 2 * SEC, 0).version, first.version);

    /* Missing or broken for a moment: the last content stays. */
    assert_int_equal(unlink(folder_path(&folder, "token")), 0);
    assert_string_equal(authorize(access, 3 * SEC, 0).token, "second");
    (void)folder_replace(&folder, "token", "");
    assert_int_equal(authorize(access, 4 * SEC, 0).version, first.version);

    /* If the API server rejects it, an unusable file is an error. */
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

/* The version stays the same, so the client reports an error. */
static void test_rejected_constant_credentials_keep_their_version(void **state) {
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

static void test_token_is_used_until_its_file_exists(void **state) {
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

/* --- in a pod --- */

static void make_mount(Folder *folder) {
    static const char *const parts[] = {"var", "var/run", "var/run/secrets",
        "var/run/secrets/kubernetes.io", "var/run/secrets/kubernetes.io/serviceaccount",
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

static void test_service_account_is_read_again_when_replaced(void **state) {
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

    /* The kubelet replaces both files by one symlink. */
    link_to(&folder, MOUNT "..data", "..2");
    second = authorize(access, SEC, 0);
    assert_string_equal(second.token, "two");
    assert_string_equal(second.ca_pem, PEM("two"));
    assert_int_equal(second.version, first.version + 1);
    folder_done(&folder);
}

static void test_address_comes_from_the_pods_environment(void **state) {
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
        cmocka_unit_test(test_default_places_of_a_kubeconfig),
        cmocka_unit_test(test_too_many_files_are_an_error),
        cmocka_unit_test(test_service_account_is_used_without_a_kubeconfig),
        cmocka_unit_test(test_search_order_is_that_of_kubectl),
        cmocka_unit_test(test_unusable_files_are_errors),
        cmocka_unit_test(test_missing_kubeconfig_is_an_error),
        cmocka_unit_test(test_changed_files_are_read_again),
        cmocka_unit_test(test_rejected_constant_credentials_keep_their_version),
        cmocka_unit_test(test_token_is_used_until_its_file_exists),
        cmocka_unit_test(test_service_account_is_read_again_when_replaced),
        cmocka_unit_test(test_address_comes_from_the_pods_environment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
