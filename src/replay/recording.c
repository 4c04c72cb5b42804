/* Restores the request of a recorded decision, and tells why some cannot be replayed. */

#include "replay/recording.h"

#include "json/write.h"

void recording_done(Recording *recording) {
    for (size_t i = 0; i < recording->n_saved_views; i++)
        saved_view_unref(recording->saved_views[i]);
    *recording = (Recording){0};
}

const char *recorded_obstacle(const RecordedDecision *decision) {
    if (decision->verb != VERB_FILTER && decision->verb != VERB_PRIORITIZE)
        return "only filter and prioritize are made again";
    if (!str_is_empty(decision->error))
        return "it was answered with an error";
    if (decision->is_late)
        return "time was up for some of its nodes";
    if (!decision->nodes)
        return "what became of its nodes is not kept any more";
    if (!decision->had_names && decision->n_in > 0)
        return "the request carried whole nodes, which are not kept (nodeCacheCapable: false)";
    if (decision->n_nodes != decision->n_in)
        return "not all of its nodes are kept: a name was given twice, or is no name of a node";
    if (!decision->pod_text.ptr)
        return "its pod is not kept any more";
    if (!decision->saved_view)
        return "the cluster as it was then is not kept any more";
    return NULL;
}

/* --- the request ------------------------------------------------------------------------------ */

const RecordedNode **recorded_order(const RecordedDecision *decision, Arena *arena) {
    const RecordedNode **order = ARENA_RAW(arena, const RecordedNode *, decision->n_nodes);
    size_t n = 0;

    for (unsigned is_last = 0; order && is_last < 2; is_last++)
        for (size_t i = 0; i < decision->n_nodes; i++)
            if ((decision->nodes[i].kind == RECORDED_NARROWED) == (is_last == 1))
                order[n++] = &decision->nodes[i];
    return order;
}

#define BEFORE_POD "{\"Pod\":"
#define BEFORE_NAMES ",\"NodeNames\":["
#define BEHIND_NAMES "]}"
#define ESCAPED_MAX 6u /* bytes of one, at most */

/* Names of nodes are letters, digits, dots and dashes; what else a request may have called a node
 * comes with escapes. */
static bool is_plain(Str name) {
    bool is_plain = true;

    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.ptr[i];

        is_plain &= c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
    }
    return is_plain;
}

static char *put(char *at, Str text) {
    if (text.len > 0)
        memcpy(at, text.ptr, text.len);
    return at + text.len;
}

/* The name as JSON; NULL when out of memory. */
static char *put_name(char *at, Str name) {
    _cleanup_(buf_done) Buf quoted = BUF_INIT(ESCAPED_MAX * name.len + 2);

    if (is_plain(name)) {
        *at++ = '"';
        at = put(at, name);
        *at++ = '"';
        return at;
    }
    json_quote(&quoted, name);
    return buf_error(&quoted) ? NULL : put(at, buf_str(&quoted));
}

static size_t request_bound(const Recording *recording, const RecordedDecision *decision) {
    size_t bytes = sizeof(BEFORE_POD BEFORE_NAMES BEHIND_NAMES) + decision->pod_text.len;

    for (size_t i = 0; i < decision->n_nodes; i++)
        bytes += ESCAPED_MAX * recording->names[decision->nodes[i].name].len + 3;
    return bytes;
}

Str recorded_request(const Recording *recording, const RecordedDecision *decision, Arena *arena) {
    const RecordedNode **order = recorded_order(decision, arena);
    char *text = ARENA_RAW(arena, char, request_bound(recording, decision)), *at = text;

    if (!order || !text)
        return STR_NULL;
    at = put(at, STR(BEFORE_POD));
    at = put(at, decision->pod_text);
    at = put(at, STR(BEFORE_NAMES));
    for (size_t i = 0; at && i < decision->n_nodes; i++) {
        *at = ',';
        at = put_name(at + (i > 0), recording->names[order[i]->name]);
    }
    if (!at)
        return STR_NULL;
    at = put(at, STR(BEHIND_NAMES));
    return str_of(text, (size_t)(at - text));
}
