# A stand-in for nixpkgs, enough for nix/*.nix: derivations are really built, by the tests' own stdenv
# (stdenv.sh) with the tools of the machine. `stormlint`: its built programs, a directory.
{ programs ? null, tools ? "/usr/local/bin:/usr/bin:/bin" }:
let
  lib = import ./lib.nix;
  system = builtins.currentSystem;

  # attributes as mkDerivation takes them; meta and passthru are nobody's business in a build
  mkDerivation = given:
    let
      args = if builtins.isFunction given then given args else given;
      plain = builtins.removeAttrs args [ "meta" "passthru" "pname" "version" ];
      drv = derivation ({
        name = args.name or "${args.pname}-${args.version}";
        inherit system tools;
        builder = "/bin/bash";
        args = [ ./stdenv.sh ];
        outputs = [ "out" ];
        nativeBuildInputs = [ ];
        buildInputs = [ ];
      } // plain);
    in
    drv // { meta = args.meta or { }; } // (args.passthru or { });

  # a library of the machine, found by its pkg-config: nothing to build
  ofMachine = name: mkDerivation { inherit name; buildCommand = "mkdir $out"; };

  pkgs = rec {
    inherit lib;
    stdenv = { inherit mkDerivation; hostPlatform = { inherit system; isElf = true; }; };
    stdenvNoCC = stdenv;
    callPackage = file: args:
      let f = import file; in f (builtins.intersectAttrs (builtins.functionArgs f) pkgs // args);
    extend = overlay: let all = pkgs' // overlay all pkgs'; in all;
    writeText = name: text: builtins.toFile name text;
    coreutils = ofMachine "coreutils";
    makeSetupHook = { name, propagatedBuildInputs ? [ ], meta ? { } }: script:
      mkDerivation {
        inherit name meta;
        script = "${script}";
        propagated = propagatedBuildInputs;
        buildCommand = ''
          mkdir -p $out/nix-support
          cp $script $out/nix-support/setup-hook
          echo "$propagated" > $out/nix-support/propagated-build-inputs
        '';
      };
    testers.runNixOSTest = file: ofMachine "test-of-${builtins.baseNameOf file}";
  } // lib.genAttrs [
    "pkg-config" "brotli" "curl" "elfutils" "jansson" "libmicrohttpd" "libsodium" "sqlite" "uthash" "xz" "zlib" "zstd"
  ] ofMachine;

  # as an overlay sees them: callPackage finds what it adds
  pkgs' = pkgs // {
    extend = overlay:
      let
        all = pkgs' // overlay all pkgs' // lib.optionalAttrs (programs != null) {
          stormlint = built;
        } // {
          callPackage = file: args:
            let f = import file; in f (builtins.intersectAttrs (builtins.functionArgs f) all // args);
        };
      in
      all;
  };

  # what `make` has built, as a package: the tests of the hook and of audits need not build it again
  built = mkDerivation {
    name = "stormlint-built";
    inherit programs;
    buildCommand = ''
      mkdir -p $out/bin
      cp $programs/stormlint $programs/stormlint-net $programs/stormlint-apply $out/bin
    '';
    meta = { mainProgram = "stormlint"; license = lib.licenses.mit; platforms = lib.platforms.linux; };
  };
in
pkgs'
