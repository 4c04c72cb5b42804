/*
 * berth certs DIR: creates certificates and renews them without downtime.
 *
 * The folder is read, new files are made in memory, and all of them are written at once. Then its
 * contents and the next steps are printed; or its Secrets as YAML.
 */

#include <arpa/inet.h>
#include <gnutls/crypto.h>
#include <stdio.h>

#include "base/base64.h"
#include "base/calendar.h"
#include "base/clock.h"
#include "base/label.h"
#include "base/shell.h"
#include "base/visible.h"
#include "certs/authority.h"
#include "certs/pem-folder.h"
#include "cli/terminal.h"
#include "commands/commands.h"
#include "kube/secret.h"

#define CA_DAYS 3650
#define DAYS_MAX 3650
#define BACKDATE_SEC 300 /* clocks of two machines differ */
#define NAMES_MAX 64u
#define CLIENT_NAME_MAX 64u                 /* X.520's limit for a common name */
#define CLIENT_NAME "system:kube-scheduler" /* the client that `berth serve` accepts by default */
#define REPORT_MAX ((size_t)2 * 1024 * 1024)
#define WORD_MAX ((size_t)64 * 1024)
#define SOON_SEC (INT64_C(30) * CALENDAR_DAY_SEC)
#define TOKEN_BYTES 32u /* size of a SHA-256 */

typedef struct Settings {
    bool forces, renews;
    Str names[NAMES_MAX];
    size_t n_names;
    Str client_name; /* empty: not given */
    int64_t days;
    const char *namespace; /* of Secrets */
    bool is_kubernetes;    /* -o */
    Arena *arena;
} Settings;

static const Str default_names[] = {
    STR("berth.berth-system.svc"),
    STR("berth.berth-system.svc.cluster.local"),
    STR("berth"),
    STR("localhost"),
    STR("127.0.0.1"),
    STR("::1"),
};

/* A certificate, and its key. */
static const PemFile rows[][2] = {
    {PEM_CA, PEM_CA_KEY}, {PEM_SERVER, PEM_SERVER_KEY}, {PEM_CLIENT, PEM_CLIENT_KEY}};

/* --- certificates ----------------------------------------------------------------- */

static int64_t now_sec(void) {
    return clock_wall_nsec() / NSEC_PER_SEC;
}

static CertificateFacts read_facts(
    const Settings *settings, const PemFolder *folder, PemFile file) {
    char detail[ACCESS_ERROR_MAX];
    CertificateFacts facts;
    int r = certificate_read(pem_folder_text(folder, file), settings->arena, &facts, detail);

    if (r < 0)
        terminal_exit(EXIT_FAILED, "%s/%s: %s", folder->path, pem_file_name(file), detail);
    return facts;
}

/* Names that were not given are taken from the existing certificates. */
static void keep_names(Settings *settings, const PemFolder *folder) {
    CertificateFacts facts = {0};

    if (settings->n_names == 0 && folder->is_there[PEM_SERVER])
        facts = read_facts(settings, folder, PEM_SERVER);
    for (size_t i = 0; i < facts.n_names && i < NAMES_MAX; i++)
        settings->names[settings->n_names++] = facts.names[i];
    if (str_is_empty(settings->client_name) && folder->is_there[PEM_CLIENT]) {
        facts = read_facts(settings, folder, PEM_CLIENT);
        settings->client_name = facts.common_name;
    }
}

/* Issues the certificate of rows[1] or rows[2]. */
static void issue(
    const Settings *settings, CertificateUse use, const PemFile row[2], PemFolder *folder) {
    bool is_server = use == CERTIFICATE_SERVER;
    const CertificateRequest request = {
        .use = use,
        .common_name = is_server ? STR("berth") : settings->client_name,
        .names = settings->names,
        .n_names = is_server ? settings->n_names : 0,
        .from_sec = now_sec() - BACKDATE_SEC,
        .until_sec = now_sec() + settings->days * CALENDAR_DAY_SEC,
    };

    authority_issue(pem_folder_text(folder, PEM_CA), pem_folder_text(folder, PEM_CA_KEY),
        folder->path, &request, pem_folder_renew(folder, row[0]), pem_folder_renew(folder, row[1]));
}

/* Makes a CA, or with --renew keeps the one of the folder, and issues both certificates. Names that
 * were not given are those of the old certificates, or the default ones. */
static void make(Settings *settings, PemFolder *folder) {
    if (!settings->forces && !settings->renews && pem_folder_first(folder))
        terminal_exit(EXIT_FAILED,
            "%s/%s exists; --renew makes new certificates of its CA, --force makes everything new",
            folder->path, pem_folder_first(folder));
    for (size_t i = 0; settings->renews && i < ELEMENTS_OF(rows[0]); i++)
        if (str_is_empty(pem_folder_text(folder, rows[0][i])))
            terminal_exit(EXIT_FAILED,
                "%s has no %s: the CA's key is needed to sign; without it make everything new "
                "(--force)",
                folder->path, pem_file_name(rows[0][i]));
    if (settings->renews)
        keep_names(settings, folder);
    else
        authority_new(now_sec() - BACKDATE_SEC, now_sec() + CA_DAYS * CALENDAR_DAY_SEC,
            pem_folder_renew(folder, PEM_CA), pem_folder_renew(folder, PEM_CA_KEY));
    if (settings->n_names == 0) {
        memcpy(settings->names, default_names, sizeof(default_names));
        settings->n_names = ELEMENTS_OF(default_names);
    }
    if (str_is_empty(settings->client_name))
        settings->client_name = STR(CLIENT_NAME);
    issue(settings, CERTIFICATE_SERVER, rows[1], folder);
    issue(settings, CERTIFICATE_CLIENT, rows[2], folder);
}

/* --- the report ------------------------------------------------------------------- */

/* Quotes @text for a shell, and escapes what a terminal must not get. */
static Str word_of(Str text, Arena *arena) {
    _cleanup_(buf_done) Buf word = BUF_INIT(WORD_MAX), shown = BUF_INIT(4 * WORD_MAX);

    shell_word(&word, text);
    (void)visible_append(&shown, buf_str(&word));
    return arena_copy(arena, buf_str(&shown));
}

/* The path of the folder with @rest appended, quoted for a shell. */
static Str path_of(const PemFolder *folder, const char *rest, Arena *arena) {
    Str base = str_from_c(folder->path);

    while (base.len > 1 && str_has_suffix(base, STR("/")))
        base.len--;
    return word_of(arena_printf(arena, "%.*s%s", STR_FMT(base), rest), arena);
}

/* Prints the common name of a CA or client, or the names of a server. */
static void print_holder(PemFile file, const CertificateFacts *facts, Buf *out) {
    if (file != PEM_SERVER || facts->n_names == 0)
        (void)visible_append(out, facts->common_name);
    for (size_t i = 0; file == PEM_SERVER && i < facts->n_names; i++)
        visible_print(out, i > 0 ? ", {}" : "{}", facts->names[i]);
}

static void print_end(int64_t until_sec, Buf *out) {
    int64_t left_sec = until_sec - now_sec();
    int second;
    CalendarDate date = calendar_date(calendar_day_of(until_sec, &second));

    buf_printf(out, "%s %04lld-%02d-%02d", left_sec < 0 ? "ENDED" : "until", (long long)date.year,
        date.month, date.day);
    if (left_sec >= 0 && left_sec < SOON_SEC)
        buf_printf(out, " (%lld days left)", (long long)(left_sec / CALENDAR_DAY_SEC));
}

static void print_row(const Settings *settings, const PemFolder *folder, const PemFile row[2],
    CertificateFacts *ret, Buf *out) {
    char names[64];

    if (str_is_empty(pem_folder_text(folder, row[0])))
        return;
    *ret = read_facts(settings, folder, row[0]);
    (void)snprintf(names, sizeof(names), "%s, %s", pem_file_name(row[0]), pem_file_name(row[1]));
    buf_printf(out, "  %-5s%-24s", folder->is_new[row[0]] ? "new" : "", names);
    print_end(ret->until_sec, out);
    buf_append(out, STR("  "));
    print_holder(row[0], ret, out);
    buf_append_char(out, '\n');
}

static void print_commands(
    const PemFolder *folder, Str client_name, Str server_name, Arena *arena, Buf *out) {
    Str ca = path_of(folder, "/ca.crt", arena), certificate = path_of(folder, "/server.crt", arena);

    buf_printf(out,
        "\nNext, berth and kube-scheduler's side of it:\n"
        "  %s serve --listen 0.0.0.0:8443 --tls-cert %.*s \\\n"
        "      --tls-key %.*s --client-ca %.*s",
        program_name, STR_FMT(certificate), STR_FMT(path_of(folder, "/server.key", arena)),
        STR_FMT(ca));
    if (!str_is(client_name, CLIENT_NAME))
        buf_printf(out, " --client-name %.*s", STR_FMT(word_of(client_name, arena)));
    buf_printf(out, "\n  %s config --url https://", program_name);
    visible_print(out, "{}:8443", server_name);
    buf_printf(out,
        " --tls-ca %.*s \\\n"
        "      --client-cert %.*s --client-key %.*s\n"
        "Keep ca.key away from both: it is needed for --renew only, and with it anyone can\n"
        "make a client certificate that berth accepts.\n",
        STR_FMT(ca), STR_FMT(path_of(folder, "/client.crt", arena)),
        STR_FMT(path_of(folder, "/client.key", arena)));
}

/* Prints to stdout with the next steps, or to stderr if stdout gets the Secrets. */
static void report(const Settings *settings, const PemFolder *folder) {
    _cleanup_(buf_done) Buf out = BUF_INIT(REPORT_MAX);
    CertificateFacts facts[ELEMENTS_OF(rows)] = {0};
    const CertificateFacts *server = &facts[1], *client = &facts[2];

    visible_print(&out, "In {}:\n", str_from_c(folder->path));
    for (size_t i = 0; i < ELEMENTS_OF(rows); i++)
        print_row(settings, folder, rows[i], &facts[i], &out);
    if (pem_folder_is_open(folder))
        buf_append(&out,
            STR("WARNING: others may write to this folder, and so replace the CA: chmod go-w\n"));
    if (!settings->is_kubernetes && settings->renews)
        buf_append(&out, STR("\nNext: copy server.* to berth, which reloads it, and client.* to\n"
                             "kube-scheduler: it reloads files; if they are written into its\n"
                             "configuration, regenerate it (berth config) and restart it.\n"));
    else if (!settings->is_kubernetes)
        print_commands(folder, client->common_name,
            server->n_names > 0 ? server->names[0] : STR("localhost"), settings->arena, &out);
    if (!terminal_print(settings->is_kubernetes ? stderr : stdout, buf_str(&out)))
        terminal_fail("cannot write");
}

/* --- Secrets ---------------------------------------------------------------------- */

static void print_data(const char *key, Str text, Buf *out) {
    buf_printf(out, "  %s: ", key);
    base64_encode(text, out);
    buf_append_char(out, '\n');
}

static void print_secret_head(
    const Settings *settings, const char *name, const char *type, Buf *out) {
    buf_printf(out,
        "apiVersion: v1\n"
        "kind: Secret\n"
        "type: %s\n"
        "metadata:\n"
        "  name: %s\n"
        "  namespace: %s\n"
        "  labels:\n"
        "    app.kubernetes.io/name: berth\n"
        "data:\n",
        type, name, settings->namespace);
}

static void print_secret(const Settings *settings, const PemFolder *folder, const char *name,
    const PemFile row[2], Buf *out) {
    print_secret_head(settings, name, "kubernetes.io/tls", out);
    print_data("ca.crt", pem_folder_text(folder, PEM_CA), out);
    print_data("tls.crt", pem_folder_text(folder, row[0]), out);
    print_data("tls.key", pem_folder_text(folder, row[1]), out);
}

/* Derives the token from the CA's key: it stays the same until the CA changes, without a file. */
static void print_token(
    const Settings *settings, const PemFolder *folder, const char *name, Buf *out) {
    Str key = pem_folder_text(folder, PEM_CA_KEY);
    unsigned char bytes[TOKEN_BYTES];
    char token[2 * TOKEN_BYTES + 1];

    if (gnutls_hmac_fast(GNUTLS_MAC_SHA256, key.ptr, key.len, name, strlen(name), bytes) < 0)
        terminal_exit(EXIT_FAILED, "the tokens cannot be made");
    for (size_t i = 0; i < TOKEN_BYTES; i++)
        (void)snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    buf_append(out, STR("---\n"));
    print_secret_head(settings, name, "Opaque", out);
    print_data("token", str_from_c(token), out);
    explicit_bzero(bytes, sizeof(bytes));
    explicit_bzero(token, sizeof(token));
}

/* Prints berth-server and berth-client, neither with the CA's key, and tokens for the pages
 * (`kubectl berth` reads them). Without the CA's key the tokens in the cluster stay as they are. */
static void print_all_secrets(const Settings *settings, const PemFolder *folder) {
    _cleanup_(secret_buf_done) Buf out = BUF_INIT(REPORT_MAX);

    for (PemFile i = 0; i < _PEM_FILE_MAX; i++)
        if (i != PEM_CA_KEY && str_is_empty(pem_folder_text(folder, i)))
            terminal_exit(EXIT_FAILED, "%s has no %s: --renew makes new pairs", folder->path,
                pem_file_name(i));
    print_secret(settings, folder, "berth-server", rows[1], &out);
    buf_append(&out, STR("---\n"));
    print_secret(settings, folder, "berth-client", rows[2], &out);
    if (!str_is_empty(pem_folder_text(folder, PEM_CA_KEY))) {
        print_token(settings, folder, "berth-pages", &out);
        print_token(settings, folder, "berth-viewer", &out);
    }
    if (!terminal_print(stdout, buf_str(&out)))
        terminal_fail("cannot write");
}

static int run(void *context, const Arguments *arguments) {
    _cleanup_(pem_folder_done) PemFolder folder = PEM_FOLDER_INIT;
    Settings *settings = context;

    pem_folder_read(&folder, arguments->items[0]);
    settings->arena = arguments->arena;
    if (settings->forces || settings->renews || !settings->is_kubernetes ||
        !pem_folder_first(&folder)) {
        make(settings, &folder);
        pem_folder_write(&folder);
    }
    report(settings, &folder);
    if (settings->is_kubernetes)
        print_all_secrets(settings, &folder);
    return EXIT_FINE;
}

/* A DNS name as certificates carry it: the first label may be "*". */
static bool is_dns_name(Str name) {
    Str rest = str_has_prefix(name, STR("*.")) ? str_skip(name, 2) : name, label;

    if (name.len > 253 || str_is_empty(rest))
        return false;
    while (str_split(&rest, '.', &label))
        if (!label_is_namespace(label))
            return false;
    return !str_has_suffix(name, STR("."));
}

static const char *check_name(const char *value) {
    unsigned char address[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, value, address) == 1 || inet_pton(AF_INET6, value, address) == 1 ||
                   is_dns_name(str_from_c(value))
               ? NULL
               : "expected a DNS name in lower case or an address, without scheme and port";
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
    {"name", OPTION_NAMES, .argument = "NAME", .check = check_name, OPTION_LIST_AT(Settings, names, n_names),
        .initial = "the Service berth of berth-system, localhost",
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
    {"force", OPTION_FLAG, AT(forces),
        .help = "make everything new, the CA too: clients of the old CA will not trust these"},
    {"renew", OPTION_FLAG, AT(renews),
        .help = "new certificates of the CA in DIR, with the names of the old ones"},
    {0},
};
/* clang-format on */

static const char *check(void *context, const Arguments *arguments) {
    const Settings *settings = context;

    if (settings->forces && settings->renews)
        return "--force and --renew exclude each other";
    return arguments->n == 1 ? NULL : "expected one folder";
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
        "restarted if they are written into it. A CA, without downtime: make another in a new "
        "folder, and\n"
        "  1. append its ca.crt to that of DIR, copy the file to both sides, and restart\n"
        "     kube-scheduler (it reads CAs once)\n"
        "  2. copy server.* and client.* of the new folder to both sides\n"
        "  3. copy ca.crt of the new folder to both sides, and restart kube-scheduler\n"
        "\n"
        "Exit code: 0 when it is done, 1 when the files in DIR do not allow it, 3 when DIR cannot "
        "be read or written.",
    .complete = COMPLETE_FILES,
    .max_completed = 1,
    .settings_size = sizeof(Settings),
    .budget = (size_t)2 * 1024 * 1024,
    .memory_for = "the names of the certificate",
    .defaults = &(const Settings){.days = 365, .namespace = "berth-system"},
    .check = check,
    .run = run,
};
