/* The names by which kube-scheduler's configuration may call each verb. */

#include "wiring/verb.h"

#include "base/cleanup.h"

typedef struct VerbName {
    Str name;
    WiringVerb verb;
    bool is_folder; /* a name may follow it: predicates/NAME */
} VerbName;

/* The first name of a verb is the one that berth writes. */
static const VerbName names[] = {
    {STR("filter"), WIRING_FILTER, false},
    {STR("predicate"), WIRING_FILTER, false},
    {STR("predicates"), WIRING_FILTER, true},
    {STR("prioritize"), WIRING_PRIORITIZE, false},
    {STR("priority"), WIRING_PRIORITIZE, false},
    {STR("priorities"), WIRING_PRIORITIZE, true},
    {STR("preempt"), WIRING_PREEMPT, false},
    {STR("preemption"), WIRING_PREEMPT, false},
    {STR("bind"), WIRING_BIND, false},
};

/* Cuts the last part off @path. */
static Str take_last(Str *path) {
    Str last;

    while (path->len > 0 && path->ptr[path->len - 1] == '/')
        path->len--;
    last = str_file_name(*path);
    path->len -= last.len;
    return last;
}

static const VerbName *find_name(Str word) {
    for (size_t i = 0; i < ELEMENTS_OF(names); i++)
        if (str_eq(names[i].name, word))
            return &names[i];
    return NULL;
}

WiringVerb wiring_verb_find(Str path) {
    const VerbName *name = find_name(take_last(&path)), *folder;

    if (name)
        return name->verb;
    folder = find_name(take_last(&path));
    return folder && folder->is_folder ? folder->verb : WIRING_NO_VERB;
}

bool wiring_is_dry_run(Str path) {
    (void)take_last(&path);
    return str_is(take_last(&path), "dry-run");
}

Str wiring_verb_name(WiringVerb verb) {
    for (size_t i = 0; i < ELEMENTS_OF(names); i++)
        if (names[i].verb == verb)
            return names[i].name;
    return STR_NULL;
}
