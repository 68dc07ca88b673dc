# Without flakes: nix-build nix -A stormlint; import ./nix { inherit pkgs; }
{
  pkgs ? import <nixpkgs> { },
}:

let
  all = pkgs.extend (import ./overlay.nix);
in
{
  inherit (all)
    stormlint
    stormlint-resolver
    stormlintHook
    mkStormAudit
    mkStormIndex
    ;
  overlay = import ./overlay.nix;
  module = ./module.nix;
}
