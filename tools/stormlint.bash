# bash completion for stormlint: commands and options are what the program itself says it has.
# shellcheck shell=bash

_stormlint()
{
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    local stormlint=${COMP_WORDS[0]} command=${COMP_WORDS[1]} word
    local -a words=()
    COMPREPLY=()

    if ((COMP_CWORD == 1)); then
        mapfile -t words < <("$stormlint" help 2>/dev/null | sed -n 's/^  \([a-z]*\) .*/\1/p')
        words+=(help --help --version)
        mapfile -t COMPREPLY < <(compgen -W "${words[*]}" -- "$cur")
        return
    fi
    for word in "${COMP_WORDS[@]:2:COMP_CWORD-2}"; do
        [[ $word == -- ]] && return # what follows belongs to another program
    done
    case $prev in
    --cpu)
        words=(host x86-64-v{1..4} x86-64-v{2..4}:intel aarch64)
        # ':' parts words: complete what follows the last one
        mapfile -t COMPREPLY < <(compgen -W "${words[*]}" -- "$cur")
        return
        ;;
    --rule | --explain)
        mapfile -t words < <("$stormlint" rules 2>/dev/null | sed -n 's/^R[0-9]* *[a-z]* *\([a-z-]*\) .*/\1/p')
        mapfile -t COMPREPLY < <(compgen -W "${words[*]} all" -- "$cur")
        return
        ;;
    --fail-on)
        mapfile -t COMPREPLY < <(compgen -W "error warning note never" -- "$cur")
        return
        ;;
    --format)
        words=(text json)
        [[ $command == lint ]] && words+=(sarif junit github)
        [[ $command == diff ]] && words+=(markdown)
        mapfile -t COMPREPLY < <(compgen -W "${words[*]}" -- "$cur")
        return
        ;;
    --root | --store | --cwd | --state | --web)
        mapfile -t COMPREPLY < <(compgen -d -- "$cur")
        return
        ;;
    --probe-budget | --min-* | --allow-* | --uid | --top | --env | --dlopen | --time | --limit | --budget) return ;;
    esac
    if [[ $cur == -* ]]; then
        mapfile -t words < <("$stormlint" "$command" --help 2>/dev/null |
            grep -o -- '\(^\| \)--[a-z][a-z-]*' | tr -d ' ' | sort -u)
        mapfile -t COMPREPLY < <(compgen -W "${words[*]}" -- "$cur")
        return
    fi
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
}

complete -o filenames -F _stormlint stormlint
