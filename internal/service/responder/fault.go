package responder

import "math/rand/v2"

// disposition is what the server does to a request.
type disposition int

const (
	served disposition = iota
	failed
	reset
	garbled
	halfClosed
)

// faults draws fates by their shares.
type faults struct {
	random *rand.Rand
	upTo   [halfClosed + 1]float64 // cumulative shares of the faults
}

func newFaults(s Settings, seed, connection uint64) *faults {
	f := &faults{random: rand.New(rand.NewPCG(seed, connection))}
	f.upTo = [...]float64{failed: float64(s.Fail), reset: float64(s.Reset), garbled: float64(s.Garbage), halfClosed: float64(s.HalfClose)}
	for i := reset; i <= halfClosed; i++ {
		f.upTo[i] += f.upTo[i-1]
	}
	return f
}

// next draws the outcome of one request.
func (f *faults) next() disposition {
	if f.upTo[halfClosed] == 0 {
		return served
	}
	u := f.random.Float64()
	for i := failed; i <= halfClosed; i++ {
		if u < f.upTo[i] {
			return i
		}
	}
	return served
}

// garbage is not the start of a response in any protocol of the responder.
const garbage = "\x01\x02\x03 this is no answer \xff\xfe\r\n\r\n"
