#include "demo/voice.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/utf8.h"

void voice_done(Voice *voice) {
    buf_done(&voice->text);
}

void voice_paint(Voice *voice, Style style) {
    static const char *const codes[] = {
        [STYLE_BOLD] = "\033[1m",
        [STYLE_DIM] = "\033[2m",
        [STYLE_GOOD] = "\033[32m",
        [STYLE_BAD] = "\033[33;1m",
    };

    if (voice->has_colour)
        buf_append(&voice->text, str_from_c(codes[style]));
}

void voice_plain(Voice *voice) {
    if (voice->has_colour)
        buf_append(&voice->text, STR("\033[0m"));
}

void voice_painted(Voice *voice, Style style, size_t width, Str word) {
    voice_paint(voice, style);
    buf_append(&voice->text, word);
    voice_plain(voice);
    if (word.len < width)
        buf_append_repeat(&voice->text, ' ', width - word.len);
}

void voice_heading(Voice *voice, const char *text) {
    voice_paint(voice, STYLE_BOLD);
    buf_append(&voice->text, str_from_c(text));
    voice_plain(voice);
    buf_append_char(&voice->text, '\n');
}

void voice_paragraph(Voice *voice, const char *lead, Str text) {
    size_t indent = utf8_count(str_from_c(lead)), column = indent;
    bool is_first = true;
    Str word;

    buf_append(&voice->text, str_from_c(lead));
    while (str_split(&text, ' ', &word)) {
        size_t n = utf8_count(word);

        if (!is_first && column + 1 + n > VOICE_COLUMNS) {
            buf_append_char(&voice->text, '\n');
            buf_append_repeat(&voice->text, ' ', indent);
            column = indent;
        } else if (!is_first) {
            buf_append_char(&voice->text, ' ');
            column++;
        }
        buf_append(&voice->text, word);
        column += n;
        is_first = false;
    }
    buf_append_char(&voice->text, '\n');
}

void voice_clear_status(Voice *voice) {
    if (voice->has_status)
        buf_append(&voice->text, STR("\r\033[K"));
    voice->has_status = false;
}

void voice_status(Voice *voice, Str line) {
    if (!voice->is_live)
        return;
    voice_clear_status(voice);
    voice_painted(voice, STYLE_BOLD, 0, str_take(line, voice_width() - 1));
    voice->has_status = true;
    voice_flush(voice);
}

void voice_flush(Voice *voice) {
    if (!voice->has_failed)
        voice->has_failed = fd_write(STDOUT_FILENO, buf_str(&voice->text)) < 0;
    buf_reset(&voice->text);
}

size_t voice_width(void) {
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
        return 80;
    return size.ws_col;
}
