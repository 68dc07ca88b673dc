# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # what hooks read, and what derivations set
# What a build environment must offer to a setup hook, and no more: arrays of hooks, sourced inputs,
# and the order of a fixup phase as nixpkgs has it. The test's own, written for these tests.
set -e
export PATH=$tools

preFixupHooks=() fixupOutputHooks=() postFixupHooks=()

if [[ -n ${NIX_ATTRS_SH_FILE:-} ]]; then
    # shellcheck disable=SC1090
    source "$NIX_ATTRS_SH_FILE"
    export PATH=$tools
    export NIX_ATTRS_JSON_FILE
fi

getAllOutputNames() {
    if [[ -n ${NIX_ATTRS_SH_FILE:-} ]]; then
        echo "${!outputs[*]}"
    else
        # shellcheck disable=SC2128
        echo "$outputs"
    fi
}

if [[ -n ${NIX_ATTRS_SH_FILE:-} ]]; then
    for name in "${!outputs[@]}"; do declare -g "$name=${outputs[$name]}"; done
fi

# The attribute of that name, then every element of the array.
runHook() {
    local attribute=$1 array="${1}Hooks[@]" hook
    if [[ -n ${!attribute:-} ]]; then eval "${!attribute}"; fi
    for hook in "${!array}"; do
        if declare -F "$hook" >/dev/null; then "$hook"; else eval "$hook"; fi
    done
}

# Native inputs are sourced before the others, each kind in its order, with their offset.
sourceHooks() {
    local input
    hostOffset=$1
    shift
    for input; do
        if [[ -f $input ]]; then
            # shellcheck disable=SC1090
            source "$input"
        fi
    done
}

_shrink() { # what fixupOutput does to run paths, and to symbols
    local file
    while IFS= read -r -d '' file; do
        if [[ $(head -c4 "$file") == $'\x7fELF' ]]; then
            if [[ -z ${dontPatchELF:-} ]]; then patchelf --shrink-rpath "$file" 2>/dev/null || true; fi
            strip -S "$file" 2>/dev/null || true
        fi
    done < <(find "$prefix" -type f -print0)
}

_noBrokenSymlinks() {
    local output link
    for output in $(getAllOutputNames); do
        while IFS= read -r -d '' link; do
            if [[ ! -e $link ]]; then echo "broken link $link" >&2 && return 1; fi
        done < <(find "${!output}" -type l -print0)
    done
}

fixup() {
    local output
    fixupOutputHooks+=(_shrink)
    for output in $(getAllOutputNames); do
        if [[ -e ${!output} ]]; then chmod -R u+w "${!output}"; fi
    done
    runHook preFixup
    for output in $(getAllOutputNames); do
        if [[ -e ${!output} ]]; then prefix=${!output} runHook fixupOutput; fi
    done
    runHook postFixup
}

# shellcheck disable=SC2086,SC2128,SC2154 # lists of words; what the derivation sets
main() {
    if [[ -n ${NIX_ATTRS_SH_FILE:-} ]]; then
        sourceHooks -1 "${nativeBuildInputs[@]}"
        sourceHooks 0 "${buildInputs[@]}"
    else
        sourceHooks -1 $nativeBuildInputs
        sourceHooks 0 $buildInputs
    fi
    postFixupHooks+=(_noBrokenSymlinks)
    eval "$build"
    fixup
    if [[ -n ${again:-} ]]; then runHook postFixup; fi
    if [[ -n ${installCheck:-} ]]; then eval "$installCheck"; fi
}

main
