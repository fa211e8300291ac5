package spec

import (
	"fmt"

	"plimsoll/internal/guest/coresched"
)

// checkSharing refuses policies for the threads of cores that other settings contradict.
func (g Guest) checkSharing() error {
	p, err := coresched.Parse(g.Sharing)
	if err == nil && p == coresched.OneThread && g.Pin != "" && g.Pin != Unset {
		err = fmt.Errorf("core_scheduling %s chooses the CPUs of the guest, as pin: %s does: omit one of them", p, g.Pin)
	}
	return err
}

// sharingPossible refuses policies that this host does not have.
func (g Guest) sharingPossible() error {
	p, err := coresched.Parse(g.Sharing)
	if err != nil || p == coresched.Default {
		return err
	}
	h, err := coresched.ThisHost()
	if err != nil {
		return err
	}
	return p.Possible(h)
}
