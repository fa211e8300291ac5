package study

// The settings of an open loop. A workload without them does not support it.
const (
	RateSetting     = "rate"
	ArrivalsSetting = "arrivals"
	ShapeSetting    = "shape"
	RampSetting     = "ramp" // of a closed loop
)
