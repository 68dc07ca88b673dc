# services.stormlint: the service, scans of stores and audits of closures by the clock
# (docs/for-hydra.md). The unit is tools/stormlint.service in this language.
{
  config,
  lib,
  pkgs,
  ...
}:

let
  cfg = config.services.stormlint;
  inherit (lib) mkOption types;

  state = "/var/lib/stormlint";
  index = "${state}/index.db";
  program = lib.getExe cfg.package;

  isUnix = lib.hasPrefix "unix:" cfg.listen;
  port = lib.last (lib.splitString ":" cfg.listen);
  # where the machine itself reaches it
  url = if isUnix then cfg.listen else "http://127.0.0.1:${port}";
  isLocal = isUnix || lib.hasPrefix "127." cfg.listen || lib.hasPrefix "[::1]" cfg.listen;

  policyFile =
    if cfg.policy == null then
      null
    else if builtins.isAttrs cfg.policy && !lib.isDerivation cfg.policy then
      pkgs.writeText "stormlint-policy.json" (builtins.toJSON cfg.policy)
    else
      cfg.policy;

  settings =
    cfg.settings
    // lib.optionalAttrs (policyFile != null) { policy = "${policyFile}"; }
    // lib.optionalAttrs (cfg.packagesJson != null) { meta = "${cfg.packagesJson}"; }
    // lib.optionalAttrs (cfg.tokenFile != null) { token-file = "%d/token"; };
  flag =
    name: value:
    if value == true then
      [ "--${name}" ]
    else if value == false || value == null then
      [ ]
    else
      [ "--${name}=${toString value}" ];
  flags = lib.concatLists (lib.mapAttrsToList flag settings);

  # systemd expands $ and % in what it runs; only %d of ours is meant
  command =
    words:
    lib.concatMapStringsSep " " (
      word:
      if word == "--token-file=%d/token" then
        word
      else
        ''"${lib.replaceStrings [ "\\" "\"" "$" "%" ] [ "\\\\" "\\\"" "$$" "%%" ] word}"''
    ) words;

  # nothing that it does not need; services that talk add what they talk through
  cage = {
    User = "stormlint";
    DynamicUser = true;
    StateDirectory = "stormlint";
    StateDirectoryMode = "0750";
    UMask = "0077";
    ProtectSystem = "strict";
    ProtectHome = true;
    PrivateTmp = true;
    PrivateDevices = true;
    PrivateUsers = true;
    PrivateNetwork = true;
    PrivateIPC = true;
    IPAddressDeny = "any";
    IPAddressAllow = "localhost";
    ProtectKernelTunables = true;
    ProtectKernelModules = true;
    ProtectKernelLogs = true;
    ProtectControlGroups = true;
    ProtectClock = true;
    ProtectHostname = true;
    ProtectProc = "invisible";
    ProcSubset = "pid";
    RestrictAddressFamilies = [ "AF_UNIX" ];
    RestrictNamespaces = true;
    RestrictRealtime = true;
    RestrictSUIDSGID = true;
    RemoveIPC = true;
    LockPersonality = true;
    MemoryDenyWriteExecute = true;
    NoNewPrivileges = true;
    CapabilityBoundingSet = "";
    AmbientCapabilities = "";
    SystemCallArchitectures = "native";
    SystemCallFilter = [
      "@system-service"
      "~@privileged @resources"
      "setpriority setrlimit prlimit64"
    ];
    SystemCallErrorNumber = "EPERM";
  };
  token = lib.optionalAttrs (cfg.tokenFile != null) { LoadCredential = "token:${cfg.tokenFile}"; };

  # A store is scanned whole, anything else with what it refers to.
  isStore = path: builtins.elem path [ "/nix/store" "/gnu/store" ];
  scan =
    path:
    command (
      [ program "scan" "--db" index ]
      ++ lib.optionals (cfg.packagesJson != null) [ "--meta" "${cfg.packagesJson}" ]
      ++ (if isStore path then [ "--store" path ] else [ path ])
    );

  audit = name: value: {
    description = "stormlint: audit of ${name}";
    requires = [ "stormlint.socket" ];
    after = [ "stormlint.socket" ];
    serviceConfig = cage // token // {
      Type = "oneshot";
      PrivateNetwork = false; # it talks to the service
      RestrictAddressFamilies = [ "AF_UNIX" "AF_INET" "AF_INET6" ];
      ExecStart = command (
        [ program "hydra" "--service" url ]
        ++ [ "--token-file=%d/token" ]
        ++ [ name ]
        ++ map toString value.paths
      );
    };
  };

  timer = schedule: {
    wantedBy = [ "timers.target" ];
    timerConfig = {
      OnCalendar = schedule;
      Persistent = true;
      RandomizedDelaySec = "5min";
    };
  };
in
{
  options.services.stormlint = {
    enable = lib.mkEnableOption "stormlint, which tells what the dynamic loader tries in vain";

    package = lib.mkPackageOption pkgs "stormlint" { };

    listen = mkOption {
      type = types.str;
      default = "127.0.0.1:8417";
      example = "unix:/run/stormlint/http.sock";
      description = ''
        Where the service is reached: `ADDRESS:PORT` or `unix:PATH`. The socket is systemd's; the
        service itself has no network. Other addresses than loopback need
        {option}`services.stormlint.tokenFile` or `settings.public-read-only = true`.
      '';
    };

    stores = mkOption {
      type = types.listOf types.str;
      default = [ "/run/current-system" ];
      example = [ "/nix/store" ];
      description = ''
        What is indexed: whole stores, or paths, whose closures are.
      '';
    };

    scanSchedule = mkOption {
      type = types.str;
      default = "daily";
      description = "When it is indexed anew, in the form of {manpage}`systemd.time(7)`.";
    };

    tokenFile = mkOption {
      type = types.nullOr types.str;
      default = null;
      example = "/run/secrets/stormlint";
      description = ''
        A file outside of the store whose first line is the token that writing needs. Without one
        nothing can be written through the service.
      '';
    };

    policy = mkOption {
      type = types.nullOr (types.either types.path (types.attrsOf types.anything));
      default = null;
      example = {
        schema = "stormlint-policy/1";
        name = "site";
        reader = "none";
      };
      description = "What plans must not break: a file, or its content.";
    };

    packagesJson = mkOption {
      type = types.nullOr types.path;
      default = null;
      example = "/var/lib/channel/packages.json.br";
      description = ''
        A channel's `packages.json`, packed as it is published (`packages.json.br`) or not: scans and
        audits then tell attributes, maintainers and positions of packages, and can be asked for what
        one maintains.
      '';
    };

    audits = mkOption {
      type = types.attrsOf (
        types.submodule {
          options = {
            paths = mkOption {
              type = types.listOf types.str;
              description = "Whose closure is audited.";
            };
            schedule = mkOption {
              type = types.str;
              default = "daily";
              description = "When, in the form of {manpage}`systemd.time(7)`.";
            };
          };
        }
      );
      default = { };
      example = {
        system.paths = [ "/run/current-system" ];
      };
      description = ''
        Audits that the service makes and keeps, by name. Needs
        {option}`services.stormlint.tokenFile`.
      '';
    };

    openFirewall = mkOption {
      type = types.bool;
      default = false;
      description = "Whether to open the port of {option}`services.stormlint.listen`.";
    };

    settings = mkOption {
      type = types.submodule {
        freeformType = types.attrsOf (types.nullOr (types.oneOf [ types.bool types.int types.str ]));
      };
      default = { };
      example = {
        cpu = "x86-64-v4";
        no-plans = true;
      };
      description = "Further options of {command}`stormlint serve`, by their long names.";
    };
  };

  config = lib.mkIf cfg.enable {
    assertions = [
      {
        assertion = isLocal || cfg.tokenFile != null || cfg.settings.public-read-only or false;
        message = ''
          services.stormlint.listen = "${cfg.listen}" can be reached from other machines: set
          services.stormlint.tokenFile, or services.stormlint.settings.public-read-only = true.
        '';
      }
      {
        assertion = cfg.audits == { } || cfg.tokenFile != null;
        message = "services.stormlint.audits needs services.stormlint.tokenFile.";
      }
      {
        assertion = !(cfg.openFirewall && isUnix);
        message = "services.stormlint.openFirewall: a unix socket has no port.";
      }
    ];

    environment.systemPackages = [ cfg.package ];
    networking.firewall.allowedTCPPorts = lib.optional (cfg.openFirewall && !isUnix) (lib.toInt port);

    systemd.sockets.stormlint = {
      description = "stormlint's socket";
      wantedBy = [ "sockets.target" ];
      listenStreams = [ (lib.removePrefix "unix:" cfg.listen) ];
    };

    systemd.services = {
      stormlint = {
        description = "stormlint: what the dynamic loader tries in vain";
        documentation = [ "man:stormlint(1)" ];
        requires = [ "stormlint.socket" ];
        after = [ "stormlint.socket" ];
        serviceConfig = cage // token // {
          Type = "notify";
          ExecStart = command (
            [ program "serve" "--db" index ]
            ++ flags
          );
          ExecReload = "${pkgs.coreutils}/bin/kill -HUP $MAINPID";
          WatchdogSec = 30;
          TimeoutStopSec = 30;
          Restart = "on-failure";
          LimitNOFILE = 16384;
        };
      };

      stormlint-scan = {
        description = "stormlint: index of ${lib.concatStringsSep ", " cfg.stores}";
        serviceConfig = cage // {
          Type = "oneshot";
          ExecStart = map scan cfg.stores;
          SuccessExitStatus = 3; # something could not be read: in the index, and told by the service
          Nice = 19;
          IOSchedulingClass = "idle";
        };
      };
    }
    // lib.mapAttrs' (name: value: lib.nameValuePair "stormlint-audit-${name}" (audit name value)) cfg.audits;

    systemd.timers = {
      stormlint-scan = timer cfg.scanSchedule;
    }
    // lib.mapAttrs' (name: value: lib.nameValuePair "stormlint-audit-${name}" (timer value.schedule)) cfg.audits;
  };
}
