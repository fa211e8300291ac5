package number

import "strings"

// Set is a set of words.
func Set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// Words by their direction.
var (
	Ups = Set(`increase increases increased increasing rise rises rose risen rising grow grows grew grown growing growth gain gains gained gaining
		higher more up climb climbs climbed jump jumps jumped boost boosts boosted raise raises raised raising boosting lift lifts lifted lifting uplift greater larger longer additional extra added adds expanded`)
	Downs = Set(`decrease decreases decreased decreasing drop drops dropped dropping fall falls fell fallen falling reduce reduces reduced reducing
		reduction reductions lower lowers lowered less fewer down decline declines declined declining shrink shrinks shrank shrunk shrinking smaller shorter cut cuts cutting lowering loss losses lose loses lost
		losing saving savings save saves saved shave shaves shaved shaving trims trimmed trimming dip dips dipped`)
	// Goods are words for an improvement (+1) or a degradation (-1), whatever the direction.
	Goods = map[string]int{
		"faster": 1, "quicker": 1, "better": 1, "improvement": 1, "improvements": 1, "improve": 1, "improves": 1, "improved": 1, "improving": 1, "speedup": 1, "speed-up": 1, "speedups": 1, "sped": 1,
		"slower": -1, "worse": -1, "degradation": -1, "degrades": -1, "degraded": -1, "degrade": -1, "regression": -1, "regressed": -1, "regresses": -1, "worsened": -1, "slowdown": -1, "penalty": -1, "overhead": -1, "cost": -1, "costs": -1, "costing": -1,
	}
	Speeds = Set("faster quicker speedup speed-up speedups sped slower slowdown")
	// Function words end a noun phrase.
	Function = Set(`of in to and or with for at on per the a an as is are was were be been by from than then but while when where if after before
		vs versus times fold times that which this these those it its they so thus hence i.e e.g using under over between across only just about
		each every all both not no without within during against compared relative instead rather because through into out off has have had
		respectively yields yield gives give brings bring took takes went needs needed uses used saw sees reached reaches delivered delivers sustained sustains
		percent points can could will would may should must do does did until since though although whereas via plus minus nearly almost
		roughly around approximately exactly average mean median total`)
	// Links are words that may occur between a pair of values and its change.
	Links = Set(`a an the which is are was were i.e ie that means meaning this thus therefore hence so or equals for gives giving yields corresponds corresponding
		to of by as equal and about around roughly approximately nearly almost over more than change changes changed delta difference represents representing making it
		improvement increase decrease reduction gain drop loss rise growth speedup speed-up slowdown saving savings overhead up down higher lower faster slower better worse
		relative only just even still well now decline boost jump an overall net respectable impressive significant substantial modest small large huge remarkable further
		increasing decreasing rising falling improving reducing by marking amounting works out comes cutting lowering raising lifting saving shrinking shaving trimming losing gaining factor exactly slightly some one much
		before after was practically approx approximately ca circa total percent five ten fifteen twenty thirty fifty`)
	// Clauses are words that begin a new statement.
	Clauses = Set("and but while whereas although though however yet when if because since whose")
	Modals  = Set(`not n't never wrong incorrect would should might expected expect target targeted goal hypothetical assume assuming assumed suppose cannot can't
		doesn't don't didn't isn't wasn't won't wouldn't projected predicted predicts forecast estimate estimated extrapolated extrapolating theoretically ideally if unless planned`)
)

// Metrics by the words for them.
const (
	MetricLatency    = "latency"
	MetricThroughput = "throughput"
	MetricCPU        = "CPU utilisation"
	MetricCost       = "cost of an operation"
	MetricSpace      = "space"
	MetricPower      = "power"
	MetricOther      = "other"
)

// MetricWords are the metrics by the word for them.
var MetricWords = map[string]string{
	"latency": MetricLatency, "latencies": MetricLatency, "response": MetricLatency, "duration": MetricLatency, "runtime": MetricLatency, "delay": MetricLatency,
	"time": MetricLatency, "times": MetricLatency, "round-trip": MetricLatency, "trip": MetricLatency, "p99": MetricLatency, "p95": MetricLatency, "p50": MetricLatency, "p90": MetricLatency, "p99.9": MetricLatency, "elapsed": MetricLatency,
	"throughput": MetricThroughput, "iops": MetricThroughput, "tps": MetricThroughput, "qps": MetricThroughput, "rps": MetricThroughput, "bandwidth": MetricThroughput,
	"transactions": MetricThroughput, "requests": MetricThroughput, "opm": MetricThroughput, "tpm": MetricThroughput, "messages": MetricThroughput, "rate": MetricThroughput, "performance": MetricThroughput, "orders": MetricThroughput, "cycles": MetricThroughput, "operations": MetricThroughput,
	"cpu": MetricCPU, "utilization": MetricCPU, "utilisation": MetricCPU,
	"cpio": MetricCost, "cycles/io": MetricCost, "path-length": MetricCost, "instructions": MetricCost,
	"memory": MetricSpace, "space": MetricSpace, "capacity": MetricSpace, "footprint": MetricSpace, "size": MetricSpace, "storage": MetricSpace,
	"power": MetricPower, "energy": MetricPower, "watts": MetricPower,
	"score": MetricOther, "servers": MetricOther, "tiles": MetricOther, "desktops": MetricOther, "sessions": MetricOther, "misses": MetricOther, "errors": MetricOther, "allocations": MetricOther, "faults": MetricOther, "switches": MetricOther, "images": MetricOther, "accuracy": MetricOther, "softirqs": MetricOther, "interrupts": MetricOther, "jobs": MetricOther, "builds": MetricOther,
}

// LowerIsBetter is the better direction of a metric: +1 low, -1 high, 0 unknown.
func LowerIsBetter(metric string) int {
	switch metric {
	case MetricLatency, MetricCPU, MetricCost, MetricSpace, MetricPower:
		return 1
	case MetricThroughput:
		return -1
	}
	return 0
}

// Settings are words for configuration, which is set, not measured.
var Settings = Set(`thread threads depth iodepth queue queues client clients connection connections vcpu vcpus cpu cpus core cores socket sockets node nodes
	host hosts vm vms guest guests machine machines disk disks drive drives block blocks replica replicas user users worker workers concurrency version release releases kernel driver firmware
	load loads level levels batch batches buffer buffers shard shards partition partitions warehouse warehouses outstanding job jobs process processes numjobs pool instance instances java python postgres postgresql
	vsphere esxi linux ubuntu debian page pages upgrade upgraded upgrading migrate migrating migration budget timeout delay distance dataset row rows key keys size sizes`)

// Timers are words for configured durations.
var Timers = Set("timeout timeouts delay delays interval intervals window windows budget warm-up warmup ramp ramp-up sleep think period periods ttl lease heartbeat keepalive cooldown retention")

// Concurrency are words for operations in flight.
var Concurrency = Set("thread client user connection outstanding flight worker concurrency iodepth depth concurrent session io i/o requester")

// Numerals are numbers written as words.
var Numerals = map[string]float64{"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}

// HasDigit reports whether a text holds a digit.
func HasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

// IntersectSet reports whether one of the words is in a set.
func IntersectSet(words []string, in map[string]bool) bool {
	for _, w := range words {
		if in[w] {
			return true
		}
	}
	return false
}

// Abbreviations end in a full stop that does not end a sentence.
var Abbreviations = Set("e.g. i.e. vs. approx. ca. fig. no. resp. etc. cf. incl. excl. max. min. avg. sec. eq. st. dr. al. p.p. ver. vol. circa.")
