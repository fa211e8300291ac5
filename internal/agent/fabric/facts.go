package fabric

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Facts are what an agent tells of its machine.
type Facts struct {
	OS       string `json:"os"`   // linux
	Arch     string `json:"arch"` // amd64
	Kernel   string `json:"kernel,omitempty"`
	Cores    int    `json:"cores"`
	Memory   int64  `json:"memory,omitempty"`   // bytes
	Version  string `json:"version"`            // of plimsoll
	Commands bool   `json:"commands,omitempty"` // whether the owner lets a study run its own
	Scratch  string `json:"scratch,omitempty"`  // folder for what workloads write
	Address  string `json:"address,omitempty"`  // IP address from which it reaches the lab
}

// Observe collects the facts of this machine.
func Observe(version string) Facts {
	f := Facts{OS: runtime.GOOS, Arch: runtime.GOARCH, Cores: runtime.NumCPU(), Version: version}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		f.Kernel = strings.TrimSpace(string(text))
	}
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		f.Memory = totalMemory(string(text))
	}
	return f
}

func totalMemory(meminfo string) int64 {
	for line := range strings.Lines(meminfo) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "MemTotal:" {
			if n, err := strconv.ParseInt(f[1], 10, 64); err == nil {
				return n << 10
			}
		}
	}
	return 0
}

const mostLabels = 64

var labelText = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?$`)

// ParseLabels reads labels, each written as key=value.
func ParseLabels(texts []string) (map[string]string, error) {
	labels := map[string]string{}
	for _, text := range texts {
		key, value, found := strings.Cut(strings.TrimSpace(text), "=")
		if !found || !labelText.MatchString(key) || !labelText.MatchString(value) {
			return nil, fmt.Errorf("label %q is not written as key=value, of letters, digits and . _ / - in between", text)
		}
		if _, twice := labels[key]; twice {
			return nil, fmt.Errorf("label %q is given twice", key)
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
		if !labelText.MatchString(key) || !labelText.MatchString(value) {
			return errors.New("a label has a key or a value that is not allowed")
		}
	}
	return nil
}

// Matches tells whether an agent's labels have all that are wanted.
func Matches(labels, wanted map[string]string) bool {
	for key, value := range wanted {
		if labels[key] != value {
			return false
		}
	}
	return true
}

// LabelText writes labels in the order of their keys.
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
