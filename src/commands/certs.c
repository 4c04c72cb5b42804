/*
 * berth certs DIR: certificates for a start, and their renewal without a gap.
 *
 * What is in the folder is read, some of it is made anew in memory, and all that is new is
 * written at once. What berth makes here is nothing special: any CA does as well.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "certs/authority.h"
#include "certs/certificate.h"
#include "certs/pem-folder.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "cli/usage.h"
#include "cli/values.h"
#include "commands/certs-report.h"
#include "kube/message.h"

#define DAY_SEC INT64_C(86400)
#define CA_DAYS 3650
#define DAYS_MAX 3650
#define BACKDATE_SEC 300 /* clocks of two machines differ */
#define NAMES_MAX 64u
#define CLIENT_NAME_MAX 64u /* X.520's ceiling for a common name */
#define ARENA_BUDGET ((size_t)1024 * 1024)

typedef enum Mode { MAKE, FORCE, RENEW, RENEW_CA, RETIRE_CA } Mode;

static const char *const mode_options[] = {"", "--force", "--renew", "--renew-ca", "--retire-ca"};

typedef struct Settings {
    Mode mode;
    Str names[NAMES_MAX];
    size_t n_names;
    Str client_name; /* empty: not given */
    int64_t days;
    bool has_days;
    bool is_kubernetes; /* -o */
    CertsReport report;
} Settings;

static const Str default_names[] = {
    STR("berth.berth-system.svc"),
    STR("berth.berth-system.svc.cluster.local"),
    STR("berth"),
    STR("localhost"),
    STR("127.0.0.1"),
    STR("::1"),
};

static void print_help(FILE *out) {
    (void)fprintf(out,
        "usage: %s certs [OPTIONS] DIR\n"
        "\n"
        "Makes certificates for HTTPS between kube-scheduler and berth: a CA (ca.crt, ca.key), a\n"
        "pair for berth (server.crt, server.key) and a pair for kube-scheduler (client.crt,\n"
        "client.key), in a folder of their own. Keys are ECDSA on P-256. Nothing that is there is\n"
        "overwritten unless one of the options below says so.\n"
        "\n"
        "  --name NAME            DNS name or address of berth; may be repeated\n"
        "                         [berth.berth-system.svc, berth.berth-system.svc.cluster.local,\n"
        "                         berth, localhost, 127.0.0.1, ::1]\n"
        "  --client-name NAME     whom berth lets in (the CN)     [system:kube-scheduler]\n"
        "  --days N               how long the pairs last; the CA lasts ten years   [365]\n"
        "  -o, --output files|kubernetes  tell what was made and what comes next; or print the\n"
        "                         Secrets berth-server and berth-client as YAML, also of what is\n"
        "                         there already                                   [files]\n"
        "  --namespace NAME       of the Secrets                           [berth-system]\n"
        "  --force                make everything anew, the CA too: who trusts the old one\n"
        "                         will not trust these\n"
        "\n"
        "Renewal\n"
        "  --renew                new pairs of the CA in DIR, with the names of the old ones\n"
        "  --renew-ca             a new CA; ca.crt then holds it and those before it\n"
        "  --retire-ca            only the newest CA stays in ca.crt\n"
        "\n"
        "Pairs: `--renew` and bring the files to where they are used. A running berth notices\n"
        "by itself; kube-scheduler does when its configuration names files, and is restarted\n"
        "when they are written into it. A CA, without a gap:\n"
        "  1. --renew-ca    bring ca.crt to both sides, restart kube-scheduler (it reads CAs "
        "once)\n"
        "  2. --renew       bring the new pairs to both sides\n"
        "  3. --retire-ca   bring ca.crt to both sides again\n"
        "Each side trusts both CAs until the last step, so their order does not matter.\n"
        "\n"
        "Exit code: 0 when it is done, 1 when what is in DIR does not allow it, 3 when DIR cannot\n"
        "be read or written.\n",
        program_name);
}

/* --- what is made ----------------------------------------------------------------- */

static int64_t now_sec(void) {
    return clock_wall_nsec() / NSEC_PER_SEC;
}

/* The names of the pair that is there, when none were given. */
static int keep_names(Settings *settings, const PemFolder *folder, Arena *arena, char *error) {
    CertificateFacts facts;

    if (settings->n_names == 0 && folder->is_there[PEM_SERVER]) {
        int r = certificate_read(pem_folder_text(folder, PEM_SERVER), arena, &facts, error);

        if (r < 0)
            return r;
        for (size_t i = 0; i < facts.n_names && i < NAMES_MAX; i++)
            settings->names[settings->n_names++] = facts.names[i];
    }
    if (str_is_empty(settings->client_name) && folder->is_there[PEM_CLIENT]) {
        int r = certificate_read(pem_folder_text(folder, PEM_CLIENT), arena, &facts, error);

        if (r < 0)
            return r;
        settings->client_name = facts.common_name;
    }
    return 0;
}

static void use_defaults(Settings *settings) {
    if (settings->n_names == 0) {
        memcpy(settings->names, default_names, sizeof(default_names));
        settings->n_names = ELEMENTS_OF(default_names);
    }
    if (str_is_empty(settings->client_name))
        settings->client_name = STR(CERTS_CLIENT_NAME);
}

static int issue(const Authority *authority, const Settings *settings, PairUse use,
    PemFolder *folder, char *error) {
    _cleanup_(pem_pair_done) PemPair pair = PEM_PAIR_INIT;
    bool is_server = use == PAIR_SERVER;
    PairWish wish = {
        .use = use,
        .common_name = is_server ? STR("berth") : settings->client_name,
        .names = settings->names,
        .n_names = is_server ? settings->n_names : 0,
        .from_sec = now_sec() - BACKDATE_SEC,
        .until_sec = now_sec() + settings->days * DAY_SEC,
    };
    int r = authority_issue(authority, &wish, &pair, error);

    if (r < 0)
        return r;
    pem_folder_put(folder, is_server ? PEM_SERVER : PEM_CLIENT, buf_str(&pair.certificate));
    pem_folder_put(folder, is_server ? PEM_SERVER_KEY : PEM_CLIENT_KEY, buf_str(&pair.key));
    return 0;
}

static int issue_both(
    const Authority *authority, const Settings *settings, PemFolder *folder, char *error) {
    int r = issue(authority, settings, PAIR_SERVER, folder, error);

    return r < 0 ? r : issue(authority, settings, PAIR_CLIENT, folder, error);
}

static int put_certificates(const Authority *authority, PemFolder *folder, char *error) {
    _cleanup_(buf_done) Buf text = BUF_INIT(AUTHORITY_TEXT_MAX);
    int r = authority_print(authority, &text, error);

    if (r == 0)
        pem_folder_put(folder, PEM_CA, buf_str(&text));
    return r;
}

/* A new CA and its key; @previous, or NULL, stays in the bundle. */
static int make_authority(
    const Authority *previous, PemFolder *folder, Authority **ret, char *error) {
    _cleanup_(pem_pair_done) PemPair own = PEM_PAIR_INIT;
    int64_t now = now_sec();
    int r = authority_new(previous, now - BACKDATE_SEC, now + CA_DAYS * DAY_SEC, ret, error);

    if (r == 0)
        r = authority_print_key(*ret, &own.key, error);
    if (r == 0)
        pem_folder_put(folder, PEM_CA_KEY, buf_str(&own.key));
    return r < 0 ? r : put_certificates(*ret, folder, error);
}

/* The CA in the folder; @needs_key: and its key. */
static int read_authority(const PemFolder *folder, bool needs_key, Authority **ret, char *error) {
    char detail[AUTHORITY_ERROR_MAX] = "";
    Str key = needs_key ? pem_folder_text(folder, PEM_CA_KEY) : STR_NULL;
    bool has_key = folder->is_there[PEM_CA_KEY] && !str_is_empty(key);
    int r;

    if (!folder->is_there[PEM_CA] || (needs_key && !has_key)) {
        message_set(error,
            AUTHORITY_ERROR_MAX,
            "%s has no %s: only who has the CA's key can sign; without it make all anew (--force)",
            folder->path,
            folder->is_there[PEM_CA] ? "ca.key" : "ca.crt");
        return -EINVAL;
    }
    r = authority_read(pem_folder_text(folder, PEM_CA), key, ret, detail);
    if (r < 0)
        message_set(error, AUTHORITY_ERROR_MAX, "the CA in %s: %s", folder->path, detail);
    return r;
}

/* --- the modes -------------------------------------------------------------------- */

static int make(Settings *settings, PemFolder *folder, char *error) {
    _cleanup_(authority_freep) Authority *authority = NULL;
    int r;

    if (settings->mode == MAKE && pem_folder_first(folder)) {
        message_set(error,
            AUTHORITY_ERROR_MAX,
            "%s/%s is there already; --renew makes new pairs of its CA, --force everything anew",
            folder->path,
            pem_folder_first(folder));
        return -EEXIST;
    }
    use_defaults(settings);
    r = make_authority(NULL, folder, &authority, error);
    return r < 0 ? r : issue_both(authority, settings, folder, error);
}

static int renew(Settings *settings, PemFolder *folder, char *error) {
    _cleanup_(authority_freep) Authority *authority = NULL;
    _cleanup_(arena_freep) Arena *arena = arena_new(ARENA_BUDGET);
    int r = arena ? read_authority(folder, true, &authority, error) : -ENOMEM;

    if (r == 0)
        r = keep_names(settings, folder, arena, error);
    if (r < 0)
        return r;
    use_defaults(settings);
    r = issue_both(authority, settings, folder, error);
    settings->client_name = STR_NULL; /* may be the arena's */
    settings->n_names = 0;
    return r;
}

static int renew_authority(Settings *settings, PemFolder *folder, char *error) {
    _cleanup_(authority_freep) Authority *before = NULL, *authority = NULL;
    int r = read_authority(folder, false, &before, error);

    return r < 0 ? r : make_authority(before, folder, &authority, error);
}

/* Nobody may be left who shows a certificate of one that goes. */
static int retire(Settings *settings, PemFolder *folder, char *error) {
    static const PemFile leaves[] = {PEM_SERVER, PEM_CLIENT};
    _cleanup_(authority_freep) Authority *authority = NULL;
    int r = read_authority(folder, false, &authority, error);

    if (r < 0)
        return r;
    for (size_t i = 0; i < ELEMENTS_OF(leaves); i++)
        if (folder->is_there[leaves[i]] &&
            authority_signer_of(authority, pem_folder_text(folder, leaves[i])) != 0) {
            message_set(error,
                AUTHORITY_ERROR_MAX,
                "%s/%s is not of the newest CA; --renew first, and bring the new pairs to where "
                "they are used",
                folder->path,
                pem_file_name(leaves[i]));
            return -EINVAL;
        }
    return authority_retire(authority) > 0 ? put_certificates(authority, folder, error) : 0;
}

typedef int (*ModeFunction)(Settings *settings, PemFolder *folder, char *error);

static const ModeFunction mode_functions[] = {
    [MAKE] = make,
    [FORCE] = make,
    [RENEW] = renew,
    [RENEW_CA] = renew_authority,
    [RETIRE_CA] = retire,
};

/* Wrong content (1), or a folder that cannot be had (3). */
static int complain(const char *error, int r) {
    terminal_complain("berth certs", error);
    return r == -EINVAL || r == -EEXIST || r == -E2BIG ? EXIT_FAILED : EXIT_UNREACHABLE;
}

static int run(Settings *settings, const char *path) {
    _cleanup_(pem_folder_done) PemFolder folder = PEM_FOLDER_INIT;
    char error[AUTHORITY_ERROR_MAX] = "out of memory";
    int r = pem_folder_read(&folder, path, error);
    bool is_only_shown;

    if (r < 0)
        return complain(error, r);
    is_only_shown = settings->mode == MAKE && settings->is_kubernetes && pem_folder_first(&folder);
    if (!is_only_shown) {
        r = mode_functions[settings->mode](settings, &folder, error);
        if (r == 0)
            r = pem_folder_write(&folder, error);
    }
    if (r < 0)
        return complain(error, r);
    settings->report.is_ca_new = settings->mode == RENEW_CA;
    settings->report.is_ca_retired = settings->mode == RETIRE_CA;
    settings->report.is_renewed = settings->mode == RENEW;
    r = certs_report(&settings->report, &folder, error);
    if (r == 0 && settings->is_kubernetes)
        r = certs_print_secrets(&settings->report, &folder, error);
    return r < 0 ? complain(error, r) : EXIT_FINE;
}

/* --- options ---------------------------------------------------------------------- */

enum {
    OPTION_NAME = 256,
    OPTION_CLIENT_NAME,
    OPTION_DAYS,
    OPTION_NAMESPACE,
    OPTION_FORCE, /* these four in the order of Mode */
    OPTION_RENEW,
    OPTION_RENEW_CA,
    OPTION_RETIRE_CA,
};

static const struct option long_options[] = {
    {"name", required_argument, NULL, OPTION_NAME},
    {"client-name", required_argument, NULL, OPTION_CLIENT_NAME},
    {"days", required_argument, NULL, OPTION_DAYS},
    {"output", required_argument, NULL, 'o'},
    {"namespace", required_argument, NULL, OPTION_NAMESPACE},
    {"force", no_argument, NULL, OPTION_FORCE},
    {"renew", no_argument, NULL, OPTION_RENEW},
    {"renew-ca", no_argument, NULL, OPTION_RENEW_CA},
    {"retire-ca", no_argument, NULL, OPTION_RETIRE_CA},
    {"help", no_argument, NULL, 'h'},
    {0},
};

static int wrong_value(const char *option, const char *value, const char *wanted) {
    return value_error("certs", option, value, wanted);
}

/* A DNS name as certificates carry it: the first label may be "*". */
static bool is_dns_name(Str name) {
    Str rest = str_has_prefix(name, STR("*.")) ? str_skip(name, 2) : name, label;

    if (name.len > 253 || str_is_empty(rest))
        return false;
    while (str_split(&rest, '.', &label))
        if (!value_is_label(label))
            return false;
    return !str_has_suffix(name, STR("."));
}

static int add_name(Settings *settings, const char *value) {
    unsigned char address[sizeof(struct in6_addr)];
    Str name = str_from_c(value);

    if (inet_pton(AF_INET, value, address) != 1 && inet_pton(AF_INET6, value, address) != 1 &&
        !is_dns_name(name))
        return wrong_value("name",
            value,
            "expected a DNS name in small letters or an address, without scheme and port");
    if (settings->n_names == NAMES_MAX)
        return wrong_value("name", value, "there are 64 names already");
    settings->names[settings->n_names++] = name;
    return 0;
}

static int set_client_name(Settings *settings, const char *value) {
    Str name = str_from_c(value);

    if (str_is_empty(name) || name.len > CLIENT_NAME_MAX)
        return wrong_value("client-name", value, "expected 1 to 64 characters");
    for (size_t i = 0; i < name.len; i++)
        if (name.ptr[i] < ' ' || name.ptr[i] > '~')
            return wrong_value("client-name", value, "expected letters, digits and signs of ASCII");
    settings->client_name = name;
    return 0;
}

static int set_output(Settings *settings, const char *value) {
    unsigned choice = 0;
    int r = value_choice("certs", "output", value, "files|kubernetes", &choice);

    settings->is_kubernetes = choice == 1;
    return r;
}

static int set_mode(Settings *settings, Mode mode) {
    if (settings->mode != MAKE && settings->mode != mode) {
        (void)fprintf(stderr,
            "berth certs: %s and %s exclude each other: they are steps of their own\n",
            mode_options[settings->mode],
            mode_options[mode]);
        return EXIT_USAGE;
    }
    settings->mode = mode;
    return 0;
}

static int set_option(Settings *settings, int option, const char *value) {
    switch (option) {
    case OPTION_NAME:
        return add_name(settings, value);
    case OPTION_CLIENT_NAME:
        return set_client_name(settings, value);
    case OPTION_DAYS:
        settings->has_days = true;
        return value_number("certs", "days", value, 1, DAYS_MAX, &settings->days);
    case OPTION_NAMESPACE:
        settings->report.namespace = str_from_c(value);
        return value_namespace("certs", value);
    case 'o':
        return set_output(settings, value);
    default:
        return set_mode(settings, (Mode)(option - OPTION_FORCE + FORCE));
    }
}

static int misused(const char *what) {
    return usage_error("certs", what, print_help);
}

static int check_settings(const Settings *settings, int n_folders) {
    bool makes_pairs = settings->mode <= RENEW;

    if (n_folders != 1)
        return misused(n_folders == 0 ? "in which folder?" : "one folder at a time");
    if (!makes_pairs &&
        (settings->n_names > 0 || !str_is_empty(settings->client_name) || settings->has_days))
        return misused("--name, --client-name and --days are for pairs: go with --renew");
    return 0;
}

int cmd_certs(int argc, char *argv[]) {
    Settings settings = {.days = 365, .report = {.namespace = STR("berth-system")}};
    int option, r;

    while ((option = getopt_long(argc, argv, "ho:", long_options, NULL)) != -1) {
        if (option == 'h') {
            print_help(stdout);
            return EXIT_FINE;
        }
        if (option == '?')
            return misused(NULL);
        r = set_option(&settings, option, optarg);
        if (r != 0)
            return r;
    }
    r = check_settings(&settings, argc - optind);
    if (r != 0)
        return r;
    settings.report.out = settings.is_kubernetes ? stderr : stdout;
    return run(&settings, argv[optind]);
}
