# The references graph of a path, as builds are given it: plain, and with structured attributes.
{ path, version ? "" }:
let
  root = builtins.storePath path;
  make = args: derivation ({
    system = builtins.currentSystem;
    builder = "/bin/bash";
    args = [ (builtins.toFile "copy.sh" args.copy) ];
  } // builtins.removeAttrs args [ "copy" ]);
in
{
  plain = make {
    name = "plain${version}";
    exportReferencesGraph = [ "graph" root ];
    copy = "PATH=/usr/bin:/bin; cp graph $out";
  };
  structured = make {
    name = "structured${version}";
    __structuredAttrs = true;
    unsafeDiscardReferences.out = true;
    exportReferencesGraph.closure = [ root ];
    copy = ''
      source "''${NIX_ATTRS_SH_FILE:-.attrs.sh}"
      PATH=/usr/bin:/bin
      cp "''${NIX_ATTRS_JSON_FILE:-.attrs.json}" "''${outputs[out]}"
    '';
  };
}
