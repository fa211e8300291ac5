package sim_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/cluster"
	"plimsoll/internal/effort"
	"plimsoll/internal/vsphere/sim"
)

// clientTests are packages of govmomi whose tests start simulators.
var clientTests = []string{"find", "object", "pbm", "property", "vapi/library", "vapi/rest"}

// likeOriginal is a cluster with the names that govmomi's simulator gives.
func likeOriginal() *cluster.Cluster {
	c := simple()
	c.Name, c.Networks, c.Datastores = "DC0_C0", []string{"VM Network"}, []string{"LocalDS_0"}
	for i := range c.Hosts {
		c.Hosts[i].Name = "DC0_C0_H" + string(rune('0'+i))
	}
	for i := range c.VMs {
		c.VMs[i].Name = "DC0_C0_RP0_VM" + string(rune('0'+i))
	}
	c.VMs = c.VMs[:2]
	return c
}

// elsewhere makes govmomi's tests use a simulator of ours wherever they would start one of their own.
const elsewhere = `
	if at := os.Getenv("PLIMSOLL_VCENTERS"); at != "" && m.Service == nil && m.ServiceContent.About.ApiType == "VirtualCenter" {
		reply, err := http.Get(at)
		if err != nil {
			return err
		}
		text, err := io.ReadAll(reply.Body)
		reply.Body.Close()
		if err != nil {
			return err
		}
		u, err := soap.ParseURL(string(text))
		if err != nil {
			return err
		}
		c, err := govmomi.NewClient(context.Background(), u, true)
		if err != nil {
			return err
		}
		defer c.Logout(context.Background())
		return f(context.Background(), c.Client)
	}
`

// changed is a copy of govmomi whose tests do so.
func changed(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/vmware/govmomi").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "govmomi")
	if err := os.CopyFS(dir, os.DirFS(strings.TrimSpace(string(out)))); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "simulator", "model.go")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const begins = "func (m *Model) Run(f func(context.Context, *vim25.Client) error) error {\n"
	made := strings.Replace(string(text), begins, begins+elsewhere, 1)
	made = strings.Replace(made, "import (\n", "import (\n\t\"io\"\n\t\"net/http\"\n\n\t\"github.com/vmware/govmomi/vim25/soap\"\n", 1)
	if !strings.Contains(made, begins+elsewhere) {
		t.Fatal("govmomi's simulator runs tests in another way")
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(made), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// passes runs a test of govmomi against new simulators.
func passes(t *testing.T, program, dir, test string, original bool) (bool, string) {
	t.Helper()
	var started []*sim.Server
	control := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s, err := sim.Start(t.Context(), sim.Options{Clusters: []*cluster.Cluster{likeOriginal()}, Listen: "127.0.0.1:0", User: "operator", Password: "secret", Folder: t.TempDir(), Original: original})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		started = append(started, s)
		u := s.URL()
		u.User = url.UserPassword("operator", "secret")
		fmt.Fprint(w, u)
	}))
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	cmd := exec.CommandContext(ctx, program, "-test.run", "^"+test+"$")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "PLIMSOLL_VCENTERS="+control.URL)
	out, err := cmd.CombinedOutput()
	control.Close()
	for _, s := range started {
		s.Close()
	}
	return err == nil, string(out)
}

// govmomi's own tests of its clients pass as they do on its simulator with the same inventory.
func TestGovmomiClients(t *testing.T) {
	t.Parallel()
	effort.Deep(t, "run govmomi's tests against the simulator, for two minutes")
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to run govmomi's tests against the simulator")
	}
	source := changed(t)
	total := 0
	for _, name := range clientTests {
		at, program := filepath.Join(source, name), filepath.Join(t.TempDir(), path.Base(name)+".test")
		build := exec.Command("go", "test", "-c", "-trimpath", "-o", program, ".") // compiled packages stay in the cache, wherever the copy is
		build.Dir = at
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build the tests of %s: %v\n%s", name, err, out)
		}
		list, err := exec.Command(program, "-test.list", ".").Output()
		if err != nil {
			t.Fatal(err)
		}
		passed := 0
		for _, test := range strings.Fields(string(list)) {
			if strings.HasPrefix(test, "Benchmark") || strings.HasPrefix(test, "Fuzz") {
				continue
			}
			if stock, _ := passes(t, program, at, test, true); !stock {
				continue
			}
			ours, said := passes(t, program, at, test, false)
			if ours {
				passed++
			} else {
				t.Errorf("%s: %s passes on govmomi's simulator and fails on ours:\n%.1500s", name, test, said)
			}
		}
		total += passed
		t.Logf("%s: %d tests pass as on govmomi's simulator", name, passed)
	}
	if total < 50 {
		t.Errorf("%d tests pass on both, want 50 at least", total)
	}
}
