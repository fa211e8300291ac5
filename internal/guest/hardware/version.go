package hardware

import (
	"fmt"
	"regexp"
	"strconv"
)

// Version is a release of QEMU.
type Version struct{ Major, Minor, Micro int }

var versionLine = regexp.MustCompile(`QEMU emulator version (\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?`)

// ParseVersion parses the output of qemu-system-x86_64 --version.
func ParseVersion(text string) (Version, error) {
	m := versionLine.FindStringSubmatch(text)
	if m == nil {
		return Version{}, fmt.Errorf("no QEMU version in %.80q", text)
	}
	var v Version
	for i, n := range []*int{&v.Major, &v.Minor, &v.Micro} {
		if m[i+1] != "" {
			*n, _ = strconv.Atoi(m[i+1]) // the expression matches digits
		}
	}
	return v, nil
}

// String is the release as QEMU writes it.
func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Micro) }

// Before reports whether a release came earlier than another.
func (v Version) Before(major, minor int) bool {
	return v.Major < major || v.Major == major && v.Minor < minor
}

// Feature is a feature that some releases of QEMU lack or implement incorrectly.
type Feature string

// The features that can be refused.
const (
	RefusedPrecopy Feature = "precopy migration of a busy guest"
	RefusedStream  Feature = "netdev stream"
	RefusedSMT     Feature = "threads of an AMD processor"
)

// Refused is why a feature does not work with a release of QEMU and an accelerator; empty if
// it does.
func Refused(v Version, a Accelerator, f Feature) string {
	switch {
	case f == RefusedStream && v.Before(7, 2):
		return "QEMU " + v.String() + " does not have it: use 7.2 or later"
	case f == RefusedPrecopy && a == TCG && v.Before(10, 0):
		return "QEMU " + v.String() + " loses pages that a guest writes while it migrates under TCG, and the guest crashes afterwards: use postcopy, KVM, or QEMU 10.0 or later"
	case f == RefusedSMT && a == TCG:
		return "TCG does not have the feature topoext, without which a guest sees no threads of an AMD processor: use an Intel model, such as " + DefaultModel
	}
	return ""
}
