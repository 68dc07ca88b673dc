# nixpkgs with stormlint in it.
final: _prev: {
  stormlint = final.callPackage ./package.nix { };
  stormlint-resolver = final.callPackage ./resolver.nix { };
  stormlintHook = final.callPackage ./hook.nix { };
  mkStormAudit = final.callPackage ./audit.nix { };
  mkStormIndex = final.callPackage ./shards.nix { };
}
