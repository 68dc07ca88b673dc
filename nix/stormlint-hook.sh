# shellcheck shell=bash
# stormlint-hook: a setup hook that takes the stat storm out of what a package builds.
#
# It goes into nativeBuildInputs. After everything else that edits files it plans for the programs,
# plugins and libraries of all outputs (or carries out a plan it is given), edits them, makes the
# farms beside them, and proves that each loads the same libraries in the same order. Nothing of the
# package is run.
#
#   dontStormlint      leave the package alone
#   stormlintBudget    only check: fail when a program's start fails more than so many opens
#   stormlintPlan      a plan of `stormlint plan -o`: a path (several, separated by blanks), or
#                      with structured attributes the plan itself, or a list
#   stormlintStale     what if a program is not what its plan expects: replan (default), skip, fail
#   stormlintPolicy    a policy file, or with structured attributes the policy itself
#   stormlintKeepPlan  leave the plan made here in the output, as nix-support/stormlint/plan.json
#   stormlintApply     the executable; default: stormlint-apply
#
# allowedReferences, disallowedReferences and outputChecks are kept. See docs/for-hooks.md.

# Everything appends to postFixupHooks in preFixup that wants to be last. This function does so
# later, when the first output is fixed up, and stands behind all of them whatever the order in
# which hooks were sourced.
_stormlintRegister() {
    fixupOutputHooks+=(_stormlintRegisterLate)
}

_stormlintRegisterLate() {
    local hook
    for hook in "${postFixupHooks[@]}"; do
        if [[ $hook == _stormlintPostFixup ]]; then return 0; fi
    done
    postFixupHooks+=(_stormlintPostFixup)
}

# dontPatchELF says that files are not to be touched; who uses autoPatchelf touches them himself.
_stormlintIsWanted() {
    if [[ -n ${dontStormlint:-} ]]; then return 1; fi
    if [[ -z ${dontPatchELF:-} ]]; then return 0; fi
    declare -F autoPatchelfPostFixup >/dev/null && [[ -z ${dontAutoPatchelf:-} ]]
}

_stormlintPostFixup() {
    local output hook
    local -a args=() plans=()

    if ! _stormlintIsWanted; then return 0; fi
    for output in $(getAllOutputNames); do
        if [[ $output == debug || ! -d ${!output} ]]; then continue; fi
        args+=(--output "$output=${!output}")
    done
    if [[ ${#args[@]} -eq 0 ]]; then return 0; fi
    if [[ -n ${NIX_STORE:-} && $NIX_STORE != /nix/store ]]; then args+=(--store "$NIX_STORE"); fi
    if [[ -n ${NIX_ATTRS_JSON_FILE:-} && -e ${NIX_ATTRS_JSON_FILE:-} ]]; then
        args+=(--attrs "$NIX_ATTRS_JSON_FILE")
    else
        if [[ -n ${stormlintPolicy:-} ]]; then args+=(--policy "$stormlintPolicy"); fi
        # shellcheck disable=SC2206 # several are separated by blanks
        plans=(${stormlintPlan:-})
        # an empty list allows nothing, which is not the same as no list
        # shellcheck disable=SC2154 # both are the derivation's
        if [[ -n ${allowedReferences+set} ]]; then
            args+=(--allowed-references "$allowedReferences")
        fi
        # shellcheck disable=SC2154
        if [[ -n ${disallowedReferences+set} ]]; then
            args+=(--disallowed-references "$disallowedReferences")
        fi
    fi
    if [[ -n ${stormlintBudget:-} ]]; then
        echo "stormlint: checking that no program fails more than $stormlintBudget opens"
        "${stormlintApply:-stormlint-apply}" apply "${args[@]}" --budget "$stormlintBudget" || {
            echo "stormlint: above the budget, or it could not be checked" >&2
            return 1
        }
        return 0
    fi
    if [[ -n ${stormlintKeepPlan:-} ]]; then args+=(--keep-plan); fi
    hook=${postFixupHooks[-1]:-}
    if [[ $hook != _stormlintPostFixup ]]; then
        echo "stormlint: '$hook' runs later, and must not edit programs any more" >&2
    fi
    "${stormlintApply:-stormlint-apply}" apply "${args[@]}" \
        --stale "${stormlintStale:-replan}" "${plans[@]}" || {
        echo "stormlint: nothing was edited" >&2
        return 1
    }
}

# A hook that two inputs bring is sourced twice. In buildInputs it would be one for programs of the
# host, and is of no use.
if [[ -z ${_stormlintHookSourced:-} ]]; then
    if [[ ${hostOffset:--1} -ne -1 ]]; then
        echo "stormlint: the hook belongs into nativeBuildInputs, and is ignored here" >&2
    else
        _stormlintHookSourced=1
        preFixupHooks+=(_stormlintRegister)
    fi
fi
