// Package scenarios holds the scenarios that come with plimsoll: clusters with what
// happens to them, one file each.
package scenarios

import (
	"embed"
	"fmt"
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

// Text is the file of a scenario.
func Text(name string) ([]byte, error) {
	text, err := files.ReadFile(name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("there is no built-in scenario %q: plimsoll cluster replay --list names them", name)
	}
	return text, nil
}
