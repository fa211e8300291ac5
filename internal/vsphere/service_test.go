package vsphere_test

import (
	"strings"
	"testing"

	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/local"
	"plimsoll/internal/service"
	"plimsoll/internal/service/servicetest"
	"plimsoll/internal/service/vcenter"
)

// thisHost is the machine that the test runs on.
func thisHost(t *testing.T) platform.Machine {
	t.Helper()
	p, err := local.Kind().Open(t.Context(), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p.Machine()
}

func TestSimulatedCenters(t *testing.T) {
	t.Parallel()
	servicetest.Run(t, vcenter.Kind(), servicetest.Options{
		Machine:    thisHost(t),
		Unobserved: []string{"address", "user", "password", "cluster", "thumbprint", "ca"},
		Settings: []parameter.Settings{
			{"hosts": "4", "vms": "20"}, {"hosts": "4", "vms": "20", "inventory": "block", "speed": "60", "drs": "fullyAutomated", "load": "70", "skew": "50"},
			{"hosts": "2", "vms": "0", "time": "10ms", "spread": "30%", "per_host": "2"},
		},
	})
}

func TestSettingsOfCenters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		settings parameter.Settings
		want     string
	}{
		{parameter.Settings{"user": "operator"}, "require address"},
		{parameter.Settings{"spread": "10%"}, "spread requires time"},
		{parameter.Settings{"address": "vc.example:443"}, "needs user and password"},
		{parameter.Settings{"address": "vc.example:443", "user": "o", "password": "sesame"}, "not the password itself"},
		{parameter.Settings{"address": "vc.example:443", "user": "o", "password": "env:P", "hosts": "3"}, "hosts cannot be set"},
		{parameter.Settings{"address": "vc.example:443", "user": "o", "password": "env:P", "ca": "/ca.pem", "thumbprint": "AB"}, "mutually exclusive"},
		{parameter.Settings{"address": "vc.example:443", "user": "o", "password": "env:P", "ca": "ca.pem"}, "absolute path"},
		{parameter.Settings{"address": "/run/vc", "user": "o", "password": "env:P"}, "host:port"},
	} {
		if _, err := vcenter.Kind().New(c.settings); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%v gives %v, want %q", c.settings, err, c.want)
		}
	}
	if _, err := vcenter.Kind().New(parameter.Settings{"address": "vc.example:443", "user": "o", "password": "env:P", "cluster": "DC/C", "thumbprint": "AB"}); err != nil {
		t.Error(err)
	}
}

// A simulator whose inventory differs between blocks asks for a fresh one for each trial.
func TestInventoryOfABlock(t *testing.T) {
	t.Parallel()
	for inventory, fresh := range map[string]bool{"same": false, "block": true} {
		s, err := vcenter.Kind().New(parameter.Settings{"inventory": inventory, "hosts": "4", "vms": "20"})
		if err != nil {
			t.Fatal(err)
		}
		if v, is := s.(service.Varying); !is || v.Varies() != fresh {
			t.Errorf("inventory %s: a fresh simulator for each trial: %t", inventory, !fresh)
		}
	}
	if _, err := vcenter.Kind().New(parameter.Settings{"drs": "sometimes"}); err == nil {
		t.Error("drs sometimes is accepted")
	}
}
