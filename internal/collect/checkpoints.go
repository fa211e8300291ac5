package collect

import (
	"time"

	"plimsoll/internal/platform"
)

// CheckpointCounter is a counter that every guest with a standby has, and no other machine.
const CheckpointCounter = "guest.checkpoints"

// checkpointCounters are those of a guest with a standby.
func checkpointCounters() []Counter {
	return []Counter{
		cumulative(CheckpointCounter, "1/s", "checkpoints of a guest with a standby"),
		cumulative("guest.paused", "1", "share of time for which checkpoints stop the guest"),
		cumulative("guest.copied", "B/s", "changed memory and state of devices copied to the standby"),
		cumulative("guest.failovers", "1/s", "failovers to the standby"),
		gauge("guest.pause", "s", "mean time for which a checkpoint stops the guest"),
		gauge("guest.output_delay", "s", "mean time from the begin of a checkpoint until what the guest sent before leaves"),
	}
}

// addCheckpoints adds the counters of checkpoints. Means are of those since the last reading.
func addCheckpoints(values map[string]float64, c, last platform.Checkpoints) {
	values[CheckpointCounter], values["guest.paused"], values["guest.copied"] = float64(c.Taken), c.Paused.Seconds(), float64(c.Copied)
	values["guest.failovers"] = float64(c.Failovers)
	if n := float64(c.Taken - last.Taken); n > 0 {
		values["guest.pause"] = (c.Paused - last.Paused).Seconds() / n
		values["guest.output_delay"] = (c.Held - last.Held).Seconds() / n
	}
}

// Checkpoints are the counters of checkpoints over a time, as a record has them.
func Checkpoints(now, last platform.Checkpoints, over time.Duration) map[string]float64 {
	values, before := map[string]float64{}, map[string]float64{}
	addCheckpoints(values, now, last)
	addCheckpoints(before, last, last)
	for _, c := range checkpointCounters() {
		if c.Cumulative {
			values[c.Name] = (values[c.Name] - before[c.Name]) / over.Seconds()
		}
	}
	return values
}
