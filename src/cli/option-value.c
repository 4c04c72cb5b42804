/* Values of options: parsed by kind, stored in the settings. */

#include <arpa/inet.h>
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/double.h"
#include "base/label.h"
#include "base/nsec.h"
#include "base/quantity.h"
#include "cel/time.h"
#include "cli/option.h"
#include "model/time.h"

#define SIZE_VALUE_MAX (INT64_C(1) << 40)

const char *value_check_namespace(const char *value) {
    return label_is_namespace(str_from_c(value)) ? NULL
                                                 : "expected lower case letters, digits and '-'";
}

const char *value_check_given(const char *value) {
    return value[0] ? NULL : "expected a value that is not empty";
}

__attribute__((format(printf, 2, 3))) static bool fail(char *wanted, const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(wanted, OPTION_WANTED_MAX, format, arguments);
    va_end(arguments);
    return false;
}

/* Stores @value in a field of option->size bytes. */
static void store_integer(const Option *option, void *settings, int64_t value) {
    char *field = (char *)settings + option->offset;

    switch (option->size) {
    case 1:
        *(uint8_t *)field = (uint8_t)value;
        break;
    case 2:
        memcpy(field, &(uint16_t){(uint16_t)value}, 2);
        break;
    case 4:
        memcpy(field, &(uint32_t){(uint32_t)value}, 4);
        break;
    default:
        assert(option->size == sizeof(value));
        memcpy(field, &value, sizeof(value));
    }
}

static bool store_list(const Option *option, void *settings, const char *value, char *wanted) {
    char *items = (char *)settings + option->offset;
    size_t *n = (size_t *)((char *)settings + option->count);

    if (*n == (size_t)option->max)
        return fail(wanted, "too many; at most %lld", (long long)option->max);
    if (option->kind == OPTION_NAMES)
        ((Str *)items)[*n] = str_from_c(value);
    else
        ((const char **)items)[*n] = value;
    ++*n;
    return true;
}

/* Reports "table|json|placements" as "expected table, json or placements". */
static bool fail_choice(Str choices, char *wanted) {
    _cleanup_(buf_done) Buf out = BUF_INIT(OPTION_WANTED_MAX);
    Str word;

    while (str_split(&choices, '|', &word))
        buf_printf(&out, "%s%.*s", out.len == 0 ? "" : choices.ptr ? ", " : " or ", STR_FMT(word));
    return fail(wanted, "expected %.*s", STR_FMT(buf_str(&out)));
}

static bool store_choice(const Option *option, void *settings, const char *value, char *wanted) {
    const char *choices = option->values ? option->values : option->argument;
    Str rest = str_from_c(choices), word;

    for (int64_t i = 0; str_split(&rest, '|', &word); i++)
        if (str_is(word, value)) {
            store_integer(option, settings, option->min + i);
            return true;
        }
    return fail_choice(str_from_c(choices), wanted);
}

static bool store_number(const Option *option, void *settings, const char *value, char *wanted) {
    int64_t number;

    if (!str_to_int64(str_from_c(value), &number) || number < option->min || number > option->max)
        return fail(wanted, "expected a whole number from %lld to %lld", (long long)option->min,
            (long long)option->max);
    store_integer(option, settings, number);
    return true;
}

static bool store_size(const Option *option, void *settings, const char *value, char *wanted) {
    Quantity quantity;

    if (!quantity_parse(str_from_c(value), &quantity) || quantity_value(quantity) < 1 ||
        quantity_value(quantity) > SIZE_VALUE_MAX)
        return fail(wanted, "expected a size like 128Mi");
    store_integer(option, settings, quantity_value(quantity));
    return true;
}

static bool store_duration(const Option *option, void *settings, const char *value, char *wanted) {
    _cleanup_(buf_done) Buf text = BUF_INIT(OPTION_WANTED_MAX);
    int64_t nsec;

    if (cel_duration_parse(str_from_c(value), &nsec) && nsec >= option->min &&
        nsec <= option->max) {
        store_integer(option, settings, nsec);
        return true;
    }
    cel_duration_print(option->min, &text);
    buf_append(&text, STR(" to "));
    cel_duration_print(option->max, &text);
    return fail(wanted, "expected a duration like 100ms, from %.*s", STR_FMT(buf_str(&text)));
}

static bool store_time(const Option *option, void *settings, const char *value, char *wanted) {
    int64_t sec = 0, nsec;

    if (!time_parse(str_from_c(value), &sec) || __builtin_mul_overflow(sec, NSEC_PER_SEC, &nsec))
        return fail(wanted, "expected a time like 2026-01-31T20:00:00Z");
    store_integer(option, settings, nsec);
    return true;
}

static bool store_seconds(const Option *option, void *settings, const char *value, char *wanted) {
    double seconds;

    if (!double_parse(str_from_c(value), &seconds, NULL) ||
        !(seconds >= 0 && seconds <= (double)option->max))
        return fail(wanted, "expected a number of seconds, 0 or more");
    memcpy((char *)settings + option->offset, &seconds, sizeof(seconds));
    return true;
}

static bool parse_listen(Str text, Listen *ret) {
    unsigned char parsed[sizeof(struct in6_addr)];
    size_t colon = str_find_last(text, ':');
    Str address = str_take(text, colon);
    int64_t port;

    if (colon == SIZE_MAX || !str_to_int64(str_skip(text, colon + 1), &port) || port < 0 ||
        port > UINT16_MAX)
        return false;
    if (address.len >= 2 && str_has_prefix(address, STR("[")) && str_has_suffix(address, STR("]")))
        address = str_of(address.ptr + 1, address.len - 2);
    if (str_is_empty(address))
        address = STR("0.0.0.0");
    if (str_is(address, "localhost"))
        address = STR("127.0.0.1");
    if (address.len >= LISTEN_ADDRESS_MAX)
        return false;
    memcpy(ret->address, address.ptr, address.len);
    ret->address[address.len] = '\0';
    ret->port = (uint16_t)port;
    return inet_pton(AF_INET, ret->address, parsed) == 1 ||
           inet_pton(AF_INET6, ret->address, parsed) == 1;
}

static bool store_listen(const Option *option, void *settings, const char *value, char *wanted) {
    Listen listen = {0};

    if (!parse_listen(str_from_c(value), &listen))
        return fail(wanted, "expected ADDRESS:PORT with a numeric address, like 127.0.0.1:8080");
    memcpy((char *)settings + option->offset, &listen, sizeof(listen));
    return true;
}

static bool store_text(const Option *option, void *settings, const char *value, char *wanted) {
    memcpy((char *)settings + option->offset, &value, sizeof(value));
    return true;
}

static bool store_value(const Option *option, void *settings, const char *value, char *wanted) {
    store_integer(option, settings, option->kind == OPTION_FLAG ? true : option->min);
    return true;
}

bool option_store(const Option *option, void *settings, const char *value,
    char wanted[static OPTION_WANTED_MAX]) {
    static bool (*const store[])(const Option *, void *, const char *, char *) = {
        [OPTION_FLAG] = store_value,
        [OPTION_VALUE] = store_value,
        [OPTION_TEXT] = store_text,
        [OPTION_FILE] = store_text,
        [OPTION_LIST] = store_list,
        [OPTION_NAMES] = store_list,
        [OPTION_CHOICE] = store_choice,
        [OPTION_NUMBER] = store_number,
        [OPTION_SIZE] = store_size,
        [OPTION_DURATION] = store_duration,
        [OPTION_TIME] = store_time,
        [OPTION_SECONDS] = store_seconds,
        [OPTION_LISTEN] = store_listen,
    };
    const char *wrong = option->check ? option->check(value) : NULL;

    if (!wrong && option->set)
        wrong = option->set(settings, value);
    if (wrong)
        return fail(wanted, "%s", wrong);
    return option->set || store[option->kind](option, settings, value, wanted);
}
