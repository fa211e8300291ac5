package service_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/parameter"
	"plimsoll/internal/service"
	"plimsoll/internal/service/live"
)

func TestAddresses(t *testing.T) {
	t.Setenv("PLIMSOLL_TEST_SECRET", "sesame")
	for address, want := range map[string]string{
		"":                                  "address is required",
		"vcenter.example":                   "is a URL",
		"vsphere://op:sesame@vc.example/":   "contains a password",
		"hyperv://host/":                    "unknown kind",
		"libvirt://lab.yaml":                "absolute path",
		"proxmox://root@pam@pve/?ca=ca.pem": "absolute path",
	} {
		if _, err := live.Kind().New(parameter.Settings{"address": address}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%q gives %v, want %q", address, err, want)
		}
	}
	address := "vsphere://op@vc.example/DC/C?password=env:PLIMSOLL_TEST_SECRET&thumbprint=AB"
	s, err := live.Kind().New(parameter.Settings{"address": address})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Check(t.Context(), service.Env{}); err != nil {
		t.Error(err)
	}
	i, err := s.Start(t.Context(), service.Env{})
	if err != nil {
		t.Fatal(err)
	}
	if e, err := i.Endpoint("vsphere"); err != nil || e.URL != address || e.Address != "vc.example" {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := i.Endpoint("libvirt"); err == nil {
		t.Error("a vCenter speaks libvirt")
	}
	for text, want := range map[string]string{"hosts: [{name: a}]": "uri is missing", "hosts: [{name: a, uri: qemu:///system}]": ""} {
		file := filepath.Join(t.TempDir(), "lab.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := live.Kind().New(parameter.Settings{"address": "libvirt://" + file})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Check(t.Context(), service.Env{}); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	missing, err := live.Kind().New(parameter.Settings{"address": "vsphere://op@vc.example/?password=env:PLIMSOLL_TEST_NOTHING"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := missing.Check(t.Context(), service.Env{}); err == nil || !strings.Contains(err.Error(), "PLIMSOLL_TEST_NOTHING") {
		t.Errorf("without its secret: %v", err)
	}
}
