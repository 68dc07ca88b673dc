# What `nix flake check` builds: the hook on a small program, an audit of it, and the module in a
# virtual machine.
{ pkgs }:

let
  # a program that a library of its own and a wide run path make search
  searching =
    attrs:
    pkgs.stdenv.mkDerivation (
      {
        name = "searching-1.0";
        dontUnpack = true;
        buildPhase = ''
          for i in 1 2 3 4; do
            mkdir -p $out/l$i
            echo "int f$i(void) { return $i; }" > f$i.c
            $CC -shared -fPIC -o $out/l$i/libf$i.so f$i.c -Wl,-soname,libf$i.so
          done
          echo 'int f1(void), f2(void), f3(void), f4(void);
            int main(void) { return f1() + f2() + f3() + f4() - 10; }' > main.c
          mkdir -p $out/bin
          $CC -o $out/bin/searching main.c -Wl,--enable-new-dtags \
            -L$out/l1 -L$out/l2 -L$out/l3 -L$out/l4 -lf4 -lf3 -lf2 -lf1 \
            -Wl,-rpath,$out/l1:$out/l2:$out/l3:$out/l4
        '';
        doInstallCheck = true;
        installCheckPhase = "$out/bin/searching";
      }
      // attrs
    );
in
{
  hook = searching { nativeBuildInputs = [ pkgs.stormlintHook ]; };
  hook-structured = searching {
    nativeBuildInputs = [ pkgs.stormlintHook ];
    __structuredAttrs = true;
  };
  audit = pkgs.mkStormAudit {
    name = "check";
    roots = [ pkgs.stormlint ];
    policy = false;
  };
  module = pkgs.testers.runNixOSTest ./vm-test.nix;
}
