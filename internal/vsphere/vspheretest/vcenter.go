// Package vspheretest runs stock vCenter simulators for tests.
package vspheretest

import (
	"crypto/tls"
	"testing"

	"github.com/vmware/govmomi/simulator"

	"plimsoll/internal/live"
	"plimsoll/internal/vsphere/session"
)

// VCenter is a simulator that serves over TLS on the loopback interface.
type VCenter struct {
	Model  *simulator.Model
	Server *simulator.Server
}

// Start serves an inventory of one datacenter with one cluster, of hosts with a number of VMs
// each, until the test ends.
func Start(t testing.TB, hosts, vmsPerHost int) *VCenter {
	t.Helper()
	m := simulator.VPX()
	m.Host, m.ClusterHost, m.Machine = 0, hosts, vmsPerHost*hosts
	if err := m.Create(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Remove)
	m.Service.TLS = new(tls.Config)
	s := m.Service.NewServer()
	t.Cleanup(s.Close)
	return &VCenter{Model: m, Server: s}
}

// Address is the address of the cluster.
func (v *VCenter) Address(t testing.TB) live.Address {
	t.Setenv("VCENTER_PASSWORD", "secret-of-the-test")
	return live.Address{Scheme: "vsphere", User: "operator", Host: v.Server.URL.Host, Parameters: map[string]string{
		"password": "env:VCENTER_PASSWORD", "thumbprint": session.Thumbprint(v.Server.Certificate()),
	}}
}
