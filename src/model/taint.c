/* Taints and tolerations: decoded, compared, matched. */

#include "model/taint.h"

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

/* A taint or a toleration as it is written. */
typedef struct Words {
    Str key, operator, value, effect;
} Words;

static Words decode_words(JsonReader *reader, Arena *arena) {
    static const JsonField fields[] = {
        JSON_MEMBER("key", TEXT, Words, key),
        JSON_MEMBER("operator", TEXT, Words, operator),
        JSON_MEMBER("value", TEXT, Words, value),
        JSON_MEMBER("effect", TEXT, Words, effect),
    };
    Words words = {0};

    JSON_READ_KEYS(reader, arena, fields, &words);
    return words;
}

/* The operators Gt and Lt (behind a feature gate of Kubernetes 1.35) and unknown words make a
 * toleration that tolerates nothing, as in kube-scheduler while the gate is disabled. */
void toleration_decode(JsonReader *reader, Arena *arena, void *target) {
    Words words = decode_words(reader, arena);
    bool exists = str_is(words.operator, "Exists");
    bool is_known = exists || str_is_empty(words.operator) || str_is(words.operator, "Equal");

    *(Toleration *)target = (Toleration){
        .key = words.key,
        .value = words.value,
        .exists = exists,
        .effect = is_known ? effect_parse(words.effect) : TAINT_UNKNOWN,
    };
}

/* Whether @taint keeps new pods off a node. */
static bool taint_repels(const Taint *taint) {
    return taint->effect == TAINT_NO_SCHEDULE || taint->effect == TAINT_NO_EXECUTE;
}

void taints_decode(JsonReader *reader, Arena *arena, void *target) {
    static const Taint for_more = {.key = STR(TAINT_FOR_MORE), .effect = TAINT_NO_SCHEDULE};
    VEC(Taint) taints = {0};

    json_array(reader);
    while (json_element(reader)) {
        Words words = decode_words(reader, arena);
        Taint taint = {.key = words.key, .value = words.value, .effect = TAINT_UNKNOWN};

        if (!str_is_empty(words.effect)) /* without one, the taint repels no pod */
            taint.effect = effect_parse(words.effect);
        if (taints.n == TAINTS_MAX) {
            if (taint_repels(&taint))
                taints.items[TAINTS_MAX - 1] = for_more;
        } else {
            JSON_ADD(reader, arena, &taints, "too many taints", taint);
        }
    }
    *(Taints *)target = (Taints){.items = taints.items, .n = taints.n};
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

bool toleration_tolerates(const Toleration *toleration, const Taint *taint) {
    if (toleration->effect == TAINT_UNKNOWN)
        return false;
    if (toleration->effect != TAINT_ANY && toleration->effect != taint->effect)
        return false;
    if (!str_is_empty(toleration->key) && !str_eq(toleration->key, taint->key))
        return false;
    return toleration->exists || str_eq(toleration->value, taint->value);
}

bool tolerations_tolerate(const Tolerations *tolerations, const Taint *taint) {
    for (size_t i = 0; i < tolerations->n; i++)
        if (toleration_tolerates(&tolerations->items[i], taint))
            return true;
    return false;
}

bool tolerations_admit(const Tolerations *tolerations, const Taints *taints) {
    for (size_t i = 0; i < taints->n; i++) {
        const Taint *taint = &taints->items[i];

        if (taint_repels(taint) && !tolerations_tolerate(tolerations, taint))
            return false;
    }
    return true;
}
