package sim_test

import (
	"bytes"
	"context"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/cluster"
	"plimsoll/internal/vsphere/sim"
)

func TestPyVmomi(t *testing.T) {
	t.Parallel()
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to use the simulator with pyVmomi")
	}
	python, err := filepath.Abs(filepath.Join("..", "..", "..", "bin", "pyvmomi", "bin", "python"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(python); err != nil {
		t.Fatalf("%v: ./setup test installs pyVmomi", err)
	}
	s, err := sim.Start(t.Context(), sim.Options{Clusters: []*cluster.Cluster{simple()}, Listen: "127.0.0.1:0", User: "operator", Password: "secret", Folder: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	u, err := url.Parse(s.URL().String())
	if err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(u.Host)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, python, filepath.Join("testdata", "pyvmomi_session.py"), host, port, s.Thumbprints().SHA1, "operator")
	cmd.Env = append(os.Environ(), "VCENTER_PASSWORD=secret")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(bytes.TrimSpace(out)), "done") {
		t.Errorf("%v\n%s", err, out)
	}
}
