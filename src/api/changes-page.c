/* /api/v1/changes: the log of changes, or the difference of one policy version. */

#include "api/api-pages.h"

#include "api/page-field.h"
#include "api/query.h"

static void write_change(JsonWriter *writer, const Change *change) {
    json_write(writer, "{id: %zu, time: %td, kind: %s, bad: %i, what: %.*s, text: %.*s", change->id,
        change->at_nsec, change_kinds[change->kind].name, change_kinds[change->kind].is_bad,
        STR_FMT(change->what), STR_FMT(change->text));
    if (change->kind == CHANGE_POLICY) {
        field_digest(writer, "digest", change->digest);
        json_member_bool(writer, "hasDiff", change->has_diff);
    }
    json_write_end_object(writer);
}

static unsigned list_page(ApiContext *api, size_t limit, Arena *arena, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);
    Change *list = ARENA_RAW(arena, Change, limit);
    size_t n = list ? changes_read(api->changes, arena, list, limit) : 0;

    if (arena_has_failed(arena))
        return page_write_no_memory(out, "the list of changes", arena);
    json_write(&writer, "{changes: [");
    for (size_t i = 0; i < n; i++)
        write_change(&writer, &list[i]);
    json_write(&writer, "]}\n");
    return 200;
}

static unsigned diff_page(ApiContext *api, Str text, Buf *out) {
    _cleanup_(buf_done) Buf diff = BUF_INIT(CHANGES_PAGE_MAX / 2);
    JsonWriter writer = JSON_WRITER(out);
    char shown[DIGEST_TEXT_MAX];
    Digest digest;

    if (!digest_parse(text, &digest))
        return page_write_error(
            out, 400, "diff must be 32 hexadecimal digits: \"digest\" of a change");
    if (!changes_diff(api->changes, digest, &diff))
        return page_write_error(out, 404,
            "there is no such version, or the one before it is not kept; changes with \"hasDiff\" "
            "in /api/v1/changes have a diff");
    if (buf_error(&diff))
        return page_write_error(out, 500, "the difference is too large to be shown");
    json_write(&writer, "{digest: %s, diff: %.*s}\n", digest_print(digest, shown),
        STR_FMT(buf_str(&diff)));
    return 200;
}

unsigned changes_page(ApiContext *api, const HttpRequest *request, Buf *out) {
    static const Str names[] = {STR("limit"), STR("diff")};
    char error[QUERY_ERROR_MAX];
    int64_t limit;
    Query query;

    if (!query_parse(request->query, names, ELEMENTS_OF(names), request->arena, &query, error) ||
        !query_number(&query, names[0], 1, CHANGES_MAX, 100, &limit, error))
        return page_write_error(out, 400, error);
    if (query_get(&query, names[1]).ptr)
        return diff_page(api, query_get(&query, names[1]), out);
    return list_page(api, (size_t)limit, request->arena, out);
}
