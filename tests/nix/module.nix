# What services.stormlint becomes, for settings given as JSON; what is checked is in ./run.
{ given }:
let
  lib = import ./lib.nix;
  pkgs = import ./pkgs.nix { programs = "/programs"; };
  stormlint = (pkgs.extend (import ../../nix/overlay.nix)).stormlint;
  config = lib.evalModule ../../nix/module.nix {
    name = "stormlint";
    given = builtins.fromJSON given;
    pkgs = pkgs // { inherit stormlint; };
  };
in
builtins.removeAttrs config [ "environment" ] // {
  packages = map toString (config.environment.systemPackages or [ ]);
  failed = map (a: a.message) (builtins.filter (a: !a.assertion) (config.assertions or [ ]));
}
