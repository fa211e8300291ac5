// Package timing is the schema of the key measure of studies: the duration of trials and the number of blocks.
package timing

import (
	"strconv"
	"time"

	"plimsoll/internal/parameter"
)

// Auto lets plimsoll choose the warm-up or the number of blocks.
const Auto = "auto"

// Settings are the schema of measure, with its defaults. What depends on other
// keys has no default here (see Longest and Interval).
type Settings struct {
	Settle    parameter.Duration `name:"settle" doc:"pause between applying levels and starting the load"`
	Warmup    string             `name:"warmup" doc:"warm-up; auto detects its end by MSER-5, a duration fixes it"`
	Window    parameter.Duration `name:"window" doc:"minimum measurement window of a trial" min:"100ms"`
	Longest   parameter.Duration `name:"longest" doc:"maximum duration of a load, warm-up included; default six windows plus a fixed warm-up"`
	Interval  parameter.Duration `name:"interval" doc:"interval of the time series; default a 50th of the window, between 100ms and 1s" min:"1ms"`
	Blocks    string             `name:"blocks" doc:"blocks; auto stops at the first planned look that decides, a number fixes them"`
	Looks     []string           `name:"looks" doc:"numbers of blocks at which auto looks"`
	Precision parameter.Share    `name:"precision" doc:"target half-width of the confidence interval, which determines the number of blocks; replaces looks"`
	Time      parameter.Duration `name:"time" doc:"time budget of the study"`
	Disk      parameter.Bytes    `name:"disk" doc:"disk space budget of the study"`
	Intervene bool               `name:"intervene" doc:"after a decided effect, hold the counter that explains it best and run again, to test whether it is the cause"`
	Retries   int                `name:"retries" doc:"maximum number of void trials repeated, in total" min:"0" max:"1000"`
}

// Looks are the default looks, in blocks.
func Looks() []int { return []int{9, 13, 18, 24} }

// Default is the default of measure.
func Default() *Settings {
	var looks []string
	for _, n := range Looks() {
		looks = append(looks, strconv.Itoa(n))
	}
	return &Settings{
		Settle: parameter.Duration(time.Second), Warmup: Auto, Window: parameter.Duration(10 * time.Second),
		Blocks: Auto, Looks: looks, Retries: 3,
	}
}

// MostBlocks is the largest number of blocks that a study may ask for.
const MostBlocks = 100_000

// Longest is six windows, in case of a late steady state, plus a fixed warm-up.
func Longest(warmup, window time.Duration) time.Duration { return max(warmup, 0) + 6*window }

// Interval is a fiftieth of the window, as MSER-5 needs 50 samples, within limits.
func Interval(window time.Duration) time.Duration {
	interval := min(max(window/50, 100*time.Millisecond), time.Second)
	return interval.Truncate(10 * time.Millisecond)
}
