package claim

import (
	"regexp"
	"strings"
)

// Dimensions of quantities. A plain number has none; a count has the noun that
// follows it.
const (
	dimTime    = "time"
	dimBytes   = "bytes"
	dimBits    = "bits"
	dimByteSec = "bytes/s"
	dimBitSec  = "bits/s"
	dimRate    = "rate"
	dimHertz   = "frequency"
	dimPower   = "power"
	dimPercent = "percent"
	dimCount   = "count"
)

// unit is a unit of measure with its size in the base unit of its dimension.
type unit struct {
	dim   string
	scale float64
	// loose is the other size that the unit has in common use, as of MB for MiB; 0 for
	// none.
	loose float64
}

var units = map[string]unit{
	"ns": {dim: dimTime, scale: 1e-9}, "nsec": {dim: dimTime, scale: 1e-9}, "nanoseconds": {dim: dimTime, scale: 1e-9},
	"us": {dim: dimTime, scale: 1e-6}, "\u00b5s": {dim: dimTime, scale: 1e-6}, "\u03bcs": {dim: dimTime, scale: 1e-6},
	"usec": {dim: dimTime, scale: 1e-6}, "usecs": {dim: dimTime, scale: 1e-6}, "microseconds": {dim: dimTime, scale: 1e-6}, "microsecond": {dim: dimTime, scale: 1e-6},
	"ms": {dim: dimTime, scale: 1e-3}, "msec": {dim: dimTime, scale: 1e-3}, "msecs": {dim: dimTime, scale: 1e-3},
	"milliseconds": {dim: dimTime, scale: 1e-3}, "millisecond": {dim: dimTime, scale: 1e-3},
	"s": {dim: dimTime, scale: 1}, "sec": {dim: dimTime, scale: 1}, "secs": {dim: dimTime, scale: 1}, "second": {dim: dimTime, scale: 1}, "seconds": {dim: dimTime, scale: 1},
	"min": {dim: dimTime, scale: 60}, "mins": {dim: dimTime, scale: 60}, "minute": {dim: dimTime, scale: 60}, "minutes": {dim: dimTime, scale: 60},
	"h": {dim: dimTime, scale: 3600}, "hour": {dim: dimTime, scale: 3600}, "hours": {dim: dimTime, scale: 3600},
	"day": {dim: dimTime, scale: 86400}, "days": {dim: dimTime, scale: 86400},
	"B": {dim: dimBytes, scale: 1}, "byte": {dim: dimBytes, scale: 1}, "bytes": {dim: dimBytes, scale: 1},
	"KiB": {dim: dimBytes, scale: 1 << 10}, "MiB": {dim: dimBytes, scale: 1 << 20}, "GiB": {dim: dimBytes, scale: 1 << 30}, "TiB": {dim: dimBytes, scale: 1 << 40},
	"kB": {dimBytes, 1e3, 1 << 10}, "KB": {dimBytes, 1e3, 1 << 10}, "MB": {dimBytes, 1e6, 1 << 20}, "GB": {dimBytes, 1e9, 1 << 30}, "TB": {dimBytes, 1e12, 1 << 40},
	"bit": {dim: dimBits, scale: 1}, "bits": {dim: dimBits, scale: 1},
	"kbit": {dim: dimBits, scale: 1e3}, "Kbit": {dim: dimBits, scale: 1e3}, "Mbit": {dim: dimBits, scale: 1e6}, "Gbit": {dim: dimBits, scale: 1e9},
	"Kb": {dim: dimBits, scale: 1e3}, "Mb": {dim: dimBits, scale: 1e6}, "Gb": {dim: dimBits, scale: 1e9},
	"kbps": {dim: dimBitSec, scale: 1e3}, "Kbps": {dim: dimBitSec, scale: 1e3}, "Mbps": {dim: dimBitSec, scale: 1e6}, "Gbps": {dim: dimBitSec, scale: 1e9},
	"MBps": {dimByteSec, 1e6, 1 << 20}, "GBps": {dimByteSec, 1e9, 1 << 30}, "KBps": {dimByteSec, 1e3, 1 << 10},
	"Hz": {dim: dimHertz, scale: 1}, "kHz": {dim: dimHertz, scale: 1e3}, "MHz": {dim: dimHertz, scale: 1e6}, "GHz": {dim: dimHertz, scale: 1e9},
	"W": {dim: dimPower, scale: 1}, "kW": {dim: dimPower, scale: 1e3}, "mW": {dim: dimPower, scale: 1e-3}, "watts": {dim: dimPower, scale: 1}, "watt": {dim: dimPower, scale: 1},
	"IOPS": {dim: dimRate, scale: 1}, "iops": {dim: dimRate, scale: 1}, "kIOPS": {dim: dimRate, scale: 1e3}, "KIOPS": {dim: dimRate, scale: 1e3}, "MIOPS": {dim: dimRate, scale: 1e6},
	"TPS": {dim: dimRate, scale: 1}, "tps": {dim: dimRate, scale: 1}, "QPS": {dim: dimRate, scale: 1}, "qps": {dim: dimRate, scale: 1},
	"RPS": {dim: dimRate, scale: 1}, "rps": {dim: dimRate, scale: 1}, "FPS": {dim: dimRate, scale: 1}, "fps": {dim: dimRate, scale: 1},
	"pps": {dim: dimRate, scale: 1}, "kpps": {dim: dimRate, scale: 1e3}, "Kpps": {dim: dimRate, scale: 1e3}, "Mpps": {dim: dimRate, scale: 1e6},
	"OPM": {dim: dimRate, scale: 1. / 60}, "opm": {dim: dimRate, scale: 1. / 60}, "TPM": {dim: dimRate, scale: 1. / 60}, "tpm": {dim: dimRate, scale: 1. / 60}, "tpmC": {dim: dimRate, scale: 1. / 60},
}

// multipliers scale a number.
var multipliers = map[string]float64{
	"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
	"thousand": 1e3, "million": 1e6, "millions": 1e6, "billion": 1e9, "mn": 1e6, "bn": 1e9,
}

var perForm = regexp.MustCompile(`^ (?:per|a|an) (second|minute|hour|sec)\b`)

var unitForm = regexp.MustCompile(`^[ \x{a0}\x{202f}\x{2009}]?([A-Za-z\x{b5}\x{3bc}]*)(?:/([A-Za-z]+)| (?:per|a|an) (second|minute|hour|sec)\b)?`)

// readUnit reads the unit that follows a number: its size, the noun of a rate, and
// the length read; 0 where none follows.
func readUnit(rest string) (u unit, noun string, length int) {
	if m := perForm.FindStringSubmatch(cut(rest, 16)); m != nil {
		return unit{dim: dimRate, scale: 1 / units[m[1]].scale}, "", len(m[0])
	}
	m := unitForm.FindStringSubmatch(cut(rest, 60))
	if m == nil || m[1] == "" && m[2] == "" {
		return unit{}, "", 0
	}
	word, divisor := m[1], m[2]
	if divisor == "" {
		divisor = m[3]
	}
	if word == "" && rest[0] != '/' {
		return unit{}, "", 0
	}
	if divisor == "" {
		if u, ok := units[word]; ok {
			return u, "", len(m[0])
		}
		return unit{}, "", 0
	}
	per, known := units[divisor]
	if !known || per.dim != dimTime {
		if m[2] == "" || word == "" {
			return unit{}, "", 0
		}
		return unit{dim: dimCount, scale: 1}, word + "/" + m[2], len(m[0])
	}
	of := units[word]
	switch {
	case of.dim == dimBytes:
		return unit{dimByteSec, of.scale / per.scale, of.loose / per.scale}, "", len(m[0])
	case of.dim == dimBits:
		return unit{dim: dimBitSec, scale: of.scale / per.scale}, "", len(m[0])
	case of.dim != "":
		return unit{dim: dimCount, scale: 1}, word + "/" + divisor, len(m[0])
	}
	return unit{dim: dimRate, scale: 1 / per.scale}, singular(word), len(m[0])
}

// singular is a noun in lower case without a plural s.
func singular(word string) string {
	w := strings.ToLower(word)
	if len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") {
		w = w[:len(w)-1]
	}
	return w
}

func cut(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}
