# Packages to build with and without the hook. `stormlint`: the stormlint-apply to use, a path.
{ stormlint, plan ? "", policy ? "" }:
let
  tools = "/usr/local/bin:/usr/bin:/bin";
  hook = ../../nix/stormlint-hook.sh;

  # A derivation over our own stdenv; attributes as mkDerivation takes them.
  make = { name, build, ... }@args:
    derivation ({
      system = builtins.currentSystem;
      builder = "/bin/bash";
      args = [ ./stdenv.sh ];
      inherit tools;
      outputs = [ "out" ];
      nativeBuildInputs = [ ];
      buildInputs = [ ];
    } // args);

  # The machine's C library and its loader, in a package of their own.
  glibc = make {
    name = "glibc-2.36";
    dontPatchELF = true;
    build = ''
      mkdir -p $out/lib
      cp $(realpath /lib64/ld-linux-x86-64.so.2) $out/lib/ld-linux-x86-64.so.2
      for lib in libc.so.6 libm.so.6; do cp $(gcc -print-file-name=$lib) $out/lib/; done
    '';
  };

  link = "-Wl,--dynamic-linker,${glibc}/lib/ld-linux-x86-64.so.2 -Wl,-rpath,${glibc}/lib -Wl,--enable-new-dtags -Wl,--no-as-needed";

  # l0 needs l1 needs ... l7; each says its name through the one before.
  numbers = [ 0 1 2 3 4 5 6 7 ];
  library = n: make {
    name = "l${toString n}-1.0";
    nativeBuildInputs = [ hook ];
    stormlintApply = stormlint;
    build =
      let
        next = if n == 7 then null else builtins.elemAt libraries (n + 1);
        i = toString n;
        j = toString (n + 1);
      in
      ''
        mkdir -p $out/lib $out/bin
        printf '%s\n' '${if next == null then "int f${i}(void) { return ${i}; }"
          else "int f${j}(void); int f${i}(void) { return ${i} + f${j}(); }"}' > f.c
        gcc ${link} -shared -fPIC -o $out/lib/libf${i}.so f.c -Wl,-soname,libf${i}.so ${
          if next == null then "" else "-L${next}/lib -lf${j} -Wl,-rpath,${next}/lib"}
      '' + (if n != 0 then "rmdir $out/bin" else ''
        # a program in a package of libraries: hooked, too
        echo 'int f0(void); int main(void) { return f0(); }' > m.c
        gcc ${link} -o $out/bin/l0-tool m.c -L$out/lib -lf0 -Wl,-rpath-link,$out/lib ${paths} -Wl,-rpath,$out/lib
      '');
  };
  libraries = map library numbers;
  rest = builtins.tail libraries;
  l0 = builtins.head libraries;
  paths = builtins.concatStringsSep " " (map (l: "-Wl,-rpath,${l}/lib") rest);

  source = ''
    cat > main.c <<'C'
    #include <stdio.h>
    int f0(void);
    int main(void) { printf("%d\n", f0()); return 0; }
    C
  '';
  compile = to: ''
    mkdir -p ${to}/bin
    gcc ${link} -o ${to}/bin/app main.c -L${l0}/lib -lf0 -Wl,-rpath-link,${l0}/lib -Wl,-rpath,${l0}/lib ${paths}
  '';

  app = args: make ({
    name = "app-1.0";
    nativeBuildInputs = [ hook ];
    stormlintApply = stormlint;
    build = source + compile "$out";
    # shrinking leaves only what the program needs itself; the storm is in what it leaves
    dontPatchELF = false;
  } // args);

  # Another hook that wants to be last, and edits what it finds.
  late = builtins.toFile "late-hook.sh" ''
    _lateRegister() { postFixupHooks+=(_late); }
    _late() { patchelf --set-rpath "$(patchelf --print-rpath $out/bin/app):/late" $out/bin/app; }
    preFixupHooks+=(_lateRegister)
  '';
  autoPatchelf = builtins.toFile "auto-patchelf-hook.sh" ''
    autoPatchelfPostFixup() { :; }
    postFixupHooks+=(autoPatchelfPostFixup)
  '';
  twoOutputs = {
    outputs = [ "out" "bin" "lib" ];
    build = source + compile "$bin" + ''
      mkdir -p $lib/lib $out/share
      echo hello > $out/share/readme
      echo 'int own(void) { return 1; }' > own.c
      gcc -shared -fPIC -o $lib/lib/libown.so own.c -Wl,-soname,libown.so
      gcc ${link} -o $bin/bin/app main.c -L$lib/lib -lown -Wl,-rpath,$lib/lib -L${l0}/lib -lf0 -Wl,-rpath-link,${l0}/lib -Wl,-rpath,${l0}/lib ${paths}
    '';
  };
  # A plugin that the program dlopens; nothing needs it.
  withPlugin = {
    build = ''
      cat > main.c <<'C'
      #include <dlfcn.h>
      #include <stdio.h>
      int main(void)
      {
          void *plugin = dlopen(PLUGIN, RTLD_NOW);
          int (*f0)(void) = (int (*)(void))dlsym(plugin, "f0");
          printf("%d\n", f0());
          return 0;
      }
      C
      mkdir -p $out/bin $out/lib/plugins
      gcc -DPLUGIN="\"$out/lib/plugins/plug.so\"" ${link} -o $out/bin/app main.c
      echo 'int plug(void) { return 1; }' > plug.c
      gcc ${link} -shared -fPIC -o $out/lib/plugins/plug.so plug.c -L${l0}/lib -lf0 -Wl,-rpath-link,${l0}/lib -Wl,-rpath,${l0}/lib ${paths}
    '';
  };
  # It needs one library more than the plan knows.
  stale = mode: app {
    stormlintPlan = plan;
    stormlintStale = mode;
    build = source + ''
      mkdir -p $out/bin
      gcc ${link} -o $out/bin/app main.c -L${l0}/lib -lf0 -lm -Wl,-rpath-link,${l0}/lib -Wl,-rpath,${l0}/lib ${paths}
    '';
  };
in
{
  plain = app { nativeBuildInputs = [ ]; };
  hooked = app { };
  structured = app { __structuredAttrs = true; };
  outputs = app twoOutputs;
  outputsStructured = app (twoOutputs // { __structuredAttrs = true; });
  plugin = app withPlugin;
  lateBefore = app { nativeBuildInputs = [ late hook ]; };
  lateAfter = app { nativeBuildInputs = [ hook late ]; };
  twice = app { nativeBuildInputs = [ hook hook ]; again = true; };
  wrongPlace = app { nativeBuildInputs = [ ]; buildInputs = [ hook ]; };
  off = app { dontStormlint = true; };
  noPatch = app { dontPatchELF = true; };
  noPatchAuto = app { dontPatchELF = true; nativeBuildInputs = [ autoPatchelf hook ]; };
  autoOff = app { dontPatchELF = true; dontAutoPatchelf = true; nativeBuildInputs = [ autoPatchelf hook ]; };
  budgetFine = app { stormlintBudget = 1000; };
  budgetOver = app { stormlintBudget = 3; };
  budgetStructured = app { stormlintBudget = 3; __structuredAttrs = true; };
  keep = app { stormlintKeepPlan = true; };
  policy = app { stormlintPolicy = policy; };
  policyStructured = app {
    stormlintPolicy = { schema = "stormlint-policy/1"; name = "none"; min_saving = 100000; };
    __structuredAttrs = true;
  };
  planned = app { stormlintPlan = plan; stormlintStale = "fail"; };
  plannedStructured = app {
    stormlintPlan = builtins.fromJSON (builtins.readFile (/. + plan));
    stormlintStale = "fail";
    __structuredAttrs = true;
  };
  staleDefault = stale "";
  staleReplan = stale "replan";
  staleSkip = stale "skip";
  staleFail = stale "fail";
  # Without structured attributes Nix itself fails the build when these are not kept
  disallowed = app { disallowedReferences = [ (builtins.elemAt libraries 7) ]; };
  allowed = app { allowedReferences = [ "out" l0 glibc ] ++ [ (builtins.elemAt libraries 1) ]; };
  outputChecks = app {
    __structuredAttrs = true;
    outputChecks.out.disallowedReferences = [ (builtins.elemAt libraries 7) ];
  };
  # For another machine (by its headers): it cannot be run here, and is not
  cross = make {
    name = "cross-1.0";
    nativeBuildInputs = [ hook ];
    stormlintApply = stormlint;
    dontPatchELF = false;
    build = source + ''
      lib() { echo $out/l$1/lib; }
      mkdir -p $out/bin $out/g/lib
      cp $(realpath /lib64/ld-linux-x86-64.so.2) $out/g/lib/ld-linux-aarch64.so.1
      cp $(gcc -print-file-name=libc.so.6) $out/g/lib/
      flags="-Wl,--dynamic-linker,$out/g/lib/ld-linux-aarch64.so.1 -Wl,-rpath,$out/g/lib -Wl,--enable-new-dtags"
      for i in 7 6 5 4 3 2 1 0; do
        mkdir -p $(lib $i)
        j=$((i + 1)) next=
        if [[ $i == 7 ]]; then echo 'int f7(void) { return 7; }' > f.c
        else
          echo "int f$j(void); int f$i(void) { return f$j(); }" > f.c
          next="-L$(lib $j) -lf$j -Wl,-rpath,$(lib $j)"
        fi
        gcc -shared -fPIC -o $(lib $i)/libf$i.so f.c -Wl,-soname,libf$i.so $next $flags
      done
      gcc -o $out/bin/app main.c -L$(lib 0) -lf0 -Wl,-rpath-link,$(lib 0) -Wl,-rpath,$(lib 0) $flags
      for file in $(find $out -type f); do
        chmod u+w $file
        printf '\267\000' | dd of=$file bs=1 seek=18 conv=notrunc status=none
      done
    '';
  };
  inherit app glibc l0 rest;
  appBuild = source + compile "$out";
}
