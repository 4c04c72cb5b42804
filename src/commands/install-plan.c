#include "commands/install-plan.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/shell.h"
#include "base/visible.h"
#include "json/write.h"

#define WORDS_MAX ((size_t)16 * 1024)

const char *install_mode_name(InstallMode mode) {
    static const char *const names[] = {
        [INSTALL_SECOND_SCHEDULER] = "second-scheduler",
        [INSTALL_DEFAULT_SCHEDULER] = "default-scheduler",
        [INSTALL_STANDALONE] = "standalone",
    };

    return names[mode];
}

/* --- lines ---------------------------------------------------------------------------------- */

void plan_step(InstallPlan *plan, const char *what) {
    buf_printf(plan->out, "\n%u. %s\n", ++plan->n_steps, what);
}

__attribute__((format(printf, 3, 0), nonnull(3))) static void put_line(
    InstallPlan *plan, const char *indent, const char *format, va_list arguments) {
    char line[4096] = "";

    (void)vsnprintf(line, sizeof(line), format, arguments);
    buf_append(plan->out, str_from_c(indent));
    (void)visible_append(plan->out, str_from_c(line)); /* names of nodes are somebody else's */
    buf_append_char(plan->out, '\n');
}

void plan_say(InstallPlan *plan, const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    put_line(plan, "   ", format, arguments);
    va_end(arguments);
}

void plan_command(InstallPlan *plan, const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    put_line(plan, "     ", format, arguments);
    va_end(arguments);
}

/* --- words ---------------------------------------------------------------------------------- */

/* " --kubeconfig FILE --context NAME", by the names that a program has for them. */
static Str flags_for(
    const ClusterSource *source, const char *program, const char *context_flag, Arena *arena) {
    _cleanup_(buf_done) Buf words = BUF_INIT(WORDS_MAX);

    buf_append(&words, str_from_c(program));
    if (source->kubeconfig) {
        buf_append(&words, STR(" --kubeconfig "));
        shell_word(&words, str_from_c(source->kubeconfig));
    }
    if (source->context) {
        buf_printf(&words, " %s ", context_flag);
        shell_word(&words, str_from_c(source->context));
    }
    return arena_copy(arena, buf_str(&words));
}

/* helm takes a dot for a step down, unless it is escaped. */
static Str policy_value(Str file, Str name, Arena *arena) {
    _cleanup_(buf_done) Buf value = BUF_INIT(WORDS_MAX), word = BUF_INIT(WORDS_MAX);

    buf_append(&value, STR("policies."));
    for (size_t i = 0; i < name.len; i++) {
        if (strchr(".,={}[]\\", name.ptr[i]))
            buf_append_char(&value, '\\');
        buf_append_char(&value, name.ptr[i]);
    }
    buf_append_char(&value, '=');
    buf_append(&value, file);
    shell_word(&word, buf_str(&value));
    return arena_copy(arena, buf_str(&word));
}

static void set_policy(InstallPlan *plan, Arena *arena) {
    _cleanup_(buf_done) Buf word = BUF_INIT(WORDS_MAX), quoted = BUF_INIT(WORDS_MAX);
    Str file = plan->settings->policy ? str_from_c(plan->settings->policy) : STR("policy.yaml");
    size_t slash = str_find_last(file, '/');
    Str name = slash == SIZE_MAX ? file : str_skip(file, slash + 1);

    shell_word(&word, file);
    json_quote(&quoted, name);
    plan->policy = arena_copy(arena, buf_str(&word));
    plan->policy_name = arena_copy(arena, buf_str(&quoted));
    plan->policy_value = policy_value(file, name, arena);
}

static bool set_words(InstallPlan *plan, Arena *arena) {
    const ClusterSource *source = &plan->settings->source;

    set_policy(plan, arena);
    plan->kubectl = flags_for(source, "kubectl", "--context", arena);
    plan->helm = flags_for(source, "helm", "--kube-context", arena);
    plan->cluster_flags =
        flags_for(source, source->is_in_cluster ? " --in-cluster" : "", "--context", arena);
    return !arena_has_failed(arena);
}

/* --- the plan --------------------------------------------------------------------------------- */

static void print_heading(InstallPlan *plan) {
    buf_printf(plan->out,
        "\nThe plan: %s, in namespace %s, with %s\n",
        install_mode_name(plan->settings->mode),
        plan->namespace,
        plan->settings->has_helm ? "helm" : "kustomize");
    buf_append(plan->out,
        STR("Run from a checkout of berth: deploy/ is there. Other ways: --mode "
            "second-scheduler, default-scheduler or\nstandalone; --tool helm or kustomize.\n"));
    if (!plan->settings->policy)
        buf_append(
            plan->out, STR("policy.yaml stands for a file with your policies (--policy).\n"));
}

int install_plan_print(
    const InstallSettings *settings, const InstallSight *sight, Str notes, Arena *arena, Buf *out) {
    static void (*const steps[_INSTALL_MODES])(InstallPlan *) = {
        [INSTALL_SECOND_SCHEDULER] = plan_second_scheduler,
        [INSTALL_DEFAULT_SCHEDULER] = plan_default_scheduler,
        [INSTALL_STANDALONE] = plan_standalone,
    };
    InstallPlan plan = {
        .settings = settings, .sight = sight, .out = out, .namespace = settings->namespace};

    if (!set_words(&plan, arena))
        return -ENOMEM;
    plan_print_sight(&plan, notes);
    plan_print_warnings(&plan);
    print_heading(&plan);
    steps[settings->mode](&plan);
    buf_append(out, STR("\nNothing was changed.\n"));
    return buf_error(out) < 0 ? -ENOMEM : 0;
}
