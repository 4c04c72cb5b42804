/* Reads, checks and answers AdmissionReviews of PlacementPolicies. */

#include "live/admission-review.h"

#include <errno.h>
#include <stdio.h>

#include "input/policy-mistakes.h"
#include "json/fields.h"
#include "json/write.h"

#define API_VERSION "admission.k8s.io/v1"
#define KIND "AdmissionReview"

#define GROUP "berth.dev"
#define RESOURCE "placementpolicies"

/* in bytes; an API server sends a UUID */
#define UID_MAX 128u

typedef struct Review {
    Str api_version, kind;
    Str uid, operation, subresource;
    Str group, resource;
    Str object, old; /* JSON; empty or null: none */
} Review;

static int malformed(char *error, const char *text) {
    (void)snprintf(error, ADMISSION_ERROR_MAX, "%s", text);
    return ADMISSION_E_MALFORMED;
}

static int read_review(Str body, Arena *arena, Review *ret, char *error) {
    static const JsonField fields[] = {
        JSON_MEMBER("apiVersion", TEXT, Review, api_version),
        JSON_MEMBER("kind", TEXT, Review, kind),
        JSON_MEMBER("request.uid", TEXT, Review, uid),
        JSON_MEMBER("request.operation", TEXT, Review, operation),
        JSON_MEMBER("request.subResource", TEXT, Review, subresource),
        JSON_MEMBER("request.resource.group", TEXT, Review, group),
        JSON_MEMBER("request.resource.resource", TEXT, Review, resource),
        JSON_CUSTOM("request.object", Review, object, json_read_value),
        JSON_CUSTOM("request.oldObject", Review, old, json_read_value),
    };
    JsonReader reader;

    json_reader_init(&reader, body);
    JSON_READ_FIELDS(&reader, arena, fields, ret);
    json_end(&reader);
    if (json_error(&reader) == JSON_E_MEMORY)
        return -ENOMEM;
    if (json_error(&reader)) {
        json_describe(&reader, error, ADMISSION_ERROR_MAX);
        return ADMISSION_E_MALFORMED;
    }
    if (!str_is(ret->api_version, API_VERSION) || !str_is(ret->kind, KIND))
        return malformed(error, "the body must be an " KIND " of " API_VERSION);
    if (str_is_empty(ret->uid) || ret->uid.len > UID_MAX)
        return malformed(error, "the request's uid is missing or too long");
    return 0;
}

static int read_object(Str json, Arena *arena, PolicyObject *ret, char *error) {
    int r = policy_object_read(json, arena, ret);

    return r <= 0 ? r : malformed(error, "the object is not a PlacementPolicy with a name");
}

/* *ret_is_new: @review creates an object, or changes its spec. 0, or an error as in the header. */
static int find_new_spec(
    const Review *review, Arena *arena, PolicyObject *ret, bool *ret_is_new, char *error) {
    bool is_update = str_is(review->operation, "UPDATE");
    PolicyObject old;
    int r;

    *ret_is_new = false;
    if (!str_is(review->group, GROUP) || !str_is(review->resource, RESOURCE) ||
        !str_is_empty(review->subresource) || !(is_update || str_is(review->operation, "CREATE")))
        return 0;
    r = read_object(review->object, arena, ret, error);
    if (r != 0 || ret->is_terminating)
        return r;
    if (ret->spec.len > ADMISSION_SPEC_MAX) {
        (void)snprintf(error, ADMISSION_ERROR_MAX,
            "the spec has %zu bytes; berth checks specs of at most %zu bytes", ret->spec.len,
            ADMISSION_SPEC_MAX);
        return ADMISSION_E_SIZE;
    }
    if (is_update) {
        r = read_object(review->old, arena, &old, error);
        if (r != 0)
            return r;
    }
    /* The API server writes both with sorted keys, so equal specs have equal bytes. */
    *ret_is_new = !is_update || !str_eq(ret->spec, old.spec);
    return 0;
}

/* Writes a warning for each line. */
static void write_warnings(JsonWriter *writer, Str lines) {
    json_member_array(writer, "warnings");
    while (!str_is_empty(lines)) {
        size_t end = str_find(lines, '\n');

        json_write_string(writer, str_take(lines, end));
        lines = end == SIZE_MAX ? STR_NULL : str_skip(lines, end + 1);
    }
    json_write_end_array(writer);
}

static void write_answer(Str uid, bool is_allowed, Str mistakes, Str warnings, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);

    json_write(&writer, "{apiVersion: %s, kind: %s, response: {uid: %.*s, allowed: %i", API_VERSION,
        KIND, STR_FMT(uid), is_allowed);
    if (!is_allowed)
        json_write(&writer,
            "status: {status: 'Failure', reason: 'Invalid', code: 422, message: %.*s}",
            STR_FMT(mistakes));
    if (!str_is_empty(warnings))
        write_warnings(&writer, warnings);
    json_write(&writer, "}}");
}

int admission_review_answer(ClusterPolicies *policies, Str body, Arena *arena, Buf *out,
    bool *ret_is_allowed, char error[static ADMISSION_ERROR_MAX]) {
    _cleanup_(buf_done) Buf mistakes = BUF_INIT(POLICY_MISTAKES_MAX);
    _cleanup_(buf_done) Buf warnings = BUF_INIT(POLICY_WARNINGS_MAX);
    Review review = {0};
    PolicyObject object;
    bool is_new = false;
    int r = read_review(body, arena, &review, error);

    if (r == 0)
        r = find_new_spec(&review, arena, &object, &is_new, error);
    if (r != 0)
        return r;
    if (is_new)
        r = cluster_policies_review(policies, &object, &mistakes, &warnings);
    if (r < 0 || buf_error(&mistakes) || buf_error(&warnings))
        return -ENOMEM;
    *ret_is_allowed = r == 0;
    write_answer(review.uid, *ret_is_allowed, buf_str(&mistakes), buf_str(&warnings), out);
    return buf_error(out) ? -ENOMEM : 0;
}
