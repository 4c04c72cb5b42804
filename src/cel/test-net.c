#include "base/cleanup.h"
#include "base/test-assert.h"
#include "cel/ip.h"

static CelIp ip(const char *text) {
    CelIp parsed;

    assert_case(text, cel_ip_parse(str_from_c(text), &parsed, NULL));
    return parsed;
}

static CelCidr cidr(const char *text) {
    CelCidr parsed;

    assert_case(text, cel_cidr_parse(str_from_c(text), &parsed, NULL));
    return parsed;
}

static void test_canonical_form(void **state) {
    static const char *const cases[][2] = {
        {"127.0.0.1", "127.0.0.1"},
        {"0.0.0.0", "0.0.0.0"},
        {"255.255.255.255", "255.255.255.255"},
        {"::", "::"},
        {"::1", "::1"},
        {"1::", "1::"},
        {"2001:DB8::ABCD", "2001:db8::abcd"},
        {"2001:db8::0:0:0:abcd", "2001:db8::abcd"},
        {"0:0:0:0:0:0:0:0", "::"},
        {"0:0:1:0:0:1:0:0", "::1:0:0:1:0:0"}, /* of equal runs the first */
        {"1:0:0:1:0:0:0:1", "1:0:0:1::1"},    /* the longest, not the first */
        {"1:0:2:3:4:5:6:7", "1:0:2:3:4:5:6:7"},
        {"1::2:3:4:5:6:7", "1:0:2:3:4:5:6:7"}, /* a single group is not shortened */
        {"1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"},
        {"::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"},
        {"0001:002::", "1:2::"},
        {"::1.2.3.4", "::102:304"},
        {"64:ff9b::1.2.3.4", "64:ff9b::102:304"},
        {"1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"},
        {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
        {"::ffff:c0a8:1", "192.168.0.1"}, /* network_ext/ipv4/ipv4_equals_ipv6 */
        {"::FFFF:0:0", "0.0.0.0"},
        {"::fffe:c0a8:1", "::fffe:c0a8:1"},
        {"::ffff", "::ffff"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        CelIp parsed = ip(cases[i][0]), again = ip(cases[i][1]);
        CelIpText text = cel_ip_text(&parsed);

        assert_text(cases[i][0], str_from_c(text.text), cases[i][1]);
        assert_case(cases[i][0], cel_ip_equal(&parsed, &again));
    }
}

static void test_refused(void **state) {
    static const char *const cases[] = {
        "",
        ".",
        ":",
        "1",
        "1.2.3",
        "1.2.3.",
        "1.2.3.4.",
        "1.2.3.4.5",
        "127.0.0.256",
        "127.0.0.1000",
        "01.2.3.4",
        "1.2.3.00",
        "1..3.4",
        " 1.2.3.4",
        "1.2.3.4 ",
        "+1.2.3.4",
        "1.2.3.a",
        "1.2.3.4:80",
        "1.2.3.4%eth0",
        ":::",
        ":::1",
        "1:::2",
        ":1",
        "1:",
        "1:2",
        "1:2:3:4:5:6:7",
        "1:2:3:4:5:6:7:",
        "1:2:3:4:5:6:7:8:",
        "1:2:3:4:5:6:7:8:9",
        "1:2:3:4:5:6:7:8::",
        "::1:2:3:4:5:6:7:8",
        "1::2:3:4:5:6:7:8",
        "1::2::3",
        "::00001",
        "12345::",
        "::g",
        "::1/64",
        "fe80::1%en0",
        "fe80::1%",
        "%en0",
        "1:2:3:4:5:6:7:1.2.3.4",
        "1:2:3:4:5:1.2.3.4",
        "1:2:3:4:5:6::1.2.3.4.5",
        "::1.2.3",
        "::1.2.3.256",
        "::1.2.3.4:5",
        "::ffff:1.2.3.4",
        "::ffff:0:1.2.3.4.",
        "0:0:0:0:0:ffff:1.2.3.4",
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        CelIp parsed;
        const char *why = NULL;

        assert_case(cases[i], !cel_ip_parse(str_from_c(cases[i]), &parsed, &why) && why);
    }
}

static void test_ranges(void **state) {
    static const struct {
        const char *text, *canonical, *masked; /* NULL: error */
    } cases[] = {
        {"192.168.0.0/24", "192.168.0.0/24", "192.168.0.0/24"},
        {"192.168.0.1/24", "192.168.0.1/24", "192.168.0.0/24"},
        {"255.255.255.255/0", "255.255.255.255/0", "0.0.0.0/0"},
        {"255.255.255.255/1", "255.255.255.255/1", "128.0.0.0/1"},
        {"255.255.255.255/31", "255.255.255.255/31", "255.255.255.254/31"},
        {"255.255.255.255/32", "255.255.255.255/32", "255.255.255.255/32"},
        {"2001:DB8::1/32", "2001:db8::1/32", "2001:db8::/32"},
        {"ffff::ffff/127", "ffff::ffff/127", "ffff::fffe/127"},
        {"ffff:ffff::/20", "ffff:ffff::/20", "ffff:f000::/20"},
        {"::1/128", "::1/128", "::1/128"},
        {"::1/0", "::1/0", "::/0"},
        {"192.168.0.0/33", NULL, NULL},
        {"::1/129", NULL, NULL},
        {"::1/256", NULL, NULL},
        {"1.2.3.4", NULL, NULL},
        {"1.2.3.4/", NULL, NULL},
        {"1.2.3.4/032", NULL, NULL},
        {"1.2.3.4/00", NULL, NULL},
        {"1.2.3.4/+1", NULL, NULL},
        {"1.2.3.4/-1", NULL, NULL},
        {"1.2.3.4/1a", NULL, NULL},
        {"1.2.3.4/8/8", NULL, NULL},
        {"/8", NULL, NULL},
        {"fe80::1%en0/24", NULL, NULL},
        {"::ffff:1.2.3.4/24", NULL, NULL},
        {"::ffff:102:304/120", NULL, NULL},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        CelCidr parsed, masked;
        const char *why = NULL;
        bool is_range = cel_cidr_parse(str_from_c(cases[i].text), &parsed, &why);

        assert_case(cases[i].text, is_range == (cases[i].canonical != NULL));
        assert_case(cases[i].text, is_range == (why == NULL));
        if (!is_range)
            continue;
        masked = cel_cidr_masked(&parsed);
        assert_text(cases[i].text, str_from_c(cel_cidr_text(&parsed).text), cases[i].canonical);
        assert_text(cases[i].text, str_from_c(cel_cidr_text(&masked).text), cases[i].masked);
        assert_case(cases[i].text, cel_cidr_has_cidr(&parsed, &masked));
        assert_case(cases[i].text, cel_cidr_has_ip(&masked, &parsed.ip));
    }
}

static void test_contains(void **state) {
    static const struct {
        const char *range, *other; /* an address, or a range */
        bool is_in;
    } cases[] = {
        {"192.168.0.0/24", "192.168.0.1", true},
        {"192.168.0.77/24", "192.168.0.1", true},
        {"192.168.0.0/24", "192.168.1.1", false},
        {"0.0.0.0/0", "255.1.2.3", true},
        {"0.0.0.0/0", "::", false},
        {"::/0", "1.2.3.4", false},
        {"1.2.3.4/32", "1.2.3.4", true},
        {"1.2.3.4/32", "1.2.3.5", false},
        {"10.0.0.0/7", "11.255.0.0", true},
        {"10.0.0.0/7", "12.0.0.0", false},
        {"2001:db8::/33", "2001:db8:7fff::", true},
        {"2001:db8::/33", "2001:db8:8000::", false},
        {"10.0.0.0/8", "10.0.0.0/8", true},
        {"10.0.0.0/8", "10.1.0.0/16", true},
        {"10.1.0.0/16", "10.0.0.0/8", false},
        {"192.168.0.0/24", "192.168.0.0/23", false},
        {"10.0.0.0/8", "11.0.0.0/16", false},
        {"::/0", "10.0.0.0/8", false},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        CelCidr range = cidr(cases[i].range), other_range;
        CelIp other_ip;

        if (strchr(cases[i].other, '/')) {
            other_range = cidr(cases[i].other);
            assert_case(cases[i].other, cel_cidr_has_cidr(&range, &other_range) == cases[i].is_in);
        } else {
            other_ip = ip(cases[i].other);
            assert_case(cases[i].other, cel_cidr_has_ip(&range, &other_ip) == cases[i].is_in);
        }
    }
}

/* A letter per kind: u unspecified, l loopback, m link-local multicast, c link-local unicast, g
 * global unicast. */
static void test_kinds(void **state) {
    static const char *const cases[][2] = {
        {"0.0.0.0", "u"},
        {"0.0.0.1", "g"},
        {"::", "u"},
        {"127.0.0.1", "l"},
        {"127.255.0.1", "l"},
        {"128.0.0.1", "g"},
        {"::1", "l"},
        {"::2", "g"},
        {"1::1", "g"},
        {"224.0.0.1", "m"},
        {"224.0.0.255", "m"},
        {"224.0.1.1", ""},
        {"239.1.1.1", ""},
        {"240.0.0.1", "g"},
        {"255.255.255.255", ""},
        {"255.255.255.254", "g"},
        {"ff02::1", "m"},
        {"ff12::1", "m"},
        {"ff01::1", ""},
        {"ff00::1", ""},
        {"fd00::1", "g"},
        {"169.254.169.254", "c"},
        {"169.253.1.1", "g"},
        {"fe80::1", "c"},
        {"febf::1", "c"},
        {"fec0::1", "g"},
        {"fd80::1", "g"},
        {"192.168.0.1", "g"},
        {"2001:db8::abcd", "g"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        CelIp parsed = ip(cases[i][0]);
        char got[8];
        size_t n = 0;

        if (cel_ip_is_unspecified(&parsed))
            got[n++] = 'u';
        if (cel_ip_is_loopback(&parsed))
            got[n++] = 'l';
        if (cel_ip_is_link_local_multicast(&parsed))
            got[n++] = 'm';
        if (cel_ip_is_link_local_unicast(&parsed))
            got[n++] = 'c';
        if (cel_ip_is_global_unicast(&parsed))
            got[n++] = 'g';
        assert_text(cases[i][0], str_of(got, n), cases[i][1]);
    }
}

static void test_equality(void **state) {
    CelCidr a = cidr("10.0.0.1/8"), b = cidr("10.0.0.0/8"), c = cidr("10.0.0.1/9");
    CelIp four = ip("0.0.0.0"), six = ip("::");

    (void)state;
    assert_true(cel_cidr_equal(&a, &a));
    assert_false(cel_cidr_equal(&a, &b));
    assert_false(cel_cidr_equal(&a, &c));
    assert_false(cel_ip_equal(&four, &six));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_canonical_form),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_contains),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_equality),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
