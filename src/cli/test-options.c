#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/nsec.h"
#include "cli/command.h"

typedef struct Settings {
    bool all, json;
    const char *file;
    const char *policies[2];
    size_t n_policies;
    Str names[2];
    size_t n_names;
    unsigned mode;
    uint8_t small;
    int64_t number;
    size_t size;
    int64_t wait_nsec, now_nsec;
    double seconds;
    Listen listen;
    const char *even;
    int custom;
} Settings;

static const char *check_even(const char *value) {
    return strlen(value) % 2 == 0 ? NULL : "expected an even length";
}

static const char *count(void *settings, const char *value) {
    (void)value;
    ((Settings *)settings)->custom++;
    return NULL;
}

#define AT(member) OPTION_AT(Settings, member)

/* clang-format off */
static const Option options[] = {
    {"all", OPTION_FLAG, 'a', AT(all), .help = "every one"},
    {"file", OPTION_FILE, 'f', .argument = "FILE", AT(file), .initial = "-", .help = "a file"},
    {"policy", OPTION_LIST, .argument = "FILE", OPTION_LIST_AT(Settings, policies, n_policies), .help = "policies"},
    {"pods", OPTION_NAMES, .argument = "NAME", OPTION_LIST_AT(Settings, names, n_names), .help = "pods"},
    {"output", OPTION_CHOICE, 'o', .argument = "table|json", AT(json), .initial = "table", .help = "output format"},
    {"mode", OPTION_CHOICE, .argument = "MODE", .values = "one|two", .min = 1, AT(mode), .help = "how"},
    {"fixed", OPTION_VALUE, .min = 7, AT(mode), .help = "mode 7"},

    OPTION_GROUP("Values", "Numbers and the like."),
    {"small", OPTION_NUMBER, .argument = "N", .max = 255, AT(small), .help = "a byte"},
    {"number", OPTION_NUMBER, .argument = "N", .min = -1, .max = INT64_MAX, AT(number), .initial = "5",
        .help = "a help that is so long that it has to be wrapped to a second line and then goes on"},
    {"size", OPTION_SIZE, .argument = "SIZE", AT(size), .help = "bytes"},
    {"wait", OPTION_DURATION, .argument = "TIME", .min = NSEC_PER_MSEC, .max = NSEC_PER_SEC, AT(wait_nsec), .help = "time"},
    {"now", OPTION_TIME, .argument = "TIME", AT(now_nsec), .help = "now"},
    {"every-so-many-seconds", OPTION_SECONDS, .argument = "SEC", .max = 100, AT(seconds), .initial = "0", .help = "pause"},
    {"listen", OPTION_LISTEN, .argument = "ADDR:PORT", AT(listen), .help = "address"},
    {"even", OPTION_TEXT, .argument = "TEXT", .check = check_even, AT(even), .help = "text"},
    {"custom", OPTION_CUSTOM, .set = count, .help = "counted"},
    {0},
};
/* clang-format on */

static Settings parsed;
static const char *arguments_seen[8];
static size_t n_arguments_seen;

static int run(void *settings, const Arguments *arguments) {
    parsed = *(Settings *)settings;
    n_arguments_seen = arguments->n;
    for (size_t i = 0; i < arguments->n && i < 8; i++)
        arguments_seen[i] = arguments->items[i];
    return EXIT_FAILED;
}

static const char *check(void *settings, const Arguments *arguments) {
    (void)arguments;
    return ((Settings *)settings)->number == -1 ? "--number -1 makes no sense" : NULL;
}

static void init(void *settings) {
    ((Settings *)settings)->number = 5;
}

static const Command plain = {
    .name = "plain",
    .summary = "takes options only",
    .usage = "[OPTIONS]",
    .about = "Does nothing.",
    .options = options,
    .settings_size = sizeof(Settings),
    .init = init,
    .check = check,
    .run = run,
};

static const Command words = {
    .name = "words",
    .summary = "takes arguments",
    .usage = "FILE...\n--all [FILE]",
    .about = "Two paragraphs.\n\n  one\n  two",
    .notes = "That is all.",
    .max_completed = 2,
    .settings_size = sizeof(Settings),
    .options = options,
    .run = run,
};

const char *program_name = "berth";
const Command *const commands[] = {&plain, &words};
const size_t n_commands = ELEMENTS_OF(commands);

/* Runs @command with words separated by blanks; the output goes to a file that is read back. */
static char printed[65536];

static int run_command(const Command *command, const char *line) {
    char copy[1024], *list[32], *rest = copy;
    FILE *file = tmpfile();
    int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO), n = 0, r;
    size_t len;

    assert_non_null(file);
    memset(&parsed, 0, sizeof(parsed));
    (void)snprintf(copy, sizeof(copy), "%s", line);
    for (char *word; (word = strsep(&rest, " ")) && n < 32;)
        if (word[0])
            list[n++] = word;
    (void)fflush(NULL);
    (void)dup2(fileno(file), STDOUT_FILENO);
    (void)dup2(fileno(file), STDERR_FILENO);
    r = command_run(command, n, list);
    (void)fflush(NULL);
    (void)dup2(out, STDOUT_FILENO);
    (void)dup2(err, STDERR_FILENO);
    (void)close(out);
    (void)close(err);
    rewind(file);
    len = fread(printed, 1, sizeof(printed) - 1, file);
    printed[len] = '\0';
    (void)fclose(file);
    if (parsed.file) /* the value was a slice of this function's copy */
        parsed.file = strcmp(parsed.file, "x") == 0 ? "x" : "other";
    return r;
}

static void expect_ran(const char *line) {
    if (run_command(&plain, line) != EXIT_FAILED)
        fail_msg("%s: %s", line, printed);
}

static void expect_wrong(const char *line, const char *message) {
    assert_int_equal(run_command(&plain, line), EXIT_USAGE);
    if (strncmp(printed, message, strlen(message)) != 0)
        fail_msg("%s: expected %s, printed %s", line, message, printed);
}

static void test_stores_each_kind_in_its_field(void **state) {
    expect_ran("--all --file x --output json --mode two --small 255 --number=-0 --size 2Ki");
    assert_true(parsed.all && parsed.json);
    assert_string_equal(parsed.file, "x");
    assert_int_equal(parsed.mode, 2);
    assert_int_equal(parsed.small, 255);
    assert_int_equal(parsed.number, 0);
    assert_int_equal(parsed.size, 2048);
    expect_ran("--wait 100ms --now 2026-01-31T20:00:00Z --every-so-many-seconds 1.5 --even ab");
    assert_int_equal(parsed.wait_nsec, 100 * NSEC_PER_MSEC);
    assert_int_equal(parsed.now_nsec, INT64_C(1769889600) * NSEC_PER_SEC);
    assert_true(parsed.seconds == 1.5);
    expect_ran("--fixed --custom --custom --policy a --policy b --pods p");
    assert_int_equal(parsed.mode, 7);
    assert_int_equal(parsed.custom, 2);
    assert_int_equal(parsed.n_policies, 2);
    assert_int_equal(parsed.n_names, 1);
    assert_int_equal(parsed.names[0].len, 1);
    (void)state;
}

static void test_defaults_stay_without_options(void **state) {
    expect_ran("");
    assert_int_equal(parsed.number, 5);
    assert_false(parsed.all || parsed.json);
    assert_null(parsed.file);
    (void)state;
}

static void test_accepts_every_way_to_write_an_option(void **state) {
    expect_ran("-a -f x");
    assert_true(parsed.all && strcmp(parsed.file, "x") == 0);
    expect_ran("-afx");
    assert_true(parsed.all && strcmp(parsed.file, "x") == 0);
    expect_ran("--file=x --output=json");
    assert_true(parsed.json && strcmp(parsed.file, "x") == 0);
    expect_ran("--file -x"); /* a value may begin with a dash */
    assert_string_equal(parsed.file, "other");
    (void)state;
}

static void test_listen_takes_numeric_addresses_and_localhost(void **state) {
    static const struct {
        const char *value, *address;
        uint16_t port;
    } cases[] = {
        {"127.0.0.1:80", "127.0.0.1", 80},
        {":8080", "0.0.0.0", 8080},
        {"localhost:0", "127.0.0.1", 0},
        {"[::1]:65535", "::1", 65535},
    };
    static const char *const wrong[] = {
        "80", "host:80", "127.0.0.1:65536", "1.2.3:80", ":x", ":-1"};
    char line[128];

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        (void)snprintf(line, sizeof(line), "--listen %s", cases[i].value);
        expect_ran(line);
        assert_string_equal(parsed.listen.address, cases[i].address);
        assert_int_equal(parsed.listen.port, cases[i].port);
    }
    for (size_t i = 0; i < ELEMENTS_OF(wrong); i++) {
        (void)snprintf(line, sizeof(line), "--listen %s", wrong[i]);
        assert_int_equal(run_command(&plain, line), EXIT_USAGE);
        assert_non_null(strstr(printed, "expected ADDRESS:PORT"));
    }
    (void)state;
}

static void test_rejects_values_out_of_range(void **state) {
    expect_wrong(
        "--small 256", "berth plain: --small 256: expected a whole number from 0 to 255\n");
    expect_wrong("--small -1", "berth plain: --small -1: expected a whole number from 0 to 255\n");
    expect_wrong("--small 1x", "berth plain: --small 1x: expected a whole number");
    expect_wrong("--size 0", "berth plain: --size 0: expected a size like 128Mi\n");
    expect_wrong(
        "--wait 2s", "berth plain: --wait 2s: expected a duration like 100ms, from 0.001s to 1s\n");
    expect_wrong("--now today", "berth plain: --now today: expected a time like 2026-");
    expect_wrong(
        "--every-so-many-seconds 101", "berth plain: --every-so-many-seconds 101: expected");
    expect_wrong("--output yaml", "berth plain: --output yaml: expected table or json\n");
    expect_wrong("--mode three", "berth plain: --mode three: expected one or two\n");
    expect_wrong("--even abc", "berth plain: --even abc: expected an even length\n");
    expect_wrong(
        "--policy a --policy b --policy c", "berth plain: --policy c: too many; at most 2\n");
    (void)state;
}

static void test_wrong_usage_suggests_and_prints_the_usage(void **state) {
    expect_wrong("--polcy x", "berth plain: unknown option --polcy; did you mean --policy?\n"
                              "usage: berth plain [OPTIONS]\n"
                              "Try: berth plain --help\n");
    expect_wrong("--xyzzy", "berth plain: unknown option --xyzzy\nusage: ");
    expect_wrong("-x", "berth plain: unknown option -x\nusage: ");
    expect_wrong("--po x", "berth plain: unknown option --po; did you mean --policy?\nusage: ");
    expect_wrong("--file", "berth plain: --file needs a value: FILE\nusage: ");
    expect_wrong("-f", "berth plain: --file needs a value: FILE\nusage: ");
    expect_wrong("--all=1", "berth plain: --all takes no value\nusage: ");
    expect_wrong(
        "word", "berth plain: unexpected argument \"word\": it takes options only\nusage: ");
    expect_wrong("--number -1", "berth plain: --number -1 makes no sense\nusage: ");
    (void)state;
}

static void test_arguments_may_stand_anywhere(void **state) {
    assert_int_equal(run_command(&words, "a --all - -- --b"), EXIT_FAILED);
    assert_int_equal(n_arguments_seen, 3);
    assert_true(parsed.all);
    (void)state;
}

static void test_help_is_laid_out(void **state) {
    static const char begin[] =
        "usage: berth plain [OPTIONS]\n"
        "\n"
        "Does nothing.\n"
        "\n"
        "  -a, --all              every one\n"
        "  -f, --file FILE        a file                                              [-]\n";
    static const char values[] =
        "\n"
        "Values\n"
        "Numbers and the like.\n"
        "  --small N              a byte\n"
        "  --number N             a help that is so long that it has to be wrapped to a\n"
        "                         second line and then goes on                        [5]\n";
    static const char long_name[] =
        "  --every-so-many-seconds SEC\n"
        "                         pause                                               [0]\n";

    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(run_command(&plain, i == 0 ? "--help --nonsense" : "-h"), EXIT_FINE);
        assert_memory_equal(printed, begin, sizeof(begin) - 1);
        assert_non_null(strstr(printed, values));
        assert_non_null(strstr(printed, long_name));
    }
    assert_int_equal(run_command(&words, "--help"), EXIT_FINE);
    assert_non_null(
        strstr(printed, "usage: berth words FILE...\n       berth words --all [FILE]\n\n"
                        "Two paragraphs.\n\n  one\n  two\n\n"));
    assert_non_null(strstr(printed, "\n\nThat is all.\n"));
    (void)state;
}

static void test_tables_are_printed_as_json(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(65536);

    commands_print_json(&out);
    buf_append_char(&out, '\0');
    assert_int_equal(buf_error(&out), 0);
    assert_non_null(strstr(buf_str(&out).ptr, "\"letter\": \"o\""));
    assert_non_null(strstr(buf_str(&out).ptr, "\"heading\": \"Values\""));
    assert_non_null(strstr(buf_str(&out).ptr, "\"default\": \"table\""));
    (void)state;
}

static void test_commands_and_options_are_found_by_name(void **state) {
    assert_ptr_equal(command_find("words"), &words);
    assert_null(command_find("word"));
    assert_string_equal(option_find(options, STR("--file"))->name, "file");
    assert_string_equal(option_find(options, STR("-f"))->name, "file");
    assert_string_equal(option_find(options, STR("--help"))->name, "help");
    assert_null(option_find(options, STR("--fil")));
    assert_null(option_find(options, STR("--Values")));
    assert_null(option_find(NULL, STR("--all")));
    (void)state;
}

static void test_namespaces_are_dns_labels(void **state) {
    assert_null(value_check_namespace("kube-system"));
    assert_non_null(value_check_namespace("Kube"));
    assert_non_null(value_check_namespace("-a"));
    assert_non_null(value_check_namespace(""));
    assert_non_null(value_check_given(""));
    assert_null(value_check_given("x"));
    (void)state;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stores_each_kind_in_its_field),
        cmocka_unit_test(test_defaults_stay_without_options),
        cmocka_unit_test(test_accepts_every_way_to_write_an_option),
        cmocka_unit_test(test_listen_takes_numeric_addresses_and_localhost),
        cmocka_unit_test(test_rejects_values_out_of_range),
        cmocka_unit_test(test_wrong_usage_suggests_and_prints_the_usage),
        cmocka_unit_test(test_arguments_may_stand_anywhere),
        cmocka_unit_test(test_help_is_laid_out),
        cmocka_unit_test(test_tables_are_printed_as_json),
        cmocka_unit_test(test_commands_and_options_are_found_by_name),
        cmocka_unit_test(test_namespaces_are_dns_labels),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
