# berth completion for bash
_berth() {
    local line=${COMP_LINE:0:COMP_POINT} words typed stays=
    read -ra words <<<"$line"
    if [[ $line == *[[:space:]] ]]; then words+=(""); fi
    typed=${words[${#words[@]}-1]}
    if [[ $typed == *[=:@]* ]]; then stays=${typed%"${typed##*[=:@]}"}; fi
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
        :0) compopt -o default ;;
        :*) ;;
        *)
            line=${line%%$'\t'*}
            COMPREPLY+=("${line#"$stays"}")
            ;;
        esac
    done < <("${words[0]}" __complete "${words[@]:1}" 2>/dev/null)
}
complete -F _berth berth kubectl-berth
