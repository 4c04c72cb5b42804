#include "commands/explain-last.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/buf.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "commands/explain-last-print.h"
#include "commands/explain-last-replay.h"
#include "commands/explain-print.h"
#include "input/zones.h"
#include "json/read.h"
#include "json/write.h"

#define WHO "berth explain"
#define LAST_BUDGET ((size_t)1024 * 1024 * 1024)
#define SCRATCH_BUDGET ((size_t)256 * 1024 * 1024)
#define LAST_TEXT_MAX ((size_t)256 * 1024 * 1024)
#define PAGE_LIMIT "10000"
#define PAGES_MAX 10000u /* of nodes: a server that never ends is none of ours */

/* What was found out so far. */
typedef struct Last {
    BerthAccess access;
    LastStory story;
    char error[BERTH_CLIENT_ERROR_MAX];
} Last;

/* --- asking ---------------------------------------------------------------------------- */

/* All return 0, or 1 with the reason in last->error. */

static int fail_memory(Last *last) {
    (void)snprintf(last->error, sizeof(last->error), "out of memory");
    return 1;
}

static int fetch(Last *last, Str path, Str *ret) {
    int r =
        path.ptr ? berth_client_get(&last->access, path, last->story.arena, ret, last->error) : -1;

    return r < 0 ? fail_memory(last) : r;
}

static int check_reader(Last *last, JsonReader *reader) {
    json_end(reader);
    if (json_error(reader) == JSON_OK)
        return 0;
    (void)snprintf(
        last->error, sizeof(last->error), "%s does not answer like a berth", last->access.server);
    return 1;
}

/* The newest of @verb about the pod. */
static int find_newest(
    Last *last, const char *filter, Str value, const char *verb, LastDecision *ret) {
    Str path = arena_printf(last->story.arena,
        "/api/v1/decisions?%s=%.*s&verb=%s&limit=1",
        filter,
        STR_FMT(berth_client_escape(value, last->story.arena)),
        verb);
    Str page = STR_NULL, key;
    JsonReader reader;
    int r = fetch(last, path, &page);

    if (r != 0)
        return r;
    json_reader_init(&reader, page);
    json_object(&reader);
    while (json_key(&reader, &key)) {
        if (!json_key_is(&reader, key, STR("decisions"))) {
            json_skip(&reader, NULL);
            continue;
        }
        json_array(&reader);
        while (json_element(&reader))
            last_decision_decode(&reader, last->story.arena, ret);
    }
    return check_reader(last, &reader);
}

/* The one that came after the filter, if there is one. */
static int find_following(Last *last, const char *verb, LastDecision *ret) {
    Str pod = str_from_c(last->story.pod), uid = last->story.filter.uid;
    int r = str_is_empty(uid) ? find_newest(last, "pod", pod, verb, ret)
                              : find_newest(last, "uid", uid, verb, ret);

    if (r == 0 && ret->id < last->story.filter.id)
        *ret = (LastDecision){0};
    return r;
}

/* What became of the nodes: all, or the one that is asked for. */
static int fetch_nodes(Last *last, LastDecision *decision) {
    const char *node = last->story.node;
    Str filter = STR_NULL;
    int r = 0;

    if (decision->id == 0 || !decision->has_nodes)
        return 0;
    if (node)
        filter = arena_printf(last->story.arena,
            "&node=%.*s",
            STR_FMT(berth_client_escape(str_from_c(node), last->story.arena)));
    for (size_t i = 0; r == 0 && i < PAGES_MAX && (i == 0 || decision->next > 0); i++) {
        Str after = STR_NULL, page = STR_NULL;
        JsonReader reader;

        if (decision->next > 0)
            after = arena_printf(last->story.arena, "&after=%" PRId64, decision->next);
        r = fetch(last,
            arena_printf(last->story.arena,
                "/api/v1/decisions/%" PRId64 "?limit=" PAGE_LIMIT "%.*s%.*s",
                decision->id,
                STR_FMT(filter),
                STR_FMT(after)),
            &page);
        if (r != 0)
            break;
        json_reader_init(&reader, page);
        last_decision_decode(&reader, last->story.arena, decision);
        r = check_reader(last, &reader);
    }
    return r;
}

static int index_scores(Last *last) {
    last->story.scores = MAP_INIT_IN(last->story.arena);
    for (size_t i = 0; i < last->story.prioritize.nodes.n; i++) {
        Str name = last->story.prioritize.nodes.items[i].name;

        if (map_find(&last->story.scores, name) == MAP_NONE &&
            map_add(&last->story.scores, name, (uint32_t)i) < 0)
            return fail_memory(last);
    }
    return 0;
}

static int ask_all(Last *last) {
    int r = find_newest(last, "pod", str_from_c(last->story.pod), "filter", &last->story.filter);

    if (r == 0 && last->story.filter.id == 0) {
        (void)snprintf(last->error,
            sizeof(last->error),
            "%s remembers no filter about %s",
            last->access.server,
            last->story.pod);
        return 1;
    }
    if (r == 0)
        r = find_following(last, "prioritize", &last->story.prioritize);
    if (r == 0)
        r = find_following(last, "preempt", &last->story.preempt);
    if (r == 0)
        r = find_following(last, "bind", &last->story.bind);
    if (r == 0)
        r = fetch_nodes(last, &last->story.filter);
    if (r == 0)
        r = fetch_nodes(last, &last->story.prioritize);
    return r == 0 ? index_scores(last) : r;
}

/* --- for programs ---------------------------------------------------------------------------- */

static void write_decision(JsonWriter *writer, Str key, const LastDecision *decision) {
    json_write_key(writer, key);
    if (decision->id == 0) {
        json_write_null(writer);
        return;
    }
    json_write_object(writer);
    for (size_t i = 0; i < decision->fields.n; i++) {
        json_write_key(writer, decision->fields.items[i].key);
        json_write_raw(writer, decision->fields.items[i].raw);
    }
    json_write_key(writer, STR("nodes"));
    json_write_array(writer);
    for (size_t i = 0; i < decision->nodes.n; i++)
        json_write_raw(writer, decision->nodes.items[i].raw);
    json_write_end_array(writer);
    json_write_end_object(writer);
}

static void write_explanation(const LastStory *story, JsonWriter *writer) {
    const NodeExplanation *only = NULL;

    json_write_key(writer, STR("explanation"));
    if (story->telling && story->node)
        only = telling_find(story->telling, str_from_c(story->node));
    if (story->telling && (only || !story->node)) {
        telling_json_value(story->telling, only, writer);
        return;
    }
    json_write_null(writer);
    if (story->obstacle)
        json_write_member(writer, STR("unexplained"), str_from_c(story->obstacle));
}

static void print_json(const LastStory *story, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);

    writer.indent = 2;
    json_write_object(&writer);
    write_decision(&writer, STR("filter"), &story->filter);
    write_decision(&writer, STR("prioritize"), &story->prioritize);
    write_decision(&writer, STR("preempt"), &story->preempt);
    write_decision(&writer, STR("bind"), &story->bind);
    write_explanation(story, &writer);
    json_write_end_object(&writer);
    buf_append_char(out, '\n');
}

/* --- in full ------------------------------------------------------------------------------ */

/* The filter once more, with everything that led to it; if it was answered, and is still kept. */
static int look_back(Last *last, const Zones *zones, LastHindsight *ret) {
    LastStory *story = &last->story;

    if (!str_is_empty(story->filter.error))
        return 0;
    if (last_hindsight(&last->access, story->filter.id, story->node, zones, story->arena, ret) < 0)
        return fail_memory(last);
    if (ret->obstacle[0] != '\0')
        story->obstacle = ret->obstacle;
    return 0;
}

static int print(
    Last *last, const LastQuestion *question, LastHindsight *hindsight, Arena *scratch, Buf *out) {
    bool colour = terminal_has_colour(stdout);
    LastStory *story = &last->story;
    Telling telling = {
        .explanation = &hindsight->found.explanation,
        .pod = &hindsight->found.pod,
        .now_nsec = hindsight->found.now_nsec,
        .weight = question->weight,
        .all = question->all,
        .colour = colour,
        .paint = paint_for(colour),
        .scratch = scratch,
        .out = out,
    };
    int r = 0;

    story->telling = hindsight->found.view ? &telling : NULL;
    if (question->json)
        print_json(story, out);
    else
        r = last_story_print(story, out);
    story->telling = NULL;
    return r < 0 || telling.error < 0 || buf_error(out) ? fail_memory(last) : 0;
}

int explain_last(const LastQuestion *question) {
    _cleanup_(arena_freep) Arena *arena = arena_new(LAST_BUDGET);
    _cleanup_(arena_freep) Arena *scratch = arena_new(SCRATCH_BUDGET);
    _cleanup_(zones_freep) Zones *zones = zones_new();
    _cleanup_(buf_done) Buf out = BUF_INIT(LAST_TEXT_MAX);
    _cleanup_(last_hindsight_done) LastHindsight hindsight = {0};
    ServerSource source = question->source;
    Last last = {
        .story = {.pod = question->pod,
            .node = question->node,
            .all = question->all,
            .arena = arena},
    };
    int r;

    if (arena && (r = server_source_open(&source, WHO)) != 0)
        return r;
    last.access = source.access;
    r = arena && scratch && zones ? ask_all(&last) : fail_memory(&last);
    if (r == 0)
        r = look_back(&last, zones, &hindsight);
    if (r == 0)
        r = print(&last, question, &hindsight, scratch, &out);
    if (r != 0) {
        terminal_complain(WHO, last.error);
        return EXIT_UNREACHABLE;
    }
    return terminal_print(stdout, buf_str(&out)) ? EXIT_FINE : EXIT_UNREACHABLE;
}
