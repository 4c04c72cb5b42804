/*
 * What would happen if I changed …? A copy of the policies in force to play with, and a place for
 * what would come of it. Nothing here changes anything: what is good is copied into a file.
 *
 * For the modules (whatif.js); nothing here is live, so that edits are not overwritten:
 *
 *     <form id="what-if-form">
 *       <fieldset id="what-if-numbers">        not there if there are none
 *         <input type="number" data-set="POLICY.params.NAME" data-was="0.8" value="0.8">
 *         <input type="number" data-set="POLICY.RULE.weight" data-was="3" value="3">
 *       <textarea class="policy" data-file="FILE">TEXT</textarea>, one for each file
 *       <input type="number" id="what-if-last">  how many decisions
 *       <button type="submit" id="what-if-run" hidden>  to be shown by the module
 *     <section id="what-if-result" aria-live="polite">  to be filled
 *
 * What is changed is posted: inputs whose value is not their data-was as "set"; and, if one of the
 * texts was edited, all of them as policies, since they take the place of all:
 *
 *     POST /api/v1/what-if?last=N
 *     {"policies": [{"name": FILE, "text": TEXT}], "set": {KEY: VALUE}}
 */

#include <math.h>
#include <stdio.h>

#include "base/digest.h"
#include "dashboard/dashboard.h"
#include "dashboard/widgets.h"
#include "history/changes.h"
#include "history/recorder.h"

#define ROWS_MAX 30u

/* --- numbers ---------------------------------------------------------------------------------- */

/* A number of a policy that can be changed: its name for `--set`, and its meaning. */
typedef struct Setting {
    Str key;   /* POLICY.params.NAME, POLICY.RULE.weight */
    Str label; /* for people */
    double value;
    bool is_whole;
    bool is_weight;
} Setting;

#define SETTINGS_MAX 200u

typedef struct Settings {
    Setting items[SETTINGS_MAX];
    size_t n;
} Settings;

static void add_setting(Settings *settings, Setting setting) {
    if (settings->n < SETTINGS_MAX && setting.key.ptr && setting.label.ptr)
        settings->items[settings->n++] = setting;
}

static void add_params(const PageContext *context, const Policy *policy, Settings *settings) {
    const CelVariable *params = cel_env_variable(policy->scope->env, STR("params"));
    const CelRecordType *type = &policy->scope->params_type;

    if (!params || !params->is_constant || params->value.kind != CEL_RECORD)
        return;
    for (uint32_t i = 0; i < type->n_fields; i++) {
        CelValue value = type->get(params->value.record, i, /* run= */ NULL);
        Str name = type->fields[i].name;

        if (value.kind != CEL_INT && value.kind != CEL_DOUBLE)
            continue;
        add_setting(settings, (Setting){
                                  .key = arena_printf(context->arena, "%.*s.params.%.*s",
                                      STR_FMT(policy->name), STR_FMT(name)),
                                  .label = arena_printf(context->arena, "%.*s of policy %.*s",
                                      STR_FMT(name), STR_FMT(policy->name)),
                                  .value = value.kind == CEL_INT ? (double)value.i : value.d,
                                  .is_whole = value.kind == CEL_INT,
                              });
    }
}

static void add_weights(const PageContext *context, const Policy *policy, Settings *settings) {
    for (size_t i = 0; i < policy->n_scores; i++) {
        const Score *score = &policy->scores[i];

        add_setting(settings,
            (Setting){
                .key = arena_printf(context->arena, "%.*s.%.*s.weight", STR_FMT(policy->name),
                    STR_FMT(score->name)),
                .label = arena_printf(context->arena, "weight of score %.*s of policy %.*s",
                    STR_FMT(score->name), STR_FMT(policy->name)),
                .value = score->weight,
                .is_weight = true,
            });
    }
}

static void find_settings(const PageContext *context, Settings *ret) {
    const Program *program = context->view->program;

    for (size_t i = 0; i < program->n_policies; i++) {
        add_params(context, &program->policies[i], ret);
        add_weights(context, &program->policies[i], ret);
    }
}

static void draw_setting(Html *html, const Setting *setting, size_t number) {
    char value[48];

    (void)snprintf(value, sizeof(value), "%.15g", setting->value);
    html_write(html,
        "<p class='setting'><label for='setting-%zu'>%.*s</label><input type='number' "
        "id='setting-%zu' step='%s' value='%s' data-was='%s' data-set='%.*s'>",
        number, STR_FMT(setting->label), number, setting->is_whole ? "1" : "any", value, value,
        STR_FMT(setting->key));
    if (setting->is_weight)
        html_attr(html, "min", STR("0"));
    html_close(html);
}

static void draw_settings(Html *html, const Settings *settings) {
    if (settings->n == 0)
        return;
    html_write(html, "<fieldset id='what-if-numbers'><legend>Limits and weights</legend>");
    for (size_t i = 0; i < settings->n; i++)
        draw_setting(html, &settings->items[i], i);
    html_close(html);
}

/* --- texts ------------------------------------------------------------------------------------ */

static unsigned count_lines(Str text) {
    unsigned n = 2;

    for (size_t i = 0; i < text.len && n < ROWS_MAX; i++)
        n += text.ptr[i] == '\n';
    return n;
}

static void draw_text(Html *html, const PolicySource *source, size_t number) {
    html_write(html,
        "<p><label for='policy-text-%zu'>A copy of <code>%.*s</code></label></p><textarea "
        "id='policy-text-%zu' class='policy' data-file='%.*s' spellcheck='false' "
        "autocomplete='off' rows='%u'>%.*s</textarea>",
        number, STR_FMT(source->file), number, STR_FMT(source->file), count_lines(source->text),
        STR_FMT(source->text));
}

static void draw_texts(const PageContext *context, Html *html) {
    const PolicySource *sources = NULL;
    size_t n = 0;

    if (!changes_sources(
            context->api->changes, context->view->program->digest, context->arena, &sources, &n)) {
        html_write(html,
            "<p>The policy texts are too large to be kept. You can still change the numbers "
            "above.</p>");
        return;
    }
    for (size_t i = 0; i < n; i++)
        draw_text(html, &sources[i], i);
}

/* --- other parts ------------------------------------------------------------------------------ */

static void draw_form(const PageContext *context, Html *html, const Settings *settings) {
    html_write(html, "<form id='what-if-form' action='/what-if' method='get'>");
    draw_settings(html, settings);
    draw_texts(context, html);
    html_write(html,
        "<p><label for='what-if-last'>Number of recent decisions to replay</label><input "
        "type='number' id='what-if-last' min='1' max='%d' value='%d'></p><button type='submit' "
        "id='what-if-run' hidden>Replay</button></form><section id='what-if-result' "
        "aria-live='polite' aria-label='Result'><noscript><p>This form needs JavaScript. Use the "
        "commands below instead.</p></noscript></section>",
        RECORDER_LAST_MAX, RECORDER_LAST_DEFAULT);
}

static void draw_commands(const PageContext *context, Html *html, const Settings *settings) {
    html_write(html,
        "<h2>Command line equivalent</h2><p>With another number, or with a changed policy "
        "file.</p>");
    if (settings->n > 0)
        widget_command(html,
            arena_printf(context->arena, "berth what-if --set %.*s=%.15g --last %d",
                STR_FMT(settings->items[0].key), settings->items[0].value, RECORDER_LAST_DEFAULT));
    widget_command(
        html, arena_printf(context->arena, "berth what-if --policy new-policy.yaml --last %d",
                  RECORDER_LAST_DEFAULT));
}

unsigned page_what_if(const PageContext *context, Html *html) {
    Settings *settings = ARENA_NEW(context->arena, Settings);

    if (!settings)
        return widget_no_memory(html, "this page");
    if (!context->api->decisions) {
        widget_empty(html, "Decisions are not kept: there is nothing to replay.",
            "Start berth serve without --decisions 0.");
        return 200;
    }
    find_settings(context, settings);
    html_write(html,
        "<p>Change a copy of the policies. berth replays recent decisions with it, on the cluster "
        "and metrics of that time, and compares the results. Nothing is applied: to keep a change, "
        "edit the policy file.</p>");
    draw_form(context, html, settings);
    draw_commands(context, html, settings);
    html_write(html,
        "<p class='quiet'>Exact for berth's verdicts and scores. kube-scheduler's final choice is "
        "not replayed, and each decision is replayed on its own.</p>");
    return 200;
}
