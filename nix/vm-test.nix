# The service on NixOS: it starts by its socket, indexes what it is told, answers, and cannot write
# anything but its state.
{
  name = "stormlint";

  nodes.machine =
    { pkgs, ... }:
    {
      imports = [ ./module.nix ];
      nixpkgs.overlays = [ (import ./overlay.nix) ];
      services.stormlint = {
        enable = true;
        stores = [ "${pkgs.hello}" ];
        tokenFile = "/etc/stormlint.token";
        audits.hello.paths = [ "${pkgs.hello}" ];
      };
      environment.etc."stormlint.token" = {
        text = "0123456789abcdef0123";
        mode = "0600";
      };
    };

  testScript = ''
    machine.wait_for_unit("stormlint.socket")
    machine.succeed("systemctl start stormlint-scan.service")
    machine.wait_until_succeeds("curl -sf http://127.0.0.1:8417/readyz")
    machine.succeed("curl -sf http://127.0.0.1:8417/api/v1/programs | grep -q hello")
    machine.succeed("systemctl start stormlint-audit-hello.service")
    machine.wait_until_succeeds("curl -sf http://127.0.0.1:8417/api/v1/audits | grep -q hello")
    machine.fail("systemctl show -p User --value stormlint.service | grep -x root")
    machine.succeed("systemd-analyze security --threshold=20 stormlint.service")
  '';
}
