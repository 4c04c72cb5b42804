/*
 * berth certs DIR: creates certificates and renews them without downtime.
 *
 * The folder is read, new files are made in memory, and all of them are written at once.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/message.h"
#include "certs/authority.h"
#include "certs/pem-folder.h"
#include "cli/terminal.h"
#include "commands/certs-report.h"
#include "commands/commands.h"

#define DAY_SEC INT64_C(86400)
#define CA_DAYS 3650
#define DAYS_MAX 3650
#define DAYS_DEFAULT 365
#define BACKDATE_SEC 300 /* clocks of two machines differ */
#define NAMES_MAX 64u
#define CLIENT_NAME_MAX 64u /* X.520's ceiling for a common name */
#define ARENA_BUDGET ((size_t)1024 * 1024)

typedef enum Mode { MAKE, FORCE, RENEW, RENEW_CA, RETIRE_CA, _MODES } Mode;

typedef struct Settings {
    Mode mode;
    bool has_mode[_MODES]; /* options that were given */
    Str names[NAMES_MAX];
    size_t n_names;
    Str client_name; /* empty: not given */
    int64_t days;    /* 0: not given */
    const char *namespace;
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

/* --- certificates ----------------------------------------------------------------- */

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

static int issue(const Authority *authority, const Settings *settings, CertificateUse use,
    PemFolder *folder, char *error) {
    _cleanup_(pem_pair_done) PemPair pair = PEM_PAIR_INIT;
    bool is_server = use == CERTIFICATE_SERVER;
    CertificateRequest request = {
        .use = use,
        .common_name = is_server ? STR("berth") : settings->client_name,
        .names = settings->names,
        .n_names = is_server ? settings->n_names : 0,
        .from_sec = now_sec() - BACKDATE_SEC,
        .until_sec = now_sec() + settings->days * DAY_SEC,
    };
    int r = authority_issue(authority, &request, &pair, error);

    if (r < 0)
        return r;
    pem_folder_put(folder, is_server ? PEM_SERVER : PEM_CLIENT, buf_str(&pair.certificate));
    pem_folder_put(folder, is_server ? PEM_SERVER_KEY : PEM_CLIENT_KEY, buf_str(&pair.key));
    return 0;
}

static int issue_both(
    const Authority *authority, const Settings *settings, PemFolder *folder, char *error) {
    int r = issue(authority, settings, CERTIFICATE_SERVER, folder, error);

    return r < 0 ? r : issue(authority, settings, CERTIFICATE_CLIENT, folder, error);
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
        message_set(error, AUTHORITY_ERROR_MAX,
            "%s has no %s: the CA's key is needed to sign; without it make everything new "
            "(--force)",
            folder->path, folder->is_there[PEM_CA] ? "ca.key" : "ca.crt");
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
        message_set(error, AUTHORITY_ERROR_MAX,
            "%s/%s exists; --renew makes new certificates of its CA, --force makes everything new",
            folder->path, pem_folder_first(folder));
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

/* No certificate of a retired CA may be in use any more. */
static int retire(Settings *settings, PemFolder *folder, char *error) {
    static const PemFile leaves[] = {PEM_SERVER, PEM_CLIENT};
    _cleanup_(authority_freep) Authority *authority = NULL;
    int r = read_authority(folder, false, &authority, error);

    if (r < 0)
        return r;
    for (size_t i = 0; i < ELEMENTS_OF(leaves); i++)
        if (folder->is_there[leaves[i]] &&
            authority_signer_of(authority, pem_folder_text(folder, leaves[i])) != 0) {
            message_set(error, AUTHORITY_ERROR_MAX,
                "%s/%s is not signed by the newest CA; run --renew first, and copy the new files "
                "to "
                "where they are used",
                folder->path, pem_file_name(leaves[i]));
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

/* Wrong content (1), or a folder that is unavailable (3). */
static int complain(const char *error, int r) {
    return terminal_report(r == -EEXIST || r == -E2BIG ? -EINVAL : r, error);
}

static int change_folder(Settings *settings, const char *path) {
    _cleanup_(pem_folder_done) PemFolder folder = PEM_FOLDER_INIT;
    char error[AUTHORITY_ERROR_MAX] = "out of memory for the certificates";
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

static const char *add_name(void *context, const char *value) {
    Settings *settings = context;
    unsigned char address[sizeof(struct in6_addr)];
    Str name = str_from_c(value);

    if (inet_pton(AF_INET, value, address) != 1 && inet_pton(AF_INET6, value, address) != 1 &&
        !is_dns_name(name))
        return "expected a DNS name in lower case or an address, without scheme and port";
    if (settings->n_names == NAMES_MAX)
        return "too many; at most 64";
    settings->names[settings->n_names++] = name;
    return NULL;
}

static const char *set_client_name(void *context, const char *value) {
    Str name = str_from_c(value);

    if (str_is_empty(name) || name.len > CLIENT_NAME_MAX)
        return "expected 1 to 64 characters";
    for (size_t i = 0; i < name.len; i++)
        if (name.ptr[i] < ' ' || name.ptr[i] > '~')
            return "expected printable ASCII characters";
    ((Settings *)context)->client_name = name;
    return NULL;
}

#define AT(member) OPTION_AT(Settings, member)

/* clang-format off */
static const Option options[] = {
    {"name", OPTION_CUSTOM, .argument = "NAME", .set = add_name,
        .initial = "berth.berth-system.svc, berth, localhost ...",
        .help = "DNS name or address of berth; may be repeated"},
    {"client-name", OPTION_CUSTOM, .argument = "NAME", .set = set_client_name, .initial = "system:kube-scheduler",
        .help = "name of the client (the CN)"},
    {"days", OPTION_NUMBER, .argument = "N", AT(days), .min = 1, .max = DAYS_MAX, .initial = "365",
        .help = "lifetime of the certificates; that of the CA is ten years"},
    {"output", OPTION_CHOICE, 'o', .argument = "files|kubernetes", AT(is_kubernetes), .initial = "files",
        .help = "print what was made and what to do next; or print the Secrets berth-server, "
                "berth-client, and berth-pages and berth-viewer with tokens for the pages, as YAML, "
                "also of existing files"},
    {"namespace", OPTION_TEXT, .argument = "NAME", AT(namespace), .check = value_check_namespace,
        .initial = "berth-system", .help = "of the Secrets"},
    {"force", OPTION_FLAG, AT(has_mode[FORCE]),
        .help = "make everything new, the CA too: clients of the old CA will not trust these"},

    OPTION_GROUP("Renewal"),
    {"renew", OPTION_FLAG, AT(has_mode[RENEW]),
        .help = "new certificates of the CA in DIR, with the names of the old ones"},
    {"renew-ca", OPTION_FLAG, AT(has_mode[RENEW_CA]),
        .help = "a new CA; ca.crt then holds it and the previous ones"},
    {"retire-ca", OPTION_FLAG, AT(has_mode[RETIRE_CA]), .help = "keep only the newest CA in ca.crt"},
    {0},
};
/* clang-format on */

static void init(void *context) {
    ((Settings *)context)->namespace = "berth-system";
}

static const char *check(void *context, const Arguments *arguments) {
    Settings *settings = context;
    size_t n_modes = 0;

    for (Mode mode = MAKE; mode < _MODES; mode++)
        if (settings->has_mode[mode]) {
            settings->mode = mode;
            n_modes++;
        }
    if (n_modes > 1)
        return "--force, --renew, --renew-ca and --retire-ca exclude each other: each is a step";
    if (arguments->n != 1)
        return "expected one folder";
    if (settings->mode > RENEW &&
        (settings->n_names > 0 || !str_is_empty(settings->client_name) || settings->days > 0))
        return "--name, --client-name and --days are for certificates: use them with --renew";
    return NULL;
}

static int run(void *context, const Arguments *arguments) {
    Settings *settings = context;

    if (settings->days == 0)
        settings->days = DAYS_DEFAULT;
    settings->report.namespace = str_from_c(settings->namespace);
    settings->report.out = settings->is_kubernetes ? stderr : stdout;
    return change_folder(settings, arguments->items[0]);
}

const Command certs_command = {
    .name = "certs",
    .summary = "create and renew certificates for HTTPS",
    .usage = "[OPTIONS] DIR",
    .about =
        "Makes certificates for HTTPS between kube-scheduler and berth: a CA (ca.crt, ca.key), a "
        "certificate for berth (server.crt, server.key) and one for kube-scheduler (client.crt, "
        "client.key), in a folder of their own. Keys are ECDSA on P-256. Existing files are not "
        "overwritten unless one of the options below demands it.",
    .options = options,
    .notes =
        "Certificates: run `--renew` and copy the files to where they are used. A running berth "
        "reloads them by itself; kube-scheduler does if its configuration names files, and is "
        "restarted if they are written into it. A CA, without downtime:\n"
        "  1. --renew-ca    copy ca.crt to both sides, restart kube-scheduler (it reads CAs once)\n"
        "  2. --renew       copy the new certificates to both sides\n"
        "  3. --retire-ca   copy ca.crt to both sides again\n"
        "Each side trusts both CAs until the last step, so their order does not matter.\n"
        "\n"
        "Exit code: 0 when it is done, 1 when the files in DIR do not allow it, 3 when DIR cannot "
        "be "
        "read or written.",
    .complete = COMPLETE_FILES,
    .max_completed = 1,
    .settings_size = sizeof(Settings),
    .init = init,
    .check = check,
    .run = run,
};
