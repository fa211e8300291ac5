// Package factor is the contract for settings of a machine that a study varies,
// and holds one file for each of them.
//
// A factor is a setting that can be read back. From Get and Set follow apply,
// verify, restore and crash recovery, which package trial does for all of them.
package factor

import (
	"context"

	"plimsoll/internal/platform"
)

// Factor is a setting of a machine. It is a value in the catalog.
type Factor struct {
	Name string // as written in a study, such as "host.scheduler"
	Doc  string
	// Target says what a target suffix names, such as "block device"; empty when
	// the factor takes none. A study writes it after a colon: host.scheduler:sda.
	Target string
	// Example is a pair of levels for the manual.
	Example []string
	// Restart marks a factor whose change disturbs the machine so much that
	// levels are changed seldom: it makes the whole plots of a split-plot design.
	Restart bool
	// Offers lists the levels that the machine offers; nil leaves all to Set.
	// Its error says what the machine lacks.
	Offers func(ctx context.Context, p Place) ([]string, error)
	// Get reads the level from the place where it takes effect.
	Get func(ctx context.Context, p Place) (string, error)
	// Set changes the level. It must accept every text that Get returns.
	Set func(ctx context.Context, p Place, level string) error
}

// Place is where a factor is read and set.
type Place struct {
	Machine platform.Machine
	Target  string // what follows the colon; empty leaves the choice to the factor
	Dir     string // scratch folder of the workload on the machine
}
