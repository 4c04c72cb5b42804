/*
 * What would happen if I changed …? An editable copy of the policies in force, and a place for the
 * report of a replay with it. Nothing here changes the policies in force.
 *
 * For the modules (whatif.js); nothing here is live, so that edits are not overwritten:
 *
 *     <form id="what-if-form">
 *       <fieldset id="what-if-numbers">        only if there are numbers
 *         <input type="number" data-set="POLICY.params.NAME" data-was="0.8" value="0.8">
 *         <input type="text" data-set="POLICY.RULE.headroom.cpu" data-was="500m" value="500m">
 *       <textarea class="policy" data-file="FILE">TEXT</textarea>, one for each file
 *       <input type="number" id="what-if-last">  number of decisions
 *       <button type="submit" id="what-if-run" hidden>  the module shows it
 *     <section id="what-if-result" aria-live="polite">  the module fills it
 *
 * The module posts the changes: inputs whose value is not their data-was as "set"; and, if one of
 * the texts was edited, all of them as policies, which replace those in force:
 *
 *     POST /api/v1/what-if?last=N
 *     {"policies": [{"name": FILE, "text": TEXT}], "set": {KEY: VALUE}}
 */

#include <stdio.h>

#include "dashboard/dashboard.h"
#include "dashboard/widgets.h"
#include "history/changes.h"
#include "history/recorder.h"
#include "input/policy-set.h"

#define ROWS_MAX 30u

static void draw_number(Html *html, const PolicyNumber *number, size_t i) {
    Str field = number->field;

    if (str_is_empty(number->rule) && str_has_prefix(field, STR("params.")))
        field = str_skip(field, strlen("params."));
    /* "weight of score pack of policy web" */
    html_write(html, "<p class='setting'><label for='setting-%zu'>%.*s of ", i, STR_FMT(field));
    if (!str_is_empty(number->rule))
        html_write(
            html, "%s %.*s of ", number->is_score ? "score" : "filter", STR_FMT(number->rule));
    html_write(html,
        "policy %.*s</label><input type='%s' id='setting-%zu' value='%.*s' data-was='%.*s' "
        "data-set='%.*s'>",
        STR_FMT(number->policy), number->is_text ? "text" : "number", i, STR_FMT(number->value),
        STR_FMT(number->value), STR_FMT(number->path));
    if (!number->is_text)
        html_attr(html, "step", STR("any")); /* weight: 1 may become 0.5 */
    if (str_eq(number->field, STR("weight")))
        html_attr(html, "min", STR("0"));
    html_close(html);
}

static unsigned count_lines(Str text) {
    unsigned n = 2;

    for (size_t i = 0; i < text.len && n < ROWS_MAX; i++)
        n += text.ptr[i] == '\n';
    return n;
}

/* @sources NULL: they are not kept. */
static void draw_form(
    Html *html, const PolicySource *sources, size_t n, const PolicyNumbers *numbers) {
    html_write(html, "<form id='what-if-form' action='/what-if' method='get'>");
    if (numbers->n > 0) {
        html_write(html, "<fieldset id='what-if-numbers'><legend>Limits and weights</legend>");
        for (size_t i = 0; i < numbers->n; i++)
            draw_number(html, &numbers->items[i], i);
        html_close(html);
    }
    if (!sources)
        html_write(html, "<p>The policy texts in force are too large to be kept: they cannot be "
                         "changed here. Use the commands below with a file.</p>");
    for (size_t i = 0; sources && i < n; i++)
        html_write(html,
            "<p><label for='policy-text-%zu'>A copy of <code>%.*s</code></label></p><textarea "
            "id='policy-text-%zu' class='policy' data-file='%.*s' spellcheck='false' "
            "autocomplete='off' rows='%u'>%s%.*s</textarea>",
            i, STR_FMT(sources[i].file), i, STR_FMT(sources[i].file), count_lines(sources[i].text),
            "\n" /* browsers drop the first line end */, STR_FMT(sources[i].text));
    html_write(html,
        "<p><label for='what-if-last'>Number of recent decisions to replay</label><input "
        "type='number' id='what-if-last' min='1' max='%d' value='%d'></p><button type='submit' "
        "id='what-if-run' hidden>Replay</button></form><section id='what-if-result' "
        "aria-live='polite' aria-label='Result'><noscript><p>This form needs JavaScript. Use the "
        "commands below instead.</p></noscript></section>",
        RECORDER_LAST_MAX, RECORDER_LAST_DEFAULT);
}

unsigned page_what_if(const PageContext *context, Html *html) {
    const PolicySource *sources;
    PolicyNumbers numbers;
    size_t n;
    char last[16];

    if (!context->api->decisions) {
        widget_empty(html, "Decisions are not kept: there is nothing to replay.",
            "Start berth serve without --decisions 0.");
        return 200;
    }
    (void)changes_sources(
        context->api->changes, context->view->program->digest, context->arena, &sources, &n);
    if (policy_numbers(sources, n, context->arena, &numbers) < 0)
        return widget_no_memory(html, "this page");
    html_write(html,
        "<p>Change a copy of the policies. berth replays recent decisions with it, on the cluster "
        "and metrics of that time, and compares the results. Nothing is applied: to keep a change, "
        "edit the policy file.</p>");
    draw_form(html, sources, n, &numbers);
    (void)snprintf(last, sizeof(last), "%d", RECORDER_LAST_DEFAULT);
    html_write(html,
        "<h2>Command line equivalent</h2><p>With another number, or with a changed policy "
        "file.</p>");
    if (numbers.n > 0)
        widget_shell(html, "berth what-if --set",
            (Str[]){arena_printf(context->arena, "%.*s=%.*s", STR_FMT(numbers.items[0].path),
                        STR_FMT(numbers.items[0].value)),
                STR("--last"), str_from_c(last)},
            3, context->api->server);
    widget_shell(html, "berth what-if --policy",
        (Str[]){STR("new-policy.yaml"), STR("--last"), str_from_c(last)}, 3, context->api->server);
    html_write(html,
        "<p class='quiet'>Exact for berth's verdicts and scores. kube-scheduler's final choice is "
        "not replayed, and each decision is replayed on its own.</p>");
    return 200;
}
