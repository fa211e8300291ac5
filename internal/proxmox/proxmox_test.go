package proxmox

import (
	"encoding/json"
	"maps"
	"net"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"plimsoll/internal/connection"
)

func TestErrorsOfTheAPI(t *testing.T) {
	for _, tc := range []struct {
		line, body, want string
	}{
		{"500 VM is locked (backup)", `{"data":null}`, "VM is locked (backup) (status 500)"},
		{"400 Parameter verification failed.", `{"data":null,"errors":{"target":"no such node\n"}}`, "Parameter verification failed.; target: no such node (status 400)"},
		{"500 x", `{"message":"cluster not ready - no quorum?\n"}`, "cluster not ready - no quorum? (status 500)"},
		{"502 ", "<html>", "Bad Gateway (status 502)"},
		{"500 a\x1b[31mb", "", "a [31mb (status 500)"},
	} {
		status := map[byte]int{'5': 500, '4': 400}[tc.line[0]]
		if strings.HasPrefix(tc.line, "502") {
			status = 502
		}
		if got := refusal(status, tc.line, []byte(tc.body)).Error(); got != tc.want {
			t.Errorf("%q %q is %q, want %q", tc.line, tc.body, got, tc.want)
		}
	}
}

func TestAProxyThatIsNotReachedIsNamed(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	for _, err := range []error{refused, &url.Error{Op: "Post", URL: "https://pve1", Err: &net.OpError{Op: "proxyconnect", Net: "tcp", Err: refused}}} {
		got := connection.Explain(err).Error()
		if !strings.Contains(got, "connection refused") || strings.Contains(got, "proxy that HTTPS_PROXY names") == (err == error(refused)) {
			t.Errorf("%v is explained as %q", err, got)
		}
	}
}

func TestUPIDs(t *testing.T) {
	const text = "UPID:pve1:00001F2A:0009C1E2:65A5A5A5:qmigrate:100:root@pam!plimsoll:"
	u, err := ParseUPID(text)
	if err != nil || u.Node != "pve1" || u.Type != "qmigrate" || u.ID != "100" || u.User != "root@pam!plimsoll" || u.String() != text {
		t.Errorf("%+v, %v", u, err)
	}
	for _, text := range []string{"", "UPID:", "UPID:pve1:1:2:3:qmigrate:100:root@pam", "UPID:pve1:x:2:3:qmigrate:100:root@pam:", "UPID:../x:1:2:3:q:1:r:", "UPID::1:2:3:q:1:r:"} {
		if u, err := ParseUPID(text); err == nil {
			t.Errorf("%q is %+v", text, u)
		}
	}
}

func TestValues(t *testing.T) {
	var v struct {
		A, B, C, D, E Number
		W, X          Word
	}
	if err := json.Unmarshal([]byte(`{"a":1.5,"b":"3400.000","c":true,"d":{},"e":"x","w":4,"x":null}`), &v); err != nil {
		t.Fatal(err)
	}
	if v.A != 1.5 || v.B != 3400 || v.C != 1 || v.D != 0 || v.E != 0 || v.W != "4" || v.X != "" {
		t.Errorf("%+v", v)
	}
	if n := Number(1e300).Int(100); n != 100 {
		t.Errorf("%d", n)
	}
	want := map[string]string{"": "ceph:vm-1", "size": "8G", "virtio": "AA:BB"}
	if got := Properties("ceph:vm-1,size=8G, virtio=AA:BB,other"); !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

func FuzzAnswers(f *testing.F) {
	f.Add([]byte(`{"data":[{"type":"qemu","vmid":"100","cpu":0.5,"maxcpu":2,"lock":"backup"}]}`), "UPID:pve1:1:2:3:qmigrate:100:root@pam:")
	f.Add([]byte(`{"data":{"cpuinfo":{"cpus":2,"mhz":"1e999"}}}`), "")
	f.Fuzz(func(t *testing.T, body []byte, text string) {
		var all []Resource
		if decode(body, &all) == nil {
			for _, r := range all {
				if n := r.MaxMem.Int(1 << 50); n < 0 || n > 1<<50 {
					t.Errorf("%d bytes", n)
				}
			}
		}
		var n Node
		_ = decode(body, &n)
		var c Config
		_ = decode(body, &c)
		var tasks []Task
		_ = decode(body, &tasks)
		if s := refusal(500, text, body).Error(); strings.ContainsAny(s, "\n\x1b") || len(s) > longestText+64 {
			t.Errorf("%q", s)
		}
		if u, err := ParseUPID(text); err == nil && (u.Node == "" || strings.Contains(u.Node, "/")) {
			t.Errorf("%+v", u)
		}
		for name := range Properties(text) {
			if strings.Contains(name, ",") {
				t.Errorf("%q", name)
			}
		}
	})
}
