#include "history/rulebook.h"

#include <stdlib.h>

static size_t text_bytes(const Program *program) {
    size_t bytes = 0;

    for (size_t i = 0; i < program->n_filters; i++) {
        const Filter *filter = program->filters[i];

        bytes += filter->policy->name.len + filter->name.len + filter->reason.len;
    }
    return bytes;
}

/* A copy of @text at *at, which moves behind it. */
static Str put(char **at, Str text) {
    Str copy = str_of(*at, text.len);

    if (text.len > 0)
        memcpy(*at, text.ptr, text.len);
    *at += text.len;
    return copy;
}

RuleBook *rulebook_new(const Program *program) {
    size_t head = sizeof(RuleBook) + program->n_filters * sizeof(RuleNote);
    size_t bytes = head + text_bytes(program);
    RuleBook *book = malloc(bytes);
    char *at = (char *)book + head;

    if (!book)
        return NULL;
    *book = (RuleBook){
        .ref = REF_ONE,
        .digest = program->digest,
        .bytes = bytes,
        .n_rules = program->n_filters,
    };
    for (size_t i = 0; i < book->n_rules; i++) {
        const Filter *filter = program->filters[i];

        book->rules[i] = (RuleNote){
            .policy = put(&at, filter->policy->name),
            .name = put(&at, filter->name),
            .reason = put(&at, filter->reason),
            .is_unresolvable = filter->is_unresolvable,
        };
    }
    return book;
}

RuleBook *rulebook_ref(RuleBook *book) {
    ref_take(&book->ref);
    return book;
}

RuleBook *rulebook_unref(RuleBook *book) {
    if (book && ref_drop(&book->ref))
        free(book);
    return NULL;
}

static bool is_same_rule(const RuleNote *rule, const Filter *filter) {
    return str_eq(rule->policy, filter->policy->name) && str_eq(rule->name, filter->name) &&
           str_eq(rule->reason, filter->reason) && rule->is_unresolvable == filter->is_unresolvable;
}

bool rulebook_is_of(const RuleBook *book, const Program *program) {
    if (!digest_equal(book->digest, program->digest) || book->n_rules != program->n_filters)
        return false;
    for (size_t i = 0; i < book->n_rules; i++)
        if (!is_same_rule(&book->rules[i], program->filters[i]))
            return false;
    return true;
}
