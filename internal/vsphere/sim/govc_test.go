package sim_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/generate"
	"plimsoll/internal/vsphere/sim"
)

// simple is a cluster on which every VM can run everywhere.
func simple() *cluster.Cluster {
	spec := generate.Typical(3, 5)
	spec.Name, spec.VMs, spec.Networks, spec.Datastores, spec.Rules, spec.Pools = "C0", 9, 1, 1, 0, 1
	c, _ := generate.Cluster(spec)
	for i := range c.VMs {
		c.VMs[i].Pool = 0
	}
	return c
}

// outside serves a simulator to a client that is a program, with the environment of govc.
func outside(t *testing.T) (url string, env []string) {
	t.Helper()
	s, err := sim.Start(t.Context(), sim.Options{Clusters: []*cluster.Cluster{simple()}, Listen: "127.0.0.1:0", User: "operator", Password: "secret", Folder: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	hosts := filepath.Join(t.TempDir(), "known_hosts")
	if err := os.WriteFile(hosts, []byte(s.URL().Host+" "+s.Thumbprints().SHA1+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return s.URL().String(), append(os.Environ(), "GOVC_URL="+s.URL().String(), "GOVC_USERNAME=operator", "GOVC_PASSWORD=secret", "GOVC_TLS_KNOWN_HOSTS="+hosts, "GOVMOMI_HOME="+t.TempDir())
}

// sentence is a command, and what it prints.
type sentence struct{ command, want string }

// VM is the first VM of the cluster; H1 and H2 are hosts.
var session = []sentence{
	{"about", "VMware vCenter Server"}, {"ls", "/DC0/vm"}, {"ls /DC0/vm", "VM"}, {"find / -type h", "/DC0/host/C0/H1"}, {"datacenter.info", "Hosts:"},
	{"metric.ls vm/VM", "cpu.ready.summation"}, {"metric.ls host/C0/H1", "mem.totalCapacity.average"}, {"metric.ls -i 300 host/C0", "clusterServices.effectivecpu.average"},
	{"metric.info vm/VM cpu.usagemhz.average", "cpu.usagemhz.average"}, {"metric.sample -n 3 vm/VM cpu.usagemhz.average mem.active.average", "MHz"}, {"metric.sample -i 300 -n 2 host/C0 cpu.usagemhz.average", "MHz"},
	{"metric.interval.info", "Past month"},
	{"cluster.usage C0", "CPU usage"}, {"host.info -host H1", "Logical CPUs:"}, {"vm.info VM", "Power state:  poweredOn"}, {"vm.info -r -e VM", "Network:"},
	{"pool.info */Resources", "Resources"}, {"datastore.info", "store-1"}, {"datastore.ls", "VM"}, {"device.ls -vm VM", "disk-"},
	{"vm.power -off VM", "OK"}, {"vm.power -off VM", "!InvalidPowerState"}, {"vm.power -on VM", "OK"}, {"vm.power -suspend VM", "OK"}, {"vm.power -on VM", "OK"}, {"vm.power -reset VM", "OK"},
	{"vm.clone -vm VM -on=false copy", "OK"}, {"vm.clone -vm VM copy-on", "OK"}, {"vm.clone -vm VM copy", "!DuplicateName"}, {"vm.info copy-on", "poweredOn"},
	{"vm.change -vm copy -c 4 -m 4096", ""}, {"vm.change -vm copy -e guestinfo.a=b", ""}, {"vm.info -e copy", "guestinfo.a"}, {"vm.change -vm copy -e RUN.container=alpine", "!NotSupported"},
	{"vm.change -vm copy -cpu.reservation 100 -cpu.limit 4000", ""}, {"object.collect -s vm/copy config.hardware.numCPU", "4"}, {"object.collect -s vm/copy config.cpuAllocation.reservation", "100"},
	{"snapshot.create -vm copy s1", ""}, {"snapshot.create -vm copy s2", ""}, {"snapshot.tree -vm copy", "s2"}, {"snapshot.revert -vm copy s1", ""}, {"snapshot.revert -vm copy s2", ""}, {"snapshot.remove -vm copy s1", ""},
	{"snapshot.tree -vm copy", "s2"}, {"snapshot.remove -vm copy *", ""},
	{"vm.migrate -host H1 copy-on", "OK"}, {"vm.migrate -host H2 copy-on", "OK"}, {"vm.info copy-on", "H2"}, {"find / -type m -runtime.powerState poweredOff", "copy"},
	{"vm.disk.create -vm copy -name copy/extra -size 1G", "Creating disk"}, {"vm.network.add -vm copy -net net-1", ""}, {"device.info -vm copy disk-*", "extra"},
	{"object.rename /DC0/vm/copy renamed", "OK"}, {"vm.markastemplate renamed", ""}, {"vm.power -on renamed", "!template"}, {"vm.clone -vm renamed -pool C0/Resources -host H1 -on=false from-template", "OK"},
	{"vm.markasvm -pool C0/Resources renamed", ""}, {"vm.unregister from-template", ""}, {"vm.register -pool C0/Resources -host H1 from-template/from-template.vmx", ""},
	{"vm.create -pool C0/Resources -net net-1 -c 2 -m 1024 -g otherLinux64Guest new", ""}, {"vm.power -off -force new", "OK"}, {"vm.destroy new", ""}, {"vm.destroy renamed", ""},
	{"folder.create /DC0/vm/f", ""}, {"object.mv /DC0/vm/from-template /DC0/vm/f", "OK"}, {"ls /DC0/vm/f", "from-template"}, {"events -n 20", "copy-on"}, {"tasks -n 20", "PowerOff"},
	{"cluster.rule.create -cluster C0 -name together -enable -affinity copy-on VM", ""}, {"cluster.rule.ls -cluster C0", "together"}, {"cluster.group.create -cluster C0 -name g1 -vm VM", ""},
	{"pool.create -cpu.shares high C0/Resources/p", ""}, {"pool.change -cpu.limit 1000 C0/Resources/p", ""}, {"pool.info C0/Resources/p", "p"}, {"pool.destroy C0/Resources/p", ""},
	{"tags.category.create colour", ""}, {"tags.create -c colour red", ""}, {"tags.attach red /DC0/vm/VM", ""}, {"tags.attached.ls red", "VirtualMachine"},
	{"fields.add owner", ""}, {"fields.set owner me /DC0/vm/VM", ""}, {"datastore.mkdir dir", ""}, {"session.ls", "operator"}, {"vm.ip -wait 1s VM", ""},
	{"tags.category.create -m tier", ""}, {"tags.create -c tier gold", ""}, {"tags.create -c tier lead", ""}, {"tags.attach gold /DC0/datastore/store-1", ""},
	{"storage.policy.ls", "vSAN Default Storage Policy"}, {"storage.policy.create -category tier -tag gold golden", "-"}, {"storage.policy.create -category tier -tag gold golden", "!PbmDuplicateName"},
	{"storage.policy.ls golden", "golden"}, {"storage.policy.info -s golden", "store-1"}, {"storage.policy.create -category tier -tag lead leaden", "-"}, {"storage.policy.info -s leaden", "Datastores:"},
	{"vm.create -profile golden -pool C0/Resources -ds store-1 -net net-1 -disk 1G -on=false kept", ""}, {"storage.policy.info -c golden", "s:  kept"},
	{"vm.disk.create -profile leaden -vm kept -name kept/more -size 1G", ""}, {"storage.policy.rm leaden", "!in use"},
	{"tags.detach gold /DC0/datastore/store-1", ""}, {"storage.policy.info -s golden", "Datastores:  \n"},
	{"storage.policy.rm golden", "!in use"}, {"vm.destroy kept", ""}, {"storage.policy.rm golden", ""}, {"storage.policy.rm leaden", ""}, {"storage.policy.ls golden", "!not found"},
}

func TestGovc(t *testing.T) {
	t.Parallel()
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to build govc and to use the simulator with it")
	}
	program := filepath.Join(t.TempDir(), "govc")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = filepath.Join("testdata", "govc")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build govc: %v\n%s", err, out)
	}
	_, env := outside(t)
	c := simple()
	names := strings.NewReplacer("VM", c.VMs[0].Name, "H1", c.Hosts[0].Name, "H2", c.Hosts[1].Name)
	for _, s := range session {
		want, fails := strings.CutPrefix(s.want, "!")
		args := strings.Fields(s.command)
		for i := range args {
			args[i] = names.Replace(args[i])
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Env = env
		out, err := cmd.CombinedOutput()
		stop()
		if want != "VMware vCenter Server" {
			want = names.Replace(want)
		}
		if (err != nil) != fails || !strings.Contains(string(out), want) {
			t.Errorf("govc %s: %v, want %q in\n%s", strings.Join(args, " "), err, s.want, out)
		}
	}
	if len(session) < 40 {
		t.Errorf("%d commands, want at least 40", len(session))
	}
}
