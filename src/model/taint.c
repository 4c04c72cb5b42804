/* Taints and tolerations: decoded, compared, matched. */

#include "model/taint.h"

#include "base/vec.h"

typedef VEC(Taint) TaintVec;
typedef VEC(Toleration) TolerationVec;

static const Str effect_words[] = {
    [TAINT_ANY] = STR(""),
    [TAINT_NO_SCHEDULE] = STR("NoSchedule"),
    [TAINT_PREFER_NO_SCHEDULE] = STR("PreferNoSchedule"),
    [TAINT_NO_EXECUTE] = STR("NoExecute"),
    [TAINT_UNKNOWN] = STR("Unknown"),
};

static TaintEffect effect_parse(Str word) {
    for (TaintEffect effect = TAINT_ANY; effect < TAINT_UNKNOWN; effect++)
        if (str_eq(word, effect_words[effect]))
            return effect;
    return TAINT_UNKNOWN;
}

Str taint_effect_word(TaintEffect effect) {
    return effect_words[effect];
}

bool taint_parse(Str text, Taint *ret) {
    size_t colon = str_find_last(text, ':');
    Str name = str_take(text, colon == SIZE_MAX ? 0 : colon);
    size_t equals = str_find(name, '=');

    if (str_is_empty(name) || colon + 1 == text.len)
        return false;
    *ret = (Taint){
        .key = str_take(name, equals),
        .value = equals == SIZE_MAX ? STR_NULL : str_skip(name, equals + 1),
        .effect = effect_parse(str_skip(text, colon + 1)),
    };
    return true;
}

/* @operator NULL: it is not read. */
static void decode_words(
    JsonReader *reader, Arena *arena, Str *key, Str *value, Str *operator, Str * effect) {
    Str name;

    json_object(reader);
    while (json_key(reader, &name)) {
        if (json_key_is(reader, name, STR("key")))
            json_string(reader, arena, key);
        else if (operator&& json_key_is(reader, name, STR("operator")))
            json_string(reader, arena, operator);
        else if (json_key_is(reader, name, STR("value")))
            json_string(reader, arena, value);
        else if (json_key_is(reader, name, STR("effect")))
            json_string(reader, arena, effect);
        else
            json_skip(reader, NULL);
    }
}

static void taint_decode(JsonReader *reader, Arena *arena, Taint *ret) {
    Str effect = STR_NULL;

    decode_words(reader, arena, &ret->key, &ret->value, NULL, &effect);
    /* A taint always names its effect; one that does not repels no pod. */
    ret->effect = str_is_empty(effect) ? TAINT_UNKNOWN : effect_parse(effect);
}

/* The operators Gt and Lt (behind a feature gate of Kubernetes 1.35) and words we
 * do not know make a toleration that tolerates nothing, as kube-scheduler has it
 * while the gate is closed. */
static void toleration_decode(JsonReader *reader, Arena *arena, Toleration *ret) {
    Str word = STR_NULL, effect = STR_NULL;

    decode_words(reader, arena, &ret->key, &ret->value, &word, &effect);
    ret->exists = str_eq(word, STR("Exists"));
    ret->effect = effect_parse(effect);
    if (!ret->exists && !str_is_empty(word) && !str_eq(word, STR("Equal")))
        ret->effect = TAINT_UNKNOWN;
}

/* Whether it keeps new pods off. */
static bool taint_repels(const Taint *taint) {
    return taint->effect == TAINT_NO_SCHEDULE || taint->effect == TAINT_NO_EXECUTE;
}

void taints_decode(JsonReader *reader, Arena *arena, Taints *ret) {
    static const Taint for_more = {.key = STR(TAINT_FOR_MORE), .effect = TAINT_NO_SCHEDULE};
    TaintVec taints = {0};

    json_array(reader);
    while (json_element(reader)) {
        Taint more = {0}, *taint = taints.n < TAINTS_MAX ? VEC_PUSH(&taints, arena) : &more;

        if (!taint) {
            json_fail(reader, JSON_E_MEMORY, "too many taints");
            return;
        }
        taint_decode(reader, arena, taint);
        if (taint == &more && taint_repels(&more))
            taints.items[TAINTS_MAX - 1] = for_more;
    }
    *ret = (Taints){.items = taints.items, .n = taints.n};
}

bool tolerations_decode(JsonReader *reader, Arena *arena, Tolerations *ret) {
    TolerationVec tolerations = {0};
    bool has_room = true;

    json_array(reader);
    while (json_element(reader)) {
        Toleration *toleration =
            tolerations.n < TOLERATIONS_MAX ? VEC_PUSH(&tolerations, arena) : NULL;

        if (toleration) {
            toleration_decode(reader, arena, toleration);
        } else if (tolerations.n == TOLERATIONS_MAX) {
            json_skip(reader, NULL);
            has_room = false;
        } else {
            json_fail(reader, JSON_E_MEMORY, "too many tolerations");
        }
    }
    *ret = (Tolerations){.items = tolerations.items, .n = tolerations.n};
    return has_room;
}

bool taints_equal(const Taints *a, const Taints *b) {
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (a->items[i].effect != b->items[i].effect || !str_eq(a->items[i].key, b->items[i].key) ||
            !str_eq(a->items[i].value, b->items[i].value))
            return false;
    return true;
}

bool tolerations_equal(const Tolerations *a, const Tolerations *b) {
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (a->items[i].exists != b->items[i].exists || a->items[i].effect != b->items[i].effect ||
            !str_eq(a->items[i].key, b->items[i].key) ||
            !str_eq(a->items[i].value, b->items[i].value))
            return false;
    return true;
}

bool toleration_tolerates(const Toleration *toleration, const Taint *taint) {
    if (toleration->effect == TAINT_UNKNOWN)
        return false;
    if (toleration->effect != TAINT_ANY && toleration->effect != taint->effect)
        return false;
    if (!str_is_empty(toleration->key) && !str_eq(toleration->key, taint->key))
        return false;
    return toleration->exists || str_eq(toleration->value, taint->value);
}

static bool tolerates_any(const Tolerations *tolerations, const Taint *taint) {
    for (size_t i = 0; i < tolerations->n; i++)
        if (toleration_tolerates(&tolerations->items[i], taint))
            return true;
    return false;
}

bool tolerations_admit(const Tolerations *tolerations, const Taints *taints) {
    for (size_t i = 0; i < taints->n; i++) {
        const Taint *taint = &taints->items[i];

        if (taint_repels(taint) && !tolerates_any(tolerations, taint))
            return false;
    }
    return true;
}
