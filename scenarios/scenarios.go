// Package scenarios holds the scenarios that come with plimsoll: clusters with what
// happens to them, one file each.
package scenarios

import (
	"crypto/sha256"
	"embed"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

//go:embed *.yaml
var files embed.FS

// Names lists the scenarios, in order.
func Names() []string {
	entries, _ := files.ReadDir(".") // an embedded folder can be read
	out := make([]string, 0, len(entries))
	for _, e := range entries {
		out = append(out, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return out
}

// seen are scenarios that constants of the balancer were chosen on though their hash says
// held-out.
var seen = []string{"ping-pong"}

// HeldOut says whether a scenario belongs to the held-out set, a third of all, chosen by
// the SHA-256 hash of its name. Constants of the balancer are chosen on the other two thirds,
// the tuning set, and its quality is reported for both.
func HeldOut(name string) bool {
	if slices.Contains(seen, name) {
		return false
	}
	hash := sha256.Sum256([]byte(name))
	return binary.BigEndian.Uint32(hash[:])%3 == 0
}

// Text is the file of a scenario.
func Text(name string) ([]byte, error) {
	text, err := files.ReadFile(name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("there is no built-in scenario %q: plimsoll cluster replay --list names them", name)
	}
	return text, nil
}
