package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/trial/machines"
	"plimsoll/internal/trial/parts"
)

// checkEnergy refuses a source of the user's that shows nothing, and a study that energy decides where no source is known.
func checkEnergy(ctx context.Context, s *session, total *Needs) error {
	own, decides := s.bench.Study.Measure.Energy, s.bench.Study.DecidedByEnergy()
	if s.sim != nil || own == nil && decides == "" {
		return nil
	}
	if own == nil {
		all, err := s.sample(ctx, s.bench.Plan.Arms[0].Levels)
		if err != nil {
			return err
		}
		for _, m := range all {
			local, ok := m.At.Machine.(platform.Local)
			if here := ok && local.Local(); !here && !hosted(m.At.Machine) {
				return fmt.Errorf("metric %s: %s is not on this host, whose energy plimsoll reads: name a source in measure.energy, such as a file or a command of its power meter", decides, m.At.Machine.Name())
			}
		}
	}
	_, err := machines.OpenEnergy(ctx, os.DirFS("/"), own)
	switch {
	case err != nil && own == nil:
		return fmt.Errorf("metric %s: %w", decides, err)
	case err != nil:
		return err
	case own != nil && own.Command != "":
		total.Changes = append(total.Changes, fmt.Sprintf("runs `%s` here every %s for the energy", own.Command, parameter.Duration(own.Every)))
	}
	return nil
}

// metering is a trial with the energy of its load.
type metering struct{ of *attempt }

// follow reads the energy of the load, where a source is known.
func (m metering) follow(ctx context.Context, watched machines.Set) {
	a := m.of
	own := a.study.Measure.Energy
	if own == nil && !watched.Here(a.under) {
		return
	}
	source, err := machines.OpenEnergy(ctx, os.DirFS("/"), own)
	if err != nil && (own != nil || a.study.DecidedByEnergy() != "") {
		a.unmetered = err
	}
	a.energy = source.Follow(ctx)
}

// wattsIn is the mean power in a window of a load that began at an instant. Its error says why it is unknown, where a source is known.
func (m metering) wattsIn(began time.Time, w measure.Window) (float64, error) {
	a := m.of
	if a.energy == nil {
		return 0, a.unmetered
	}
	at := func(seconds float64) time.Time { return began.Add(time.Duration(seconds * 1e9)) }
	return a.energy.Watts(at(w.Cut), at(w.End))
}

// enter enters the energy of the window in the record, and its source in the certificate. The cause is why the trial is void, because
// energy decides the study and is unknown; empty for no reason.
func (m metering) enter() (cause string) {
	a := m.of
	switch {
	case a.energy == nil && a.unmetered == nil:
		return ""
	case parts.Searches(a.study):
		return m.enterScored()
	}
	w := a.record.Window
	watts, err := m.wattsIn(a.began, w)
	if err != nil {
		return m.unknown(err)
	}
	m.known()
	a.record.Values[measure.Power], a.record.Values[measure.Energy] = watts, watts*(w.End-w.Cut)
	if rate, known := a.record.Values[a.kind.Rate]; known && !a.study.Tiled() {
		a.record.Values[measure.OperationsPerJoule] = rate / watts
	}
	return ""
}

// enterScored enters the source of a search in the certificate, where its tiles have a score.
func (m metering) enterScored() (cause string) {
	values := m.of.record.Values
	if _, scored := values[measure.Score]; !scored {
		return ""
	}
	if _, known := values[measure.KilowattScore]; !known {
		return m.unknown(cmp.Or(m.of.unmetered, errors.New("the power of no load with that number of tiles is known")))
	}
	m.known()
	return ""
}

func (m metering) known() {
	m.of.settled = append(m.of.settled, measure.Check{Name: measure.EnergyCheck, State: measure.Pass, Detail: m.of.energy.Source()})
}

// unknown enters in the certificate why the energy is unknown.
func (m metering) unknown(why error) (cause string) {
	c := measure.Check{Name: measure.EnergyCheck, State: measure.Unknown, Detail: why.Error()}
	if m.of.study.DecidedByEnergy() != "" {
		c.State, cause = measure.Fail, c.Name+": "+c.Detail
	}
	m.of.settled = append(m.of.settled, c)
	return cause
}
