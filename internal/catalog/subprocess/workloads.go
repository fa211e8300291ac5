package subprocess

import (
	"plimsoll/internal/images"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/brokerage"
	"plimsoll/internal/workload/compile"
	"plimsoll/internal/workload/cqliot"
	"plimsoll/internal/workload/cqliot/foreign"
	"plimsoll/internal/workload/desktop"
	"plimsoll/internal/workload/dvdstore"
	"plimsoll/internal/workload/idle"
	"plimsoll/internal/workload/iotimages"
	"plimsoll/internal/workload/keyvalue"
	"plimsoll/internal/workload/memoryaccess"
	"plimsoll/internal/workload/network"
	"plimsoll/internal/workload/null"
	"plimsoll/internal/workload/oltp"
	"plimsoll/internal/workload/orderentry"
	"plimsoll/internal/workload/processor"
	"plimsoll/internal/workload/web"
)

// LabParts are parts of workloads that only plimsoll contains and plimsoll-agent does not,
// because of their size.
type LabParts struct {
	GoCQL   foreign.Opener                 // a second driver for Cassandra
	Images  func() ([]images.Image, error) // those that workload iotimages sends where no others are fetched
	Sources []byte                         // archive of the program that workload compile compiles
}

// Workloads lists the workloads whose load a worker makes.
func Workloads(lab LabParts) []workload.Kind {
	return []workload.Kind{
		web.Kind(),
		keyvalue.Kind(),
		orderentry.Kind(),
		brokerage.Kind(),
		oltp.Kind(),
		cqliot.Kind(lab.GoCQL),
		dvdstore.Kind(),
		network.Kind(),
		iotimages.Kind(lab.Images),
		compile.Kind(lab.Sources),
		processor.Kind(),
		desktop.Kind(),
		memoryaccess.Kind(),
		idle.Kind(),
		null.Kind(),
	}
}
