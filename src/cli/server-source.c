#include "cli/server-source.h"

#include <stddef.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "input/file.h"

#define TOKEN_MAX ((size_t)64 * 1024)

bool server_source_set(ServerSource *source, int option, const char *value) {
    switch (option) {
    case SERVER_SOURCE_SERVER:
        source->access.server = value;
        return true;
    case SERVER_SOURCE_CA:
        source->access.ca = value;
        return true;
    case SERVER_SOURCE_CERT:
        source->access.cert = value;
        return true;
    case SERVER_SOURCE_KEY:
        source->access.key = value;
        return true;
    case SERVER_SOURCE_TOKEN_FILE:
        source->token_file = value;
        return true;
    default:
        return false;
    }
}

bool server_source_is_given(const ServerSource *source) {
    const AskAccess *access = &source->access;

    return access->server || access->ca || access->cert || access->key || source->token_file;
}

/* The token in a file, into @arena; NULL where @file is. */
static int read_token(const char *file, const char *who, Arena *arena, const char **ret) {
    _cleanup_(buf_done) Buf text = BUF_INIT(TOKEN_MAX);
    char error[FILE_ERROR_MAX];

    *ret = NULL;
    if (!file)
        return EXIT_FINE;
    if (file_read(file, &text, error) < 0) {
        terminal_complain(who, error);
        return EXIT_UNREACHABLE;
    }
    *ret = arena_copy(arena, str_trim(buf_str(&text))).ptr;
    return *ret ? EXIT_FINE : terminal_out_of_memory(who);
}

const char *server_source_check(const ServerSource *source) {
    return !source->access.cert == !source->access.key ? NULL : "--cert and --key go together";
}

int server_source_open(ServerSource *source, const char *who, Arena *arena) {
    if (!source->access.server)
        source->access.server = SERVER_SOURCE_DEFAULT;
    return read_token(source->token_file, who, arena, &source->access.token);
}
