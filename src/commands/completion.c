/*
 * berth completion SHELL: prints a completion script, which runs `berth __complete` (complete.h) at
 * each press of the key. The script need not be made again when berth is replaced.
 */

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cli/terminal.h"
#include "commands/commands.h"

/* readline breaks words at = : and @ too, and replaces only what is behind the last of them; so
 * the line is split here, and the part that stays is cut off. */
static const char bash_script[] =
    "# berth completion for bash\n"
    "_berth() {\n"
    "    local line=${COMP_LINE:0:COMP_POINT} words typed stays=\n"
    "    read -ra words <<<\"$line\"\n"
    "    if [[ $line == *[[:space:]] ]]; then words+=(\"\"); fi\n"
    "    typed=${words[${#words[@]}-1]}\n"
    "    if [[ $typed == *[=:@]* ]]; then stays=${typed%\"${typed##*[=:@]}\"}; fi\n"
    "    COMPREPLY=()\n"
    "    while IFS= read -r line; do\n"
    "        case $line in\n"
    "        :0) compopt -o default ;;\n"
    "        :*) ;;\n"
    "        *)\n"
    "            line=${line%%$'\\t'*}\n"
    "            COMPREPLY+=(\"${line#\"$stays\"}\")\n"
    "            ;;\n"
    "        esac\n"
    "    done < <(\"${words[0]}\" __complete \"${words[@]:1}\" 2>/dev/null)\n"
    "}\n"
    "complete -F _berth berth kubectl-berth\n";

static const char zsh_script[] =
    "#compdef berth kubectl-berth\n"
    "# berth completion for zsh\n"
    "_berth() {\n"
    "    local line word files=\n"
    "    local -a candidates typed\n"
    "    typed=(\"${(@Q)words[2,CURRENT]}\")\n"
    "    for line in \"${(@f)$(${(Q)words[1]} __complete \"${typed[@]}\" 2>/dev/null)}\"; do\n"
    "        case $line in\n"
    "        :0) files=yes ;;\n"
    "        :*|'') ;;\n"
    "        *)\n"
    "            word=${${line%%$'\\t'*}//:/\\\\:}\n"
    "            if [[ $line == *$'\\t'* ]]; then word+=:${line#*$'\\t'}; fi\n"
    "            candidates+=(\"$word\")\n"
    "            ;;\n"
    "        esac\n"
    "    done\n"
    "    if (( $#candidates )); then _describe -V 'berth' candidates; fi\n"
    "    if [[ -n $files ]]; then _files; fi\n"
    "}\n"
    "if [[ $funcstack[1] == _berth ]]; then\n"
    "    _berth \"$@\"\n"
    "else\n"
    "    compdef _berth berth kubectl-berth\n"
    "fi\n";

static const char fish_script[] =
    "# berth completion for fish\n"
    "function __berth_complete\n"
    "    set -l words (commandline -opc)\n"
    "    set -l typed (commandline -ct)\n"
    "    set -l program $words[1]\n"
    "    set -e words[1]\n"
    "    for line in ($program __complete $words \"$typed\" 2>/dev/null)\n"
    "        switch $line\n"
    "            case ':0'\n"
    "                __fish_complete_path \"$typed\"\n"
    "            case ':*'\n"
    "            case '*'\n"
    "                echo $line\n"
    "        end\n"
    "    end\n"
    "end\n"
    "complete -c berth -f -a '(__berth_complete)'\n"
    "complete -c kubectl-berth -f -a '(__berth_complete)'\n";

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
