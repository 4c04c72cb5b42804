/*
 * Any bytes as a configuration of kube-scheduler: no crash; an error comes with a message; a valid
 * one is written and reads back the same.
 */

#include <errno.h>

#include "base/cleanup.h"
#include "base/fuzz.h"
#include "wiring/test-config.h"

#define BUDGET ((size_t)64 * 1024 * 1024)
#define WRITTEN_MAX ((size_t)16 * 1024 * 1024)

/* Strings that YAML must escape are read, but never written. */
static bool is_printable(Str text) {
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] != '\n' && (text.ptr[i] < ' ' || text.ptr[i] > '~'))
            return false;
    return true;
}

/* https without a CA must not be written. */
static bool is_safe(const SchedulerConfig *config) {
    for (size_t i = 0; i < config->n_extenders; i++) {
        const ExtenderEntry *entry = &config->extenders[i];

        if (str_eq_nocase(str_take(entry->url_prefix, 8), STR("https://")) &&
            entry->tls.ca_data.len + entry->tls.ca_file.len == 0)
            return false;
    }
    return true;
}

static void check_written(const SchedulerConfig *config) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    _cleanup_(buf_done) Buf text = BUF_INIT(WRITTEN_MAX);
    DiagList diags = DIAG_LIST_IN(arena);
    SchedulerConfig back;

    require(arena != NULL);
    scheduler_config_write(config, &text);
    if (buf_error(&text) < 0 || !is_printable(buf_str(&text)))
        return;
    require(scheduler_config_read(STR("back"), buf_str(&text), arena, &diags, &back) == 0);
    require(config_is_same(config, &back));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    DiagList diags = DIAG_LIST_IN(arena);
    SchedulerConfig config;
    int r;

    if (!arena)
        return 0;
    r = scheduler_config_read(
        STR("file"), str_of((const char *)data, size), arena, &diags, &config);
    require(r == 0 || r == WIRING_E_UNREAD || r == -EINVAL || r == -ENOMEM);
    require(r == 0 || r == -ENOMEM || diags.n_errors > 0);
    require(r != 0 || diags.n_errors == 0);
    if (r == 0 && is_safe(&config))
        check_written(&config);
    return 0;
}
