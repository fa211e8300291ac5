package lab

import (
	"plimsoll/internal/collect"
	"plimsoll/internal/factor"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/local"
	"plimsoll/internal/platforms/sim"
	"plimsoll/internal/study"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/null"
)

// few is a catalog of what studies of these tests name; a program with all takes long to link.
func few() *study.Catalog {
	return &study.Catalog{
		Workloads: []workload.Kind{null.Kind()},
		Platforms: []platform.Kind{local.Kind(), sim.Kind()},
		Factors:   []factor.Factor{sim.Knob(), factor.Label(), factor.Affinity()},
		Sources:   []collect.Source{collect.CPU(), collect.Pressure(), collect.Clock()},
	}
}
