# An audit of a closure as a derivation, for Hydra or by hand (docs/for-hydra.md):
#
#   mkStormAudit { name = "desktop"; roots = [ config.system.build.toplevel ]; budget = 200; }
#
# The output is a report (docs/audits.md) that refers to nothing: its products do not keep the closure
# alive. When the audit is over its budget the report is there all the same, and
# nix-support/failed, by which Hydra ends a build as "failed with output".
{
  lib,
  stdenvNoCC,
  stormlint,
}:

{
  name,
  roots, # packages; what they refer to belongs to it
  policy ? null, # a file, or what would be in it; null: the default; false: nothing is planned
  budget ? null, # failed opens that a start may make; null: no limit, only errors count
  failOn ? "error", # findings that are over the budget: error, warning, note, never
  against ? null, # an earlier report's audit.ndjson: what got worse counts, not what is
  suppressions ? null, # a file, or what would be in it: what is known, and why
  packages ? null, # a channel's packages.json: attributes, maintainers, positions
  meta ? { },
}:

let
  isFile = value: builtins.isPath value || builtins.isString value || value ? outPath;
  # as a file in the build directory, whatever it was
  file =
    attribute: value:
    if isFile value then "${value}" else builtins.toFile "${attribute}.json" (builtins.toJSON value);
in
stdenvNoCC.mkDerivation {
  name = "stormlint-audit-" + lib.strings.sanitizeDerivationName name;

  __structuredAttrs = true;
  exportReferencesGraph.closure = lib.toList roots;
  # names of store paths are evidence, nothing more
  unsafeDiscardReferences.out = true;

  nativeBuildInputs = [ stormlint ];
  auditArgs =
    [ name ]
    ++ lib.optional (policy == false) "--no-plan"
    ++ lib.optionals (policy != null && policy != false) [ "--policy" (file "policy" policy) ]
    ++ lib.optionals (budget != null) [ "--probe-budget" (toString budget) ]
    ++ lib.optionals (suppressions != null) [ "--suppressions" (file "suppressions" suppressions) ]
    ++ lib.optionals (packages != null) [ "--meta" "${packages}" ];
  reportArgs =
    [ "--fail-on" failOn ]
    ++ lib.optionals (budget != null) [ "--max-offenders" "0" ]
    ++ lib.optionals (against != null) [ "--against" "${against}" ];

  # 1: over the budget. 3: something could not be read, which no report may hide.
  buildCommand = ''
    step() {
      local -i status=0
      "$@" || status=$?
      if [[ $status -ne 0 && $status -ne 1 && $status -ne 3 ]]; then exit $status; fi
      if [[ $status -eq 3 ]]; then incomplete=1; fi
    }
    incomplete=
    index=$PWD/index.db
    step stormlint scan --db "$index" --store "$NIX_STORE" --closure "$NIX_ATTRS_JSON_FILE"
    step stormlint audit --db "$index" "''${auditArgs[@]}" -o audit.ndjson
    step stormlint report audit.ndjson "''${reportArgs[@]}" -o "$out"
    if [[ -n $incomplete ]]; then
      echo "something could not be read: the audit is incomplete" >> "$out/nix-support/failed"
    fi
  '';

  meta = {
    description = "What the programs of ${name} fail to find when they start";
  } // meta;
}
