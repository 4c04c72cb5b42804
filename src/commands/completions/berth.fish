# berth completion for fish
function __berth_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    set -l program $words[1]
    set -e words[1]
    for line in ($program __complete $words "$typed" 2>/dev/null)
        switch $line
            case ':0'
                __fish_complete_path "$typed"
            case ':*'
            case '*'
                echo $line
        end
    end
end
complete -c berth -f -a '(__berth_complete)'
complete -c kubectl-berth -f -a '(__berth_complete)'
