package timing

import "plimsoll/internal/parameter"

// AllowUnsafe lets tune try levels that can lose data or weaken security.
const AllowUnsafe = "unsafe"

// Candidates is the key of tune that names settings, and CandidatesDoc what it means.
const (
	Candidates    = "candidates"
	CandidatesDoc = "settings with the levels to try, as in factors; default those of the catalog for the workload, service and platform; {} for none, so that only rules suggest changes"
)

// TuningSettings are the schema of the key tune, its candidates apart.
type TuningSettings struct {
	Allow   string             `name:"allow" doc:"changes to try: safe ones, or also levels that can lose data or weaken security" choices:"safe,unsafe"`
	Changes int                `name:"changes" doc:"maximum number of changes to try" min:"1" max:"1000"`
	Time    parameter.Duration `name:"time" doc:"no further change is tried after this time; default measure.time"`
}

// Tuning is the default of tune.
func Tuning() *TuningSettings { return &TuningSettings{Allow: "safe", Changes: 5} }
