/*
 * The table of dangerous libraries.
 */
#include "linter/danger.h"

#include <fnmatch.h>
#include <string.h>

#define LIST(...)                                                                                  \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

static const struct danger table[] = {
    {.id = "loader",
     .soname = LIST("ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "ld-linux-armhf.so.3",
                    "ld-linux.so.2", "ld64.so.*", "ld-linux-riscv64-lp64d.so.1", "ld-musl-*.so.1",
                    "linux-vdso.so.1", "linux-gate.so.1"),
     .absolute = DANGER_BARE,
     .farm = DANGER_BARE,
     .note = DANGER_BARE,
     .why = "kernel or PT_INTERP supplies it; a second copy under another name corrupts startup"},
    {.id = "glibc-family",
     .soname = LIST("libc.so.6", "libm.so.6", "libmvec.so.1", "libpthread.so.0", "libdl.so.2",
                    "librt.so.1", "libutil.so.1", "libresolv.so.2", "libanl.so.1",
                    "libBrokenLocale.so.1", "libthread_db.so.1"),
     .absolute = DANGER_BARE,
     .farm = DANGER_OK,
     .note = DANGER_OK,
     .why = "must come from the same glibc as PT_INTERP; foreign runtimes and initrd builders "
            "substitute it"},
    {.id = "glibc-output",
     .path = LIST("*/lib/ld-*.so.*", "*/lib/libc.so.6", "*/lib/gconv/*.so", "*/lib/audit/*.so"),
     .pname = LIST("glibc", "musl", "gcc", "xgcc", "binutils", "bootstrap-tools"),
     .absolute = DANGER_REFUSE,
     .farm = DANGER_REFUSE,
     .note = DANGER_REFUSE,
     .why = "toolchain and bootstrap: any byte change rebuilds the world; gconv modules are opened "
            "by glibc itself"},
    {.id = "libgcc-s",
     .soname = LIST("libgcc_s.so.1"),
     .absolute = DANGER_BARE,
     .farm = DANGER_OK,
     .note = DANGER_OK,
     .why = "glibc dlopens the bare name for pthread_cancel/pthread_exit/unwinding and aborts if "
            "absent; nixpkgs glibc carries the libgcc directory as an extra trusted dir"},
    {.id = "libstdcxx",
     .soname = LIST("libstdc++.so.6", "libc++.so.1", "libc++abi.so.1", "libgfortran.so.5",
                    "libgomp.so.1", "libomp.so"),
     .absolute = DANGER_WARN,
     .farm = DANGER_OK,
     .note = DANGER_OK,
     .why = "process-wide singletons (allocator hooks, typeinfo, thread pools); pin only when "
            "every object in the process resolves to the same inode"},
    {.id = "driver-link",
     .run_path =
         LIST("/run/opengl-driver/lib", "/run/opengl-driver-32/lib", "/run/opengl-driver/lib/*"),
     .absolute = DANGER_KEEP,
     .farm = DANGER_KEEP,
     .note = DANGER_HINT,
     .why = "mutable, absent at build time, must stay first; drivers live only here"},
    {.id = "glvnd",
     .soname = LIST("libGL.so.1", "libGLX.so.0", "libEGL.so.1", "libOpenGL.so.0",
                    "libGLESv1_CM.so.1", "libGLESv2.so.2", "libGLdispatch.so.0", "libGLU.so.1"),
     .absolute = DANGER_BARE,
     .farm = DANGER_OK,
     .note = DANGER_OK,
     .why = "GPU vendor switch by LD_LIBRARY_PATH (nixGL, legacy drivers, steam-run) must keep "
            "winning"},
    {.id = "glvnd-vendor",
     .soname = LIST("libGLX_*.so.0", "libEGL_*.so.0", "libnvidia-*.so.*", "libGLESv*_nvidia.so.*"),
     .absolute = DANGER_REFUSE,
     .farm = DANGER_REFUSE,
     .note = DANGER_HINT,
     .why = "vendor ICD, dlopened by dispatch code from the driver link; finding one as NEEDED is "
            "itself a defect"},
    {.id = "gbm-vulkan-cl",
     .soname = LIST("libgbm.so.1", "libvulkan.so.1", "libOpenCL.so.1", "libva.so.2",
                    "libva-drm.so.2", "libvdpau.so.1", "libdrm.so.2"),
     .absolute = DANGER_BARE,
     .farm = DANGER_OK,
     .note = DANGER_OK,
     .why = "loader libraries that pick ICDs under the driver link; MangoHud, nixGL, FHS envs "
            "override them by soname"},
    {.id = "cuda-driver",
     .soname = LIST("libcuda.so.1", "libcuda.so", "libnvidia-ml.so.1", "libnvcuvid.so.1",
                    "libnvidia-encode.so.1", "libnvidia-ptxjitcompiler.so.1", "libnvoptix.so.1",
                    "libcudadebugger.so.1"),
     .absolute = DANGER_BARE,
     .farm = DANGER_BARE,
     .note = DANGER_HINT,
     .why = "kernel-module-coupled user driver, never in the store closure at run time; usually "
            "listed in autoPatchelfIgnoreMissingDeps"},
    {.id = "cuda-stubs",
     .path = LIST("*/lib/stubs/*.so*", "*/lib64/stubs/*.so*"),
     .absolute = DANGER_REFUSE,
     .farm = DANGER_REFUSE,
     .note = DANGER_REFUSE,
     .why = "link-time stubs; resolving to one yields a program that always fails at run time; "
            "never a valid target"},
    {.id = "cuda-toolkit",
     .soname = LIST("libcudart.so.*", "libcublas.so.*", "libcublasLt.so.*", "libcudnn*.so.*",
                    "libcufft.so.*", "libcusolver.so.*", "libcusparse.so.*", "libnvrtc.so.*",
                    "libnvJitLink.so.*", "libnccl.so.2", "libcupti.so.*"),
     .absolute = DANGER_KEEP,
     .farm = DANGER_KEEP,
     .note = DANGER_OK,
     .why = "split libraries dlopen siblings by soname through the caller's RUNPATH (cuDNN, nvrtc "
            "builtins); CUDA hooks also rewrite run paths in postFixup"},
    {.id = "rocm",
     .soname = LIST("libamdhip64.so.*", "libhsa-runtime64.so.1", "librocblas.so.*",
                    "libMIOpen.so.*", "librccl.so.1"),
     .absolute = DANGER_KEEP,
     .farm = DANGER_KEEP,
     .note = DANGER_OK,
     .why = "same sibling-dlopen pattern; HIP/ROCM_PATH wrappers exist"},
    {.id = "ld-library-path-wrapper",
     .env = LIST("LD_LIBRARY_PATH"),
     .absolute = DANGER_BARE,
     .farm = DANGER_OK,
     .note = DANGER_OK,
     .why = "for every soname present in a wrapper-provided directory the override would be lost"},
    {.id = "nixgl",
     .exec = LIST("nixGL*", "nixVulkan*"),
     .absolute = DANGER_BARE,
     .farm = DANGER_OK,
     .note = DANGER_OK,
     .why = "host driver injected by LD_LIBRARY_PATH on non-NixOS; treat as glvnd+gbm-vulkan-cl"},
    {.id = "ld-preload",
     .soname = LIST("libjemalloc.so.2", "libtcmalloc*.so.4", "libmimalloc.so.*", "libfakeroot*.so",
                    "libeatmydata.so", "libMangoHud*.so", "libgamemodeauto.so.0"),
     .env = LIST("LD_PRELOAD"),
     .absolute = DANGER_WARN,
     .farm = DANGER_OK,
     .note = DANGER_OK,
     .why = "symbol interposition still works, replacing a library by soname does not"},
    {.id = "sanitizers",
     .soname =
         LIST("libasan.so.*", "liblsan.so.*", "libtsan.so.*", "libubsan.so.*", "libclang_rt.*.so"),
     .absolute = DANGER_BARE,
     .farm = DANGER_BARE,
     .note = DANGER_OK,
     .why = "must be first in initial library order; reordering NEEDED breaks the runtime's own "
            "check"},
    {.id = "foreign-interp",
     .fact = "its interpreter is outside the store",
     .absolute = DANGER_REFUSE,
     .farm = DANGER_REFUSE,
     .note = DANGER_REFUSE,
     .why = "runs under nix-ld (/lib64/ld-linux-*.so, NIX_LD, NIX_LD_LIBRARY_PATH) or an FHS env; "
            "closure cannot be known"},
    {.id = "fhs-env",
     .path = LIST("*/usr/lib/**", "*/usr/lib64/**", "*-fhsenv-rootfs/**", "*-usr-target/**"),
     .pname = LIST("steam*", "*-fhs", "appimage-run"),
     .absolute = DANGER_REFUSE,
     .farm = DANGER_REFUSE,
     .note = DANGER_REFUSE,
     .why = "bubblewrap mounts an FHS tree with its own ld.so.cache; lookups are by soname on "
            "purpose"},
    {.id = "initrd-systemd",
     .role = LIST("initrd-ng"),
     .absolute = DANGER_KEEP,
     .farm = DANGER_OK,
     .note = DANGER_OK,
     .why =
         "make-initrd-ng joins RUNPATH dirs with NEEDED; absolute entries work only while at least "
         "one run-path entry is left; an empty RUNPATH drops the library with only a warning"},
    {.id = "initrd-scripted",
     .role = LIST("initrd-extra-utils"),
     .absolute = DANGER_REFUSE,
     .farm = DANGER_REFUSE,
     .note = DANGER_WARN,
     .why = "scripted stage 1 copies libraries into one flat directory and rewrites run paths; "
            "store paths in NEEDED or farm links dangle; absolute sonames broke exactly here"},
    {.id = "setuid-wrapped",
     .role = LIST("security-wrapper"),
     .absolute = DANGER_OK,
     .farm = DANGER_OK,
     .note = DANGER_WARN,
     .why = "wrapper is static and execs a store program under AT_SECURE, so LD_LIBRARY_PATH is "
            "ignored anyway; non-store run-path entries become a security finding"},
    {.id = "nss-module",
     .soname = LIST("libnss_*.so.2"),
     .absolute = DANGER_BARE,
     .farm = DANGER_BARE,
     .note = DANGER_BARE,
     .why = "glibc dlopens by name from nsswitch; NixOS serves them through nscd/nsncd with "
            "LD_LIBRARY_PATH=system.nssModules.path, also set for dbus-broker, timesyncd, avahi"},
    {.id = "nss-module-object",
     .path = LIST("*/lib/libnss_*.so*"),
     .absolute = DANGER_WARN,
     .farm = DANGER_OK,
     .note = DANGER_OK,
     .why = "loads into daemons with a different build of the same sonames; pinning forces a "
            "second copy into the host"},
    {.id = "pam-module",
     .path = LIST("*/lib/security/pam_*.so"),
     .absolute = DANGER_WARN,
     .farm = DANGER_OK,
     .note = DANGER_OK,
     .why = "opened by absolute path into login/sudo/sshd; its dependencies should merge with the "
            "host's"},
    {.id = "gdk-pixbuf",
     .path = LIST("*/lib/gdk-pixbuf-2.0/*/loaders/*.so"),
     .absolute = DANGER_WARN,
     .farm = DANGER_OK,
     .note = DANGER_OK,
     .why = "GDK_PIXBUF_MODULE_FILE plugin without soname; two glib copies abort"},
    {.id = "gio-gtk",
     .path = LIST("*/lib/gio/modules/*.so", "*/lib/gtk-3.0/**/*.so", "*/lib/gtk-4.0/**/*.so"),
     .absolute = DANGER_WARN,
     .farm = DANGER_OK,
     .note = DANGER_OK,
     .why = "GIO_EXTRA_MODULES / GTK_PATH plugins; glib type registry is a singleton"},
    {.id = "qt-plugin",
     .path = LIST("*/lib/qt-5*/plugins/**/*.so", "*/lib/qt-6/plugins/**/*.so",
                  "*/lib/qt-*/qml/**/*.so"),
     .section = LIST(".qtmetadata"),
     .absolute = DANGER_WARN,
     .farm = DANGER_OK,
     .note = DANGER_OK,
     .why = "Qt refuses mixed builds; an absolute libQt6Core from the plugin's closure loads a "
            "second one"},
    {.id = "gstreamer",
     .path = LIST("*/lib/gstreamer-1.0/libgst*.so"),
     .absolute = DANGER_WARN,
     .farm = DANGER_OK,
     .note = DANGER_OK,
     .why = "GST_PLUGIN_SYSTEM_PATH_1_0 plugins; scanner process also opens them; glib singleton"},
    {.id = "audio",
     .soname = LIST("libjack.so.0", "libpulse.so.0", "libpulse-simple.so.0", "libasound.so.2",
                    "libpipewire-0.3.so.0"),
     .path = LIST("*/lib/spa-0.2/**/*.so", "*/lib/pipewire-0.3/*.so", "*/lib/alsa-lib/*.so"),
     .absolute = DANGER_BARE,
     .farm = DANGER_OK,
     .note = DANGER_OK,
     .why = "pw-jack and pulse shims replace libjack/libpulse through LD_LIBRARY_PATH; plugin dirs "
            "come from SPA_PLUGIN_DIR, PIPEWIRE_MODULE_DIR, ALSA_PLUGIN_DIR"},
    {.id = "python-ext",
     .path = LIST("*/lib/python3.*/site-packages/**/*.so", "*/lib/python3.*/lib-dynload/*.so"),
     .absolute = DANGER_WARN,
     .farm = DANGER_OK,
     .note = DANGER_OK,
     .why = "opened by path, no soname; many modules in one process must agree on BLAS, libstdc++, "
            "OpenMP, libpython"},
    {.id = "blas-lapack",
     .soname = LIST("libblas.so.3", "libcblas.so.3", "liblapack.so.3", "liblapacke.so.3"),
     .absolute = DANGER_BARE,
     .farm = DANGER_OK,
     .note = DANGER_OK,
     .why = "nixpkgs documents switching the provider by LD_LIBRARY_PATH; audit-blas hook guards "
            "the short names"},
    {.id = "interp-ext",
     .path = LIST("*/lib/perl5/**/auto/**/*.so", "*/lib/ruby/**/*.so",
                  "*/lib/node_modules/**/*.node", "*/library/*/libs/*.so", "*/lib/lua/*/**/*.so",
                  "*/lib/php/**/*.so", "*/lib/ocaml/**/dll*.so", "*/lib/erlang/**/priv/**/*.so"),
     .absolute = DANGER_WARN,
     .farm = DANGER_OK,
     .note = DANGER_OK,
     .why = "same as python-ext; perl XS also needs the CORE dir in RUNPATH for libperl.so"},
    {.id = "jni",
     .soname = LIST("libjvm.so", "libjli.so", "libjava.so", "libjawt.so"),
     .symbol = LIST("JNI_OnLoad"),
     .absolute = DANGER_BARE,
     .farm = DANGER_BARE,
     .note = DANGER_HINT,
     .why = "JDK resolves siblings by $ORIGIN (lib, lib/server); System.loadLibrary uses "
            "java.library.path; jars unpack natives to /tmp, invisible to a scan"},
    {.id = "icu",
     .soname = LIST("libicudata.so.*", "libicuuc.so.*", "libicui18n.so.*"),
     .absolute = DANGER_KEEP,
     .farm = DANGER_KEEP,
     .note = DANGER_OK,
     .why = "version in soname; .NET and others probe dlopen names by number through "
            "RUNPATH/LD_LIBRARY_PATH"},
    {.id = "tls-dlopen",
     .soname = LIST("libssl.so.*", "libcrypto.so.*", "libkrb5.so.3", "libgssapi_krb5.so.2"),
     .absolute = DANGER_KEEP,
     .farm = DANGER_KEEP,
     .note = DANGER_OK,
     .why = ".NET, Python vendored wheels and curl-like tools dlopen them as well; "
            "engines/providers are path based"},
    {.id = "desktop-dlopen",
     .soname =
         LIST("libudev.so.1", "libsystemd.so.0", "libdbus-1.so.3", "libX11.so.6",
              "libwayland-client.so.0", "libxkbcommon.so.0", "libdecor-0.so.0", "libpci.so.3"),
     .absolute = DANGER_KEEP,
     .farm = DANGER_KEEP,
     .note = DANGER_OK,
     .why =
         "SDL, GLFW, Chromium and Electron dlopen these; the dirs exist in RUNPATH only for that"},
    {.id = "dlopen-note",
     .fact = "it has a dlopen note",
     .absolute = DANGER_KEEP,
     .farm = DANGER_KEEP,
     .note = DANGER_KEEP,
     .why = "declared weak dependencies: the satisfying run-path dirs must survive, auto-patchelf "
            "treats them as required"},
    {.id = "origin",
     .run_path = LIST("$ORIGIN*", "${ORIGIN}*"),
     .absolute = DANGER_WARN,
     .farm = DANGER_KEEP,
     .note = DANGER_HINT,
     .why = "depends on the path the object is opened by; relocatable bundles (Electron, JDK, "
            "portable CUDA) rely on it"},
    {.id = "hwcaps",
     .fact = "the directory of a library has builds for some CPUs (glibc-hwcaps)",
     .absolute = DANGER_WARN,
     .farm = DANGER_MIRROR,
     .note = DANGER_HINT,
     .why = "an exact path freezes the baseline build and loses the CPU-tuned variant"},
    {.id = "rpath-tag",
     .fact = "it has DT_RPATH",
     .absolute = DANGER_REFUSE,
     .farm = DANGER_REFUSE,
     .note = DANGER_REFUSE,
     .why = "it beats LD_LIBRARY_PATH and is inherited; an edited run path is DT_RUNPATH, which is "
            "neither (a plugin found by the program's DT_RPATH is not found any more)"},
    {.id = "mutable-runpath",
     .fact = "its run path names a directory outside the store",
     .absolute = DANGER_WARN,
     .farm = DANGER_KEEP,
     .note = DANGER_WARN,
     .why = "a directory that may be filled later must still win; patchelf 0.19.1 emits no hint "
            "for one that exists at build time, so the reader has to decline the note"},
    {.id = "empty-runpath-entry",
     .run_path = LIST("", "./*", "../*"),
     .absolute = DANGER_REFUSE,
     .farm = DANGER_REFUSE,
     .note = DANGER_HINT,
     .why = "means current directory; fix the defect first"},
    {.id = "stripped-by-hook",
     .attribute = LIST("dontPatchELF", "dontAutoPatchelf", "dontStrip"),
     .absolute = DANGER_REFUSE,
     .farm = DANGER_WARN,
     .note = DANGER_WARN,
     .why = "author asked to keep ELF editors away; decide by reason (self-check vs. run-path "
            "preservation)"},
    {.id = "self-verifying",
     .fact = "bytes follow the ELF (more than 4096), or a known packer left its mark",
     .absolute = DANGER_REFUSE,
     .farm = DANGER_REFUSE,
     .note = DANGER_REFUSE,
     .why = "payload after the last segment or checksum of the file (AppImage, bun/deno/pkg "
            "bundles, Firefox relrhack, miners); use none or a wrapper"},
    {.id = "static-pie",
     .fact = "it needs nothing",
     .absolute = DANGER_NA,
     .farm = DANGER_NA,
     .note = DANGER_NA,
     .why =
         "nothing to resolve; some patchelf versions damage static-pie when a run path is added"},
    {.id = "not-loadable",
     .path = LIST("*.ko", "*/lib/debug/.build-id/*"),
     .fact = "it is no executable and no shared object",
     .absolute = DANGER_NA,
     .farm = DANGER_NA,
     .note = DANGER_NA,
     .why = "objects, kernel modules, separate debug files"},
    {.id = "foreign-arch",
     .fact = "it is for another machine than the closure",
     .absolute = DANGER_REFUSE,
     .farm = DANGER_REFUSE,
     .note = DANGER_REFUSE,
     .why = "firmware, Wine/i686 helpers, Android prebuilts; resolve only inside the same "
            "class+machine+endianness"},
    {.id = "musl",
     .interp = LIST("*/ld-musl-*"),
     .absolute = DANGER_REFUSE,
     .farm = DANGER_OK,
     .note = DANGER_NA,
     .why = "no hwcaps, RUNPATH inherited like RPATH, no reader for the note; farms help, gains "
            "differ"},
    {.id = "ghc-libs",
     .soname = LIST("libHS*-ghc*.so"),
     .absolute = DANGER_WARN,
     .farm = DANGER_OK,
     .note = DANGER_OK,
     .why = "hundreds of entries, biggest storms, but GHC bootstrap binaries were corrupted by a "
            "second patchelf pass"},
    {.id = "locale-data",
     .env = LIST("LOCALE_ARCHIVE", "LOCALE_ARCHIVE_2_27", "GCONV_PATH", "TZDIR"),
     .absolute = DANGER_NA,
     .farm = DANGER_NA,
     .note = DANGER_NA,
     .why = "data only; report next to the package but no edge to plan"},
    {.id = "dlmopen-audit",
     .symbol = LIST("dlmopen", "la_version"),
     .env = LIST("LD_AUDIT"),
     .absolute = DANGER_WARN,
     .farm = DANGER_WARN,
     .note = DANGER_WARN,
     .why = "several link namespaces: soname merging assumptions do not hold"},
    {.id = NULL},
};

const struct danger *dangers(void)
{
    return table;
}

static const char *const *column(const struct danger *row, enum danger_key key)
{
    switch (key) {
    case DANGER_BY_SONAME:
        return row->soname;
    case DANGER_BY_PATH:
        return row->path;
    case DANGER_BY_PNAME:
        return row->pname;
    case DANGER_BY_RUN_PATH:
        return row->run_path;
    case DANGER_BY_SYMBOL:
        return row->symbol;
    case DANGER_BY_ENV:
        return row->env;
    case DANGER_BY_INTERP:
        return row->interp;
    default:
        return NULL;
    }
}

static bool matches(const struct danger *row, enum danger_key key, const char *value)
{
    const char *const *glob = column(row, key);

    for (; glob && *glob; glob++)
        if (!fnmatch(*glob, value, FNM_NOESCAPE))
            return true;
    return false;
}

const struct danger *danger_next(enum danger_key key, const char *value, const struct danger *after)
{
    const struct danger *row = after ? after + 1 : table;

    for (; row->id; row++)
        if (matches(row, key, value))
            return row;
    return NULL;
}

bool danger_is(const char *id, enum danger_key key, const char *value)
{
    const struct danger *row;

    for_each (row, table)
        if (row->id && !strcmp(row->id, id))
            return matches(row, key, value);
    return false;
}

const char *danger_verdict_name(enum danger_verdict verdict)
{
    static const char *const names[] = {"na",   "ok",   "keep", "mirror",
                                        "hint", "warn", "bare", "refuse"};

    return names[verdict];
}
