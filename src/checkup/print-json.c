/* Findings for programs. Keys and their order stay. */

#include <stdio.h>

#include "base/ascii.h"
#include "checkup/check.h"
#include "json/write.h"

#define HINT_MAX 64

static void write_text(JsonWriter *writer, Str key, Str text) {
    json_write_key(writer, key);
    json_write_string(writer, text);
}

/* "docs/troubleshooting.md#b102": a heading's anchor is in small letters. */
static void write_hint(JsonWriter *writer, const char *code) {
    char hint[HINT_MAX];
    int len = snprintf(hint, sizeof(hint), "docs/troubleshooting.md#%s", code);

    for (int i = 0; i < len && i < HINT_MAX; i++)
        hint[i] = ascii_lower(hint[i]);
    write_text(writer, STR("hint"), str_from_c(hint));
}

static void write_check(JsonWriter *writer, const Check *check, const Finding *finding) {
    json_write_object(writer);
    write_text(writer, STR("code"), str_from_c(check->code));
    write_text(writer, STR("group"), str_from_c(check_group_name(check->group)));
    write_text(writer, STR("title"), str_from_c(check->title));
    write_text(writer, STR("state"), str_from_c(check_state_name(finding->state)));
    write_text(writer, STR("cause"), finding->cause);
    write_text(writer, STR("fix"), finding->fix);
    write_hint(writer, check->code);
    json_write_end_object(writer);
}

static void write_counts(JsonWriter *writer, const Checkup *checkup) {
    json_member_object(writer, "counts");
    for (CheckState state = CHECK_PASSED; state <= CHECK_SKIPPED; state++) {
        json_write_key(writer, str_from_c(check_state_name(state)));
        json_write_int(writer, (int64_t)checkup_count(checkup, state));
    }
    json_write_end_object(writer);
}

void checkup_print_json(const Checkup *checkup, Buf *out) {
    JsonWriter writer = {.out = out, .indent = 2};

    json_write_object(&writer);
    write_text(&writer, STR("state"), str_from_c(check_state_name(checkup_state(checkup))));
    write_counts(&writer, checkup);
    json_member_array(&writer, "checks");
    for (size_t i = 0; i < checkup->n; i++)
        write_check(&writer, checkup->checks[i], &checkup->findings[i]);
    json_write_end_array(&writer);
    json_write_end_object(&writer);
    buf_append_char(out, '\n');
}
