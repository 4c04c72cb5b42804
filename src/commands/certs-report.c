/* Prints the contents of a folder of certificates and the next steps; or its Secrets as YAML. */

#include "commands/certs-report.h"

#include <errno.h>
#include <gnutls/crypto.h>

#include "base/base64.h"
#include "base/calendar.h"
#include "base/clock.h"
#include "base/message.h"
#include "base/shell.h"
#include "base/visible.h"
#include "certs/authority.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "kube/secret.h"

#define REPORT_MAX ((size_t)2 * 1024 * 1024)
#define ARENA_BUDGET ((size_t)1024 * 1024)
#define WORD_MAX ((size_t)64 * 1024)
#define SOON_SEC (INT64_C(30) * CALENDAR_DAY_SEC)
#define TOKEN_BYTES 32u /* of SHA-256 */

typedef struct Row {
    PemFile certificate, key;
} Row;

static const Row rows[] = {
    {PEM_CA, PEM_CA_KEY},
    {PEM_SERVER, PEM_SERVER_KEY},
    {PEM_CLIENT, PEM_CLIENT_KEY},
};

/* As a shell takes it, and a terminal shows it. */
static void print_word(Str text, Buf *out) {
    _cleanup_(buf_done) Buf word = BUF_INIT(WORD_MAX);

    shell_word(&word, text);
    (void)visible_append(out, buf_str(&word));
}

/* The folder, with @rest appended. */
static void print_path(const PemFolder *folder, const char *rest, Buf *out) {
    _cleanup_(buf_done) Buf path = BUF_INIT(WORD_MAX);
    Str base = str_from_c(folder->path);

    while (base.len > 1 && str_has_suffix(base, STR("/")))
        base.len--;
    buf_append(&path, base);
    buf_append(&path, str_from_c(rest));
    print_word(buf_str(&path), out);
}

static void print_day(int64_t sec, Buf *out) {
    int second;
    CalendarDate date = calendar_date(calendar_day_of(sec, &second));

    buf_printf(out, "%04lld-%02d-%02d", (long long)date.year, date.month, date.day);
}

/* Whose it is: a CA's or client's name; the names of a server. */
static void print_who(PemFile file, const CertificateFacts *facts, Buf *out) {
    if (file != PEM_SERVER || facts->n_names == 0) {
        (void)visible_append(out, facts->common_name);
        return;
    }
    for (size_t i = 0; i < facts->n_names; i++) {
        buf_append(out, i > 0 ? STR(", ") : STR_NULL);
        (void)visible_append(out, facts->names[i]);
    }
}

static void print_end(int64_t until_sec, Buf *out) {
    int64_t left_sec = until_sec - clock_wall_nsec() / NSEC_PER_SEC;

    buf_append(out, left_sec < 0 ? STR("ENDED ") : STR("until "));
    print_day(until_sec, out);
    if (left_sec >= 0 && left_sec < SOON_SEC)
        buf_printf(out, " (%lld days left)", (long long)(left_sec / CALENDAR_DAY_SEC));
}

static int print_row(const PemFolder *folder, const Row *row, Arena *arena, Buf *out, char *error) {
    CertificateFacts facts;
    char names[64], detail[PEM_FOLDER_ERROR_MAX];
    int r;

    if (str_is_empty(pem_folder_text(folder, row->certificate)))
        return 0;
    r = certificate_read(pem_folder_text(folder, row->certificate), arena, &facts, detail);
    if (r < 0)
        return message_fail(
            r, error, "%s/%s: %s", folder->path, pem_file_name(row->certificate), detail);
    (void)snprintf(
        names, sizeof(names), "%s, %s", pem_file_name(row->certificate), pem_file_name(row->key));
    buf_printf(out, "  %-5s%-24s", folder->is_new[row->certificate] ? "new" : "", names);
    print_end(facts.until_sec, out);
    buf_append(out, STR("  "));
    print_who(row->certificate, &facts, out);
    buf_append_char(out, '\n');
    return 0;
}

/* --- what comes next -------------------------------------------------------------- */

static void print_commands(const PemFolder *folder, Str client_name, Str server_name, Buf *out) {
    buf_printf(out, "\nNext, berth and kube-scheduler's side of it:\n  %s serve", program_name);
    buf_append(out, STR(" --listen 0.0.0.0:8443 --tls-cert "));
    print_path(folder, "/server.crt", out);
    buf_append(out, STR(" \\\n      --tls-key "));
    print_path(folder, "/server.key", out);
    buf_append(out, STR(" --client-ca "));
    print_path(folder, "/ca.crt", out);
    if (!str_is(client_name, CERTS_CLIENT_NAME)) {
        buf_append(out, STR(" --client-name "));
        print_word(client_name, out);
    }
    buf_printf(out, "\n  %s config --url https://", program_name);
    visible_print(out, "{}:8443 --tls-ca ", server_name);
    print_path(folder, "/ca.crt", out);
    buf_append(out, STR(" \\\n      --client-cert "));
    print_path(folder, "/client.crt", out);
    buf_append(out, STR(" --client-key "));
    print_path(folder, "/client.key", out);
    buf_append(out,
        STR("\nKeep ca.key away from both: it is needed for --renew only, and with it anyone can\n"
            "make a client certificate that berth accepts.\n"));
}

static void print_step(const PemFolder *folder, const char *option, Buf *out) {
    buf_printf(out, "  %s certs ", program_name);
    print_path(folder, "", out);
    buf_printf(out, " %s\n", option);
}

static void print_next(const CertsReport *report, const PemFolder *folder,
    const CertificateFacts *server, const CertificateFacts *client, Buf *out) {
    if (report->is_ca_new) {
        buf_append(out,
            STR("\nNext: bring ca.crt to berth and to kube-scheduler and restart kube-scheduler;\n"
                "then\n"));
        print_step(folder, "--renew", out);
    } else if (report->is_ca_retired) {
        buf_append(out,
            STR("\nNext: bring ca.crt to berth, and to kube-scheduler (restart it): then the old "
                "CA is trusted\n"
                "nowhere.\n"));
    } else if (report->is_renewed) {
        buf_append(out, STR("\nNext: copy server.* to berth, which reloads it, and client.* to\n"
                            "kube-scheduler: it reloads files; if they are written into its\n"
                            "configuration, regenerate it (berth config) and restart it.\n"));
    } else {
        print_commands(folder, client->common_name,
            server->n_names > 0 ? server->names[0] : STR("localhost"), out);
    }
}

/* Sets *ret_n to the number of CAs in ca.crt. */
static int print_bundle(const PemFolder *folder, unsigned *ret_n, Buf *out, char *error) {
    _cleanup_(authority_freep) Authority *authority = NULL;
    int r = authority_read(pem_folder_text(folder, PEM_CA), STR_NULL, &authority, error);

    if (r < 0)
        return r;
    *ret_n = authority_n_certificates(authority);
    if (*ret_n > 1)
        buf_printf(out, "  ca.crt holds %u CAs; the first signs, all are trusted\n", *ret_n);
    return 0;
}

static int facts_of(
    const PemFolder *folder, PemFile file, Arena *arena, CertificateFacts *ret, char *error) {
    *ret = (CertificateFacts){0};
    return str_is_empty(pem_folder_text(folder, file))
               ? 0
               : certificate_read(pem_folder_text(folder, file), arena, ret, error);
}

int certs_report(const CertsReport *report, const PemFolder *folder, char *error) {
    _cleanup_(arena_freep) Arena *arena = arena_new(ARENA_BUDGET);
    _cleanup_(buf_done) Buf out = BUF_INIT(REPORT_MAX);
    CertificateFacts server = {0}, client = {0};
    unsigned n_authorities = 0;
    int r = 0;

    if (!arena)
        return message_fail(-ENOMEM, error, "out of memory for the report");
    visible_print(&out, "In {}:\n", str_from_c(folder->path));
    for (size_t i = 0; i < ELEMENTS_OF(rows) && r == 0; i++)
        r = print_row(folder, &rows[i], arena, &out, error);
    if (r == 0)
        r = print_bundle(folder, &n_authorities, &out, error);
    if (r == 0)
        r = facts_of(folder, PEM_SERVER, arena, &server, error);
    if (r == 0)
        r = facts_of(folder, PEM_CLIENT, arena, &client, error);
    if (r < 0)
        return r;
    if (pem_folder_is_open(folder))
        buf_append(&out,
            STR("WARNING: others may write to this folder, and so replace the CA: chmod go-w\n"));
    if (report->out == stdout)
        print_next(report, folder, &server, &client, &out);
    if (report->out == stdout && report->is_renewed && n_authorities > 1) {
        buf_append(&out, STR("When both sides have the new pairs:\n"));
        print_step(folder, "--retire-ca", &out);
    }
    return terminal_print(report->out, buf_str(&out)) ? 0 : -EIO;
}

/* --- Secrets ---------------------------------------------------------------------- */

static void print_data(const char *key, Str text, Buf *out) {
    buf_printf(out, "  %s: ", key);
    base64_encode(text, out);
    buf_append_char(out, '\n');
}

static void print_secret_head(
    const CertsReport *report, const char *name, const char *type, Buf *out) {
    buf_printf(out,
        "apiVersion: v1\n"
        "kind: Secret\n"
        "type: %s\n"
        "metadata:\n"
        "  name: %s\n"
        "  namespace: %.*s\n"
        "  labels:\n"
        "    app.kubernetes.io/name: berth\n"
        "data:\n",
        type, name, STR_FMT(report->namespace));
}

static void print_secret(const CertsReport *report, const PemFolder *folder, const char *name,
    const Row *row, Buf *out) {
    print_secret_head(report, name, "kubernetes.io/tls", out);
    print_data("ca.crt", pem_folder_text(folder, PEM_CA), out);
    print_data("tls.crt", pem_folder_text(folder, row->certificate), out);
    print_data("tls.key", pem_folder_text(folder, row->key), out);
}

/* A token that stays the same until the CA is another: no file more to keep. */
static bool print_token(
    const CertsReport *report, const PemFolder *folder, const char *name, Buf *out) {
    Str key = pem_folder_text(folder, PEM_CA_KEY);
    unsigned char bytes[TOKEN_BYTES];
    char token[2 * TOKEN_BYTES + 1];

    if (gnutls_hmac_fast(GNUTLS_MAC_SHA256, key.ptr, key.len, name, strlen(name), bytes) < 0)
        return false;
    for (size_t i = 0; i < TOKEN_BYTES; i++)
        (void)snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    print_secret_head(report, name, "Opaque", out);
    print_data("token", str_from_c(token), out);
    explicit_bzero(bytes, sizeof(bytes));
    explicit_bzero(token, sizeof(token));
    return true;
}

/* Of the pages (`kubectl berth` reads them). Without the CA's key they are left as they are. */
static bool print_tokens(const CertsReport *report, const PemFolder *folder, Buf *out) {
    static const char *const names[] = {"berth-pages", "berth-viewer"};

    if (str_is_empty(pem_folder_text(folder, PEM_CA_KEY)))
        return true;
    for (size_t i = 0; i < ELEMENTS_OF(names); i++) {
        buf_append(out, STR("---\n"));
        if (!print_token(report, folder, names[i], out))
            return false;
    }
    return true;
}

int certs_print_secrets(const CertsReport *report, const PemFolder *folder, char *error) {
    _cleanup_(secret_buf_done) Buf out = BUF_INIT(REPORT_MAX);

    for (int i = 0; i < _PEM_FILE_MAX; i++)
        if (i != PEM_CA_KEY && str_is_empty(pem_folder_text(folder, (PemFile)i)))
            return message_fail(-EINVAL, error, "%s has no %s: --renew makes new pairs",
                folder->path, pem_file_name((PemFile)i));
    print_secret(report, folder, "berth-server", &rows[1], &out);
    buf_append(&out, STR("---\n"));
    print_secret(report, folder, "berth-client", &rows[2], &out);
    if (!print_tokens(report, folder, &out))
        return message_fail(-EINVAL, error, "the tokens cannot be made");
    return terminal_print(stdout, buf_str(&out)) ? 0 : message_fail(-EIO, error, "cannot write");
}
