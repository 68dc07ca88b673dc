{
  description = "stormlint: what the dynamic loader tries in vain, and what to do about it";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      inherit (nixpkgs) lib;
      eachSystem = lib.genAttrs [
        "x86_64-linux"
        "aarch64-linux"
      ];
      pkgsOf = system: nixpkgs.legacyPackages.${system}.extend self.overlays.default;
      app = program: description: {
        type = "app";
        inherit program;
        meta = { inherit description; };
      };
    in
    {
      overlays.default = import ./nix/overlay.nix;

      nixosModules.default =
        { pkgs, lib, ... }:
        {
          imports = [ ./nix/module.nix ];
          services.stormlint.package = lib.mkDefault (
            self.packages.${pkgs.stdenv.hostPlatform.system}.stormlint
          );
        };

      packages = eachSystem (
        system:
        let
          pkgs = pkgsOf system;
        in
        {
          default = pkgs.stormlint;
          inherit (pkgs) stormlint stormlint-resolver stormlintHook;
        }
      );

      apps = eachSystem (
        system:
        let
          inherit (pkgsOf system) stormlint;
        in
        {
          default = app (lib.getExe stormlint) "index, trace, plan, lint, serve";
          apply = app (lib.getExe' stormlint "stormlint-apply") "carry out plans";
        }
      );

      # they take roots and attributes, so they are no packages
      lib = eachSystem (system: {
        inherit (pkgsOf system) mkStormAudit mkStormIndex;
      });

      checks = eachSystem (
        system:
        let
          pkgs = pkgsOf system;
        in
        import ./nix/checks.nix { inherit pkgs; } // { package = pkgs.stormlint; }
      );
    };
}
