# corotracer.fish - fish completion: offers what `corotracer --complete` prints.
function __corotracer_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in (command $words[1] --complete $words[2..-1] 2>/dev/null)
        switch $line
            case ':none'
            case ':files'
                __fish_complete_path (commandline -ct)
            case ':dirs'
                __fish_complete_directories (commandline -ct) ''
            case ':program *'
                set -l first (string replace ':program ' '' -- $line)
                __fish_complete_subcommand --fcs-skip=(math $first + 1)
            case '*'
                echo $line
        end
    end
end
complete -c corotracer -f -a '(__corotracer_complete)'
