package sca

import (
	"fmt"

	"plimsoll/internal/cluster/snapshot/unit"
)

// Loss is what a policy costs of the work that is asked for, per mille: at least what its
// capacity lacks, and at most what was measured, where that was published for such a load.
type Loss struct {
	Least int  `json:"least"`
	Most  int  `json:"most"` // 0 where it is not known
	Known bool `json:"known"`
}

// The published measurements, per mille.
const (
	v1AtSaturation = 300 // the largest loss under SCAv1 at saturation
	v2AtLoad       = 110 // the largest loss under SCAv2
	v2Load         = 750 // at this load, of what the host does by default
)

// Expected is the loss at a load, per mille of the capacity under the default policy. A loss
// that was measured at one load bounds those at lower loads. Nothing was published of SCAv2
// above 75 % load, nor of one VM that fills a host but that it does slightly worse than under
// SCAv1: there the most is not known.
func (r Row) Expected(load int) Loss {
	if r.Policy == Default || !r.Shared || load <= 0 {
		return Loss{Known: true}
	}
	l := Loss{Least: min(r.LossAt(load), 1000-r.Relative)}
	switch {
	case r.Policy == V1:
		l.Most, l.Known = max(l.Least, v1AtSaturation), true
	case load <= v2Load:
		l.Most, l.Known = max(l.Least, v2AtLoad), true
	}
	return l
}

// String is the loss for people: "0% to 11%", "not known, at least 4%".
func (l Loss) String() string {
	switch {
	case !l.Known && l.Least > 0:
		return "not known, at least " + unit.PerMille(l.Least)
	case !l.Known:
		return "not known"
	case l.Least == l.Most:
		return unit.PerMille(l.Least)
	}
	return fmt.Sprintf("%s to %s", unit.PerMille(l.Least), unit.PerMille(l.Most))
}
