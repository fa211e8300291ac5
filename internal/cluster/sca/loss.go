package sca

import (
	"fmt"

	"plimsoll/internal/cluster/snapshot/unit"
)

// Loss is the part of demand that a policy leaves unserved, per mille: at least the shortfall
// of its capacity, at most the loss that was published for such a load.
type Loss struct {
	Least int  `json:"least"`
	Most  int  `json:"most"` // 0 if unknown
	Known bool `json:"known"`
}

// The published measurements, per mille.
const (
	v1AtSaturation = 300 // the largest loss under SCAv1 at saturation
	v2AtLoad       = 110 // the largest loss under SCAv2
	v2Load         = 750 // at this load, relative to the default capacity
)

// Expected is the loss at a load, per mille of the capacity under the default policy. A loss
// published for one load bounds those at lower loads. Where losses of the policy were measured,
// they replace those that were published. For SCAv2 above 75 % load, and for one
// VM that fills a host, no figure was published: there the maximum is unknown.
func (r Row) Expected(load int) Loss {
	if r.Policy == Default || !r.Shared || load <= 0 {
		return Loss{Known: true}
	}
	l := Loss{Least: min(r.LossAt(load), 1000-r.Relative)}
	if len(r.measured) > 0 {
		m := between(r.measured, load)
		return Loss{Least: max(l.Least, m.Least), Most: max(l.Least, m.Most), Known: m.Known}
	}
	switch {
	case r.Policy == V1:
		l.Most, l.Known = max(l.Least, v1AtSaturation), true
	case load <= v2Load:
		l.Most, l.Known = max(l.Least, v2AtLoad), true
	}
	return l
}

// String is the loss as text: "0% to 11%", "not known, at least 4%".
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
