package trial

import (
	"plimsoll/internal/load"
	"plimsoll/internal/trial/drive"
)

// reached finds the service of the study for a process here.
func (a *attempt) reached(protocol string) (load.Endpoint, error) {
	e, err := a.session.services.Target(protocol)
	if err != nil {
		return e, err
	}
	return drive.Through(a.crew.Server().At.Machine, e), nil
}
