# The setup hook that takes the stat storm out of what a package builds (docs/for-hooks.md):
#
#   nativeBuildInputs = [ stormlintHook ];
{ makeSetupHook, stormlint }:

makeSetupHook {
  name = "stormlint-hook";
  # runs at build time, on the building machine: edits files, runs none of them
  propagatedBuildInputs = [ stormlint ];
  meta = {
    description = "Makes programs find their libraries without searching for them";
    inherit (stormlint.meta) license platforms;
  };
} ./stormlint-hook.sh
