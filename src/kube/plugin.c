#include "kube/plugin.h"

#include <limits.h>
#include <string.h>

#include "base/clock.h"
#include "kube/message.h"

/* A plugin is not run again before this, whatever it gave and whatever the API server
 * thought of it: a hundred calls that are refused at once are no reason for a hundred
 * runs. Doubles with every failure in a row: whoever runs it does nothing else meanwhile. */
#define PAUSE_NSEC (5 * NSEC_PER_SEC)
#define PAUSE_MAX_NSEC (60 * NSEC_PER_SEC)

/* How long before its end a plugin's credential is replaced: a tenth of its life, at most. */
#define MARGIN_PART 10
#define MARGIN_SEC_MAX 60

static bool text_eq(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static int64_t refresh_time(int64_t expires_sec, int64_t wall_sec) {
    int64_t life = expires_sec > wall_sec ? expires_sec - wall_sec : 0;
    int64_t margin = life / MARGIN_PART < MARGIN_SEC_MAX ? life / MARGIN_PART : MARGIN_SEC_MAX;

    return expires_sec == EXEC_NEVER ? EXEC_NEVER : expires_sec - margin;
}

/* Takes @credential. */
static void take(Plugin *plugin, ExecCredential *credential, int64_t wall_sec, bool *ret_changed) {
    if (!text_eq(plugin->credential.token, credential->token) ||
        !text_eq(plugin->credential.cert_pem, credential->cert_pem) ||
        !text_eq(plugin->credential.key_pem, credential->key_pem))
        *ret_changed = true;
    exec_credential_done(&plugin->credential);
    plugin->credential = *credential;
    *credential = (ExecCredential){.expires_sec = EXEC_NEVER};
    plugin->has_credential = true;
    plugin->refresh_at_sec = refresh_time(plugin->credential.expires_sec, wall_sec);
}

/* What we have is still worth sending. */
static bool is_good(const Plugin *plugin, const PluginRun *run) {
    return plugin->has_credential && !run->is_rejected &&
           run->wall_sec < plugin->credential.expires_sec;
}

/* How long after the last run it is left alone. That a refresh has failed, for which there was
 * little time, is no reason to wait when the credential is needed. */
static int64_t pause_after(const Plugin *plugin, bool is_refresh) {
    unsigned n = plugin->was_refresh == is_refresh ? plugin->n_failures : 0;
    int64_t pause = PAUSE_NSEC;

    while (n-- > 1 && pause < PAUSE_MAX_NSEC)
        pause *= 2;
    return pause < PAUSE_MAX_NSEC ? pause : PAUSE_MAX_NSEC;
}

static void note_run(Plugin *plugin, bool is_refresh, int64_t now_nsec) {
    if (!plugin->has_run || plugin->was_refresh != is_refresh || plugin->failure == 0)
        plugin->n_failures = 0;
    if (plugin->failure < 0 && plugin->n_failures < UINT_MAX)
        plugin->n_failures++;
    plugin->has_run = true;
    plugin->was_refresh = is_refresh;
    plugin->ran_at_nsec = now_nsec;
}

static void run_once(Plugin *plugin, const PluginRun *run, bool *ret_changed) {
    _cleanup_(exec_credential_done) ExecCredential credential = {.expires_sec = EXEC_NEVER};
    bool is_refresh = is_good(plugin, run);
    int timeout_msec = (is_refresh ? ACCESS_PLUGIN_REFRESH_SEC : ACCESS_PLUGIN_SEC) * 1000;
    int64_t start = clock_monotonic_nsec();

    plugin->failure = exec_run(run->spec, run->cluster, timeout_msec, &credential, plugin->error);
    note_run(plugin, is_refresh, run->now_nsec + (clock_monotonic_nsec() - start));
    if (plugin->failure == 0)
        take(plugin, &credential, run->wall_sec, ret_changed);
}

int plugin_refresh(Plugin *plugin, const PluginRun *run, bool *ret_changed, char *error) {
    bool is_due =
        !plugin->has_credential || run->is_rejected || run->wall_sec >= plugin->refresh_at_sec;
    int64_t pause = pause_after(plugin, is_good(plugin, run));
    bool may_run = !plugin->has_run || run->now_nsec - plugin->ran_at_nsec >= pause;

    if (is_due && may_run)
        run_once(plugin, run, ret_changed);
    if (plugin->failure == 0)
        return is_due && may_run ? PLUGIN_GAVE : 0;
    if (is_good(plugin, run))
        return 0;
    return message_fail(plugin->failure, error, "%s", plugin->error);
}

void plugin_done(Plugin *plugin) {
    exec_credential_done(&plugin->credential);
}
