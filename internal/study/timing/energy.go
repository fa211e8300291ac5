package timing

import (
	"time"

	"plimsoll/internal/parameter"
)

// Energy is the key of measure that names a source of energy, and EnergyDoc what it means.
const (
	Energy    = "energy"
	EnergyDoc = "source of the energy or the power of the host: {file: PATH} or {command: TEXT}, with its unit; default processor packages (RAPL) or power meter of this host, if it shows them"
)

// EnergySettings are the schema of measure.energy.
type EnergySettings struct {
	File    string             `name:"file" doc:"absolute path of a file with one number, on the machine where plimsoll runs; a pattern must match one file"`
	Command string             `name:"command" doc:"command for sh that prints one number, on the machine where plimsoll runs"`
	Unit    string             `name:"unit" doc:"unit of the number: of a power, or of energy that only grows" choices:"W,mW,uW,J,uJ,Wh,kWh"`
	Covers  string             `name:"covers" doc:"what it measures, for the certificate, such as: whole server at the wall"`
	Every   parameter.Duration `name:"every" doc:"time between readings" min:"500ms" max:"1h"`
}

// EnergySource is the default of measure.energy, without a source.
func EnergySource() *EnergySettings {
	return &EnergySettings{Unit: "W", Every: parameter.Duration(time.Second)}
}
