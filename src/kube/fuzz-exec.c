/* Any bytes as a plugin's answer: no crash, and the result is a message that fits or a credential
 * that can be sent. */

#include "base/cleanup.h"
#include "base/fuzz.h"
#include "kube/access.h"
#include "kube/exec.h"
#include "kube/secret.h"

static void check_part(SecretKind kind, const char *text) {
    require(!text || !secret_complaint(kind, str_from_c(text)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    _cleanup_(exec_credential_done) ExecCredential credential = {0};
    char error[ACCESS_ERROR_MAX] = "";

    if (exec_read_credential(str_of((const char *)data, size),
            STR("client.authentication.k8s.io/v1"), &credential, error) < 0) {
        require(error[0] != '\0' && memchr(error, '\0', sizeof(error)));
        require(!credential.token && !credential.cert_pem && !credential.key_pem);
        return 0;
    }
    check_part(SECRET_TOKEN, credential.token);
    check_part(SECRET_PEM, credential.cert_pem);
    check_part(SECRET_PEM, credential.key_pem);
    require(!credential.cert_pem == !credential.key_pem);
    require(credential.token || credential.cert_pem);
    return 0;
}
