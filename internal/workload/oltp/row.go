package oltp

import (
	"math/rand/v2"
	"strconv"
)

// source draws what the load and the data are made of.
type source struct{ rand.PCG }

func newSource(seed, stream uint64) *source { return &source{*rand.NewPCG(seed, stream)} }

// below is uniform over 0..n-1.
func (s *source) below(n int) int { return int((s.Uint64() >> 32) * uint64(n) >> 32) }

// groups appends so many groups of eleven digits with a dash between them.
func (s *source) groups(b []byte, n int) []byte {
	for i := range n {
		if i > 0 {
			b = append(b, '-')
		}
		for r, k := s.Uint64(), 0; k < 11; k++ {
			b = append(b, byte('0'+r%10))
			r /= 10
		}
	}
	return b
}

// Values are of ten groups in column c and of five in column pad.
const (
	groupsC   = 10
	groupsPad = 5
	lengthC   = 12*groupsC - 1
	lengthPad = 12*groupsPad - 1
)

// appendRow appends a row in the text format of COPY.
func (s *source) appendRow(b []byte, id, rows int) []byte {
	b = append(strconv.AppendInt(b, int64(id), 10), '\t')
	b = append(strconv.AppendInt(b, int64(1+s.below(rows)), 10), '\t')
	b = append(s.groups(b, groupsC), '\t')
	return append(s.groups(b, groupsPad), '\n')
}
