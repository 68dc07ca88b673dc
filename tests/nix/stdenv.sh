# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # what hooks read, and what derivations set
# What a build environment must offer to a setup hook, and no more: arrays of hooks, sourced inputs,
# and the order of a fixup phase as nixpkgs has it. The test's own, written for these tests.
set -e
export PATH=$tools

preFixupHooks=() fixupOutputHooks=() postFixupHooks=()
export CC=gcc

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

# Native inputs are sourced before the others, each kind in its order, with their offset. A file is a
# hook; a package may have one, programs, and inputs of its own to bring along.
sourceHooks() {
    hostOffset=$1
    shift
    local input
    for input; do takeInput "$input"; done
}

takeInput() {
    local more
    if [[ -f $1 ]]; then
        # shellcheck disable=SC1090
        source "$1"
        return 0
    fi
    if [[ -d $1/bin ]]; then PATH=$1/bin:$PATH; fi
    if [[ -f $1/nix-support/propagated-build-inputs ]]; then
        for more in $(<"$1/nix-support/propagated-build-inputs"); do takeInput "$more"; done
    fi
    if [[ -f $1/nix-support/setup-hook ]]; then
        # shellcheck disable=SC1091
        source "$1/nix-support/setup-hook"
    fi
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

# nixpkgs' phases for what has a Makefile, or a buildPhase of its own
patchShebangs() { :; }

# shellcheck disable=SC2086,SC2128,SC2154,SC2206 # lists of words; what the derivation sets
phases() {
    local -a flags
    if [[ -n ${NIX_ATTRS_SH_FILE:-} ]]; then flags=("${makeFlags[@]}"); else flags=(${makeFlags:-}); fi
    if [[ -z ${dontUnpack:-} ]]; then
        cp -r "$src" source
        chmod -R u+w source
        cd source
    fi
    eval "${postPatch:-}"
    eval "${preBuild:-}"
    if [[ -n ${buildPhase:-} ]]; then
        eval "$buildPhase"
    else
        make "${flags[@]}"
        make install "${flags[@]}"
    fi
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
    if [[ -n ${buildCommand:-} ]]; then
        eval "$buildCommand"
        return 0
    fi
    if [[ -n ${build:-} ]]; then eval "$build"; else phases; fi
    fixup
    if [[ -n ${again:-} ]]; then runHook postFixup; fi
    if [[ -n ${installCheck:-} ]]; then eval "$installCheck"; fi
    if [[ -n ${installCheckPhase:-} ]]; then eval "$installCheckPhase"; fi
}

main
