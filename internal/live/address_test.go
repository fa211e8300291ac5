package live

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseAddress(t *testing.T) {
	a, err := ParseAddress("vsphere://operator@vc.example:8443/DC0/C 1?password=env:SECRET&thumbprint=AA:BB")
	if err != nil {
		t.Fatal(err)
	}
	if a.Scheme != "vsphere" || a.User != "operator" || a.Host != "vc.example:8443" || a.Path != "DC0/C 1" || a.Parameters["thumbprint"] != "AA:BB" {
		t.Errorf("parsed %+v", a)
	}
	if err := a.Allow("password"); err == nil || !strings.Contains(err.Error(), `"thumbprint"`) {
		t.Errorf("an unknown parameter gives %v", err)
	}
	if s := a.String(); strings.Contains(s, "SECRET") || !strings.Contains(s, "operator@vc.example") {
		t.Errorf("written as %s", s)
	}
}

func TestAccountsAreWrittenAsTheyAreTyped(t *testing.T) {
	for _, text := range []string{"proxmox://root@pam!plimsoll@pve1:8006/", "vsphere://operator@vsphere.local@vc/DC0/C0", `vsphere://LAB%5Cme@vc/`, "libvirt:///etc/lab.yaml"} {
		if a, err := ParseAddress(text + "?x=y"); err != nil || a.String() != text {
			t.Errorf("%s is written as %s, %v", text, a, err)
		}
	}
}

func TestBadAddresses(t *testing.T) {
	for text, want := range map[string]string{
		"vc.example":                "is a URL",
		"vsphere://u:geheim@vc/DC0": "contains a password",
		"vsphere://vc/?ca=a&ca=b":   "ca twice",
		"vsphere://vc/?a=%zz":       "parameters of the address",
		"vsphere://vc example/DC0":  "is a URL",
	} {
		_, err := ParseAddress(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %v, want an error with %q and without the password", text, err, want)
		}
	}
}

func TestSecret(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("from a file \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("LIVE_SECRET", "from the environment")
	for reference, want := range map[string]string{"env:LIVE_SECRET": "from the environment", "file:" + file: "from a file "} {
		if got, err := (Address{Parameters: map[string]string{"password": reference}}).Secret("password"); got != want || err != nil {
			t.Errorf("%s is %q, %v", reference, got, err)
		}
	}
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte("\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("LIVE_EMPTY", "")
	for _, reference := range []string{"geheim", "env:NOT_SET_AT_ALL", "env:LIVE_EMPTY", "file:/does/not/exist", "file:" + empty} {
		if got, err := (Address{Parameters: map[string]string{"password": reference}}).Secret("password"); err == nil || got != "" || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s is %q, %v", reference, got, err)
		}
	}
}

func FuzzParseAddress(f *testing.F) {
	f.Add("vsphere://operator@vc.example/DC0/C0?password=file:/run/secret")
	f.Add("libvirt:///?hosts=a,b")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseAddress(text)
		if err != nil {
			return
		}
		if _, err := ParseAddress(a.String()); err != nil {
			t.Errorf("%q is written as %q, which is refused: %v", text, a.String(), err)
		}
	})
}
