# An index of many attributes, read by whatever builders Nix has (docs/shards.md):
#
#   mkStormIndex { name = "nixpkgs"; attributes = { inherit (pkgs) hello imagemagick; }; }
#
# Attributes are dealt out to batches by their names; each batch is a derivation that reads the
# closures of its attributes where they are built, and one more derivation merges them. A batch
# whose attributes are what they were is not built again, whatever came or went in others. Nothing
# is built to evaluate it. The output is index.db and refers to nothing.
{
  lib,
  stdenvNoCC,
  stormlint,
}:

{
  name,
  attributes, # a set of packages; what does not evaluate is left out
  batches ? 64, # a number that stays: with another one every batch is another one
  packages ? null, # a channel's packages.json, packed or not: attributes, maintainers, positions
}:

let
  # 0 to 65535, by the name alone
  number =
    attribute:
    let
      hash = builtins.hashString "sha256" attribute;
      digit = at: builtins.stringLength (builtins.head (builtins.split (builtins.substring at 1 hash) "0123456789abcdef"));
    in
    ((digit 0 * 16 + digit 1) * 16 + digit 2) * 16 + digit 3;
  batchOf = attribute: let n = number attribute; in n - (n / batches) * batches;

  isThere =
    attribute:
    let
      value = attributes.${attribute};
      path = builtins.tryEval (lib.isDerivation value && builtins.isString "${value.outPath}");
    in
    path.success && path.value;
  there = builtins.filter isThere (builtins.attrNames attributes);
  outputsOf = package: map (output: package.${output}) (package.outputs or [ "out" ]);

  common = {
    __structuredAttrs = true;
    # an index names store paths; it does not keep them
    unsafeDiscardReferences.out = true;
    nativeBuildInputs = [ stormlint ];
  };
  safe = lib.strings.sanitizeDerivationName name;

  byBatch = builtins.groupBy (attribute: toString (batchOf attribute)) there;
  shard =
    batch: members:
    stdenvNoCC.mkDerivation (
      common
      // {
        name = "stormlint-shard-${safe}-${batch}";
        exportReferencesGraph.closure = builtins.concatMap (member: outputsOf attributes.${member}) members;
        # 3: something could not be read; that is in the index, and in what it is merged to
        buildCommand = ''
          declare -i status=0
          stormlint scan --db "$PWD/index.db" --store "$NIX_STORE" --closure "$NIX_ATTRS_JSON_FILE" || status=$?
          if [[ $status -ne 0 && $status -ne 3 ]]; then exit $status; fi
          status=0
          mkdir "$out"
          stormlint merge "$out/index.db" "$PWD/index.db" || status=$?
          if [[ $status -ne 0 && $status -ne 3 ]]; then exit $status; fi
        '';
      }
    );
  shards = builtins.attrValues (builtins.mapAttrs shard byBatch);
in
stdenvNoCC.mkDerivation (
  common
  // {
    name = "stormlint-index-${safe}";
    inputs = map (one: "${one}/index.db") shards;
    mergeArgs = lib.optionals (packages != null) [ "--meta" "${packages}" ];
    # 1: two builders have one path with different contents, which merge.json names
    buildCommand = ''
      declare -i status=0
      mkdir -p "$out/nix-support"
      stormlint merge --json "''${mergeArgs[@]}" "$out/index.db" "''${inputs[@]}" > "$out/merge.json" || status=$?
      cat "$out/merge.json"
      if [[ $status -eq 3 ]]; then
        echo "something could not be read: the index is incomplete" >> "$out/nix-support/failed"
      elif [[ $status -ne 0 && $status -ne 1 ]]; then
        exit $status
      fi
      echo "file index $out/index.db" >> "$out/nix-support/hydra-build-products"
    '';
    passthru = { inherit shards; };
    meta.description = "What the programs of ${name} need and find, as an index of stormlint";
  }
)
