#include "cli/explain-last.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/map.h"
#include "base/visible.h"
#include "cli/commands.h"
#include "cli/last-decision.h"
#include "cli/terminal.h"
#include "json/read.h"
#include "json/write.h"

#define WHO "berth explain"
#define LAST_BUDGET ((size_t)1024 * 1024 * 1024)
#define LAST_TEXT_MAX ((size_t)256 * 1024 * 1024)
#define PAGE_LIMIT "10000"
#define PAGES_MAX 10000u /* of nodes: a server that never ends is none of ours */
#define BEST_SHOWN 10u
#define NAME_COLUMNS_MAX 60u

/* What is known about the pod. */
typedef struct Last {
    const LastQuestion *question;
    Arena *arena;
    LastDecision filter, prioritize, preempt, bind;
    Map scores; /* name of a node to its place among prioritize.nodes */
    char error[ASK_ERROR_MAX];
} Last;

bool explain_last_set(LastQuestion *question, int option, const char *value) {
    switch (option) {
    case 'L':
        question->pod = value;
        return true;
    case 'S':
        question->access.server = value;
        return true;
    case 'A':
        question->access.ca = value;
        return true;
    case 'C':
        question->access.cert = value;
        return true;
    case 'K':
        question->access.key = value;
        return true;
    default:
        return false;
    }
}

/* --- asking ---------------------------------------------------------------------------- */

/* All return 0, or 1 with the reason in last->error. */

static int fail_memory(Last *last) {
    (void)snprintf(last->error, sizeof(last->error), "out of memory");
    return 1;
}

static int fetch(Last *last, Str path, Str *ret) {
    int r = path.ptr ? ask_get(&last->question->access, path, last->arena, ret, last->error) : -1;

    return r < 0 ? fail_memory(last) : r;
}

static int check_reader(Last *last, JsonReader *reader) {
    json_end(reader);
    if (json_error(reader) == JSON_OK)
        return 0;
    (void)snprintf(last->error,
        sizeof(last->error),
        "%s does not answer like a berth",
        last->question->access.server);
    return 1;
}

/* The newest of @verb about the pod. */
static int find_newest(
    Last *last, const char *filter, Str value, const char *verb, LastDecision *ret) {
    Str path = arena_printf(last->arena,
        "/api/v1/decisions?%s=%.*s&verb=%s&limit=1",
        filter,
        STR_FMT(ask_escape(value, last->arena)),
        verb);
    Str page = STR_NULL, key;
    JsonReader reader;
    int r = fetch(last, path, &page);

    if (r != 0)
        return r;
    json_reader_init(&reader, page);
    json_object(&reader);
    while (json_key(&reader, &key)) {
        if (!json_key_is(&reader, key, STR("decisions"))) {
            json_skip(&reader, NULL);
            continue;
        }
        json_array(&reader);
        while (json_element(&reader))
            last_decision_decode(&reader, last->arena, ret);
    }
    return check_reader(last, &reader);
}

/* The one that came after the filter, if there is one. */
static int find_following(Last *last, const char *verb, LastDecision *ret) {
    Str pod = str_from_c(last->question->pod), uid = last->filter.uid;
    int r = str_is_empty(uid) ? find_newest(last, "pod", pod, verb, ret)
                              : find_newest(last, "uid", uid, verb, ret);

    if (r == 0 && ret->id < last->filter.id)
        *ret = (LastDecision){0};
    return r;
}

/* What became of the nodes: all, or the one that is asked for. */
static int fetch_nodes(Last *last, LastDecision *decision) {
    const char *node = last->question->node;
    Str filter = STR_NULL;
    int r = 0;

    if (decision->id == 0 || !decision->has_nodes)
        return 0;
    if (node)
        filter = arena_printf(
            last->arena, "&node=%.*s", STR_FMT(ask_escape(str_from_c(node), last->arena)));
    for (size_t i = 0; r == 0 && i < PAGES_MAX && (i == 0 || decision->next > 0); i++) {
        Str after = STR_NULL, page = STR_NULL;
        JsonReader reader;

        if (decision->next > 0)
            after = arena_printf(last->arena, "&after=%" PRId64, decision->next);
        r = fetch(last,
            arena_printf(last->arena,
                "/api/v1/decisions/%" PRId64 "?limit=" PAGE_LIMIT "%.*s%.*s",
                decision->id,
                STR_FMT(filter),
                STR_FMT(after)),
            &page);
        if (r != 0)
            break;
        json_reader_init(&reader, page);
        last_decision_decode(&reader, last->arena, decision);
        r = check_reader(last, &reader);
    }
    return r;
}

static int index_scores(Last *last) {
    last->scores = MAP_INIT_IN(last->arena);
    for (size_t i = 0; i < last->prioritize.nodes.n; i++) {
        Str name = last->prioritize.nodes.items[i].name;

        if (map_find(&last->scores, name) == MAP_NONE &&
            map_add(&last->scores, name, (uint32_t)i) < 0)
            return fail_memory(last);
    }
    return 0;
}

static int ask_all(Last *last) {
    int r = find_newest(last, "pod", str_from_c(last->question->pod), "filter", &last->filter);

    if (r == 0 && last->filter.id == 0) {
        (void)snprintf(last->error,
            sizeof(last->error),
            "%s remembers no filter about %s",
            last->question->access.server,
            last->question->pod);
        return 1;
    }
    if (r == 0)
        r = find_following(last, "prioritize", &last->prioritize);
    if (r == 0)
        r = find_following(last, "preempt", &last->preempt);
    if (r == 0)
        r = find_following(last, "bind", &last->bind);
    if (r == 0)
        r = fetch_nodes(last, &last->filter);
    if (r == 0)
        r = fetch_nodes(last, &last->prioritize);
    return r == 0 ? index_scores(last) : r;
}

/* --- for people ---------------------------------------------------------------------------- */

/* 4,203 */
static void print_number(Buf *out, int64_t n, int width) {
    char digits[24], text[32];
    int len = snprintf(digits, sizeof(digits), "%" PRId64, n);
    size_t at = 0;

    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            text[at++] = ',';
        text[at++] = digits[i];
    }
    text[at] = '\0';
    buf_printf(out, "%*s", width, text);
}

static void print_nodes(Buf *out, int64_t n) {
    print_number(out, n, 0);
    buf_append(out, n == 1 ? STR(" node") : STR(" nodes"));
}

/* The score that prioritize gave, or that filter ranked by; -1: none. */
static int64_t score_of(const Last *last, const LastNode *node) {
    uint32_t at = map_find(&last->scores, node->name);

    return at == MAP_NONE ? node->score : last->prioritize.nodes.items[at].score;
}

static void print_rule(Buf *out, const LastRule *rule) {
    (void)visible_append(out, rule->policy);
    buf_append_char(out, '/');
    (void)visible_append(out, rule->name);
    buf_append(out, STR(": "));
    (void)visible_append(out, rule->reason);
    if (rule->is_unresolvable)
        buf_append(out, STR(" (preemption cannot help)"));
}

static void print_duration(Buf *out, double seconds) {
    if (seconds >= 0.001)
        buf_printf(out, ", in %.1f ms", seconds * 1e3);
    else if (seconds >= 0)
        buf_printf(out, ", in %.0f µs", seconds * 1e6);
}

static void print_head(const Last *last, Buf *out) {
    const LastDecision *filter = &last->filter;

    buf_append(out, STR("pod       "));
    (void)visible_append(out, str_from_c(last->question->pod));
    if (!str_is_empty(filter->uid)) {
        buf_append(out, STR("  uid "));
        (void)visible_append(out, filter->uid);
    }
    buf_append(out, STR("\nasked     "));
    (void)visible_append(out, filter->time);
    print_duration(out, filter->duration);
    buf_printf(out, ", decision %" PRId64 "\npolicy    ", filter->id);
    (void)visible_append(out, filter->policy_digest);
    buf_printf(out, "\ncluster   generation %" PRId64 ", ", filter->generation);
    print_nodes(out, filter->known);
    buf_append(out, STR("\n\n"));
}

static void print_line(Buf *out, int64_t n, const char *text) {
    if (n <= 0)
        return;
    buf_append(out, STR("  "));
    print_number(out, n, 7);
    buf_printf(out, "  %s\n", text);
}

static void print_rules(const LastDecision *filter, bool observed, Buf *out) {
    for (size_t i = 0; i < filter->rules.n; i++) {
        const LastRule *rule = &filter->rules.items[i];
        int64_t n = observed ? rule->observed : rule->rejected;

        if (n == 0)
            continue;
        buf_append(out, STR("  "));
        print_number(out, n, 7);
        buf_append(out, STR("  "));
        print_rule(out, rule);
        buf_append(out, observed ? STR(" (Observe: not acted upon)\n") : STR("\n"));
    }
}

/* Rules that could not be evaluated on some nodes. */
static void print_failures(const LastDecision *filter, Buf *out) {
    for (size_t i = 0; i < filter->rules.n; i++) {
        const LastRule *rule = &filter->rules.items[i];

        if (rule->failed == 0)
            continue;
        buf_append(out, STR("  "));
        print_number(out, rule->failed, 7);
        buf_append(out, STR("  "));
        (void)visible_append(out, rule->policy);
        buf_append_char(out, '/');
        (void)visible_append(out, rule->name);
        buf_append(out, STR(" failed with an error, and its onError decided\n"));
    }
}

/* How many nodes of the cluster the request did not name. */
static int64_t never_offered(const LastDecision *filter) {
    int64_t n = filter->known - (filter->asked - filter->unknown);

    return filter->known > 0 && n > 0 ? n : 0;
}

static void print_counts(const LastDecision *filter, Buf *out) {
    print_number(out, filter->passed + filter->narrowed, 0);
    buf_append(out, STR(" of "));
    print_nodes(out, filter->asked);
    buf_append(out, STR(" passed\n"));
    print_rules(filter, /* observed= */ false, out);
    print_line(out, filter->unknown, "not known to berth");
    print_line(out, filter->late, "not judged in time, and so rejected");
    print_line(out, filter->unjudged - filter->late, "not judged in time, and let pass");
    print_line(out, filter->narrowed, "passed, and were not offered back: the policy narrows");
    print_line(out, never_offered(filter), "never offered: kube-scheduler did not ask about them");
    print_rules(filter, /* observed= */ true, out);
    print_failures(filter, out);
}

/* --- nodes --- */

typedef struct Shown {
    const LastNode *node;
    int64_t score;
} Shown;

/* Passed before narrowed before the rest; by score, then as they came. */
static int class_of(const LastNode *node) {
    return str_is(node->outcome, "passed") ? 0 : str_is(node->outcome, "narrowed") ? 1 : 2;
}

static int compare_shown(const void *a, const void *b) {
    const Shown *x = a, *y = b;
    int order = class_of(x->node) - class_of(y->node);

    if (order != 0)
        return order;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    if (x->node->rank != y->node->rank)
        return x->node->rank < y->node->rank ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

static Shown *sorted_nodes(const Last *last) {
    size_t n = last->filter.nodes.n;
    Shown *shown = ARENA_RAW(last->arena, Shown, n);

    for (size_t i = 0; shown && i < n; i++) {
        const LastNode *node = &last->filter.nodes.items[i];

        shown[i] = (Shown){node, class_of(node) < 2 ? score_of(last, node) : -1};
    }
    if (shown && n > 0)
        qsort(shown, n, sizeof(*shown), compare_shown);
    return shown;
}

static void print_why(const Last *last, const LastNode *node, Buf *out) {
    if (str_is(node->outcome, "rejected") && !str_is_empty(node->rule.name)) {
        print_rule(out, &node->rule);
    } else if (str_is(node->outcome, "unknown")) {
        buf_append(out, STR("berth did not know this node"));
    } else if (str_is(node->outcome, "late")) {
        buf_append(out, STR("it was not judged in time"));
    } else if (node->rank > 0) {
        buf_append(out, STR("rank "));
        print_number(out, node->rank, 0);
        buf_append(out, STR(" of "));
        print_number(out, last->filter.passed + last->filter.narrowed, 0);
        if (str_is(node->outcome, "narrowed"))
            buf_append(out, STR(", not offered back"));
    } else if (str_is(node->outcome, "narrowed")) {
        buf_append(out, STR("not offered back"));
    }
}

static size_t name_width(const Shown *shown, size_t n) {
    size_t widest = strlen("NODE");

    for (size_t i = 0; i < n; i++) {
        size_t width = visible_width(shown[i].node->name);

        widest = width > widest ? width : widest;
    }
    return widest > NAME_COLUMNS_MAX ? NAME_COLUMNS_MAX : widest;
}

static void print_table(const Last *last, const Shown *shown, size_t n, Buf *out) {
    size_t width = name_width(shown, n);

    buf_append_char(out, '\n');
    visible_append_padded(out, STR("NODE"), width);
    buf_append(out, STR("  OUTCOME   SCORE  WHY\n"));
    for (size_t i = 0; i < n; i++) {
        char score[24] = "-";

        if (shown[i].score >= 0)
            (void)snprintf(score, sizeof(score), "%" PRId64, shown[i].score);
        visible_append_padded(out, shown[i].node->name, width);
        buf_append(out, STR("  "));
        visible_append_padded(out, shown[i].node->outcome, 8);
        buf_printf(out, "  %5s  ", score);
        print_why(last, shown[i].node, out);
        while (out->len > 0 && out->data[out->len - 1] == ' ')
            out->len--;
        buf_append_char(out, '\n');
    }
}

/* The best of those that passed, or with --all every node. */
static int print_some_nodes(const Last *last, Buf *out) {
    size_t n = 0, n_shown;
    Shown *shown;

    if (!last->filter.has_nodes) {
        buf_append(out, STR("\nWhat became of each node is not remembered any more.\n"));
        return 0;
    }
    shown = sorted_nodes(last);
    if (!shown)
        return 1;
    while (n < last->filter.nodes.n && (last->question->all || class_of(shown[n].node) == 0))
        n++;
    n_shown = last->question->all || n <= BEST_SHOWN ? n : BEST_SHOWN;
    if (n_shown > 0)
        print_table(last, shown, n_shown, out);
    if (n_shown < n)
        buf_printf(out, "… %zu more passed; --all shows them\n", n - n_shown);
    return 0;
}

static void print_followers(const Last *last, Buf *out) {
    if (last->prioritize.id == 0 && last->filter.passed == 1)
        buf_append(
            out, STR("\nNo scores: kube-scheduler does not ask for them when one node is left.\n"));
    else if (last->prioritize.id == 0 && last->filter.passed > 1)
        buf_append(out, STR("\nNo scores: prioritize has not been asked.\n"));
    if (last->preempt.id != 0) {
        buf_append(out, STR("\npreempt   "));
        (void)visible_append(out, last->preempt.time);
        buf_append(out, STR(": eviction on "));
        print_number(out, last->preempt.passed, 0);
        buf_append(out, STR(" of "));
        print_nodes(out, last->preempt.asked);
        buf_append(out, STR(" would help\n"));
    }
    if (last->bind.id == 0)
        return;
    buf_append(out, STR("\nbind      "));
    (void)visible_append(out, last->bind.time);
    buf_append(out, str_is_empty(last->bind.error) ? STR(": bound to ") : STR(": not bound to "));
    (void)visible_append(out, last->bind.target);
    if (!str_is_empty(last->bind.error)) {
        buf_append(out, STR(": "));
        (void)visible_append(out, last->bind.error);
    }
    buf_append_char(out, '\n');
}

/* --node: why it, or why not. */
static void print_node(const Last *last, Buf *out) {
    const LastNode *node = last->filter.nodes.n > 0 ? &last->filter.nodes.items[0] : NULL;
    int64_t score;

    (void)visible_append(out, str_from_c(last->question->node));
    if (!last->filter.has_nodes) {
        buf_append(out, STR(": what became of each node is not remembered any more\n"));
        return;
    }
    if (!node || str_is(node->outcome, "not-asked")) {
        buf_append(out, STR(": was not offered: kube-scheduler did not ask about this node\n"));
        return;
    }
    score = class_of(node) < 2 ? score_of(last, node) : -1;
    buf_append(out, STR(": "));
    if (class_of(node) < 2) {
        buf_append(out, STR("passed"));
        if (score >= 0)
            buf_printf(out, ", score %" PRId64, score);
        if (node->rank > 0 || class_of(node) == 1)
            buf_append(out, STR(", "));
    } else {
        buf_append(
            out, str_is(node->outcome, "rejected") ? STR("rejected by ") : STR("rejected: "));
    }
    print_why(last, node, out);
    buf_append_char(out, '\n');
}

static int print_text(const Last *last, Buf *out) {
    int r = 0;

    print_head(last, out);
    if (!str_is_empty(last->filter.error)) {
        buf_append(out, STR("answered with an error: "));
        (void)visible_append(out, last->filter.error);
        buf_append_char(out, '\n');
    } else if (last->question->node) {
        print_node(last, out);
    } else {
        print_counts(&last->filter, out);
        r = print_some_nodes(last, out);
        print_followers(last, out);
    }
    return r;
}

/* --- for programs ---------------------------------------------------------------------------- */

static void write_decision(JsonWriter *writer, Str key, const LastDecision *decision) {
    json_write_key(writer, key);
    if (decision->id == 0) {
        json_write_null(writer);
        return;
    }
    json_write_object(writer);
    for (size_t i = 0; i < decision->fields.n; i++) {
        json_write_key(writer, decision->fields.items[i].key);
        json_write_raw(writer, decision->fields.items[i].raw);
    }
    json_write_key(writer, STR("nodes"));
    json_write_array(writer);
    for (size_t i = 0; i < decision->nodes.n; i++)
        json_write_raw(writer, decision->nodes.items[i].raw);
    json_write_end_array(writer);
    json_write_end_object(writer);
}

static void print_json(const Last *last, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);

    writer.indent = 2;
    json_write_object(&writer);
    write_decision(&writer, STR("filter"), &last->filter);
    write_decision(&writer, STR("prioritize"), &last->prioritize);
    write_decision(&writer, STR("preempt"), &last->preempt);
    write_decision(&writer, STR("bind"), &last->bind);
    json_write_end_object(&writer);
    buf_append_char(out, '\n');
}

int explain_last(const LastQuestion *question) {
    _cleanup_(arena_freep) Arena *arena = arena_new(LAST_BUDGET);
    _cleanup_(buf_done) Buf out = BUF_INIT(LAST_TEXT_MAX);
    LastQuestion asked = *question;
    Last last = {.question = &asked, .arena = arena};
    int r;

    if (!asked.access.server)
        asked.access.server = EXPLAIN_LAST_SERVER;
    r = arena ? ask_all(&last) : fail_memory(&last);
    if (r == 0 && question->json)
        print_json(&last, &out);
    else if (r == 0)
        r = print_text(&last, &out) == 0 ? 0 : fail_memory(&last);
    if (r == 0 && buf_error(&out))
        r = fail_memory(&last);
    if (r != 0) {
        terminal_complain(WHO, last.error);
        return EXIT_UNREACHABLE;
    }
    return terminal_print(stdout, buf_str(&out)) ? EXIT_FINE : EXIT_UNREACHABLE;
}
