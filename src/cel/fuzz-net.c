/*
 * Any bytes as an address, a range, a version and a quantity: no crash, and a valid one reads back
 * the same from its canonical form.
 */

#include <string.h>

#include "base/fuzz.h"
#include "base/str.h"
#include "cel/ip.h"
#include "cel/quantity.h"
#include "cel/semver.h"

static void check_ip(Str text) {
    CelIp ip, again;
    CelIpText canonical;
    const char *why = NULL;

    if (!cel_ip_parse(text, &ip, &why)) {
        require(why);
        return;
    }
    canonical = cel_ip_text(&ip);
    require(cel_ip_parse(str_from_c(canonical.text), &again, NULL));
    require(cel_ip_equal(&ip, &again));
    require(strcmp(canonical.text, cel_ip_text(&again).text) == 0);
    require(cel_ip_is_unspecified(&ip) + cel_ip_is_loopback(&ip) +
                cel_ip_is_link_local_multicast(&ip) + cel_ip_is_link_local_unicast(&ip) +
                cel_ip_is_global_unicast(&ip) <=
            1);
}

static void check_cidr(Str text) {
    CelCidr cidr, masked, again;
    CelIpText canonical;
    const char *why = NULL;

    if (!cel_cidr_parse(text, &cidr, &why)) {
        require(why);
        return;
    }
    canonical = cel_cidr_text(&cidr);
    require(cel_cidr_parse(str_from_c(canonical.text), &again, NULL));
    require(cel_cidr_equal(&cidr, &again));
    masked = cel_cidr_masked(&cidr);
    again = cel_cidr_masked(&masked);
    require(cel_cidr_equal(&masked, &again));
    require(cel_cidr_has_cidr(&cidr, &masked) && cel_cidr_has_cidr(&masked, &cidr));
}

static void check_semver(Str text, bool normalise) {
    _cleanup_(buf_done) Buf out = BUF_INIT(1 << 20);
    CelSemver version, again;
    const char *why = NULL;

    if (!cel_semver_parse(text, normalise, &version, &why)) {
        require(why);
        require(!normalise || !cel_semver_parse(text, /* normalise= */ false, &again, NULL));
        return;
    }
    cel_semver_print(&version, &out);
    require(buf_error(&out) == 0);
    require(cel_semver_parse(buf_str(&out), /* normalise= */ false, &again, NULL));
    require(cel_semver_cmp(&version, &again) == 0);
    require(normalise || str_eq(buf_str(&out), text));
}

static void check_amount(Str text) {
    _cleanup_(buf_done) Buf out = BUF_INIT(1 << 20);
    CelQuantity amount, again, sum;
    int64_t whole;

    if (cel_quantity_parse(text, &amount) != 0)
        return;
    cel_quantity_print(&amount, &out);
    require(cel_quantity_parse(buf_str(&out), &again) == 0);
    require(cel_quantity_cmp(&amount, &again) == 0);
    if (cel_quantity_add(&amount, &again, &sum)) {
        require(cel_quantity_sub(&sum, &again, &again));
        require(cel_quantity_cmp(&amount, &again) == 0);
    }
    if (cel_quantity_to_int(&amount, &whole)) {
        again = cel_quantity_from_int(whole);
        require(cel_quantity_cmp(&amount, &again) == 0);
        require(cel_quantity_to_double(&amount) == (double)whole);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Str text = str_of((const char *)data, size);

    check_ip(text);
    check_cidr(text);
    check_semver(text, /* normalise= */ false);
    check_semver(text, /* normalise= */ true);
    check_amount(text);
    return 0;
}
