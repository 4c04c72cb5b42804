#include "kube/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/test-folder.h"
#include "kube/access.h"
#include "kube/kubeconfig.h"
#include "kube/process.h"

#define V1 "client.authentication.k8s.io/v1"
#define V1BETA1 "client.authentication.k8s.io/v1beta1"
#define ANSWER(status)                                                                             \
    "{\"apiVersion\":\"" V1 "\",\"kind\":\"ExecCredential\",\"status\":" status "}"
#define PEM "-----BEGIN X-----\\nabc\\n-----END X-----\\n"
#define TIMEOUT_MSEC 30000

/* --- answers of a plugin --- */

static void test_reads_credentials(void **state) {
    static const struct {
        const char *name, *answer, *version;
        const char *token, *cert;
        int64_t expires;
    } cases[] = {
        {"a token", ANSWER("{\"token\":\"abc\"}"), V1, "abc", NULL, EXEC_NEVER},
        {"a pair", ANSWER("{\"clientCertificateData\":\"" PEM "\",\"clientKeyData\":\"" PEM "\"}"),
            V1, NULL, "-----BEGIN X-----\nabc\n-----END X-----\n", EXEC_NEVER},
        {"all of it",
            ANSWER(
                "{\"token\":\"abc\",\"clientCertificateData\":\"" PEM "\",\"clientKeyData\":\"" PEM
                "\",\"expirationTimestamp\":\"1970-01-01T00:01:40Z\",\"more\":[{}]}"),
            V1, "abc", "-----BEGIN X-----\nabc\n-----END X-----\n", 100},
        {"an offset",
            ANSWER("{\"token\":\"abc\",\"expirationTimestamp\":\"1970-01-01T01:01:40.5+01:00\"}"),
            V1, "abc", NULL, 100},
        {"no time", ANSWER("{\"token\":\"abc\",\"expirationTimestamp\":null}"), V1, "abc", NULL,
            EXEC_NEVER},
        {"an escape", ANSWER("{\"tok\\u0065n\":\"a\\u0062c\"}"), V1, "abc", NULL, EXEC_NEVER},
        {"v1beta1",
            "{\"status\":{\"token\":\"abc\"},\"spec\":{},\"kind\":\"ExecCredential\","
            "\"apiVersion\":\"" V1BETA1 "\"}\n",
            V1BETA1, "abc", NULL, EXEC_NEVER},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(exec_credential_done) ExecCredential got = {0};
        char error[ACCESS_ERROR_MAX] = "";

        if (exec_read_credential(
                str_from_c(cases[i].answer), str_from_c(cases[i].version), &got, error) < 0)
            fail_msg("%s: %s", cases[i].name, error);
        assert_case(cases[i].name, !cases[i].token == !got.token);
        assert_case(cases[i].name, !cases[i].cert == !got.cert_pem);
        assert_case(cases[i].name, !got.cert_pem == !got.key_pem);
        if (got.token)
            assert_text(cases[i].name, str_from_c(got.token), cases[i].token);
        if (got.cert_pem)
            assert_text(cases[i].name, str_from_c(got.cert_pem), cases[i].cert);
        assert_case(cases[i].name, got.expires_sec == cases[i].expires);
    }
}

static void test_invalid_answers_are_errors(void **state) {
    static const struct {
        const char *answer, *says;
    } cases[] = {
        {"", "is no ExecCredential"},
        {"Error: not logged in", "is no ExecCredential"},
        {"{\"kind\":\"ExecCredential\"", "is no ExecCredential"},
        {ANSWER("{\"token\":\"abc\"}") "x", "is no ExecCredential"},
        {"[]", "is no ExecCredential"},
        {"{}", "has not the kind ExecCredential"},
        {"{\"kind\":\"Status\"}", "has not the kind ExecCredential"},
        {"{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1BETA1 "\"}",
            "another apiVersion than " V1},
        {"{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\"}", "has no status"},
        {ANSWER("null"), "has no status"},
        {ANSWER("\"x\""), "is no ExecCredential"},
        {ANSWER("{}"), "neither a token nor a certificate"},
        {ANSWER("{\"token\":\"\"}"), "neither a token nor a certificate"},
        {ANSWER("{\"token\":1}"), "is no ExecCredential"},
        {ANSWER("{\"clientKeyData\":\"" PEM "\"}"), "a certificate without its key"},
        {ANSWER("{\"clientCertificateData\":\"" PEM "\"}"), "a certificate without its key"},
        {ANSWER("{\"clientCertificateData\":\"x\",\"clientKeyData\":\"" PEM "\"}"),
            "its clientCertificateData is not PEM"},
        {ANSWER("{\"clientCertificateData\":\"" PEM "\",\"clientKeyData\":\"s3cret\"}"),
            "its clientKeyData is not PEM"},
        {ANSWER("{\"token\":\"s3cret\\r\\nX: y\"}"), "its token is no token"},
        {ANSWER("{\"token\":\"s3cret\\u0000\"}"), "its token is no token"},
        {ANSWER("{\"token\":\"s3cret\",\"expirationTimestamp\":\"soon\"}"), "no RFC 3339 time"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        ExecCredential got = {0};
        char error[ACCESS_ERROR_MAX] = "";

        assert_case(cases[i].answer,
            exec_read_credential(str_from_c(cases[i].answer), STR(V1), &got, error) == -EINVAL);
        if (!strstr(error, cases[i].says))
            fail_msg("%s: \"%s\" is not in \"%s\"", cases[i].answer, cases[i].says, error);
        assert_null(strstr(error, "s3cret"));
        assert_null(got.token);
    }
}

/* --- input of a plugin --- */

static void test_plugin_gets_exec_info(void **state) {
    static struct {
        ExecSpec spec;
        const char *want;
    } cases[] = {
        {{.api_version = (char *)(uintptr_t)V1BETA1},
            "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1BETA1
            "\",\"spec\":{\"interactive\":false}}"},
        {{.api_version = (char *)(uintptr_t)V1, .wants_cluster = true},
            "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1
            "\",\"spec\":{\"cluster\":{\"server\":\"https://h\"},\"interactive\":false}}"},
    };
    ExecSpec all = {.api_version = (char *)(uintptr_t)V1,
        .wants_cluster = true,
        .cluster_config = (char *)(uintptr_t) "{\"a\":[1]}"};
    Kubeconfig config = {.server = (char *)(uintptr_t) "https://h"};
    _cleanup_(buf_done) Buf out = BUF_INIT(4096);

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        buf_reset(&out);
        config.exec = &cases[i].spec;
        exec_write_info(&config, &out);
        assert_text("info", buf_str(&out), cases[i].want);
    }
    buf_reset(&out);
    config = (Kubeconfig){.server = (char *)(uintptr_t) "https://h",
        .tls_server_name = (char *)(uintptr_t) "n",
        .ca.text = (char *)(uintptr_t) "foo",
        .proxy_url = (char *)(uintptr_t) "http://p",
        .is_insecure = true,
        .exec = &all};
    exec_write_info(&config, &out);
    assert_text("all of it", buf_str(&out),
        "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1
        "\",\"spec\":{\"cluster\":{\"server\":\"https://h\",\"tls-server-name\":\"n\","
        "\"insecure-skip-tls-verify\":true,\"certificate-authority-data\":\"Zm9v\","
        "\"proxy-url\":\"http://p\",\"config\":{\"a\":[1]}},\"interactive\":false}}");
}

/* --- running it --- */

static int run_script(const char *script, int timeout_msec, ExecCredential *ret, char *error) {
    ExecVariable env[] = {
        {(char *)(uintptr_t) "BERTH_TEST_B", (char *)(uintptr_t) "of the plugin"}};
    char *args[] = {(char *)(uintptr_t) "first", (char *)(uintptr_t) "second arg"};
    ExecSpec spec = {.api_version = (char *)(uintptr_t)V1,
        .args = args,
        .n_args = 2,
        .env = env,
        .n_env = 1,
        .install_hint = (char *)(uintptr_t) "ask your administrator"};
    Folder folder;
    int r;

    folder_init(&folder);
    spec.command = strdup(folder_path(&folder, "plugin"));
    if (script)
        (void)folder_write_script(&folder, "plugin", script);
    r = exec_run(&(Kubeconfig){.server = (char *)(uintptr_t) "https://h", .exec = &spec},
        timeout_msec, ret, error);
    free(spec.command);
    folder_done(&folder);
    return r;
}

/* A script that prints an ExecCredential with this token. */
#define PRINT(token)                                                                               \
    "printf '{\"apiVersion\":\"" V1                                                                \
    "\",\"kind\":\"ExecCredential\",\"status\":{\"token\":\"%s\"}}' \"" token "\""

static void test_plugin_runs_in_a_clean_process(void **state) {
    static const struct {
        const char *name, *script, *token;
    } cases[] = {
        {"plain", PRINT("abc"), "abc"},
        {"arguments", PRINT("$1-$(echo $2 | tr ' ' _)-$#"), "first-second_arg-2"},
        {"variables", PRINT("$BERTH_TEST_A-$(echo $BERTH_TEST_B | tr ' ' _)"),
            "ours-of_the_plugin"},
        {"KUBERNETES_EXEC_INFO", PRINT("$(echo $KUBERNETES_EXEC_INFO | tr -d '\"')"),
            "{kind:ExecCredential,apiVersion:" V1 ",spec:{interactive:false}}"},
        {"nothing on standard input", PRINT("$(wc -c | tr -d ' ')"), "0"},
        {"no terminal", PRINT("$( (echo x >/dev/tty) 2>/dev/null && echo yes || echo no)"), "no"},
        {"no descriptors of ours",
            PRINT("$(ls /proc/self/fd | grep -c 77)"), /* 77 is opened below */
            "0"},
        {"no blocked signals", PRINT("$(grep SigBlk /proc/self/status | tr -dc 1-9)x"), "x"},
        {"no ignored signals",
            PRINT("$((0x$(grep SigIgn /proc/self/status | cut -f2) & 0x7fffffff))"), /* less glibc's
                                                                                        own */
            "0"},
        {"text on standard error is ignored", "echo hello >&2;" PRINT("abc"), "abc"},
        {"a child keeps running", "sleep 40 & " PRINT("abc"), "abc"},
        {"it closes its output and continues", PRINT("abc") "; exec >&- 2>&-; sleep 0.1", "abc"},
    };
    sigset_t set, before;

    (void)state;
    assert_int_equal(setenv("BERTH_TEST_A", "ours", 1), 0);
    assert_int_equal(setenv("BERTH_TEST_B", "ours", 1), 0);
    assert_int_equal(setenv("KUBERNETES_EXEC_INFO", "inherited", 1), 0);
    assert_int_equal(dup2(STDOUT_FILENO, 77), 77); /* not O_CLOEXEC */
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGUSR1);
    assert_int_equal(sigprocmask(SIG_BLOCK, &set, &before), 0);
    (void)signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(exec_credential_done) ExecCredential got = {0};
        char error[ACCESS_ERROR_MAX] = "";

        if (run_script(cases[i].script, TIMEOUT_MSEC, &got, error) < 0)
            fail_msg("%s: %s", cases[i].name, error);
        assert_text(cases[i].name, str_from_c(got.token), cases[i].token);
    }
    assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
    (void)close(77);
}

/* With qemu's user mode a child of posix_spawn() cannot report that the program does not exist; it
 * exits with 127. */
static bool spawn_can_report(void) {
    return getenv("MESON_EXE_WRAPPER") == NULL;
}

static void test_failed_runs_are_explained(void **state) {
    static const struct {
        const char *name, *script;
        int timeout_msec, r;
        const char *says;
    } cases[] = {
        {"not there", NULL, TIMEOUT_MSEC, -ENOENT, "was not found: ask your administrator"},
        {"exit code", "echo out of luck >&2; exit 7", TIMEOUT_MSEC, -EIO,
            "failed with exit code 7: out of luck"},
        {"lines", "printf 'one\\n\\n  two\\n' >&2; exit 1", TIMEOUT_MSEC, -EIO,
            "exit code 1: one two"},
        {"exit code, no text", PRINT("s3cret") "; exit 1", TIMEOUT_MSEC, -EIO,
            "failed with exit code 1"},
        {"a signal", "kill -9 $$", TIMEOUT_MSEC, -EIO, "was ended by signal 9"},
        {"too slow", "sleep 1000", 200, -ETIMEDOUT, "did not end within 1 s"},
        {"too slow, and it ignores SIGTERM", "trap '' TERM; while :; do sleep 1; done", 200,
            -ETIMEDOUT, "did not end within 1 s"},
        {"too slow, with text", "echo waiting for a browser >&2; sleep 1000", 3000, -ETIMEDOUT,
            "did not end within 3 s: waiting for a browser"},
        {"too much", "exec yes", TIMEOUT_MSEC, -EIO, "printed more than 1024 KiB"},
        {"too much on standard error", "(yes | head -c 3000000; echo; echo the end) >&2; exit 1",
            TIMEOUT_MSEC, -EIO, "the end"},
        {"nothing but standard error", "exec yes >&2", 200, -ETIMEDOUT, "did not end within 1 s"},
        {"garbage", "echo hello", TIMEOUT_MSEC, -EINVAL, "is no ExecCredential"},
        {"nothing", "true", TIMEOUT_MSEC, -EINVAL, "is no ExecCredential"},
        {"control characters", "printf 'a\\033[31mb\\001' >&2; exit 1", TIMEOUT_MSEC, -EIO,
            "a\\x1b[31mb\\x01"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        ExecCredential got = {0};
        char error[ACCESS_ERROR_MAX] = "";
        int r = run_script(cases[i].script, cases[i].timeout_msec, &got, error);

        if (!cases[i].script && !spawn_can_report())
            continue;
        if (r != cases[i].r || !strstr(error, cases[i].says))
            fail_msg("%s: %d \"%s\", not \"%s\"", cases[i].name, r, error, cases[i].says);
        assert_case(cases[i].name, strlen(error) < ACCESS_ERROR_MAX);
        assert_case(cases[i].name, !strstr(error, "s3cret"));
    }
}

static void test_children_are_killed_with_the_plugin(void **state) {
    static const char *const args[] = {"/bin/sh", "-c", "sleep 1000 & echo $!; wait", NULL};
    static const char *const env[] = {"PATH=/usr/bin:/bin", NULL};
    _cleanup_(buf_done) Buf out = BUF_INIT(64);
    ProcessResult result;
    int64_t child;

    (void)state;
    assert_int_equal(
        process_run(
            &(ProcessOptions){.command = args[0], .args = args, .env = env, .timeout_msec = 3000},
            &out, &result),
        0);
    assert_int_equal(result.end, PROCESS_TIMEOUT);
    assert_true(str_to_int64(str_trim(buf_str(&out)), &child));
    for (int i = 0; i < 2000 && kill((pid_t)child, 0) == 0; i++) {
        char path[64], status[512] = "";
        FILE *file;

        /* It may stay a zombie until init waits for it. */
        (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)child);
        file = fopen(path, "r");
        if (!file)
            return;
        assert_non_null(fgets(status, sizeof(status), file));
        (void)fclose(file);
        if (strstr(status, ") Z "))
            return;
        (void)usleep(10000);
    }
    assert_int_equal(kill((pid_t)child, 0), -1);
}

static void test_program_is_found_in_path(void **state) {
    static const char *const args[] = {"echo", "hello", NULL};
    static const char *const env[] = {NULL};
    _cleanup_(buf_done) Buf out = BUF_INIT(64);
    ProcessOptions options = {
        .command = "echo", .args = args, .env = env, .timeout_msec = TIMEOUT_MSEC};
    ProcessResult result;

    (void)state;
    assert_int_equal(process_run(&options, &out, &result), 0);
    assert_int_equal(result.end, PROCESS_EXITED);
    assert_int_equal(result.code, 0);
    assert_text("echo", buf_str(&out), "hello\n");
    if (!spawn_can_report())
        return;
    options.command = "no-such-program-anywhere";
    assert_int_equal(process_run(&options, &out, &result), -ENOENT);
    options.command = "/etc/passwd";
    assert_int_equal(process_run(&options, &out, &result), -EACCES);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_credentials),
        cmocka_unit_test(test_invalid_answers_are_errors),
        cmocka_unit_test(test_plugin_gets_exec_info),
        cmocka_unit_test(test_plugin_runs_in_a_clean_process),
        cmocka_unit_test(test_failed_runs_are_explained),
        cmocka_unit_test(test_children_are_killed_with_the_plugin),
        cmocka_unit_test(test_program_is_found_in_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
