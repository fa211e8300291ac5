package number

import (
	"strings"

	"plimsoll/internal/pattern"
)

// Dimensions of quantities. A plain number has none; a count has the noun that
// follows it.
const (
	DimTime    = "time"
	DimBytes   = "bytes"
	dimBits    = "bits"
	DimByteSec = "bytes/s"
	DimBitSec  = "bits/s"
	DimRate    = "rate"
	DimHertz   = "frequency"
	DimPower   = "power"
	DimPercent = "percent"
	DimCount   = "count"
)

// Unit is a unit of measure with its size in the base unit of its dimension.
type Unit struct {
	Dim   string
	Scale float64
	// Loose is the other common size of the unit, as of MB for MiB; 0 for none.
	Loose float64
}

// Units are the units by the word for them.
var Units = map[string]Unit{
	"ns": {Dim: DimTime, Scale: 1e-9}, "nsec": {Dim: DimTime, Scale: 1e-9}, "nanoseconds": {Dim: DimTime, Scale: 1e-9},
	"us": {Dim: DimTime, Scale: 1e-6}, "\u00b5s": {Dim: DimTime, Scale: 1e-6}, "\u03bcs": {Dim: DimTime, Scale: 1e-6},
	"usec": {Dim: DimTime, Scale: 1e-6}, "usecs": {Dim: DimTime, Scale: 1e-6}, "microseconds": {Dim: DimTime, Scale: 1e-6}, "microsecond": {Dim: DimTime, Scale: 1e-6},
	"ms": {Dim: DimTime, Scale: 1e-3}, "msec": {Dim: DimTime, Scale: 1e-3}, "msecs": {Dim: DimTime, Scale: 1e-3},
	"milliseconds": {Dim: DimTime, Scale: 1e-3}, "millisecond": {Dim: DimTime, Scale: 1e-3},
	"s": {Dim: DimTime, Scale: 1}, "sec": {Dim: DimTime, Scale: 1}, "secs": {Dim: DimTime, Scale: 1}, "second": {Dim: DimTime, Scale: 1}, "seconds": {Dim: DimTime, Scale: 1},
	"min": {Dim: DimTime, Scale: 60}, "mins": {Dim: DimTime, Scale: 60}, "minute": {Dim: DimTime, Scale: 60}, "minutes": {Dim: DimTime, Scale: 60},
	"h": {Dim: DimTime, Scale: 3600}, "hour": {Dim: DimTime, Scale: 3600}, "hours": {Dim: DimTime, Scale: 3600},
	"day": {Dim: DimTime, Scale: 86400}, "days": {Dim: DimTime, Scale: 86400},
	"B": {Dim: DimBytes, Scale: 1}, "byte": {Dim: DimBytes, Scale: 1}, "bytes": {Dim: DimBytes, Scale: 1},
	"KiB": {Dim: DimBytes, Scale: 1 << 10}, "MiB": {Dim: DimBytes, Scale: 1 << 20}, "GiB": {Dim: DimBytes, Scale: 1 << 30}, "TiB": {Dim: DimBytes, Scale: 1 << 40},
	"kB": {DimBytes, 1e3, 1 << 10}, "KB": {DimBytes, 1e3, 1 << 10}, "MB": {DimBytes, 1e6, 1 << 20}, "GB": {DimBytes, 1e9, 1 << 30}, "TB": {DimBytes, 1e12, 1 << 40},
	"bit": {Dim: dimBits, Scale: 1}, "bits": {Dim: dimBits, Scale: 1},
	"kbit": {Dim: dimBits, Scale: 1e3}, "Kbit": {Dim: dimBits, Scale: 1e3}, "Mbit": {Dim: dimBits, Scale: 1e6}, "Gbit": {Dim: dimBits, Scale: 1e9},
	"Kb": {Dim: dimBits, Scale: 1e3}, "Mb": {Dim: dimBits, Scale: 1e6}, "Gb": {Dim: dimBits, Scale: 1e9},
	"kbps": {Dim: DimBitSec, Scale: 1e3}, "Kbps": {Dim: DimBitSec, Scale: 1e3}, "Mbps": {Dim: DimBitSec, Scale: 1e6}, "Gbps": {Dim: DimBitSec, Scale: 1e9},
	"MBps": {DimByteSec, 1e6, 1 << 20}, "GBps": {DimByteSec, 1e9, 1 << 30}, "KBps": {DimByteSec, 1e3, 1 << 10},
	"Hz": {Dim: DimHertz, Scale: 1}, "kHz": {Dim: DimHertz, Scale: 1e3}, "MHz": {Dim: DimHertz, Scale: 1e6}, "GHz": {Dim: DimHertz, Scale: 1e9},
	"W": {Dim: DimPower, Scale: 1}, "kW": {Dim: DimPower, Scale: 1e3}, "mW": {Dim: DimPower, Scale: 1e-3}, "watts": {Dim: DimPower, Scale: 1}, "watt": {Dim: DimPower, Scale: 1},
	"IOPS": {Dim: DimRate, Scale: 1}, "iops": {Dim: DimRate, Scale: 1}, "kIOPS": {Dim: DimRate, Scale: 1e3}, "KIOPS": {Dim: DimRate, Scale: 1e3}, "MIOPS": {Dim: DimRate, Scale: 1e6},
	"TPS": {Dim: DimRate, Scale: 1}, "tps": {Dim: DimRate, Scale: 1}, "QPS": {Dim: DimRate, Scale: 1}, "qps": {Dim: DimRate, Scale: 1},
	"RPS": {Dim: DimRate, Scale: 1}, "rps": {Dim: DimRate, Scale: 1}, "FPS": {Dim: DimRate, Scale: 1}, "fps": {Dim: DimRate, Scale: 1},
	"pps": {Dim: DimRate, Scale: 1}, "kpps": {Dim: DimRate, Scale: 1e3}, "Kpps": {Dim: DimRate, Scale: 1e3}, "Mpps": {Dim: DimRate, Scale: 1e6},
	"OPM": {Dim: DimRate, Scale: 1. / 60}, "opm": {Dim: DimRate, Scale: 1. / 60}, "TPM": {Dim: DimRate, Scale: 1. / 60}, "tpm": {Dim: DimRate, Scale: 1. / 60}, "tpmC": {Dim: DimRate, Scale: 1. / 60},
}

// Multipliers scale a number.
var Multipliers = map[string]float64{
	"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
	"thousand": 1e3, "million": 1e6, "millions": 1e6, "billion": 1e9, "mn": 1e6, "bn": 1e9,
}

var perForm = pattern.Of(`^ (?:per|a|an) (second|minute|hour|sec)\b`)

var unitForm = pattern.Of(`^[ \x{a0}\x{202f}\x{2009}]?([A-Za-z\x{b5}\x{3bc}]*)(?:/([A-Za-z]+)| (?:per|a|an) (second|minute|hour|sec)\b)?`)

// ReadUnit parses the unit after a number: its size, the noun of a rate, and its length, 0 for
// none.
func ReadUnit(rest string) (u Unit, noun string, length int) {
	if m := perForm().FindStringSubmatch(Cut(rest, 16)); m != nil {
		return Unit{Dim: DimRate, Scale: 1 / Units[m[1]].Scale}, "", len(m[0])
	}
	m := unitForm().FindStringSubmatch(Cut(rest, 60))
	if m == nil || m[1] == "" && m[2] == "" {
		return Unit{}, "", 0
	}
	word, divisor := m[1], m[2]
	if divisor == "" {
		divisor = m[3]
	}
	if word == "" && rest[0] != '/' {
		return Unit{}, "", 0
	}
	if divisor == "" {
		if u, ok := Units[word]; ok {
			return u, "", len(m[0])
		}
		return Unit{}, "", 0
	}
	per, known := Units[divisor]
	if !known || per.Dim != DimTime {
		if m[2] == "" || word == "" {
			return Unit{}, "", 0
		}
		return Unit{Dim: DimCount, Scale: 1}, word + "/" + m[2], len(m[0])
	}
	of := Units[word]
	switch {
	case of.Dim == DimBytes:
		return Unit{DimByteSec, of.Scale / per.Scale, of.Loose / per.Scale}, "", len(m[0])
	case of.Dim == dimBits:
		return Unit{Dim: DimBitSec, Scale: of.Scale / per.Scale}, "", len(m[0])
	case of.Dim != "":
		return Unit{Dim: DimCount, Scale: 1}, word + "/" + divisor, len(m[0])
	}
	return Unit{Dim: DimRate, Scale: 1 / per.Scale}, Singular(word), len(m[0])
}

// Singular is a noun in lower case without a plural s.
func Singular(word string) string {
	w := strings.ToLower(word)
	if len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") {
		w = w[:len(w)-1]
	}
	return w
}

// Cut shortens a text.
func Cut(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}
