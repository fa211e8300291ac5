package task

import (
	"errors"
	"fmt"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

// Fault is the error of a task, with the vCenter's message.
type Fault struct {
	fault *types.LocalizedMethodFault
}

// failed is the error of a task.
func failed(f *types.LocalizedMethodFault) error {
	if f == nil {
		return errors.New("the task failed, but the vCenter reported no reason")
	}
	return &Fault{f}
}

// Error is the message, followed by explanations.
func (f *Fault) Error() string {
	parts := []string{f.fault.LocalizedMessage}
	if parts[0] == "" {
		parts[0] = name(f.fault.Fault)
	}
	if method := f.fault.Fault; method != nil {
		for _, m := range method.GetMethodFault().FaultMessage {
			if m.Message != "" {
				parts = append(parts, m.Message)
			}
		}
	}
	return strings.Join(parts, ": ")
}

// Fault is the fault itself, for checks of its type.
func (f *Fault) Fault() types.BaseMethodFault { return f.fault.Fault }

// name is the type of a fault, such as "NoPermission".
func name(f types.BaseMethodFault) string {
	return strings.TrimPrefix(fmt.Sprintf("%T", f), "*types.")
}
