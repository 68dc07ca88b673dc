# What nix/*.nix make of a stand-in for nixpkgs, really built: the package, the hook, audits.
# `programs`: where stormlint and stormlint-apply are; `resolver`: libstormlint-resolve.so.
{ programs, resolver ? "" }:
let
  overlay = import ../../nix/overlay.nix;
  pkgs = (import ./pkgs.nix { inherit programs; }).extend overlay;
  fresh = (import ./pkgs.nix { }).extend overlay;
  packages = import ./default.nix { stormlint = "${programs}/stormlint-apply"; };
  # the hook as a package that brings its programs along
  app = args: packages.app ({
    nativeBuildInputs = [ pkgs.stormlintHook ];
    stormlintApply = "";
  } // args);
  audit = args: pkgs.mkStormAudit ({
    name = "tests:apps:1";
    roots = [ packages.plain ];
    policy = { schema = "stormlint-policy/1"; name = "here"; stores = [ builtins.storeDir ]; };
    packages = ./packages.json;
  } // args);
  contentAddressed = {
    __contentAddressed = true;
    outputHashMode = "recursive";
    outputHashAlgo = "sha256";
  };
  noted = {
    stormlintPolicy = {
      schema = "stormlint-policy/1";
      name = "noted";
      reader = "resolver";
      inherit resolver;
    };
    __structuredAttrs = true;
  };
in
{
  package = fresh.stormlint;
  resolver = fresh.stormlint-resolver;
  hooked = app { };
  hookedStructured = app { __structuredAttrs = true; };
  addressed = app contentAddressed;
  noted = app noted;
  notedAddressed = app (noted // contentAddressed);
  audit = audit { };
  # attributes in batches, two of them of one name with others' libraries; one does not evaluate
  index = pkgs.mkStormIndex {
    name = "tests:all";
    batches = 3;
    packages = ./packages.json;
    attributes = {
      inherit (packages) plain l0 glibc outputs;
      broken = throw "this attribute is broken";
      number = 7;
    } // builtins.listToAttrs (map (l: { name = l.name; value = l; }) packages.rest);
  };
  indexed = [ packages.plain packages.outputs.bin packages.outputs.lib packages.outputs packages.glibc ];
  auditOver = audit { budget = 1; policy = false; };
  auditFine = audit { budget = 1000; };
  auditPolicy = audit {
    roots = [ packages.plain packages.l0 ];
    policy = { schema = "stormlint-policy/1"; name = "nothing"; min_saving = 100000; };
  };
  auditAgainst = audit { against = "${audit { budget = 1000; }}/audit.ndjson"; };

  # nixpkgs as nix/acceptance.nix takes it, with programs of the right names
  acceptance = pkgs // builtins.listToAttrs (map
    (program:
      let
        make = args: packages.app args // { overrideAttrs = f: make (args // f args); };
      in
      {
        inherit (program) name;
        value = make {
          nativeBuildInputs = [ ];
          stormlintApply = "";
          build = packages.appBuild + "\nln -s app $out/bin/${program.value}\n";
        };
      })
    [ { name = "imagemagick"; value = "magick"; } { name = "devenv"; value = "devenv"; } ]);

  # evaluated only: what a flake and the files without one offer
  evaluated =
    let
      flake = (import ../../flake.nix).outputs {
        self = flake;
        nixpkgs = { inherit (pkgs) lib; legacyPackages = pkgs.lib.genAttrs [ "x86_64-linux" "aarch64-linux" ] (_: pkgs); };
      };
      plain = import ../../nix { inherit pkgs; };
      paths = builtins.mapAttrs (_: value: if value ? drvPath then value.drvPath else toString value);
    in
    {
      flake = {
        packages = builtins.mapAttrs (_: paths) flake.packages;
        checks = builtins.mapAttrs (_: paths) flake.checks;
        inherit (flake) apps;
        lib = builtins.attrNames flake.lib.x86_64-linux;
        module = builtins.attrNames (flake.nixosModules.default {
          inherit (pkgs) lib;
          pkgs = { stdenv.hostPlatform.system = "x86_64-linux"; };
        });
        overlay = builtins.attrNames (flake.overlays.default pkgs pkgs);
      };
      plain = paths { inherit (plain) stormlint stormlint-resolver stormlintHook module; };
    };
}
