package sim_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Terraform's vSphere provider makes two VMs with pool, folder, tag and rule, finds no difference afterwards, changes
// the VMs, and destroys all.
func TestTerraform(t *testing.T) {
	t.Parallel()
	programs := os.Getenv("PLIMSOLL_TERRAFORM")
	if programs == "" {
		t.Skip("set PLIMSOLL_TERRAFORM to a folder with tofu and terraform-provider-vsphere, to use the simulator with them")
	}
	text, err := os.ReadFile(filepath.Join("testdata", "terraform", "main.tf"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	settings := filepath.Join(dir, "settings.tfrc")
	for file, content := range map[string]string{
		filepath.Join(dir, "main.tf"): string(text),
		settings: `provider_installation {
  dev_overrides { "registry.opentofu.org/hashicorp/vsphere" = "` + programs + `" }
  direct {}
}`,
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := simple()
	s, client := serve(t, c)
	tofu := func(want string, args ...string) {
		t.Helper()
		ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
		defer stop()
		cmd := exec.CommandContext(ctx, filepath.Join(programs, "tofu"), append(args, "-no-color", "-input=false")...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+settings, "CHECKPOINT_DISABLE=1", "TF_VAR_server="+s.URL().Host, "TF_VAR_host="+c.Hosts[0].Name)
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), want) {
			t.Fatalf("tofu %s: %v, want %q in\n%s", strings.Join(args, " "), err, want, out)
		}
	}
	made := func() (list []mo.VirtualMachine) {
		var vms []mo.VirtualMachine
		all(t, client, "VirtualMachine", []string{"name", "runtime.powerState", "config.hardware.numCPU"}, &vms)
		for _, v := range vms {
			if strings.HasPrefix(v.Name, "tofu-") {
				list = append(list, v)
			}
		}
		return list
	}
	tofu("7 added, 0 changed, 0 destroyed", "apply", "-auto-approve")
	tofu("No changes.", "plan", "-detailed-exitcode")
	tofu("0 added, 2 changed, 0 destroyed", "apply", "-auto-approve", "-var", "cpus=4")
	vms := made()
	if len(vms) != 2 || vms[0].Config.Hardware.NumCPU != 4 || vms[0].Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
		t.Errorf("made: %+v", vms)
	}
	tofu("7 destroyed", "destroy", "-auto-approve")
	if vms := made(); len(vms) != 0 {
		t.Errorf("left: %+v", vms)
	}
}
