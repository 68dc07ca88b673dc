# The reader of closure notes (docs/closure-note.md), a derivation of its own: programs name its file,
# so it must not change when the rest of stormlint does. Its version is the number in its DT_SONAME.
#
#   resolver = callPackage ./nix/resolver.nix { };
#   policy: "reader": "resolver", "resolver": "${resolver}/lib/libstormlint-resolve.so"
{ stdenv, lib }:

stdenv.mkDerivation {
  pname = "stormlint-resolver";
  version = "1";

  # only what it is made of: another commit elsewhere gives the same output path
  src = lib.fileset.toSource {
    root = ../.;
    fileset = lib.fileset.unions [ ../resolver ./resolver.mk ];
  };

  makeFlags = [ "-f" "nix/resolver.mk" "PREFIX=${placeholder "out"}" ];
  enableParallelBuilding = true;

  # no C library is linked, and nothing of the build may be named
  hardeningDisable = [ "all" ];
  dontPatchELF = true;
  allowedReferences = [ ];

  meta = {
    description = "audit module that gives a stock glibc what closure notes say";
    platforms = [ "x86_64-linux" "aarch64-linux" ];
  };
}
