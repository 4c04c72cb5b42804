/* /api/v1/bundle: policies, decisions and their cluster as a .tar.gz. */

#include "api/api-pages.h"

#include <errno.h>
#include <stdio.h>
#include <sys/random.h>

#include "api/page-field.h"
#include "api/query.h"
#include "api/routes.h"
#include "base/clock.h"
#include "bundle/bundle.h"
#include "history/recorder.h"
#include "version.h"

typedef struct BundleParams {
    int64_t last;
    int64_t id; /* only this decision; 0: the last ones */
    bool is_anonymous;
    bool only_digest;
} BundleParams;

/* Reads a parameter with two values. False: it has another one. */
static bool choose(
    const Query *query, Str name, Str no, Str yes, bool *ret, const char *wrong, char *error) {
    Str value = query_get(query, name);

    *ret = str_eq(value, yes);
    if (!value.ptr || *ret || str_eq(value, no))
        return true;
    return query_fail(error, "%s", wrong);
}

static bool goes_together(const Query *query, Str last, Str id, char *error) {
    if (!query_get(query, last).ptr || !query_get(query, id).ptr)
        return true;
    return query_fail(error, "last or id: a bundle is of many decisions, or of one");
}

static bool read_params(const HttpRequest *request, BundleParams *ret, char *error) {
    static const Str names[] = {STR("last"), STR("anonymize"), STR("cluster"), STR("id")};
    Query query;

    return query_parse(request->query, names, ELEMENTS_OF(names), request->arena, &query, error) &&
           query_number(
               &query, names[0], 1, RECORDER_LAST_MAX, RECORDER_LAST_DEFAULT, &ret->last, error) &&
           query_number(&query, names[3], 1, INT64_MAX, 0, &ret->id, error) &&
           goes_together(&query, names[0], names[3], error) &&
           choose(&query, names[1], STR("false"), STR("true"), &ret->is_anonymous,
               "anonymize is true or false", error) &&
           choose(&query, names[2], STR("whole"), STR("digest"), &ret->only_digest,
               "cluster is whole or digest", error);
}

static const struct {
    Str path, name;
} pages[] = {
    {STR("/api/v1/status"), STR("status.json")},
    {STR("/api/v1/sources"), STR("sources.json")},
    {STR("/metrics"), STR("metrics.txt")},
    {STR("/api/v1/changes"), STR("changes.json")},
};

#define PAGE_TEXT_MAX ((size_t)16 * 1024 * 1024)

/* Makes the page @path as for a client. False: it cannot be made, and is left out. */
static bool make_page(
    ApiContext *api, const HttpRequest *request, Str path, Arena *arena, Str *ret) {
    _cleanup_(buf_done) Buf text = BUF_INIT(PAGE_TEXT_MAX);
    HttpRequest asked = {
        .method = STR("GET"), .path = path, .is_authenticated = true, .arena = request->arena};
    PageAccess access = {0};
    HttpReply reply = {0};

    route_reply(route_find(api, &asked), api, &asked, &access, &reply);
    for (size_t i = 0; i < reply.n_slices; i++)
        buf_append(&text, reply.slices[i]);
    *ret = arena_copy(arena, buf_str(&text));
    return reply.status == 200 && ret->ptr && !buf_error(&text);
}

static unsigned write_bundle(const BundleParts *parts, const BundleParams *params, Buf *out) {
    int r = bundle_write(parts, out);

    if (r == 0)
        return 200;
    if (r == -EFBIG) {
        char text[128];

        (void)snprintf(text, sizeof(text),
            "a bundle of %lld decisions is larger than %zu MiB: request fewer (last=N)",
            (long long)params->last, out->ceiling / 1024 / 1024);
        return page_write_error(out, 500, text);
    }
    return page_write_error(out, 503, "out of memory for the bundle");
}

/* Records decisions. 200, or the status of the error page in @out. */
static unsigned record(
    Decisions *decisions, const BundleParams *params, Arena *arena, Recording *ret, Buf *out) {
    int r = decisions_record(decisions, (uint64_t)params->id, (size_t)params->last, arena, ret);

    if (r < 0)
        return page_write_error(out, 503,
            "not enough memory for a bundle of so many decisions: request fewer (last=N)");
    if (params->id > 0 && ret->n == 0)
        return page_write_error(out, 404, "this decision is no longer kept");
    return 200;
}

/* Takes the policies in force, or those of a single decision if they are still kept. */
static bool take_policies(Changes *changes, const View *view, const Recording *recording,
    const BundleParams *params, Arena *arena, BundleParts *parts) {
    const SavedView *scene = params->id > 0 ? recording->decisions[0].saved_view : NULL;

    parts->program = scene && scene->program ? scene->program : view->program;
    if (params->id > 0 && changes_sources(changes, recording->decisions[0].policy, arena,
                              &parts->policies, &parts->n_policies))
        return true;
    parts->program = view->program;
    return changes_sources(
        changes, view->program->digest, arena, &parts->policies, &parts->n_policies);
}

static unsigned make_bundle(ApiContext *api, const HttpRequest *request, const BundleParams *params,
    Arena *arena, Buf *out) {
    _cleanup_(view_unrefp) View *view = current_view(api->current);
    _cleanup_(recording_done) Recording recording = {0};
    BundlePage page_texts[ELEMENTS_OF(pages)] = {0};
    unsigned status;
    BundleParts parts = {
        .version = STR(BERTH_VERSION),
        .made_at_nsec = clock_wall_nsec(),
        .exemptions = api->fixed.exempt,
        .recording = &recording,
        .pages = page_texts,
        .only_digest = params->only_digest,
        .is_anonymous = params->is_anonymous,
    };

    status = record(api->decisions, params, arena, &recording, out);
    if (status != 200)
        return status;
    if (!take_policies(api->changes, view, &recording, params, arena, &parts))
        return page_write_error(out, 503, "the policy texts in force are too large to be kept");
    if (getrandom(parts.salt, sizeof(parts.salt), 0) != (ssize_t)sizeof(parts.salt))
        return page_write_error(out, 503, "no random numbers available");
    for (size_t i = 0; !params->is_anonymous && params->id == 0 && i < ELEMENTS_OF(pages); i++)
        if (make_page(api, request, pages[i].path, arena, &page_texts[parts.n_pages].text))
            page_texts[parts.n_pages++].name = pages[i].name;
    return write_bundle(&parts, params, out);
}

unsigned bundle_page(ApiContext *api, const HttpRequest *request, Buf *out) {
    /* With the file twice (while it is made, and while it is sent) this is less than the 1 GiB of a
     * container of berth, and one bundle is made at a time (api/page-workers.h). */
    _cleanup_(arena_freep) Arena *arena = arena_new(RECORDER_BUDGET);
    char error[QUERY_ERROR_MAX];
    BundleParams params;

    if (!api->decisions)
        return page_write_error(
            out, 404, "no decisions are kept: berth was started with --decisions 0");
    if (!read_params(request, &params, error))
        return page_write_error(out, 400, error);
    if (!arena)
        return page_write_error(out, 503, "out of memory for the bundle");
    return make_bundle(api, request, &params, arena, out);
}
