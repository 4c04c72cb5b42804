/*
 * berth completion SHELL: prints a completion script, which runs `berth __complete` (complete.c) at
 * each press of the key. The script need not be made again when berth is replaced.
 */

#include <stdio.h>

#include "cli/terminal.h"
#include "commands/commands.h"

/* readline breaks words at = : and @ too, and replaces only what is behind the last of them; so
 * the line is split there, and the part that stays is cut off. */
static const char bash_script[] =
#include "commands/berth.bash.inc"
    ;

static const char zsh_script[] =
#include "commands/berth.zsh.inc"
    ;

static const char fish_script[] =
#include "commands/berth.fish.inc"
    ;

static const struct {
    const char *shell, *script;
} scripts[] = {
    {"bash", bash_script},
    {"zsh", zsh_script},
    {"fish", fish_script},
};

static const char *check(void *settings, const Arguments *arguments) {
    for (size_t i = 0; i < ELEMENTS_OF(scripts) && arguments->n == 1; i++)
        if (strcmp(arguments->items[0], scripts[i].shell) == 0)
            return NULL;
    return "expected one shell: bash, zsh or fish";
}

static int run(void *settings, const Arguments *arguments) {
    size_t i = 0;

    while (strcmp(arguments->items[0], scripts[i].shell) != 0)
        i++;
    return terminal_print(stdout, str_from_c(scripts[i].script)) ? EXIT_FINE : EXIT_UNREACHABLE;
}

const Command completion_command = {
    .name = "completion",
    .summary = "print a script for shell completion",
    .usage = "bash|zsh|fish",
    .about = "Prints a script with which the shell completes commands, options, their values, and "
             "names of pods, nodes and contexts. For this shell, and for every new one:\n"
             "\n"
             "  bash   source <(berth completion bash)\n"
             "         berth completion bash > ~/.local/share/bash-completion/completions/berth\n"
             "  zsh    source <(berth completion zsh)\n"
             "         berth completion zsh > \"${fpath[1]}/_berth\"\n"
             "  fish   berth completion fish | source\n"
             "         berth completion fish > ~/.config/fish/completions/berth.fish\n"
             "\n"
             "`kubectl berth` completes if $PATH also has this program under the names "
             "kubectl-berth and kubectl_complete-berth (links suffice).",
    .values = "bash|zsh|fish",
    .max_completed = 1,
    .check = check,
    .run = run,
};
