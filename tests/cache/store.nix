# A small store with one of each thing that a package can be. `mktree`: the program that writes trees.
{ mktree }:
let
  package = name: tree: derivation {
    inherit name tree;
    system = builtins.currentSystem;
    builder = "/bin/sh";
    args = [ "-ec" "printf %s \"$tree\" > tree; ${mktree} tree $out" ];
  };
  of = name: command: derivation {
    inherit name;
    system = builtins.currentSystem;
    builder = "/bin/sh";
    args = [ "-ec" "PATH=/usr/local/bin:/usr/bin:/bin; ${command}" ];
  };

  glibc = package "glibc-2.38" ''
    library /lib/ld-linux-x86-64.so.2 soname=ld-linux-x86-64.so.2 string=glibc-ld.so.cache1.1 string=2.38 string=/etc/ld-nix.so.preload
    library /lib/libc.so.6 soname=libc.so.6 needed=ld-linux-x86-64.so.2
    text /etc/rpc rpc\x0a
  '';
  # directories that only run paths of others name, short files, long ones, a mode nobody expects
  plugins = package "plugins-1.2" ''
    text /share/only/named/list one\x0a
    text /share/only/readme ${builtins.concatStringsSep "" (builtins.genList (_: "long") 40)}
    text /share/doc/README nothing
    library /lib/private/libp.so.1 soname=libp.so.1 needed=libc.so.6 runpath=${glibc}/lib
    link /lib/private/libp.so libp.so.1
    library /lib/glibc-hwcaps/x86-64-v3/libq.so soname=libq.so
    library /lib/libq.so soname=libq.so version=V1 stack=exec
    dir /share/empty
    dir /lib64
  '';
  # no program and no library: its listing is enough
  data = of "data-3" ''
    mkdir -p $out/share/icons/deep $out/lib $out/include
    echo '<svg/>' > $out/share/icons/a.svg
    head -c 70000 /dev/zero > $out/share/icons/deep/b.png
    echo text > $out/LICENSE
    echo 'int x;' > $out/include/x.h
    : > $out/include/empty.h
    ln -s ${plugins}/lib/libq.so $out/lib/libq.so
  '';
  # what is not whole is a fact, wherever it is read
  odd = of "odd-0.1" ''
    mkdir -p $out/lib $out/bin
    printf '\177ELF\002\001\001broken' > $out/lib/broken.so
    printf '\177ELF' > $out/lib/tiny
    printf '\317\372\355\376%060d' 0 > $out/lib/libmac.dylib
    printf '\312\376\272\276\000\000\000\064' > $out/lib/Java.class
    printf '#!/bin/sh\nexec true\n' > $out/bin/script
    chmod +x $out/bin/script
    head -c 20000000 /dev/zero | tr '\0' 'x' > $out/lib/not.elf
    printf 'a' > "$out/lib/a name with blanks"
    ln -s nowhere $out/lib/dangling.so
    ln -s ../lib $out/bin/up
  '';
  # an ELF file that does not fit into memory while it is read
  large = of "large-1" ''
    mkdir -p $out/lib
    cp ${glibc}/lib/libc.so.6 $out/lib/liblarge.so.1
    chmod 644 $out/lib/liblarge.so.1
    head -c 30000000 /dev/zero >> $out/lib/liblarge.so.1
  '';
  # compiled Scheme and a boot loader's modules: ELF, under names that sources have elsewhere
  compiled = of "compiled-3" ''
    mkdir -p $out/lib/ccache $out/lib/grub
    cp ${glibc}/lib/libc.so.6 $out/lib/ccache/web.go
    cp ${glibc}/lib/libc.so.6 $out/lib/grub/normal.mod
    chmod 644 $out/lib/*/*
  '';
  single = of "single.so" "cp ${glibc}/lib/libc.so.6 $out";
  link = of "link-1" "ln -s ${plugins}/lib $out";
  text = of "text-1" "echo hello > $out";
in
package "app-1.0" ''
  program /bin/app interp=${glibc}/lib/ld-linux-x86-64.so.2 needed=libq.so needed=libp.so.1 needed=libc.so.6 runpath=${plugins}/lib:${plugins}/lib/private:${plugins}/share/only/named:${plugins}/share/nowhere:$ORIGIN/../share/near:${glibc}/lib import=dlopen string=libq.so.7
  text /share/near/x y
  link /bin/alias app
  link /lib/data.so ${data}/lib/libq.so
  text /share/uses/all ${odd}\x0a${large}\x0a${compiled}\x0a${single}\x0a${link}\x0a${text}
''
