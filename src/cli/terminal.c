#include "cli/terminal.h"

#include <stdlib.h>
#include <unistd.h>

bool terminal_has_colour(FILE *stream) {
    const char *no_colour = getenv("NO_COLOR");

    return isatty(fileno(stream)) && !(no_colour && no_colour[0]);
}

bool terminal_print(FILE *stream, Str text) {
    return fwrite(text.ptr ? text.ptr : "", 1, text.len, stream) == text.len && fflush(stream) == 0;
}
