/* Checks and completes the options for a running berth. */

#include "cli/server-source.h"

#include <stddef.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "input/file.h"

bool server_source_is_given(const ServerSource *source) {
    const BerthAccess *access = &source->access;

    return access->server || access->ca || access->cert || access->key || access->token_file;
}

const char *server_source_check(const ServerSource *source) {
    return !source->access.cert == !source->access.key ? NULL : "--cert and --key go together";
}

int server_source_open(ServerSource *source, const char *who) {
    _cleanup_(buf_done) Buf token = BUF_INIT(ACCESS_TOKEN_MAX);
    char error[FILE_ERROR_MAX];

    if (!source->access.server)
        source->access.server = SERVER_SOURCE_DEFAULT;
    if (!source->access.token_file || file_read(source->access.token_file, &token, error) == 0)
        return EXIT_FINE;
    terminal_complain(who, error);
    return EXIT_UNREACHABLE;
}
