/* The state of each configuration that is reloaded. */

#include "monitor/reload.h"

#include "base/thread.h"
#include "base/utf8.h"

const char *const reload_kind_names[] = {
    [RELOAD_POLICY] = "policy",
    [RELOAD_CLUSTER] = "cluster",
    [RELOAD_CERTIFICATES] = "certificates",
    [RELOAD_SOURCES] = "sources",
    [RELOAD_PAGES_TOKEN] = "pages-token",
};

void reloads_note_good(Reloads *reloads, ReloadKind kind, int64_t now_sec) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&reloads->lock);
    ReloadState *state = &reloads->states[kind];

    state->is_used = true;
    state->is_good = true;
    state->good_at_sec = now_sec;
    state->n_good++;
    state->error[0] = '\0';
}

/* Pages show only the first line, with the position and the error. */
static void copy_first_line(const char *error, char *ret) {
    Str line = utf8_take(str_of(error, strcspn(error, "\n")), RELOAD_ERROR_MAX - 1);

    memcpy(ret, line.ptr, line.len);
    ret[line.len] = '\0';
}

void reloads_note_bad(Reloads *reloads, ReloadKind kind, const char *error) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&reloads->lock);
    ReloadState *state = &reloads->states[kind];

    state->is_good = false;
    state->n_bad++;
    copy_first_line(error, state->error);
}

void reloads_note_waiting(Reloads *reloads, ReloadKind kind, const char *why) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&reloads->lock);

    copy_first_line(why, reloads->states[kind].waiting);
}

void reloads_get(Reloads *reloads, ReloadKind kind, ReloadState *ret) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&reloads->lock);

    *ret = reloads->states[kind];
}
