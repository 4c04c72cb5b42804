#include "cli/values.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "base/ascii.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/nsec.h"
#include "base/quantity.h"
#include "base/str.h"
#include "cel/duration.h"
#include "cli/command.h"
#include "model/time.h"

#define SIZE_VALUE_MAX (INT64_C(1) << 40)

int value_error(const char *command, const char *option, const char *value, const char *wanted) {
    (void)fprintf(stderr, "berth %s: --%s %s: %s\n", command, option, value, wanted);
    return EXIT_USAGE;
}

bool value_is_label(Str text) {
    if (text.len == 0 || text.len > 63 || text.ptr[0] == '-' || text.ptr[text.len - 1] == '-')
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (!ascii_is_lower(text.ptr[i]) && !ascii_is_digit(text.ptr[i]) && text.ptr[i] != '-')
            return false;
    return true;
}

int value_namespace(const char *command, const char *value) {
    return value_is_label(str_from_c(value))
               ? 0
               : value_error(command, "namespace", value, "expected small letters, digits and '-'");
}

static bool is_numeric_address(const char *address) {
    unsigned char parsed[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, address, parsed) == 1 || inet_pton(AF_INET6, address, parsed) == 1;
}

int value_listen(const char *command, const char *option, const char *value, Listen *ret) {
    const char *wanted = "expected ADDRESS:PORT with a numeric address, like 127.0.0.1:8080";
    Str text = str_from_c(value);
    size_t colon = str_find_last(text, ':');
    Str address = str_take(text, colon);
    int64_t port;

    if (colon == SIZE_MAX || !str_to_int64(str_skip(text, colon + 1), &port) || port < 0 ||
        port > UINT16_MAX)
        return value_error(command, option, value, wanted);
    if (address.len >= 2 && str_has_prefix(address, STR("[")) && str_has_suffix(address, STR("]")))
        address = str_of(address.ptr + 1, address.len - 2);
    if (str_is_empty(address))
        address = STR("0.0.0.0");
    if (str_is(address, "localhost"))
        address = STR("127.0.0.1");
    if (address.len >= LISTEN_ADDRESS_MAX)
        return value_error(command, option, value, wanted);
    memcpy(ret->address, address.ptr, address.len);
    ret->address[address.len] = '\0';
    ret->port = (uint16_t)port;
    return is_numeric_address(ret->address) ? 0 : value_error(command, option, value, wanted);
}

/* "table|json|placements" as "expected table, json or placements". */
static void print_choices(Str choices, Buf *out) {
    Str word;

    buf_append(out, STR("expected "));
    while (str_split(&choices, '|', &word)) {
        if (out->len > sizeof("expected ") - 1)
            buf_append(out, choices.ptr ? STR(", ") : STR(" or "));
        buf_append(out, word);
    }
    buf_append_char(out, '\0');
}

int value_choice(const char *command, const char *option, const char *value, const char *choices,
    unsigned *ret) {
    _cleanup_(buf_done) Buf wanted = BUF_INIT(256);
    Str rest = str_from_c(choices), word;

    for (unsigned i = 0; str_split(&rest, '|', &word); i++)
        if (str_is(word, value)) {
            *ret = i;
            return 0;
        }
    print_choices(str_from_c(choices), &wanted);
    return value_error(command, option, value, buf_str(&wanted).ptr);
}

int value_size(const char *command, const char *option, const char *value, size_t *ret) {
    Quantity quantity;

    if (!quantity_parse(str_from_c(value), &quantity) || quantity_value(quantity) < 1 ||
        quantity_value(quantity) > SIZE_VALUE_MAX)
        return value_error(command, option, value, "expected a size like 128Mi");
    *ret = (size_t)quantity_value(quantity);
    return 0;
}

int value_duration(const char *command, const char *option, const char *value, int64_t min_ns,
    int64_t max_ns, int64_t *ret_ns) {
    _cleanup_(buf_done) Buf wanted = BUF_INIT(256);

    if (cel_duration_parse(str_from_c(value), ret_ns) && *ret_ns >= min_ns && *ret_ns <= max_ns)
        return 0;
    buf_append(&wanted, STR("expected a length of time like 100ms, from "));
    cel_duration_print(min_ns, &wanted);
    buf_append(&wanted, STR(" to "));
    cel_duration_print(max_ns, &wanted);
    buf_append_char(&wanted, '\0');
    return value_error(command, option, value, buf_str(&wanted).ptr);
}

int value_time(const char *command, const char *option, const char *value, int64_t *ret_nsec) {
    int64_t sec = 0;

    if (!time_parse(str_from_c(value), &sec) || __builtin_mul_overflow(sec, NSEC_PER_SEC, ret_nsec))
        return value_error(command, option, value, "expected a time like 2026-01-31T20:00:00Z");
    return 0;
}

int value_number(const char *command, const char *option, const char *value, int64_t min,
    int64_t max, int64_t *ret) {
    char wanted[96];

    if (str_to_int64(str_from_c(value), ret) && *ret >= min && *ret <= max)
        return 0;
    (void)snprintf(wanted,
        sizeof(wanted),
        "expected a whole number from %lld to %lld",
        (long long)min,
        (long long)max);
    return value_error(command, option, value, wanted);
}
