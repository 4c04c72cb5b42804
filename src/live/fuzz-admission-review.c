/* Any bytes as an AdmissionReview must be refused, or answered with a whole review. */

#include "base/fuzz.h"
#include "live/admission-review.h"
#include "json/read.h"

static ClusterPolicies *policies(void) {
    static ClusterPolicies *kept;

    if (!kept)
        kept = cluster_policies_new(policy_objects_new());
    return kept;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 26);
    _cleanup_(buf_done) Buf out = BUF_INIT(ADMISSION_REPLY_MAX);
    char error[ADMISSION_ERROR_MAX] = "";
    bool is_allowed;
    JsonReader reader;
    int r = admission_review_answer(
        policies(), str_of((const char *)data, size), arena, &out, &is_allowed, error);

    if (r > 0)
        require(error[0] != '\0' && out.len == 0);
    if (r != 0)
        return 0;
    json_reader_init(&reader, buf_str(&out));
    json_skip(&reader, NULL);
    json_end(&reader);
    require(json_error(&reader) == JSON_OK);
    return 0;
}
