#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/test-assert.h"
#include "wiring/test-config.h"

#define BUDGET ((size_t)8 * 1024 * 1024)
#define TEXT_MAX ((size_t)1024 * 1024)

/* base64 of "-----BEGIN CERTIFICATE-----\n" */
#define CA STR("LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==")

/* Writes, reads back without errors, and compares. */
static void check_round_trip(const char *name, const SchedulerConfig *config, Buf *text) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    _cleanup_(buf_done) Buf messages = BUF_INIT(TEXT_MAX);
    DiagList diags = DIAG_LIST_IN(arena);
    SchedulerConfig back;
    int r;

    scheduler_config_write(config, text);
    assert_int_equal(buf_error(text), 0);
    r = scheduler_config_read(STR("written"), buf_str(text), arena, &diags, &back);
    if (diags.n_errors > 0 || str_is_empty(config->api_version)) /* old versions give a warning */
        diag_list_print(&diags, /* colour= */ false, &messages);
    assert_text(name, buf_str(&messages), "");
    assert_case(name, r == 0 && config_is_same(config, &back));
}

static void assert_has(const Buf *text, const char *part) {
    if (!memmem(text->data, text->len, part, strlen(part)))
        fail_msg("no \"%s\" in:\n%.*s", part, STR_FMT(buf_str(text)));
}

static void assert_has_not(const Buf *text, const char *part) {
    if (memmem(text->data, text->len, part, strlen(part)))
        fail_msg("\"%s\" in:\n%.*s", part, STR_FMT(buf_str(text)));
}

static ExtenderEntry full_entry(ManagedResource *managed, size_t n_managed) {
    return (ExtenderEntry){
        .url_prefix = STR("https://berth.berth-system.svc:8443"),
        .filter_verb = STR("filter"),
        .prioritize_verb = STR("prioritize"),
        .preempt_verb = STR("preempt"),
        .bind_verb = STR("bind"),
        .weight = 5,
        .is_https = true,
        .tls = {.is_given = true,
            .ca_data = CA,
            .server_name = STR("berth"),
            .cert_file = STR("/etc/berth/tls.crt"),
            .key_file = STR("/etc/berth/tls.key")},
        .timeout_nsec = INT64_C(1500000000),
        .is_node_cache_capable = true,
        .managed = managed,
        .n_managed = n_managed,
    };
}

static void test_writes_v1_with_comments(void **state) {
    _cleanup_(buf_done) Buf text = BUF_INIT(TEXT_MAX);
    ManagedResource managed[] = {{STR("example.com/gpu"), true}, {STR("example.com/nic"), false}};
    ExtenderEntry entry = full_entry(managed, ELEMENTS_OF(managed));
    Str names[] = {STR("berth"), STR("batch 2")};
    SchedulerConfig config = {
        .scheduler_names = names,
        .n_scheduler_names = ELEMENTS_OF(names),
        .percentage = 100,
        .has_leader_election = true,
        .lease_namespace = STR("berth-system"),
        .lease_name = STR("berth"),
        .kubeconfig = STR("/etc/kubernetes/scheduler.conf"),
        .extenders = &entry,
        .n_extenders = 1,
    };

    (void)state;
    check_round_trip("v1", &config, &text);
    assert_has(&text, "apiVersion: kubescheduler.config.k8s.io/v1\n");
    assert_has(&text, "schedulerName: batch 2\n");
    assert_has(&text, "httpTimeout: 1500ms\n");
    assert_has(&text, "At most 29 % of a node's total");
    assert_has_not(&text, "instead of 10");
    assert_has(&text, "ignorable: false\n");
    assert_has(&text, "none is placed\n    # against a policy");
}

static void test_writes_policy_as_json(void **state) {
    _cleanup_(buf_done) Buf text = BUF_INIT(TEXT_MAX);
    ManagedResource managed[] = {{STR("example.com/gpu"), true}};
    ExtenderEntry entry = full_entry(managed, ELEMENTS_OF(managed));
    Str name = STR("default-scheduler");
    SchedulerConfig config = {.format = WIRING_POLICY,
        .scheduler_names = &name,
        .n_scheduler_names = 1,
        .percentage = -1,
        .extenders = &entry,
        .n_extenders = 1};

    (void)state;
    check_round_trip("policy", &config, &text);
    assert_has(&text, "\"enableHttps\": true");
    assert_has(&text, "\"httpTimeout\": 1500000000");
    assert_has(&text, "\"apiVersion\": \"v1\"");
}

static void test_writes_v1alpha1_and_its_policy(void **state) {
    _cleanup_(buf_done) Buf text = BUF_INIT(TEXT_MAX);
    ExtenderEntry entry = full_entry(NULL, 0);
    Str name = STR("berth");
    SchedulerConfig config = {
        .api_version = STR("kubescheduler.config.k8s.io/v1alpha1"),
        .scheduler_names = &name,
        .n_scheduler_names = 1,
        .percentage = 100,
        .has_leader_election = true,
        .lease_namespace = STR("berth-system"),
        .lease_name = STR("berth"),
        .policy_map_namespace = STR("kube-system"),
        .policy_map_name = STR("berth-policy"),
        .extenders = &entry,
        .n_extenders = 1,
    };

    (void)state;
    check_round_trip("v1alpha1", &config, &text);
    assert_has(&text, "    configMap:\n      namespace: kube-system\n      name: berth-policy\n");
    assert_has(&text, "lockObjectNamespace: berth-system\n");
    assert_has(&text, "schedulerName: berth\n");
    assert_has(&text, "\n---\n{\n  \"kind\": \"Policy\",\n  \"apiVersion\": \"v1\"");
    assert_has_not(&text, "resourceName");
    assert_has_not(&text, "profiles");
}

/* Each choice alone, on top of the smallest configuration. */
static void test_each_choice_has_its_comment(void **state) {
    static const struct {
        const char *name;
        ExtenderEntry entry;
        const char *has, *has_not;
    } cases[] = {
        {"plain", {.is_node_cache_capable = true}, "No prioritizeVerb", "weight"},
        {"whole nodes", {.is_node_cache_capable = false}, "nodeCacheCapable: false", NULL},
        {"ignorable", {.is_ignorable = true}, "placed as if there were no policies", "binds such"},
        {"ignorable binder", {.is_ignorable = true, .bind_verb = STR("bind")},
            "binds such pods itself", NULL},
        {"wide scores", {.prioritize_verb = STR("p"), .weight = 5, .max_score = 100},
            "answer up to 100 instead of 10, and nothing is cut off: at most\n    # 81 %", NULL},
        {"no tls", {.tls = {.is_given = true}}, "tlsConfig: {}\n", NULL},
        {"insecure", {.tls = {.is_given = true, .is_insecure = true}}, "insecure: true\n", NULL},
        {"odd verbs", {.filter_verb = STR("yes"), .preempt_verb = STR("5")}, "\"yes\"", NULL},
        {"quotes", {.filter_verb = STR("a\"b\\c: #d\n")}, "\"a\\\"b\\\\c: #d\\n\"", NULL},
        {"minutes", {.timeout_nsec = INT64_C(90000000000)}, "httpTimeout: 90s\n", NULL},
        {"nanoseconds", {.timeout_nsec = 1000000001}, "httpTimeout: 1000000001ns\n", NULL},
    };
    Str name = STR("default-scheduler");

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(buf_done) Buf text = BUF_INIT(TEXT_MAX);
        ExtenderEntry entry = cases[i].entry;
        SchedulerConfig config = {.scheduler_names = &name,
            .n_scheduler_names = 1,
            .percentage = -1,
            .extenders = &entry,
            .n_extenders = 1};

        entry.url_prefix = STR("http://127.0.0.1:8080");
        check_round_trip(cases[i].name, &config, &text);
        assert_has(&text, cases[i].has);
        if (cases[i].has_not)
            assert_has_not(&text, cases[i].has_not);
        assert_has(&text, "leaderElect: false\n");
        assert_has_not(&text, "\nprofiles:");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_writes_v1_with_comments),
        cmocka_unit_test(test_writes_policy_as_json),
        cmocka_unit_test(test_writes_v1alpha1_and_its_policy),
        cmocka_unit_test(test_each_choice_has_its_comment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
