# Completions of zklock for bash, made by 'zklock completions bash'.
# zklock itself says what can follow: the first line is what bash completes, the others are words with descriptions.

# _zklock_dequote WORD: what the shell would make of it, in $dequoted; $quote is a quote that isn't closed yet.
_zklock_dequote() {
    local rest=$1 char
    dequoted='' quote=''
    while [[ -n $rest ]]; do
        char=${rest:0:1} rest=${rest:1}
        if [[ $char == "$quote" ]]; then
            quote=''
        elif [[ -z $quote && $char == [\'\"] ]]; then
            quote=$char
        elif [[ $char == \\ && $quote != \' ]]; then
            dequoted+=${rest:0:1} rest=${rest:1}
        else
            dequoted+=$char
        fi
    done
}

_zklock() {
    local -a words=() places=()
    local dequoted quote
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
    local -a found=() plain=()
    for word in "${words[@]}"; do
        _zklock_dequote "$word"
        plain+=("$dequoted")
    done
    # What is replaced begins behind the last ':' or '=', and behind a quote that is open.
    local before=''
    if [[ -z $quote ]]; then
        _zklock_dequote "${typed%"$tail"}"
        before=$dequoted quote=''
    fi
    {
        IFS= read -r what
        while IFS=$'\t' read -r word _; do
            word=${word#"$before"}
            [[ -n $quote ]] || printf -v word %q "$word"
            found+=("$word")
        done
    } < <("${plain[0]}" __complete "${plain[@]}" 2>/dev/null)

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
