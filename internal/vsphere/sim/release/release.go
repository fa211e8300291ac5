// Package release is the product versions that the simulator reports: vCenter and ESXi 8.0
// Update 2.
package release

import (
	"encoding/xml"

	"github.com/vmware/govmomi/vim25/types"
)

const (
	api      = "8.0.2.0"
	number   = "8.0.2"
	vcBuild  = "22385739"
	esxBuild = "22380479"
)

// About is the vCenter's description.
func About(is types.AboutInfo) types.AboutInfo {
	is.FullName = "VMware vCenter Server " + number + " build-" + vcBuild
	is.Version, is.Build, is.ApiVersion = number, vcBuild, api
	is.LicenseProductVersion = "8.0"
	is.OsType, is.PatchLevel = "linux-x64", "00200"
	return is
}

// Product is the hosts' description.
func Product(is types.AboutInfo) types.AboutInfo {
	is.FullName = "VMware ESXi " + number + " build-" + esxBuild
	is.Version, is.Build, is.ApiVersion = number, esxBuild, api
	is.LicenseProductVersion, is.PatchLevel = "8.0", "00200"
	return is
}

// prior are earlier API versions that are served too.
var prior = [...]string{
	"8.0.1.0", "8.0.0.1", "7.0.3.2", "7.0.3.1", "7.0.3.0", "7.0.2.0", "7.0.1.0", "7.0.0.0", "6.9.1", "6.8.7", "6.7.3", "6.7.2", "6.7.1", "6.7", "6.5", "6.0", "5.5",
}

// Versions is the list of served API versions.
func Versions() string {
	text := xml.Header + `<namespaces version="1.0"><namespace><name>urn:vim25</name><version>` + api + `</version><priorVersions>`
	for _, v := range prior {
		text += "<version>" + v + "</version>"
	}
	return text + "</priorVersions></namespace></namespaces>\n"
}

// Hardware is the hardware version of new VMs.
const Hardware = types.VMX21

// Options are the hardware versions that hosts support.
func Options(hosts []types.ManagedObjectReference) (list []types.VirtualMachineConfigOptionDescriptor) {
	for _, v := range types.GetHardwareVersions() {
		if v <= Hardware {
			list = append(list, types.VirtualMachineConfigOptionDescriptor{
				Key: v.String(), Description: v.String(), Host: hosts, DefaultConfigOption: v == Hardware,
				CreateSupported: true, RunSupported: true, UpgradeSupported: true,
			})
		}
	}
	return list
}
