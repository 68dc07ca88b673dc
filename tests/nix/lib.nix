# What nix/*.nix take from nixpkgs' lib, in so many words: the tests' own, written for them. Values of
# options are checked against their types, so that a wrong one does not evaluate.
let
  inherit (builtins) attrNames concatLists elemAt filter hasAttr head isAttrs isBool isInt isList
    isPath isString length listToAttrs mapAttrs match replaceStrings split stringLength substring
    toJSON;

  lib = rec {
    inherit concatLists isAttrs replaceStrings;
    inherit (builtins) concatStringsSep;
    concatMapStringsSep = sep: f: list: concatStringsSep sep (map f list);
    optional = condition: value: if condition then [ value ] else [ ];
    optionals = condition: value: if condition then value else [ ];
    optionalString = condition: value: if condition then value else "";
    optionalAttrs = condition: value: if condition then value else { };
    toList = value: if isList value then value else [ value ];
    last = list: elemAt list (length list - 1);
    hasPrefix = prefix: text: substring 0 (stringLength prefix) text == prefix;
    removePrefix = prefix: text:
      if hasPrefix prefix text then substring (stringLength prefix) (stringLength text) text else text;
    splitString = sep: text: filter isString (split sep text);
    toInt = text: if match "[0-9]+" text == null then throw "'${text}' is no number" else builtins.fromJSON text;
    nameValuePair = name: value: { inherit name value; };
    mapAttrsToList = f: set: map (name: f name set.${name}) (attrNames set);
    mapAttrs' = f: set: listToAttrs (mapAttrsToList f set);
    genAttrs = names: f: listToAttrs (map (name: nameValuePair name (f name)) names);
    isDerivation = value: value.type or null == "derivation";
    getExe = package: "${package}/bin/${package.meta.mainProgram}";
    getExe' = package: name: "${package}/bin/${name}";
    strings.sanitizeDerivationName = text: replaceStrings [ ":" " " "/" "~" ] [ "-" "-" "-" "-" ] text;
    licenses.mit = { spdxId = "MIT"; };
    platforms.linux = [ "x86_64-linux" "aarch64-linux" ];

    # sources: a copy of the named files, and of nothing else
    fileset = {
      unions = list: list;
      toSource = { root, fileset }:
        let
          wanted = map toString fileset;
          within = path: builtins.any (w: path == w || hasPrefix "${w}/" path || hasPrefix "${path}/" w) wanted;
        in
        builtins.path { path = root; name = "source"; filter = path: _type: within path; };
    };

    ## modules

    mkOption = args: args // { _type = "option"; };
    mkEnableOption = what: mkOption { type = types.bool; default = false; description = "Whether to enable ${what}."; };
    mkPackageOption = pkgs: name: _: mkOption { type = types.package; default = pkgs.${name}; };
    mkIf = condition: content: { _type = "if"; inherit condition content; };
    mkDefault = content: { _type = "default"; inherit content; };

    types =
      let
        simple = name: check: { inherit name check; nested = value: value; };
      in
      rec {
        bool = simple "bool" isBool;
        int = simple "int" isInt;
        str = simple "str" isString;
        path = simple "path" (v: isPath v || isDerivation v || (isString v && hasPrefix "/" v));
        package = simple "package" isDerivation;
        anything = simple "anything" (_: true);
        nullOr = t: simple "null or ${t.name}" (v: v == null || t.check v);
        either = a: b: simple "${a.name} or ${b.name}" (v: a.check v || b.check v);
        oneOf = list: simple "one of several" (v: builtins.any (t: t.check v) list);
        listOf = t: simple "list of ${t.name}" (v: isList v && builtins.all t.check v);
        attrsOf = t: {
          name = "attributes of ${t.name}";
          check = v: isAttrs v && builtins.all (name: t.check v.${name}) (attrNames v);
          nested = mapAttrs (_: t.nested);
        };
        submodule = module: {
          name = "submodule";
          check = isAttrs;
          nested = fill (module.options or { }) (module.freeformType or null);
        };
      };

    # Options with their values: those given, else the defaults; types are checked.
    fill = options: freeform: given:
      let
        unknown = filter (name: !hasAttr name options) (attrNames given);
        value = name: option:
          if !(option ? _type) then fill option null (given.${name} or { })
          else if hasAttr name given then
            if option.type.check given.${name} then option.type.nested given.${name}
            else throw "option ${name}: ${toJSON given.${name}} is no ${option.type.name}"
          else if option ? default then option.type.nested option.default
          else throw "option ${name} is used but not defined";
      in
      if unknown != [ ] && freeform == null then throw "no such option: ${head unknown}"
      else if !(builtins.all (name: freeform.check { ${name} = given.${name}; }) unknown) then
        throw "${toJSON unknown}: no ${freeform.name}"
      else given // mapAttrs value options;

    # A module alone: `given` below services.NAME, and what comes of it.
    evalModule = file: { name, given, pkgs }:
      let
        module = import file { inherit lib pkgs; config = { services.${name} = values; }; };
        values = fill module.options.services.${name} null given;
        config = module.config;
      in
      if config._type or null != "if" then config
      else if config.condition then config.content else { };
  };
in
lib
