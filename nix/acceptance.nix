# What `make acceptance-nixpkgs` builds: ImageMagick and devenv of a pinned nixpkgs (nixpkgs.json), as
# they are and with the hook. The pin is a tag; once its hash has been seen, it belongs there, too.
{
  pin ? builtins.fromJSON (builtins.readFile ./nixpkgs.json),
  nixpkgs ? builtins.fetchTarball (
    { url = "https://github.com/NixOS/nixpkgs/archive/${pin.rev}.tar.gz"; }
    // (if pin.sha256 == null then { } else { inherit (pin) sha256; })
  ),
  pkgs ? import nixpkgs {
    config = { };
    overlays = [ (import ./overlay.nix) ];
  },
}:

let
  hooked =
    package:
    package.overrideAttrs (old: {
      nativeBuildInputs = (old.nativeBuildInputs or [ ]) ++ [ pkgs.stormlintHook ];
    });
in
{
  inherit (pkgs) stormlint imagemagick devenv;
  imagemagickHooked = hooked pkgs.imagemagick;
  devenvHooked = hooked pkgs.devenv;
  audit = pkgs.mkStormAudit {
    name = "acceptance";
    roots = [
      pkgs.imagemagick
      pkgs.devenv
    ];
  };
}
