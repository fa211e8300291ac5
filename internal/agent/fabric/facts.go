package fabric

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"plimsoll/internal/pattern"
	"plimsoll/internal/platform"
)

// Facts describe an agent's machine.
type Facts struct {
	OS       string `json:"os"`   // linux
	Arch     string `json:"arch"` // amd64
	Kernel   string `json:"kernel,omitempty"`
	Cores    int    `json:"cores"`
	Memory   int64  `json:"memory,omitempty"`   // bytes
	Version  string `json:"version"`            // of plimsoll
	Commands bool   `json:"commands,omitempty"` // whether the owner permits commands of a study
	Scratch  string `json:"scratch,omitempty"`  // data folder of workloads
	Address  string `json:"address,omitempty"`  // IP address from which it reaches the lab
}

// Observe collects the facts of this machine.
func Observe(version string) Facts {
	f := Facts{OS: runtime.GOOS, Arch: runtime.GOARCH, Cores: runtime.NumCPU(), Version: version}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		f.Kernel = strings.TrimSpace(string(text))
	}
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		f.Memory, _ = platform.Meminfo(text, "MemTotal")
	}
	return f
}

// nameText is the syntax of an agent's name: it appears in file names and in output.
var nameText = pattern.Of(`^[A-Za-z0-9_]([A-Za-z0-9._-]{0,198}[A-Za-z0-9_])?$`)

func checkName(name string) error {
	if name != "" && !nameText().MatchString(name) {
		return errors.New("invalid name: use letters, digits, and _ - . inside, at most 200 characters; start it with another --name")
	}
	return nil
}

// mostFact is the maximum length of a fact, mostScratch that of the path of the scratch
// folder, in bytes.
const mostFact, mostScratch = 256, 4096

// check validates facts: they are printed, paths begin with the scratch folder, and loads
// connect to the address.
func (f Facts) check() error {
	for _, text := range []string{f.OS, f.Arch, f.Kernel, f.Version} {
		if len(text) > mostFact || !printable(text) {
			return fmt.Errorf("its facts are longer than %d bytes or not printable", mostFact)
		}
	}
	switch {
	case f.Cores < 0 || f.Memory < 0:
		return fmt.Errorf("invalid size: %d cores and %d bytes of memory", f.Cores, f.Memory)
	case f.Address != "" && net.ParseIP(f.Address) == nil:
		return errors.New("its address is not an IP address")
	case f.Scratch != "" && (len(f.Scratch) > mostScratch || !printable(f.Scratch) || !path.IsAbs(f.Scratch) || path.Clean(f.Scratch) != strings.TrimRight(f.Scratch, "/")):
		return errors.New("its scratch folder must be an absolute path, and no part of it may go up a folder")
	}
	return nil
}

func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

const mostLabels = 64

var labelText = pattern.Of(`^[A-Za-z0-9]([A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?$`)

// ParseLabels reads labels, each written as key=value.
func ParseLabels(texts []string) (map[string]string, error) {
	labels := map[string]string{}
	for _, text := range texts {
		key, value, found := strings.Cut(strings.TrimSpace(text), "=")
		if !found || !labelText().MatchString(key) || !labelText().MatchString(value) {
			return nil, fmt.Errorf("invalid label %q: must be key=value, with letters, digits, and . _ / - inside", text)
		}
		if _, twice := labels[key]; twice {
			return nil, fmt.Errorf("duplicate label %q", key)
		}
		labels[key] = value
	}
	return labels, checkLabels(labels)
}

func checkLabels(labels map[string]string) error {
	if len(labels) > mostLabels {
		return fmt.Errorf("%d labels are more than %d", len(labels), mostLabels)
	}
	for key, value := range labels {
		if !labelText().MatchString(key) || !labelText().MatchString(value) {
			return errors.New("invalid key or value of a label")
		}
	}
	return nil
}

// Matches reports whether an agent's labels have all that are wanted.
func Matches(labels, wanted map[string]string) bool {
	for key, value := range wanted {
		if labels[key] != value {
			return false
		}
	}
	return true
}

// LabelText is the labels in the order of their keys.
func LabelText(labels map[string]string) string {
	var b strings.Builder
	for i, key := range slices.Sorted(maps.Keys(labels)) {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(key + "=" + labels[key])
	}
	return cmp.Or(b.String(), "no labels")
}
