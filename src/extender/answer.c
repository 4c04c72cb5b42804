/* Shared by all answers: the names of the verbs, the start of an answer, and errors. */

#include <errno.h>

#include "extender/verbs-internal.h"
#include "json/write.h"

#define ERROR_TEXT_MAX ((size_t)8 * 1024)

#define NO_MEMORY "berth: out of memory for the answer"

const char *verb_name(Verb verb) {
    static const char *const names[] = {
        [VERB_FILTER] = "filter",
        [VERB_PRIORITIZE] = "prioritize",
        [VERB_PREEMPT] = "preempt",
        [VERB_BIND] = "bind",
    };

    return names[verb];
}

bool verb_parse(Str name, Verb *ret) {
    for (Verb verb = 0; verb < _VERB_MAX; verb++)
        if (str_is(name, verb_name(verb))) {
            *ret = verb;
            return true;
        }
    return false;
}

void verb_decode(JsonReader *reader, Arena *arena, void *target) {
    Str name = STR_NULL;

    json_string(reader, arena, &name);
    if (!verb_parse(name, target))
        json_fail(reader, JSON_E_TYPE, "a verb was expected: filter, prioritize, preempt or bind");
}

Str decision_nominated(const Decision *decision) {
    const FilterArgs *args = decision->args;
    Str node;

    if (!args || args->n != 1 || args->rows[0] >= args->node_set.table->n_rows)
        return STR_NULL;
    node = args->node_set.table->names->names[args->rows[0]];
    return str_eq(node, args->pod.nominated_node_name) ? node : STR_NULL;
}

void decision_init(Decision *decision, const Pod *pod, size_t n_in) {
    *decision = (Decision){
        .pod_namespace = pod->namespace,
        .pod_name = pod->name,
        .pod_uid = pod->uid,
        .summary.n_in = n_in,
    };
}

void answer_error(Answer *answer, Arena *arena, unsigned status, Str text) {
    _cleanup_(buf_done) Buf body = BUF_INIT(ERROR_TEXT_MAX);
    JsonWriter writer = JSON_WRITER(&body);
    const Decision before = answer->decision;

    json_write(&writer, "{Error: %.*s}", STR_FMT(str_take(text, ERROR_TEXT_MAX / 8)));
    answer->status = status;
    answer->body = ROPE_INIT_IN(arena);
    rope_copy(&answer->body, buf_str(&body));
    answer->decision = (Decision){
        .pod_namespace = before.pod_namespace,
        .pod_name = before.pod_name,
        .pod_uid = before.pod_uid,
        .pod_text = before.pod_text,
        .node = before.node,
        .summary.n_in = before.summary.n_in,
        .error = str_is_empty(text) ? text : arena_copy(arena, text),
    };
    if (!answer->decision.error.ptr && !str_is_empty(text)) /* an empty text means success */
        answer->decision.error = STR(NO_MEMORY);
    if (rope_error(&answer->body)) { /* no memory even for this: an empty 500 */
        answer->status = 500;
        answer->body = ROPE_INIT_IN(arena);
        answer->decision.error = STR(NO_MEMORY);
    }
}

void answer_malformed(Answer *answer, Arena *arena, Str body, Str text) {
    JsonReader reader;

    json_reader_init(&reader, body.len <= WIRE_BODY_MAX ? body : STR_NULL);
    json_skip(&reader, NULL);
    json_end(&reader);
    answer_error(answer, arena, json_error(&reader) == JSON_OK ? 200 : 400, text);
}

void answer_no_memory(Answer *answer, Arena *arena, unsigned status) {
    answer_error(
        answer, arena, status, STR("berth: the request needs more memory than it may have"));
}

int answer_begin(const View *view, const RequestTime *time, Str body, const NodeParts *parts,
    Arena *arena, Answer *ret, FilterArgs **ret_args) {
    FilterArgs *args = ARENA_NEW(arena, FilterArgs);
    SCRATCH char error[WIRE_ERROR_MAX];
    int r;

    *ret = (Answer){.status = 200, .body = ROPE_INIT_IN(arena)};
    if (!args)
        return -ENOMEM;
    r = filter_args_decode(view, time, body, parts, arena, args, error);
    if (r == WIRE_E_MALFORMED)
        answer_error(ret, arena, 400, str_from_c(error));
    if (r != 0)
        return r;
    decision_init(&ret->decision, &args->pod, args->n);
    ret->decision.pod_text = args->pod_text;
    *ret_args = args;
    return 0;
}

bool decision_copy_pod(const Decision *decision, Arena *arena, Pod *ret) {
    JsonReader reader;

    json_reader_init(&reader, arena_copy(arena, decision->pod_text));
    pod_decode(&reader, arena, ret);
    return json_error(&reader) == JSON_OK && !arena_has_failed(arena);
}
