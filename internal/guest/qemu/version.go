package qemu

import (
	"fmt"
	"regexp"
	"strconv"
)

// Version is a release of QEMU.
type Version struct{ Major, Minor, Micro int }

var versionLine = regexp.MustCompile(`QEMU emulator version (\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?`)

// parseVersion reads what qemu-system-x86_64 --version prints.
func parseVersion(text string) (Version, error) {
	m := versionLine.FindStringSubmatch(text)
	if m == nil {
		return Version{}, fmt.Errorf("%.80q tells no version of QEMU", text)
	}
	var v Version
	for i, n := range []*int{&v.Major, &v.Minor, &v.Micro} {
		if m[i+1] != "" {
			*n, _ = strconv.Atoi(m[i+1]) // digits, by the expression
		}
	}
	return v, nil
}

// String is the release as QEMU writes it.
func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Micro) }

// Before says whether a release came earlier than another.
func (v Version) Before(major, minor int) bool {
	return v.Major < major || v.Major == major && v.Minor < minor
}

// MarshalText is the release as QEMU writes it.
func (v Version) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (v *Version) UnmarshalText(text []byte) error {
	read, err := parseVersion("QEMU emulator version " + string(text))
	if err == nil {
		*v = read
	}
	return err
}

// Refusal is something that a release of QEMU does wrongly, or not at all.
type Refusal struct {
	What   string `json:"what"`
	Reason string `json:"reason"`
}

// The names of what can be refused.
const (
	RefusedPrecopy = "precopy migration of a busy guest"
	RefusedStream  = "netdev stream"
	RefusedSMT     = "threads of an AMD processor"
)

// Refusals are what a release must not be asked for under an accelerator.
func Refusals(v Version, a Accelerator) []Refusal {
	var r []Refusal
	if v.Before(7, 2) {
		r = append(r, Refusal{RefusedStream, "QEMU " + v.String() + " does not have it: use 7.2 or later"})
	}
	if a != TCG {
		return r
	}
	if v.Before(10, 0) {
		r = append(r, Refusal{RefusedPrecopy, "QEMU " + v.String() + " loses pages that a guest writes while it migrates under TCG, and the guest crashes afterwards: " +
			"use postcopy, KVM, or QEMU 10.0 or later"})
	}
	return append(r,
		Refusal{RefusedSMT, "TCG does not have the feature topoext, without which a guest sees no threads of an AMD processor: use an Intel model, such as " + DefaultModel})
}

func refused(v Version, a Accelerator, what string) (string, bool) {
	for _, r := range Refusals(v, a) {
		if r.What == what {
			return r.Reason, true
		}
	}
	return "", false
}
