/* Keys of `berth top`, and their effects on the screen. */

#include "commands/top-screen.h"

#define KEY_BACKSPACE 127

static bool is_enter(char key) {
    return key == '\r' || key == '\n';
}

static void type(TopScreen *screen, char key) {
    size_t n = strlen(screen->filter);

    if (is_enter(key))
        screen->is_typing = false;
    else if (key == KEY_ESCAPE) {
        screen->filter[0] = '\0';
        screen->is_typing = false;
    } else if (key == KEY_BACKSPACE || key == '\b')
        screen->filter[n > 0 ? n - 1 : 0] = '\0';
    else if ((unsigned char)key >= ' ' && n + 1 < sizeof(screen->filter)) {
        screen->filter[n] = key;
        screen->filter[n + 1] = '\0';
    }
}

/* Selects the next of the shown decisions, or the one before; the newest if none of them is
 * selected. Returns false if none is shown. */
static bool select_decision(TopScreen *screen, const TopState *state, bool is_down, bool is_up) {
    const TopDecision *shown[TOP_DECISIONS_MAX], *decision;
    size_t n = 0, at = SIZE_MAX;

    for (size_t back = 0; (decision = top_state_decision(state, back)); back++) {
        if (!top_screen_shows(screen, decision))
            continue;
        at = decision->id == screen->selected ? n : at;
        shown[n++] = decision;
    }
    if (n == 0)
        return false;
    if (at == SIZE_MAX)
        at = 0;
    else if (is_down)
        at += at + 1 < n;
    else if (is_up)
        at -= at > 0;
    screen->selected = shown[at]->id;
    return true;
}

static void scroll(TopScreen *screen, char key) {
    size_t page = screen->height > 4 ? screen->height - 4 : 1;

    switch (key) {
    case 'j':
    case KEYBOARD_DOWN:
        screen->text_offset++;
        break;
    case 'k':
    case KEYBOARD_UP:
        screen->text_offset -= screen->text_offset > 0;
        break;
    case ' ':
    case KEYBOARD_PAGE_DOWN:
        screen->text_offset += page;
        break;
    case KEYBOARD_PAGE_UP:
        screen->text_offset -= screen->text_offset < page ? screen->text_offset : page;
        break;
    case 'g':
        screen->text_offset = 0;
        break;
    case 'q':
    case '\r':
    case '\n':
    case KEY_ESCAPE:
    case KEY_BACKSPACE:
        screen->text = STR_NULL;
        break;
    default:
        break;
    }
}

bool top_screen_key(TopScreen *screen, const TopState *state, char key) {
    bool is_list = !screen->is_typing && !screen->text.ptr;
    bool is_down = key == 'j' || key == KEYBOARD_DOWN, is_up = key == 'k' || key == KEYBOARD_UP;

    if (key == KEYBOARD_INTERRUPT || (is_list && key == 'q'))
        return true;
    if (screen->is_typing)
        type(screen, key);
    else if (screen->text.ptr)
        scroll(screen, key);
    else if (is_enter(key) || is_down || is_up)
        screen->wants_explanation |=
            select_decision(screen, state, is_down, is_up) && is_enter(key);
    else if (key == 'p' || key == ' ')
        screen->is_paused = !screen->is_paused;
    else if (key == 'w')
        screen->only_rejected = !screen->only_rejected;
    else if (key == 'g')
        screen->selected = 0;
    else if (key == '/' || key == KEY_ESCAPE) {
        screen->is_typing = key == '/';
        screen->filter[0] = '\0';
    }
    return false;
}
