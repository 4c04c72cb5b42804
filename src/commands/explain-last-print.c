#include "commands/explain-last-print.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/visible.h"

#define BEST_SHOWN 10u
#define NAME_COLUMNS_MAX 60u

/* 4,203, in @width columns. */
static void print_number(Buf *out, int64_t n, size_t width) {
    _cleanup_(buf_done) Buf text = BUF_INIT(32);

    buf_append_grouped(&text, n > 0 ? (uint64_t)n : 0);
    if (text.len < width)
        buf_append_repeat(out, ' ', width - text.len);
    buf_append(out, buf_str(&text));
}

static void print_nodes(Buf *out, int64_t n) {
    print_number(out, n, 0);
    buf_append(out, n == 1 ? STR(" node") : STR(" nodes"));
}

/* The score that prioritize gave, or that filter ranked by; -1: none. */
static int64_t score_of(const LastStory *story, const LastNode *node) {
    uint32_t at = map_find(&story->scores, node->name);

    return at == MAP_NONE ? node->score : story->prioritize.nodes.items[at].score;
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

static void print_head(const LastStory *story, Buf *out) {
    const LastDecision *filter = &story->filter;

    buf_append(out, STR("pod       "));
    (void)visible_append(out, str_from_c(story->pod));
    if (!str_is_empty(filter->uid)) {
        buf_append(out, STR("  uid "));
        (void)visible_append(out, filter->uid);
    }
    if (story->telling)
        telling_asks(story->telling);
    buf_append(out, STR("\nasked     "));
    (void)visible_append(out, filter->time);
    print_duration(out, filter->duration);
    buf_printf(out, ", decision %" PRId64 "\npolicy    ", filter->id);
    (void)visible_append(out, filter->policy_digest);
    buf_printf(out, "\ncluster   generation %" PRId64 ", ", filter->generation);
    print_nodes(out, filter->known);
    buf_append_char(out, '\n');
    if (story->telling)
        telling_policies(story->telling);
    buf_append_char(out, '\n');
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

static void print_failure(const LastRule *rule, int64_t n, const char *how, Buf *out) {
    if (n == 0)
        return;
    buf_append(out, STR("  "));
    print_number(out, n, 7);
    buf_append(out, STR("  "));
    (void)visible_append(out, rule->policy);
    buf_append_char(out, '/');
    (void)visible_append(out, rule->name);
    buf_printf(out, " %s\n", how);
}

/* Rules that could not be evaluated on some nodes. */
static void print_failures(const LastDecision *filter, Buf *out) {
    for (size_t i = 0; i < filter->rules.n; i++) {
        const LastRule *rule = &filter->rules.items[i];

        print_failure(rule, rule->failed, "failed with an error, and its onError decided", out);
        print_failure(rule, rule->missing, "had no metric to read, and its onMissing decided", out);
    }
}

/* How many nodes of the cluster the request did not name. */
static int64_t never_offered(const LastDecision *filter) {
    int64_t n = filter->known - (filter->asked - filter->unknown);

    return filter->known > 0 && n > 0 ? n : 0;
}

/* What rules said is told with its values where these are known. */
static void print_counts(const LastStory *story, Buf *out) {
    const LastDecision *filter = &story->filter;

    print_number(out, filter->passed + filter->narrowed, 0);
    buf_append(out, STR(" of "));
    print_nodes(out, filter->asked);
    buf_append(out, STR(" passed\n"));
    if (filter->is_exempt)
        buf_append(
            out, STR("  no policy is for this pod: it is exempt (--exempt of berth serve)\n"));
    if (!story->telling)
        print_rules(filter, /* observed= */ false, out);
    print_line(out, filter->unknown, "not known to berth");
    print_line(out, filter->late, "not judged in time, and so rejected");
    print_line(out, filter->unjudged - filter->late, "not judged in time, and let pass");
    print_line(out, filter->narrowed, "passed, and were not offered back: the policy narrows");
    print_line(out, never_offered(filter), "never offered: kube-scheduler did not ask about them");
    if (story->telling)
        return;
    print_rules(filter, /* observed= */ true, out);
    print_failures(filter, out);
}

/* --- nodes ---------------------------------------------------------------------------- */

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

static Shown *sorted_nodes(const LastStory *story) {
    size_t n = story->filter.nodes.n;
    Shown *shown = ARENA_RAW(story->arena, Shown, n);

    for (size_t i = 0; shown && i < n; i++) {
        const LastNode *node = &story->filter.nodes.items[i];

        shown[i] = (Shown){node, class_of(node) < 2 ? score_of(story, node) : -1};
    }
    if (shown && n > 0)
        qsort(shown, n, sizeof(*shown), compare_shown);
    return shown;
}

static void print_why(const LastStory *story, const LastNode *node, Buf *out) {
    if (str_is(node->outcome, "rejected")) {
        if (str_is_empty(node->rule.name)) /* too many spoke for each to be remembered */
            buf_append(out, STR("one of many rules"));
        else
            print_rule(out, &node->rule);
    } else if (str_is(node->outcome, "unknown")) {
        buf_append(out, STR("berth did not know this node"));
    } else if (str_is(node->outcome, "late")) {
        buf_append(out, STR("it was not judged in time"));
    } else if (node->rank > 0) {
        buf_append(out, STR("rank "));
        print_number(out, node->rank, 0);
        buf_append(out, STR(" of "));
        print_number(out, story->filter.passed + story->filter.narrowed, 0);
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

static void print_table(const LastStory *story, const Shown *shown, size_t n, Buf *out) {
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
        print_why(story, shown[i].node, out);
        while (out->len > 0 && out->data[out->len - 1] == ' ')
            out->len--;
        buf_append_char(out, '\n');
    }
}

/* The best of those that passed, or with --all every node. */
static int print_some_nodes(const LastStory *story, Buf *out) {
    size_t n = 0, n_shown;
    Shown *shown;

    if (!story->filter.has_nodes) {
        buf_append(out, STR("\nWhat became of each node is not remembered any more.\n"));
        return 0;
    }
    shown = sorted_nodes(story);
    if (!shown)
        return -ENOMEM;
    while (n < story->filter.nodes.n && (story->all || class_of(shown[n].node) == 0))
        n++;
    n_shown = story->all || n <= BEST_SHOWN ? n : BEST_SHOWN;
    if (n_shown > 0)
        print_table(story, shown, n_shown, out);
    if (n_shown < n)
        buf_printf(out, "… %zu more passed; --all shows them\n", n - n_shown);
    return 0;
}

/* --all: those that berth did not know. There is nothing to tell of them but their names. */
static void print_unknown(const LastStory *story, Buf *out) {
    if (!story->all || story->filter.unknown == 0)
        return;
    buf_append(out, STR("\nnot known to berth\n"));
    for (size_t i = 0; i < story->filter.nodes.n; i++) {
        const LastNode *node = &story->filter.nodes.items[i];

        if (!str_is(node->outcome, "unknown"))
            continue;
        buf_append(out, STR("           "));
        (void)visible_append(out, node->name);
        buf_append_char(out, '\n');
    }
}

/* Scores are told as of the filter; kube-scheduler may have left some of its nodes out. */
static void print_scored(const LastStory *story, Buf *out) {
    const LastDecision *prioritize = &story->prioritize;

    if (!story->telling || prioritize->id == 0 || prioritize->asked == story->filter.passed)
        return;
    buf_append(out, STR("\nprioritize was asked about "));
    print_nodes(out, prioritize->asked);
    buf_append(out, STR(": scores that are normalised were so among these.\n"));
}

static void print_rank(const LastStory *story, Str name, Buf *out) {
    const NodeExplanation *node = story->telling ? telling_find(story->telling, name) : NULL;

    if (!node || !node->is_scored)
        return;
    buf_printf(out, ", rank %" PRIu32 " of ", node->rank);
    print_number(out, (int64_t)story->telling->explanation->n_passed, 0);
}

static void print_followers(const LastStory *story, Buf *out) {
    print_scored(story, out);
    if (story->prioritize.id == 0 && story->filter.passed == 1)
        buf_append(
            out, STR("\nNo scores: kube-scheduler does not ask for them when one node is left.\n"));
    else if (story->prioritize.id == 0 && story->filter.passed > 1)
        buf_append(out, STR("\nNo scores: prioritize has not been asked.\n"));
    if (story->preempt.id != 0) {
        buf_append(out, STR("\npreempt   "));
        (void)visible_append(out, story->preempt.time);
        buf_append(out, STR(": eviction on "));
        print_number(out, story->preempt.passed, 0);
        buf_append(out, STR(" of "));
        print_nodes(out, story->preempt.asked);
        buf_append(out, STR(" would help\n"));
    }
    if (story->bind.id == 0)
        return;
    buf_append(out, STR("\nbind      "));
    (void)visible_append(out, story->bind.time);
    buf_append(out, str_is_empty(story->bind.error) ? STR(": bound to ") : STR(": not bound to "));
    (void)visible_append(out, story->bind.target);
    print_rank(story, story->bind.target, out);
    if (!str_is_empty(story->bind.error)) {
        buf_append(out, STR(": "));
        (void)visible_append(out, story->bind.error);
    }
    buf_append_char(out, '\n');
}

static void print_not_offered(Buf *out) {
    buf_append(out, STR(": was not offered: kube-scheduler did not ask about this node\n"));
}

/* --node: every rule, with all values. */
static void print_node_in_full(const LastStory *story, const NodeExplanation *node, Buf *out) {
    const LastNode *asked = story->filter.nodes.n > 0 ? &story->filter.nodes.items[0] : NULL;

    if (!asked || str_is(asked->outcome, "not-asked")) {
        (void)visible_append(out, node->node);
        print_not_offered(out);
        buf_append(out, STR("\nWhat policies say of it:\n"));
    }
    telling_one(story->telling, node);
}

/* --node: why it, or why not. */
static void print_node(const LastStory *story, Buf *out) {
    const LastNode *node = story->filter.nodes.n > 0 ? &story->filter.nodes.items[0] : NULL;
    int64_t score;

    (void)visible_append(out, str_from_c(story->node));
    if (!story->filter.has_nodes) {
        buf_append(out, STR(": what became of each node is not remembered any more\n"));
        return;
    }
    if (!node || str_is(node->outcome, "not-asked")) {
        print_not_offered(out);
        return;
    }
    score = class_of(node) < 2 ? score_of(story, node) : -1;
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
    print_why(story, node, out);
    buf_append_char(out, '\n');
}

/* Nodes, one by one or in groups. */
static int print_all_nodes(const LastStory *story, Buf *out) {
    if (!story->telling)
        return print_some_nodes(story, out);
    telling_nodes(story->telling);
    print_unknown(story, out);
    return 0;
}

int last_story_print(const LastStory *story, Buf *out) {
    const NodeExplanation *only = NULL;
    int r = 0;

    if (story->telling && story->node)
        only = telling_find(story->telling, str_from_c(story->node));

    print_head(story, out);
    if (!str_is_empty(story->filter.error)) {
        buf_append(out, STR("answered with an error: "));
        (void)visible_append(out, story->filter.error);
        buf_append_char(out, '\n');
    } else if (only) {
        print_node_in_full(story, only, out);
    } else if (story->node) {
        print_node(story, out);
    } else {
        print_counts(story, out);
        r = print_all_nodes(story, out);
        print_followers(story, out);
    }
    if (story->obstacle) {
        buf_append(out, STR("\nNo values and parts of scores: "));
        (void)visible_append(out, str_from_c(story->obstacle));
        buf_append_char(out, '\n');
    }
    return r;
}
