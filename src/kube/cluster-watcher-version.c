/* GET /version, until the API server answers. Before 1.37 resized pods are counted by container. */

#include "base/clock.h"
#include "kube/cluster-watcher-internal.h"
#include "json/fields.h"

#define VERSION_SEC 10
#define VERSION_RETRY_SEC 1
#define VERSION_BYTES_MAX 65536u
#define BY_POD_MINOR 37

typedef struct VersionReply {
    Str major, minor; /* "1", "36" or "36+" */
} VersionReply;

static ResizeRule read_rule(Str text) {
    static const JsonField fields[] = {
        JSON_MEMBER("major", TEXT, VersionReply, major),
        JSON_MEMBER("minor", TEXT, VersionReply, minor),
    };
    _cleanup_(arena_freep) Arena *arena = arena_new(VERSION_BYTES_MAX);
    VersionReply reply = {0};
    int64_t minor;

    if (!arena || !JSON_READ_DOCUMENT(text, arena, fields, &reply))
        return RESIZE_BY_POD;
    if (reply.minor.len > 0 && reply.minor.ptr[reply.minor.len - 1] == '+')
        reply.minor.len--;
    return str_is(reply.major, "1") && str_to_int64(reply.minor, &minor) && minor < BY_POD_MINOR
               ? RESIZE_BY_CONTAINER
               : RESIZE_BY_POD;
}

/* An answer without a version counts as the newest version. */
static void on_done(void *context, const CallResult *result) {
    ClusterWatcher *watcher = context;
    ServerVersion *version = &watcher->version;

    version->call = NULL;
    version->is_known = result->outcome == CALL_DONE && result->status < 500 &&
                        result->status != 429; /* too many requests */
    if (result->status == 200 && version->is_known)
        version->rule = read_rule(buf_str(&version->answer));
    buf_done(&version->answer);
    version->ask_at = clock_monotonic_nsec() + VERSION_RETRY_SEC * NSEC_PER_SEC;
}

int64_t watcher_find_version(ClusterWatcher *watcher, int64_t now_nsec) {
    ServerVersion *version = &watcher->version;
    const CallHandler handler = {.context = watcher, .done = on_done};
    const CallOptions call = {
        .method = "GET",
        .path = "/version",
        .may_repeat = true,
        .total_sec = VERSION_SEC,
        .bytes_max = VERSION_BYTES_MAX,
        .answer = &version->answer,
    };

    if (version->is_known || version->call)
        return INT64_MAX;
    if (now_nsec < version->ask_at)
        return version->ask_at;
    version->answer = BUF_INIT(VERSION_BYTES_MAX);
    version->call = client_call(watcher->client, &call, &handler);
    if (!version->call)
        version->ask_at = now_nsec + VERSION_RETRY_SEC * NSEC_PER_SEC;
    return version->call ? INT64_MAX : version->ask_at;
}
