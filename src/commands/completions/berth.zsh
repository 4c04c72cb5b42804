#compdef berth kubectl-berth
# berth completion for zsh
_berth() {
    local line word files=
    local -a candidates typed
    typed=("${(@Q)words[2,CURRENT]}")
    for line in "${(@f)$(${(Q)words[1]} __complete "${typed[@]}" 2>/dev/null)}"; do
        case $line in
        :0) files=yes ;;
        :*|'') ;;
        *)
            word=${${line%%$'\t'*}//:/\\:}
            if [[ $line == *$'\t'* ]]; then word+=:${line#*$'\t'}; fi
            candidates+=("$word")
            ;;
        esac
    done
    if (( $#candidates )); then _describe -V 'berth' candidates; fi
    if [[ -n $files ]]; then _files; fi
}
if [[ $funcstack[1] == _berth ]]; then
    _berth "$@"
else
    compdef _berth berth kubectl-berth
fi
