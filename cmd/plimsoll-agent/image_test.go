package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/agent/toolbox"
)

// The container image has a link for each program that the agent is, else studies of the container would miss one.
func TestToolsOfTheImage(t *testing.T) {
	script, err := os.ReadFile("../../packaging/image")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^tools="(.*)"$`).FindSubmatch(script)
	if found == nil {
		t.Fatal("packaging/image has no list of tools")
	}
	if got, want := strings.Fields(string(found[1])), toolbox.Names(); !slices.Equal(got, want) {
		t.Errorf("packaging/image links %s\nthe agent is %s", got, want)
	}
}
