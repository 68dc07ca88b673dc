# stormlint, as nixpkgs builds things: callPackage ./nix/package.nix { }
{
  lib,
  stdenv,
  pkg-config,
  brotli,
  curl,
  elfutils,
  jansson,
  libmicrohttpd,
  libsodium,
  sqlite,
  uthash,
  xz,
  zlib,
  zstd,
  # node_modules of web/package-lock.json; without them the service has the plain table only
  dashboard ? null,
}:

let
  makefile = builtins.readFile ../Makefile;
  version = builtins.head (builtins.match ".*\nVERSION := ([0-9.]+)\n.*" makefile);
in
stdenv.mkDerivation {
  pname = "stormlint";
  inherit version;

  # what programs are made of: neither tests nor most of the documentation change a build
  src = lib.fileset.toSource {
    root = ../.;
    fileset = lib.fileset.unions [
      ../Makefile
      ../LICENSE
      ../main.c
      ../main_apply.c
      ../no_db.c
      ../no_net.c
      ../schema.sql
      ../audit
      ../base
      ../check
      ../cli
      ../docs
      ../linter
      ../loader
      ../planner
      ../resolver
      ../scanner
      ../server
      ../tools
      ../web
      ./stormlint-hook.sh
    ];
  };

  strictDeps = true;
  __structuredAttrs = true;
  enableParallelBuilding = true;

  nativeBuildInputs = [ pkg-config ];
  buildInputs = [
    brotli
    curl
    elfutils
    jansson
    libmicrohttpd
    libsodium
    sqlite
    uthash
    xz
    zlib
    zstd
  ];

  postPatch = ''
    patchShebangs tools
  '';
  preBuild = lib.optionalString (dashboard != null) ''
    mkdir -p build/npm-web
    ln -s ${dashboard} build/npm-web/node_modules
    touch build/npm-web/.stamp
  '';

  # CC, AR and PKG_CONFIG come from the environment, with the prefix of the machine that is built for
  makeFlags = [ "PREFIX=${placeholder "out"}" ] ++ lib.optional (dashboard == null) "WEB=";

  meta = {
    description = "Predicts, plans away and lints the failed calls of dynamic loading in a store";
    longDescription = ''
      On Nix, Guix and Spack a program's libraries are spread over dozens of run path directories,
      which the dynamic loader tries in vain at every start. stormlint reads the ELF files of a store
      and predicts those calls, finds the worst, and plans a remedy that loads the same libraries.
    '';
    license = lib.licenses.mit;
    mainProgram = "stormlint";
    platforms = lib.platforms.linux;
  };
}
