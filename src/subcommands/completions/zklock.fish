# Completions of zklock for fish, made by 'zklock completions fish'.
# zklock itself says what can follow: the first line is what fish completes, the others are words with descriptions.

function __zklock_complete
    set -l tokens (commandline -opc)
    # As it is typed, and so perhaps with a quote that isn't closed yet.
    set -l typed (commandline -ct)
    set -l current (string unescape -- "$typed")
    or set current (string replace -r '^["\']' '' -- "$typed")
    set -l lines ($tokens[1] __complete $tokens "$current" 2>/dev/null)
    test (count $lines) -gt 1; and printf '%s\n' $lines[2..-1]
    switch "$lines[1]"
        case files
            # The value of an option may stand behind '='.
            set -l before (string match -r -- '^--[^=]*=' "$current")
            for path in (__fish_complete_path (string replace -- "$before" '' "$current"))
                printf '%s\n' "$before$path"
            end
        case 'command *'
            set -l first (math (string replace 'command ' '' -- $lines[1]) + 1)
            set -l command
            test $first -le (count $tokens); and set command (string escape -- $tokens[$first..-1])
            complete -C (string join ' ' -- $command "$current")
    end
end

complete -c zklock -f -a '(__zklock_complete)'
