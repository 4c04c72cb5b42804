#include "policy/exemption.h"

#include "base/test-assert.h"

static void test_parses_exemptions(void **state) {
    static const struct {
        const char *text;
        bool is_good;
        const char *namespace, *key, *value;
    } cases[] = {
        {"kube-system", true, "kube-system", "", ""},
        {"kube-system/k8s-app=kube-dns", true, "kube-system", "k8s-app", "kube-dns"},
        {"a/app.kubernetes.io/name=berth", true, "a", "app.kubernetes.io/name", "berth"},
        {"a/key=", true, "a", "key", ""},
        {"", false, "", "", ""},
        {"/key=value", false, "", "", ""},
        {"a/", false, "", "", ""},
        {"a/key", false, "", "", ""},
        {"a/=value", false, "", "", ""},
        {"a/key=b=c", false, "", "", ""},
        {"a/key=b/c", false, "", "", ""},
        {"A/key=b", false, "", "", ""},
        {"a b", false, "", "", ""},
        {"*", false, "", "", ""},
        {"a.b", false, "", "", ""},
        {"a/Not_a_domain/key=b", false, "", "", ""},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Exemption exemption;

        assert_case(cases[i].text,
            exemption_parse(str_from_c(cases[i].text), &exemption) == cases[i].is_good);
        if (!cases[i].is_good)
            continue;
        assert_case(cases[i].text, str_is(exemption.text, cases[i].text));
        assert_case(cases[i].text, str_is(exemption.namespace, cases[i].namespace));
        assert_case(cases[i].text, str_is(exemption.key, cases[i].key));
        assert_case(cases[i].text, str_is(exemption.value, cases[i].value));
    }
}

static void test_covers_matching_pods(void **state) {
    static const Label dns[] = {{STR("app"), STR("dns")}, {STR("tier"), STR("")}};
    static const Label web[] = {{STR("app"), STR("web")}};
    static const struct {
        const char *namespace;
        Labels labels;
        bool is_covered;
    } cases[] = {
        {"whole", {0}, true},
        {"whole", {web, 1}, true},
        {"some", {dns, 2}, true},
        {"some", {web, 1}, false},
        {"some", {0}, false},
        {"empty", {dns, 2}, true},
        {"empty", {web, 1}, false},
        {"other", {dns, 2}, false},
        {"whole2", {0}, false},
        {"", {0}, false},
    };
    static const char *const texts[] = {"whole", "some/app=dns", "empty/tier="};
    Exemption items[ELEMENTS_OF(texts)];
    const Exemptions exemptions = {.items = items, .n = ELEMENTS_OF(items)};

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(texts); i++)
        assert_true(exemption_parse(str_from_c(texts[i]), &items[i]));
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        const Pod pod = {.namespace = str_from_c(cases[i].namespace), .labels = cases[i].labels};

        assert_case(cases[i].namespace, exemptions_cover(&exemptions, &pod) == cases[i].is_covered);
        assert_false(exemptions_cover(NULL, &pod));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parses_exemptions),
        cmocka_unit_test(test_covers_matching_pods),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
