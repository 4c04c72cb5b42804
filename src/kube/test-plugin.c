/* Credential plugins of an Access: when they run, and their results. */

#include "kube/exec.h"

#include <errno.h>

#include "kube/test-access-scene.h"

/* Writes a plugin that counts its runs and returns token-N, valid until @expires. */
static void write_plugin(Folder *folder, const char *expires) {
    char script[2048];

    (void)snprintf(script, sizeof(script),
        "cd %s; echo x >>runs; [ -e fail ] && { echo broken >&2; exit 1; }\n"
        "[ -e slow ] && sleep %d\n"
        "printf '{\"apiVersion\":\"" V1 "\",\"kind\":\"ExecCredential\",\"status\":{"
        "\"token\":\"token-%%s\",\"expirationTimestamp\":%s}}' $(wc -l <runs)",
        folder->path, ACCESS_PLUGIN_REFRESH_SEC + 1, expires);
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

static void test_plugin_runs_once_without_expiry(void **state) {
    Folder folder;
    _cleanup_(access_freep) Access *access = open_plugin(&folder, "null");

    (void)state;
    assert_int_equal(count_runs(&folder), 0); /* only when needed */
    for (int i = 0; i < 3; i++)
        assert_string_equal(authorize(access, i * 100 * SEC, i * 1000000).token, "token-1");
    assert_int_equal(count_runs(&folder), 1);
    folder_done(&folder);
}

/* Valid until 1970-01-01T00:16:40Z, second 1000; replaced after nine tenths of its life. */
static void test_credential_is_replaced_before_it_expires(void **state) {
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

static void test_new_certificate_changes_the_version(void **state) {
    Folder folder;
    _cleanup_(access_freep) Access *access = NULL;
    Credentials first, second;
    char script[2048];

    (void)state;
    folder_init(&folder);
    (void)snprintf(script, sizeof(script),
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

/* The plugin fails before the old credential expires. */
static void test_old_credential_is_used_until_it_expires(void **state) {
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

    /* The failure is remembered for a while, then the plugin runs again. */
    assert_int_equal(access_authorize(access, 201 * SEC, 1001, &credentials, error), -EIO);
    assert_says("failed with exit code 1: broken");
    assert_int_equal(count_runs(&folder), 3);
    assert_int_equal(unlink(folder_path(&folder, "fail")), 0);
    assert_string_equal(authorize(access, 300 * SEC, 1100).token, "token-4");
    folder_done(&folder);
}

/* A slow plugin delays calls only if the old credential has expired. */
static void test_slow_plugin_delays_no_call(void **state) {
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

/* Authorizes each second from @from to @to, and checks that the plugin runs @want times. */
static void count_tries(Access *access, Folder *folder, int from, int to, int64_t wall_sec,
    bool is_good, unsigned want) {
    unsigned before = count_runs(folder);
    Credentials credentials;

    for (int i = from; i < to; i++)
        assert_int_equal(
            access_authorize(access, i * SEC, wall_sec, &credentials, error) == 0, is_good);
    assert_int_equal(count_runs(folder) - before, want);
}

/* With growing pauses, but at once when the credential is needed. */
static void test_failing_plugin_runs_less_often(void **state) {
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

static void test_rejected_credential_is_replaced(void **state) {
    Folder folder;
    _cleanup_(access_freep) Access *access = open_plugin(&folder, "null");
    Credentials first = authorize(access, 0, 0), second;

    (void)state;
    /* Not run again at once: the credential would be the same. */
    access_reject(access);
    second = authorize(access, SEC, 1);
    assert_int_equal(second.version, first.version);
    assert_int_equal(count_runs(&folder), 1);
    second = authorize(access, 100 * SEC, 100);
    assert_string_equal(second.token, "token-2");
    assert_int_not_equal(second.version, first.version);
    assert_string_equal(authorize(access, 200 * SEC, 200).token, "token-2");

    /* Rejected, and the plugin fails: an error, not the old credential. */
    access_reject(access);
    (void)folder_replace(&folder, "fail", "");
    assert_int_equal(access_authorize(access, 300 * SEC, 300, &second, error), -EIO);
    assert_says("context c of /tmp/");
    folder_done(&folder);
}

/* The plugin returns an expired credential: it is used, and the plugin runs again, but not too
 * often. */
static void test_expired_credential_is_used(void **state) {
    Folder folder;
    _cleanup_(access_freep) Access *access = open_plugin(&folder, "\"1970-01-01T00:16:40Z\"");

    (void)state;
    assert_string_equal(authorize(access, 0, 5000).token, "token-1");
    assert_string_equal(authorize(access, SEC, 5001).token, "token-1");
    assert_string_equal(authorize(access, 100 * SEC, 5100).token, "token-2");
    folder_done(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plugin_runs_once_without_expiry),
        cmocka_unit_test(test_credential_is_replaced_before_it_expires),
        cmocka_unit_test(test_new_certificate_changes_the_version),
        cmocka_unit_test(test_old_credential_is_used_until_it_expires),
        cmocka_unit_test(test_slow_plugin_delays_no_call),
        cmocka_unit_test(test_failing_plugin_runs_less_often),
        cmocka_unit_test(test_rejected_credential_is_replaced),
        cmocka_unit_test(test_expired_credential_is_used),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
