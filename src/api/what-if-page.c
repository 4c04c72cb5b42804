/* /api/v1/what-if: recent decisions replayed with other policies. */

#include "api/api-pages.h"

#include <inttypes.h>
#include <stdio.h>

#include "api/page-field.h"
#include "api/query.h"
#include "api/routes.h"
#include "base/clock.h"
#include "base/diag.h"
#include "history/recorder.h"
#include "input/policy-set.h"
#include "replay/what-if.h"
#include "json/read.h"

#define POLICIES_MAX 256u

/* Memory to parse a request: COST_MIN, and COST_FACTOR per byte (docs/limits.md). */
#define COST_MIN ((size_t)1024 * 1024)
#define COST_FACTOR 100u

/* Memory of a body counts in steps of a huge page. */
#define BODY_STEP ((size_t)2 * 1024 * 1024)

/* The request: policies, and changes of their settings. */
typedef struct WhatIfParams {
    int64_t last;
    VEC(PolicySource) policies;
    VEC(PolicySetting) settings;
    bool has_policies;
} WhatIfParams;

static unsigned no_memory(Buf *out) {
    return page_write_error(
        out, 503, "not enough memory to replay so many decisions: request fewer (last=N)");
}

static void read_policy(JsonReader *reader, Arena *arena, PolicySource *ret) {
    Str key;

    ret->file = STR("policy.yaml");
    ret->text = STR("");
    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("name")))
            json_string(reader, arena, &ret->file);
        else if (json_key_is(reader, key, STR("text")))
            json_string(reader, arena, &ret->text);
        else
            json_fail(reader, JSON_E_TYPE, "a policy has a name and a text");
    }
}

static void read_policies(JsonReader *reader, Arena *arena, WhatIfParams *params) {
    params->has_policies = true;
    json_array(reader);
    while (json_element(reader)) {
        PolicySource *policy =
            params->policies.n < POLICIES_MAX ? VEC_PUSH(&params->policies, arena) : NULL;

        if (policy)
            read_policy(reader, arena, policy);
        else
            json_fail(reader, JSON_E_RANGE, "too many policies");
    }
}

static void read_settings(JsonReader *reader, Arena *arena, WhatIfParams *params) {
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        PolicySetting *setting =
            params->settings.n < POLICY_SETTINGS_MAX ? VEC_PUSH(&params->settings, arena) : NULL;

        if (!setting) {
            json_fail(reader, JSON_E_RANGE, "too many settings");
            return;
        }
        setting->path = reader->escaped ? json_unescape(key, arena) : key;
        json_skip(reader, &setting->value);
    }
}

/* False: @reader has the error. */
static bool read_json(JsonReader *reader, Str body, Arena *arena, WhatIfParams *params) {
    Str key;

    json_reader_init(reader, body);
    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("policies")))
            read_policies(reader, arena, params);
        else if (json_key_is(reader, key, STR("set")))
            read_settings(reader, arena, params);
        else
            json_fail(reader, JSON_E_TYPE, "a question has policies and set");
    }
    json_end(reader);
    return !json_error(reader);
}

/* "application/yaml; charset=utf-8" is "application/yaml". */
static Str media_type(Str content_type) {
    return str_trim(str_take(content_type, str_find(content_type, ';')));
}

static bool is_yaml(Str content_type) {
    Str type = media_type(content_type);

    return str_eq_nocase(type, STR("application/yaml")) || str_eq_nocase(type, STR("text/yaml"));
}

bool what_if_takes(Str content_type) {
    return is_yaml(content_type) ||
           str_eq_nocase(media_type(content_type), STR("application/json"));
}

/* The largest body that the listener's memory allows. The body itself counts too, hence + 1. */
static size_t body_max(const HttpRequest *request) {
    size_t memory = server_memory_max(request);
    size_t fits =
        memory > COST_MIN + BODY_STEP ? (memory - COST_MIN - BODY_STEP) / (COST_FACTOR + 1) : 0;

    return fits < WHAT_IF_BODY_MAX ? fits : WHAT_IF_BODY_MAX;
}

bool what_if_fits(const HttpRequest *request, HttpReply *reply) {
    char text[QUERY_ERROR_MAX];

    reply->body_max = body_max(request);
    if (request->body_size <= reply->body_max)
        return true;
    (void)snprintf(text, sizeof(text),
        "berth: the body has %" PRIu64 " bytes, and %zu are allowed: %s", request->body_size,
        reply->body_max,
        reply->body_max == WHAT_IF_BODY_MAX
            ? "send fewer policies"
            : "reading it may need 100 times its size. Raise --max-memory, of which the pages' "
              "listener has a quarter (128Mi at least)");
    reply_error(request, reply, 413, str_from_c(text));
    return false;
}

/* Returns 200, or the status of the error. */
static unsigned read_params(
    const HttpRequest *request, Arena *arena, WhatIfParams *params, Buf *out) {
    static const Str names[] = {STR("last")};
    char error[QUERY_ERROR_MAX], text[QUERY_ERROR_MAX];
    JsonReader reader;
    Query query;

    if (!query_parse(request->query, names, ELEMENTS_OF(names), arena, &query, error) ||
        !query_number(
            &query, names[0], 1, RECORDER_LAST_MAX, RECORDER_LAST_DEFAULT, &params->last, error))
        return page_write_error(out, 400, error);
    if (is_yaml(request->content_type)) {
        PolicySource *policy = VEC_PUSH(&params->policies, arena);

        params->has_policies = true;
        if (policy)
            *policy = (PolicySource){.file = STR("policy.yaml"), .text = request->body};
        return policy ? 200 : no_memory(out);
    }
    if (str_is_empty(str_trim(request->body)) || read_json(&reader, request->body, arena, params))
        return 200;
    json_describe(&reader, text, sizeof(text));
    (void)snprintf(error, sizeof(error),
        "the body is {\"policies\":[{\"name\",\"text\"}],\"set\":{PATH:VALUE}}, or YAML with that "
        "Content-Type; %.100s",
        text);
    return page_write_error(out, 400, error);
}

static unsigned write_diagnostics(const DiagList *diags, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);
    char text[64];

    (void)snprintf(text, sizeof(text), "berth: the policies have %zu error%s", diags->n_errors,
        PLURAL(diags->n_errors));
    json_write(&writer, "{Error: %s, diagnostics: [", text);
    for (size_t i = 0; i < diags->diags.n; i++) {
        const Diag *diag = &diags->diags.items[i];

        json_write(&writer,
            "{level: %s, file: %.*s, line: %zu, column: %zu, source: %.*s, message: %.*s, hint: "
            "%.*s}",
            diag->level == DIAG_ERROR ? "error" : "warning", STR_FMT(diag->place.file),
            diag->place.line, diag->place.column, STR_FMT(diag->source), STR_FMT(diag->text),
            STR_FMT(diag->hint));
    }
    json_write(&writer, "]}\n");
    return 400;
}

/* Returns 200 with the program for the replay in *ret, or the status of the error. */
static unsigned find_program(ApiContext *api, const View *view, const WhatIfParams *params,
    Arena *arena, Buf *out, Program **ret) {
    const PolicySource *sources = params->policies.items;
    size_t n = params->policies.n;
    DiagList diags = DIAG_LIST_IN(arena);
    char error[POLICY_SET_ERROR_MAX];
    PolicySource *changed;
    int r;

    if (!params->has_policies && params->settings.n == 0) {
        *ret = program_ref(view->program);
        return 200;
    }
    if (!params->has_policies &&
        !changes_sources(api->changes, view->program->digest, arena, &sources, &n))
        return page_write_error(out, 503, "the policy texts in force are too large to be kept");
    changed = ARENA_ARRAY(arena, PolicySource, n);
    if (!changed)
        return no_memory(out);
    r = policy_set(sources, n, params->settings.items, params->settings.n, arena, changed, error);
    if (r > 0)
        return page_write_error(out, 400, error);
    if (r == 0)
        r = program_compile(changed, n, &diags, ret);
    if (r == PROGRAM_E_INVALID) {
        policy_set_show(params->settings.items, params->settings.n, &diags);
        return write_diagnostics(&diags, out);
    }
    return r < 0 ? no_memory(out) : 200;
}

static bool is_over(void *context) {
    return clock_monotonic_nsec() > *(const int64_t *)context;
}

static unsigned answer(ApiContext *api, const WhatIfParams *params, const View *view,
    Program *program, Arena *arena, Buf *out) {
    _cleanup_(recording_done) Recording recording = {0};
    int64_t until = clock_monotonic_nsec() + WHAT_IF_PAGE_SEC * NSEC_PER_SEC;
    RestoreOptions setting = {
        .zones = view->zones,
        .exemptions = view->exemptions,
        .clock = {.is_over = is_over, .context = &until},
    };
    WhatIfReport report;

    if (decisions_record(api->decisions, 0, (size_t)params->last, arena, &recording) < 0 ||
        what_if_run(&recording, program, &setting, /* progress= */ NULL, arena, &report) < 0)
        return no_memory(out);
    what_if_write(&report, out);
    return buf_error(out) ? no_memory(out) : 200;
}

static unsigned make_page(ApiContext *api, const HttpRequest *request, Buf *out) {
    _cleanup_(view_unrefp) View *view = current_view(api->current);
    _cleanup_(arena_freep) Arena *arena = arena_new(RECORDER_BUDGET);
    _cleanup_(program_unrefp) Program *program = NULL;
    WhatIfParams params = {0};
    unsigned status;

    if (!api->decisions)
        return page_write_error(
            out, 404, "no decisions are kept: berth was started with --decisions 0");
    if (!arena)
        return no_memory(out);
    status = read_params(request, arena, &params, out);
    if (status == 200)
        status = find_program(api, view, &params, arena, out, &program);
    return status == 200 ? answer(api, &params, view, program, arena, out) : status;
}

unsigned what_if_page(ApiContext *api, const HttpRequest *request, Buf *out) {
    size_t cost = COST_MIN + COST_FACTOR * request->body.len;
    unsigned status;

    if (!server_charge(request, cost))
        return page_write_error(
            out, 503, "reading this text may need more memory than other requests leave now");
    status = make_page(api, request, out);
    trim_heap();
    server_release(request, cost);
    return status;
}
