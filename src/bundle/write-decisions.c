/*
 * Writes pods, each text once and with the fields that policies can read; and decisions, by line:
 *
 *   {"nodes":["n1","n2",…]}                       first line: the names of node numbers
 *   {"id":7,"verb":"filter",…,"pod":3,"scene":1,
 *    "asked":[[0,5000]],"became":"pprrn…","by":[0,1],"scores":[7,null,…]}
 *
 * "asked" has ranges of candidates: first number and length. "became" has a letter for each:
 * p passed, r rejected, u unknown, n narrowed, l late, s scored. "by" has an index of "rules" for
 * each rejected node.
 */

#include <errno.h>

#include "base/map.h"
#include "bundle/bundle-internal.h"

/* A letter becomes 8 bytes when it is read, so it counts like 3: pack_charge() adds these. */
#define NODE_COST 2u

#define POD_BUDGET ((size_t)256 * 1024 * 1024)

/* Finds the objects that the pod refers to, as of then: a bundle's cluster does not have them. */
static int find_related(const RecordedDecision *decision, Pod *pod, Arena *arena, Related *room) {
    const SavedView *saved_view = decision->saved_view;
    int r;

    if (!saved_view || !saved_view->snapshot)
        return 0;
    r = related_objects_find(snapshot_related(saved_view->snapshot), pod, arena, room);
    if (room->knows_namespaces || room->knows_claims)
        pod->related = room;
    return r;
}

/* Writes the line of a pod. Returns false if the text cannot be decoded as a pod. */
static bool write_pod(
    BundleWrite *write, const RecordedDecision *decision, const char *digest, Arena *arena) {
    JsonReader reader;
    JsonWriter writer;
    Related related;
    const Pod *shown;
    Pod pod;

    arena_reset(arena);
    json_reader_init(&reader, decision->pod_text);
    pod_decode(&reader, arena, &pod);
    if (json_error(&reader))
        return false;
    shown = find_related(decision, &pod, arena, &related) < 0 ? NULL
            : write->mask ? write->mask->pod(write->mask->context, &pod)
                          : &pod;
    if (!shown) {
        write->error = -ENOMEM;
        return false;
    }
    writer = bundle_line(write);
    if (!write->anonymous) /* the digest would identify a known text */
        json_write_member(&writer, STR("digest"), str_from_c(digest));
    json_write_key(&writer, STR("pod"));
    object_write_pod(&writer, shown, shown->node_name);
    bundle_end_line(write, &writer);
    return true;
}

/* The line number of the decision's pod, which is written if it is new; UINT32_MAX: none. */
static uint32_t pod_line(
    BundleWrite *write, const RecordedDecision *decision, Map *known, uint32_t *n, Arena *arena) {
    char digest[DIGEST_TEXT_MAX];
    uint32_t line;
    Str key;

    if (!decision->pod_text.ptr)
        return UINT32_MAX;
    (void)digest_print(digest_of(decision->pod_text), digest);
    line = map_find(known, str_from_c(digest));
    if (line != MAP_NONE)
        return line;
    if (!write_pod(write, decision, digest, arena))
        return UINT32_MAX;
    key = arena_copy(write->arena, str_from_c(digest));
    if (key.ptr && map_add(known, key, *n) < 0)
        write->error = -ENOMEM;
    return (*n)++;
}

void bundle_write_pods(BundleWrite *write) {
    _cleanup_(arena_freep) Arena *arena = arena_new(POD_BUDGET);
    const Recording *recording = write->parts->recording;
    Map known = MAP_INIT_IN(write->arena);
    uint32_t n = 0;

    write->pods = ARENA_RAW(write->arena, uint32_t, recording->n);
    if (!arena || !write->pods) {
        write->error = -ENOMEM;
        return;
    }
    bundle_begin(write, STR("pods.jsonl"));
    for (size_t i = 0; i < recording->n; i++)
        write->pods[i] = pod_line(write, &recording->decisions[i], &known, &n, arena);
    pack_end(write->pack);
}

static void write_names(BundleWrite *write) {
    const Recording *recording = write->parts->recording;
    JsonWriter writer = bundle_line(write);

    json_member_array(&writer, "nodes");
    for (size_t i = 0; i < recording->n_names; i++)
        json_write_string(&writer, bundle_show(write, anonymous_name, recording->names[i]));
    json_write_end_array(&writer);
    bundle_end_line(write, &writer);
}

/* Texts of the bundle's policies may be shown; texts of other policies are anonymized word by
 * word. */
static Str rule_text(BundleWrite *write, const RecordedDecision *decision, Str text) {
    return digest_equal(decision->policy, write->policy) ? text
                                                         : bundle_show(write, anonymous_text, text);
}

static void write_rules(BundleWrite *write, JsonWriter *writer, const RecordedDecision *decision) {
    if (decision->n_rules == 0)
        return;
    json_member_array(writer, "rules");
    for (size_t i = 0; i < decision->n_rules; i++) {
        Str policy = rule_text(write, decision, decision->rules[i].policy);
        Str name = rule_text(write, decision, decision->rules[i].name);
        Str reason = rule_text(write, decision, decision->rules[i].reason);

        json_write(writer, "{policy: %.*s, name: %.*s, reason: %.*s}", STR_FMT(policy),
            STR_FMT(name), STR_FMT(reason));
    }
    json_write_end_array(writer);
}

static void write_asked(JsonWriter *writer, const RecordedDecision *decision) {
    size_t n = 0;

    json_member_array(writer, "asked");
    for (size_t i = 0; i < decision->n_nodes; i += n) {
        uint32_t first = decision->nodes[i].name;

        for (n = 1; i + n < decision->n_nodes && decision->nodes[i + n].name == first + n;)
            n++;
        json_write(writer, "[%u, %zu]", first, n);
    }
    json_write_end_array(writer);
}

static void write_became(JsonWriter *writer, const RecordedDecision *decision) {
    json_write_key(writer, STR("became"));
    json_write_raw(writer, STR("\""));
    for (size_t i = 0; i < decision->n_nodes; i++)
        buf_append_char(writer->out, decision_letters[decision->nodes[i].kind]);
    buf_append_char(writer->out, '"');
}

static void write_by(JsonWriter *writer, const RecordedDecision *decision) {
    if (decision->n_rules == 0)
        return;
    json_member_array(writer, "by");
    for (size_t i = 0; i < decision->n_nodes; i++)
        if (decision->nodes[i].kind == OUTCOME_REJECTED)
            json_write_int_or_null(writer, decision->nodes[i].rule, RECORDED_NO_RULE);
    json_write_end_array(writer);
}

static void write_scores(JsonWriter *writer, const RecordedDecision *decision) {
    bool has_some = false;

    for (size_t i = 0; !has_some && i < decision->n_nodes; i++)
        has_some = decision->nodes[i].score != RECORDED_NO_SCORE;
    if (!has_some)
        return;
    json_member_array(writer, "scores");
    for (size_t i = 0; i < decision->n_nodes; i++)
        json_write_int_or_null(writer, decision->nodes[i].score, RECORDED_NO_SCORE);
    json_write_end_array(writer);
}

/* Writes a member, unless the text is empty. */
static void write_shown(BundleWrite *write, JsonWriter *writer, const char *key,
    Str (*show)(Anonymous *anonymous, Str text), Str text) {
    Str shown = bundle_show(write, show, text);

    json_write(writer, "%s?: %.*s", key, STR_FMT(shown));
}

static void write_head(BundleWrite *write, JsonWriter *writer, const RecordedDecision *decision) {
    json_write(writer, "id: %zu, verb: %s, nowNsec: %jd, durationNsec: %jd", decision->id,
        verb_name(decision->verb), decision->now_nsec, decision->duration_nsec);
    write_shown(write, writer, "namespace", anonymous_name, decision->pod_namespace);
    write_shown(write, writer, "name", anonymous_name, decision->pod_name);
    write_shown(write, writer, "uid", anonymous_name, decision->pod_uid);
    write_shown(write, writer, "target", anonymous_name, decision->target);
    write_shown(write, writer, "error", anonymous_text, decision->error);
    bundle_write_digest(writer, STR("policy"), decision->policy);
    json_write(writer, "in: %zu, out: %zu, names?: %i, late?: %i, exempt?: %i", decision->n_in,
        decision->n_out, decision->had_names, decision->is_late, decision->is_exempt);
}

/* Searches from the last one found: decisions and saved views are in the same order. */
static void write_scene(
    BundleWrite *write, JsonWriter *writer, const RecordedDecision *decision, size_t *at) {
    const Recording *recording = write->parts->recording;

    if (!decision->saved_view || write->parts->only_digest)
        return;
    for (size_t i = 0; i < recording->n_saved_views; i++) {
        size_t place = (*at + i) % recording->n_saved_views;

        if (recording->saved_views[place] == decision->saved_view) {
            *at = place;
            json_member_int(writer, "scene", (int64_t)place);
            return;
        }
    }
}

static void write_decision(BundleWrite *write, size_t i, size_t *saved_view) {
    const RecordedDecision *decision = &write->parts->recording->decisions[i];
    JsonWriter writer = bundle_line(write);

    write_head(write, &writer, decision);
    if (write->pods && write->pods[i] != UINT32_MAX)
        json_member_int(&writer, "pod", write->pods[i]);
    write_scene(write, &writer, decision, saved_view);
    write_rules(write, &writer, decision);
    if (decision->nodes) {
        write_asked(&writer, decision);
        write_became(&writer, decision);
        write_by(&writer, decision);
        write_scores(&writer, decision);
    }
    bundle_end_line(write, &writer);
    pack_charge(write->pack, NODE_COST * decision->n_nodes);
}

void bundle_write_decisions(BundleWrite *write) {
    size_t saved_view = 0;

    bundle_begin(write, STR("decisions.jsonl"));
    write_names(write);
    for (size_t i = 0; i < write->parts->recording->n; i++)
        write_decision(write, i, &saved_view);
    pack_end(write->pack);
}
