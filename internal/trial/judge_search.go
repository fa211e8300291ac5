package trial

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"plimsoll/internal/measure"
	"plimsoll/internal/trial/certify"
	"plimsoll/internal/trial/fault"
)

// judgeSearch makes the record of a trial that was a search: its value is the peak,
// and its certificate holds the rules that do not ask for one steady load.
func (a *attempt) judgeSearch(ctx context.Context) error {
	if len(a.record.Probes) == 0 || a.record.Peak == nil {
		return fault.Void("the search ended without an answer")
	}
	maps.Copy(a.files, measure.EncodeIntervals(a.search.Intervals()))
	a.record.Values = map[string]float64{}
	if p := a.record.Peak; p.Estimate > 0 {
		sought, _ := a.study.Load.Sought()
		a.record.Values[sought.Name] = p.Estimate
		tiling{a}.enterScores()
	} else {
		a.record.Warnings = append(a.record.Warnings, fmt.Sprintf("the search found no number: %s %s", p.Word, p.Why))
	}
	if a.session.sim == nil {
		if err := a.parts.Divide(a.files); err != nil {
			return fault.Voids(err)
		}
		a.session.services.Derive(a.record)
	}
	e := &certify.Evidence{Record: a.record, Simulated: a.session.sim != nil, Hosted: hosted(a.session.machines.Machine), Disks: a.session.spaces(ctx), ReadBack: a.session.readings(a.arm, a.record.Observed), Seldom: a.parts.Seldom, AtLeast: a.search.Alone && a.record.Peak.Estimate == 0}
	rules := searchRules
	if a.study.Load.Growth != nil { // it continues until the CPUs are full
		rules = slices.DeleteFunc(slices.Clone(rules), func(name string) bool { return name == "cpu pressure" })
	}
	checks, cause := certify.Judge(e, rules...)
	unmetered := metering{a}.enter()
	a.record.Checks, a.record.Void = slices.Concat(checks, a.settled, a.parts.Lost), cmp.Or(cause, unmetered)
	a.blame()
	finite(a.record)
	return nil
}

// searchRules are the lines of the certificate that hold for many loads at once.
var searchRules = []string{"read back", "steal", "cpu pressure", "throttling", "time sync", "disk space"}
