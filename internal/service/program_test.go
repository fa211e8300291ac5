package service

import (
	"context"
	"errors"
	"strings"
	"testing"

	"plimsoll/internal/platform"
)

// The error of an unreachable machine does not say that a program is missing.
func TestAProgramOnAMachineThatIsGone(t *testing.T) {
	_, err := Program{Names: []string{"red"}, Install: "apt install red"}.Find(t.Context(), cut{})
	if err == nil || strings.Contains(err.Error(), "install") || !strings.Contains(err.Error(), "the line is cut") {
		t.Errorf("got %v", err)
	}
}

// cut is a machine that cannot be reached.
type cut struct{ platform.Machine }

func (cut) Run(context.Context, platform.Command) (platform.Result, error) {
	return platform.Result{}, errors.New("the line is cut")
}
