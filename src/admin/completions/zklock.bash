# Completions of zklock for bash, made by 'zklock completions bash'.
# zklock itself says what can follow: the first line is what bash completes, the others are words with descriptions.

_zklock() {
    local -a words=() places=()
    local i word rest=$COMP_LINE

    # bash splits words at ':' and '=' too. Parts without a space between them are one word.
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((i > 0)) && [[ $rest != [[:space:]]* ]]; then
            words[${#words[@]} - 1]+=$word
        else
            words+=("$word")
            places+=("$i")
        fi
        rest=${rest#"${rest%%[![:space:]]*}"}
        rest=${rest#"$word"}
    done

    local what='' typed=${words[${#words[@]} - 1]}
    local tail=${typed##*[:=]}
    local -a found=()
    {
        IFS= read -r what
        while IFS=$'\t' read -r word _; do
            # What is replaced begins behind the last ':' or '='.
            printf -v word %q "${word#"${typed%"$tail"}"}"
            found+=("$word")
        done
    } < <("${words[0]}" __complete "${words[@]}" 2>/dev/null)

    COMPREPLY=()
    case $what in
        files)
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -f -- "$tail")
            ;;
        command\ *)
            i=${what#command }
            if declare -F _comp_command_offset >/dev/null; then
                _comp_command_offset "${places[i]}"
            elif declare -F _command_offset >/dev/null; then
                _command_offset "${places[i]}"
            elif ((i == ${#words[@]} - 1)); then
                mapfile -t COMPREPLY < <(compgen -c -- "$tail")
            else
                compopt -o filenames 2>/dev/null
                mapfile -t COMPREPLY < <(compgen -f -- "$tail")
            fi
            ;;
    esac
    COMPREPLY+=("${found[@]}")
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == */ ]]; then compopt -o nospace 2>/dev/null; fi
}

complete -F _zklock zklock
