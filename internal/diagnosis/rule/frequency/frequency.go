// Package frequency holds the rules of diagnosis about the speed of CPUs.
package frequency

import "plimsoll/internal/diagnosis"

// All lists the rules.
func All() []diagnosis.Rule { return []diagnosis.Rule{frequencyLimit, cStateLatency} }

// share and the like are evidence with a unit.
func share(name string, value float64) diagnosis.Fact {
	return diagnosis.Fact{Name: name, Value: value, Unit: "share"}
}

func number(name string, value float64) diagnosis.Fact {
	return diagnosis.Fact{Name: name, Value: value, Unit: "1"}
}

func rate(name string, value float64) diagnosis.Fact {
	return diagnosis.Fact{Name: name, Value: value, Unit: "1/s"}
}

func seconds(name string, value float64) diagnosis.Fact {
	return diagnosis.Fact{Name: name, Value: value, Unit: "s"}
}
