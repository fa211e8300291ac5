package sim_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	login "github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
)

// A client that speaks JSON logs in, reads, migrates a VM by a method of ours, waits for tasks, and gets faults.
func TestClientsSpeakJSON(t *testing.T) {
	t.Parallel()
	c := simple()
	s, other := serve(t, c)
	u := s.URL()
	u.User = nil
	over := soap.NewClient(u, true)
	client, err := vim25.NewClient(t.Context(), over)
	if err != nil {
		t.Fatal(err)
	}
	client.Namespace, client.Version = "urn:vim25", "8.0.2.0"
	client.UseJSON(true)
	m := login.NewManager(client)
	if err := m.Login(t.Context(), url.UserPassword("operator", "guess")); !fault.Is(err, &types.InvalidLogin{}) {
		t.Errorf("a wrong password gives %v", err)
	}
	if err := m.Login(t.Context(), url.UserPassword("operator", "secret")); err != nil {
		t.Fatal(err)
	}
	if now, err := methods.GetCurrentTime(t.Context(), client); err != nil || now.IsZero() {
		t.Errorf("the time is %v, %v", now, err)
	}
	speaks := &govmomi.Client{Client: client, SessionManager: m}
	var vms []mo.VirtualMachine
	all(t, speaks, "VirtualMachine", []string{"name", "runtime", "config.hardware"}, &vms)
	if len(vms) != len(c.VMs) || vms[0].Runtime.Host == nil || len(vms[0].Config.Hardware.Device) == 0 {
		t.Fatalf("%d VMs, want %d", len(vms), len(c.VMs))
	}
	var hosts []mo.HostSystem
	all(t, other, "HostSystem", []string{"name"}, &hosts)
	to := hosts[0].Self
	if *vms[0].Runtime.Host == to {
		to = hosts[1].Self
	}
	vm := object.NewVirtualMachine(client, vms[0].Self)
	b := bed{TB: t, ctx: t.Context(), Client: speaks}
	b.done(vm.Migrate(b.ctx, nil, object.NewHostSystem(client, to), types.VirtualMachineMovePriorityDefaultPriority, ""))
	if h, err := vm.HostSystem(b.ctx); err != nil || h.Reference() != to {
		t.Errorf("the VM is on %v, %v", h, err)
	}
	if _, err := object.NewVirtualMachine(client, types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-0"}).PowerOff(b.ctx); !fault.Is(err, &types.ManagedObjectNotFound{}) {
		t.Errorf("a VM that is not there gives %v", err)
	}
	readsProperties(t, u, client, vms[0].Self, cluster.VM{Name: vms[0].Name})
}

// readsProperties reads a property by GET, and does what is not served.
func readsProperties(t *testing.T, u *url.URL, client *vim25.Client, vm types.ManagedObjectReference, want cluster.VM) {
	t.Helper()
	ask := func(method, path, body string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), method, u.String()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("vmware-api-session-id", client.Cookie().Value)
		answer, err := (&http.Client{Transport: client.Client.Client.Transport}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(text)
	}
	at := "/vim25/8.0.2.0/VirtualMachine/" + vm.Value + "/"
	var name string
	if code, text := ask("GET", at+"name", ""); code != 200 || json.Unmarshal([]byte(text), &name) != nil || name != want.Name {
		t.Errorf("the name is %d %s", code, text)
	}
	if code, text := ask("GET", at+"config", ""); code != 200 || !strings.Contains(text, `"_typeName":"VirtualMachineConfigInfo"`) {
		t.Errorf("the configuration is %d %.200s", code, text)
	}
	for _, wrong := range []struct {
		method, path, body string
		code               int
	}{
		{"POST", at + "Fly", "", 404}, {"POST", at + "VirtualMachineConfigSpec", "", 404}, {"POST", at + "PowerOnVM_Task", "{", 400},
		{"POST", at + "ReconfigVM_Task", `{"spec": 5}`, 400}, {"DELETE", at + "name", "", 405}, {"GET", "/vim25/8.0.2.0/VirtualMachine", "", 404},
	} {
		if code, text := ask(wrong.method, wrong.path, wrong.body); code != wrong.code {
			t.Errorf("%s %s %s gives %d %s, want %d", wrong.method, wrong.path, wrong.body, code, text, wrong.code)
		}
	}
}
