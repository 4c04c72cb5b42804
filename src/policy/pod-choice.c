#include "policy/pod-choice.h"

#include "base/cleanup.h"
#include "policy/cel-text.h"
#include "policy/kind.h"

#define P_LABELS "p.metadata.labels"
#define POD_LABELS "pod.metadata.labels"

/* --- reading ------------------------------------------------------------------ */

void pod_choice_read_selector(PolicyReader *reader, const YamlNode *value, void *into) {
    PodChoice *choice = into;

    choice->has_selector = true;
    reader_selector(reader, value, &choice->selector);
}

void pod_choice_read_same_owner(PolicyReader *reader, const YamlNode *value, void *into) {
    PodChoice *choice = into;

    if (reader_bool(reader, value, "sameOwner", &choice->is_same_owner) && !choice->is_same_owner)
        reader_error_hint(reader,
            value,
            STR("write sameOwner: true, or leave it out"),
            "sameOwner: false means nothing");
}

void pod_choice_read_label_keys(PolicyReader *reader, const YamlNode *value, void *into) {
    PodChoice *choice = into;

    if (!reader_string_list(
            reader, value, "matchLabelKeys", &choice->label_keys, &choice->n_label_keys))
        return;
    for (size_t i = 0; i < value->n; i++)
        (void)reader_label_key(reader, value->items[i]);
}

/* "*" stands for all, and so for the whole list. */
void pod_choice_read_namespaces(PolicyReader *reader, const YamlNode *value, void *into) {
    PodChoice *choice = into;

    if (!reader_string_list(
            reader, value, "namespaces", &choice->namespaces, &choice->n_namespaces))
        return;
    choice->is_own_namespace = false;
    for (size_t i = 0; i < choice->n_namespaces; i++) {
        if (str_eq(choice->namespaces[i], STR("*"))) {
            choice->n_namespaces = 0;
            return;
        }
        (void)reader_namespace(reader, value->items[i]);
    }
}

void pod_choice_read_topology_key(PolicyReader *reader, const YamlNode *value, void *into) {
    if (reader_string(reader, value, "topologyKey", &((PodChoice *)into)->topology_key))
        (void)reader_label_key(reader, value);
}

void pod_choice_require(
    PolicyReader *reader, const YamlNode *value, const char *what, const PodChoice *choice) {
    if (value->kind != YAML_MAPPING || choice->has_selector || choice->n_label_keys > 0 ||
        yaml_find(value, STR("sameOwner")) || yaml_find(value, STR("matchLabelKeys")))
        return;
    reader_error_hint(reader,
        value,
        STR("podSelector: {}: all pods"),
        "%s needs one of podSelector, sameOwner and matchLabelKeys",
        what);
}

/* --- writing ------------------------------------------------------------------ */

/* " && ", but before the first. */
static void append_and(Buf *out, size_t begin) {
    if (out->len > begin)
        buf_append(out, STR(" && "));
}

/* An owner is of the pod's own namespace: its uid says it all. */
static void append_namespaces(Buf *out, const PodChoice *choice) {
    if (choice->n_namespaces == 1) {
        buf_append(out, STR("p.metadata.namespace == "));
        cel_text_string(out, choice->namespaces[0]);
    } else if (choice->n_namespaces > 0) {
        buf_append(out, STR("p.metadata.namespace in "));
        cel_text_strings(out, choice->namespaces, choice->n_namespaces);
    } else if (choice->is_own_namespace && !choice->is_same_owner) {
        buf_append(out, STR("p.metadata.namespace == pod.metadata.namespace"));
    }
}

static void append_same_label(Buf *out, Str key) {
    cel_text_look_up(out, P_LABELS, key);
    buf_append(out, STR(" == "));
    cel_text_look_up(out, POD_LABELS, key);
}

void pod_choice_write_predicate(Buf *out, const PodChoice *choice) {
    size_t begin = out->len;

    if (choice->is_same_owner)
        buf_append(out, STR("p.owner == pod.owner"));
    for (size_t i = 0; i < choice->n_label_keys; i++) {
        append_and(out, begin);
        append_same_label(out, choice->label_keys[i]);
    }
    if (choice->has_selector && choice->selector.n > 0) {
        append_and(out, begin);
        cel_text_selector(out, &choice->selector, P_LABELS);
    }
    if (choice->n_namespaces > 0 || (choice->is_own_namespace && !choice->is_same_owner)) {
        append_and(out, begin);
        append_namespaces(out, choice);
    }
}

void pod_choice_write_concern(Buf *out, const PodChoice *choice) {
    size_t begin = out->len;

    if (choice->is_same_owner)
        buf_append(out, STR("pod.owner != ''"));
    for (size_t i = 0; i < choice->n_label_keys; i++) {
        append_and(out, begin);
        cel_text_look_up(out, POD_LABELS, choice->label_keys[i]);
        buf_append(out, STR(" != ''"));
    }
}

/* " || ", but before the first. */
static void append_or(Buf *out, size_t begin) {
    if (out->len > begin)
        buf_append(out, STR(" || "));
}

void pod_choice_write_unconcern(Buf *out, const PodChoice *choice) {
    size_t begin = out->len;

    if (choice->is_same_owner)
        buf_append(out, STR("pod.owner == ''"));
    for (size_t i = 0; i < choice->n_label_keys; i++) {
        append_or(out, begin);
        cel_text_look_up(out, POD_LABELS, choice->label_keys[i]);
        buf_append(out, STR(" == ''"));
    }
}

void pod_choice_write_match(Buf *out, const PodChoice *choice) {
    size_t begin = out->len;

    if (choice->has_selector && choice->selector.n > 0)
        cel_text_selector(out, &choice->selector, POD_LABELS);
    if (choice->n_namespaces > 0) {
        append_and(out, begin);
        buf_append(out, STR("pod.metadata.namespace in "));
        cel_text_strings(out, choice->namespaces, choice->n_namespaces);
    }
}

void pod_choice_write_unless(Buf *out, const PodChoice *choice, bool counts) {
    _cleanup_(buf_done) Buf match = BUF_INIT(KIND_TEXT_MAX);
    size_t begin = out->len;

    pod_choice_write_unconcern(out, choice);
    append_or(out, begin);
    if (counts)
        pod_choice_write_match(&match, choice);
    cel_text_part(out, "!(", &match, ") || ");
}

void pod_choice_write_place(Buf *out, const PodChoice *choice) {
    if (str_is_empty(choice->topology_key)) {
        buf_append(out, STR("node.pods"));
        return;
    }
    buf_append(out, STR("node.domain("));
    cel_text_string(out, choice->topology_key);
    buf_append(out, STR(").pods"));
}

void pod_choice_write_filter(Buf *out, const PodChoice *choice) {
    _cleanup_(buf_done) Buf predicate = BUF_INIT(KIND_TEXT_MAX);

    pod_choice_write_predicate(&predicate, choice);
    cel_text_part(out, ".filter(p, ", &predicate, ")");
}

void pod_choice_write_count(Buf *out, const PodChoice *choice) {
    pod_choice_write_place(out, choice);
    pod_choice_write_filter(out, choice);
    buf_append(out, STR(".size()"));
}

const char *pod_choice_adjective(const PodChoice *choice) {
    return choice->has_selector || choice->n_label_keys > 0 || choice->n_namespaces > 0
               ? "matching "
               : "";
}

void pod_choice_write_located(
    Buf *out, const PodChoice *choice, const char *before, const char *after) {
    _cleanup_(buf_done) Buf words = BUF_INIT(KIND_TEXT_MAX);

    if (str_is_empty(choice->topology_key)) {
        buf_printf(&words, "%sthere%s", before, after);
        cel_text_words(out, &words);
        return;
    }
    buf_printf(&words, "%sin %.*s ", before, STR_FMT(choice->topology_key));
    cel_text_words(out, &words);
    buf_append(out, STR(" + "));
    cel_text_look_up(out, "node.metadata.labels", choice->topology_key);
    if (after[0] != 0) {
        buf_append(out, STR(" + "));
        cel_text_string(out, str_from_c(after));
    }
}

void pod_choice_write_has_key(Buf *out, const PodChoice *choice) {
    cel_text_string(out, choice->topology_key);
    buf_append(out, STR(" in node.metadata.labels"));
}

void pod_choice_write_unless_absent(Buf *out, const PodChoice *choice) {
    _cleanup_(buf_done) Buf words = BUF_INIT(KIND_TEXT_MAX);

    if (str_is_empty(choice->topology_key))
        return;
    buf_append(out, STR("!("));
    pod_choice_write_has_key(out, choice);
    buf_append(out, STR(") ? "));
    buf_printf(&words, "label %.*s is absent", STR_FMT(choice->topology_key));
    cel_text_words(out, &words);
    buf_append(out, STR(" : "));
}
