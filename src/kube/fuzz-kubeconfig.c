/* Any bytes as a kubeconfig: no crash, and the result is a message that fits or valid values. A
 * line "%%" separates files. */

#include "base/cleanup.h"
#include "base/fuzz.h"
#include "base/origin.h"
#include "kube/access.h"
#include "kube/kubeconfig.h"

#define FILES_MAX 4

static void check_secret(const Secret *secret) {
    require(!secret->text || !secret_complaint(secret->kind, str_from_c(secret->text)));
    require(!secret->path || secret->path[0] != '\0');
}

static void check(const Kubeconfig *config) {
    Origin origin;

    require(config->context && config->file && config->server);
    require(origin_parse(str_from_c(config->server), &origin));
    require(!str_has_suffix(str_from_c(config->server), STR("/")));
    check_secret(&config->ca);
    check_secret(&config->client_cert);
    check_secret(&config->client_key);
    check_secret(&config->token);
    require(secret_is_given(&config->client_cert) == secret_is_given(&config->client_key));
    require(!config->is_insecure || !secret_is_given(&config->ca));
    require(origin.is_tls || (!secret_is_given(&config->token) && !config->user && !config->exec));
    if (config->exec)
        require(
            config->exec->command && exec_is_api_version(str_from_c(config->exec->api_version)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    _cleanup_(kubeconfig_done) Kubeconfig config = {0};
    KubeconfigFile files[FILES_MAX];
    Str left = str_of((const char *)data, size);
    char error[ACCESS_ERROR_MAX] = "";
    size_t n = 0;

    while (n < FILES_MAX) {
        const char *mark = left.len > 0 ? memmem(left.ptr, left.len, "\n%%\n", 4) : NULL;
        size_t len = mark && n + 1 < FILES_MAX ? (size_t)(mark - left.ptr) + 1 : left.len;

        files[n++] = (KubeconfigFile){.path = "folder/file", .text = str_take(left, len)};
        if (len == left.len)
            break;
        left = str_skip(left, len + 3);
    }
    if (kubeconfig_read(files, n, NULL, &config, error) == 0)
        check(&config);
    else
        require(error[0] != '\0' && memchr(error, '\0', sizeof(error)));
    return 0;
}
