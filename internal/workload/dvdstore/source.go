package dvdstore

import (
	"math/rand/v2"
	"strconv"
)

// source draws random values for the load and the data.
type source struct{ rand.PCG }

func newSource(seed, stream uint64) *source { return &source{*rand.NewPCG(seed, stream)} }

// between is uniform over lowest..highest, both included.
func (s *source) between(lowest, highest int) int {
	n := uint64(highest - lowest + 1)
	return lowest + int((s.Uint64()>>32)*n>>32)
}

// about is uniform over 1..2n-1, whose mean is n.
func (s *source) about(n int) int { return s.between(1, 2*n-1) }

// share is uniform over 0 to 1.
func (s *source) share() float64 { return float64(s.Uint64()>>11) / (1 << 53) }

// Words are made of a beginning, a middle and an end. The ends are those of English
// words, because the published search by words depends on them.
var (
	titleBegins  = [10]string{"B", "CR", "D", "F", "GL", "M", "PR", "S", "TR", "W"}
	secondBegins = [10]string{"BL", "C", "DR", "FL", "H", "K", "P", "R", "ST", "V"}
	middles      = [10]string{"ACK", "AND", "EAM", "ELL", "ILK", "IND", "OAST", "ORM", "UMP", "USH"}
	ends         = [10]string{"", "S", "ED", "ER", "ING", "Y", "LESS", "ISM", "ON", "AL"}
	firstBegins  = [10]string{"AL", "BER", "CAR", "DOR", "EL", "FRED", "GRE", "HEL", "JO", "MAR"}
	firstEnds    = [20]string{"A", "BERT", "CIA", "DA", "ENA", "FRID", "GAR", "HAM", "IA", "JAN", "KO", "LENE", "MAN", "NA", "OLD", "PH", "RIC", "SON", "TINA", "VIN"}
	lastBegins   = [20]string{"ASH", "BLOOM", "CROSS", "DALE", "EVER", "FAIR", "GREEN", "HART", "IRON", "KING", "LONG", "MOOR", "NORTH", "OAK", "PEN", "RED", "SHER", "THORN", "UNDER", "WHIT"}
	lastEnds     = [10]string{"BY", "DON", "FIELD", "FORD", "HAM", "LEY", "MAN", "STONE", "TON", "WOOD"}
)

const (
	words  = 1000 // first and second words of titles, each
	people = 200  // first and last names of actors, each
)

func appendTitleWord(b []byte, n int) []byte {
	b = append(b, titleBegins[n/100]...)
	return append(append(b, middles[n/10%10]...), ends[n%10]...)
}

func appendSecondWord(b []byte, n int) []byte {
	b = append(b, secondBegins[n/100]...)
	return append(append(b, middles[n/10%10]...), ends[n%10]...)
}

// word appends any word of a title.
func (s *source) word(b []byte) []byte {
	if n := s.between(0, 2*words-1); n >= words {
		return appendSecondWord(b, n-words)
	} else {
		return appendTitleWord(b, n)
	}
}

// sentence appends a number of words.
func (s *source) sentence(b []byte, words int) []byte {
	for n := range words {
		if n > 0 {
			b = append(b, ' ')
		}
		b = s.word(b)
	}
	return b
}

// actor appends the name of an actor.
func (s *source) actor(b []byte) []byte {
	first, last := s.between(0, people-1), s.between(0, people-1)
	b = append(append(b, firstBegins[first/20]...), firstEnds[first%20]...)
	b = append(b, ' ')
	return append(append(b, lastBegins[last/10]...), lastEnds[last%10]...)
}

func (s *source) capitals(b []byte, n int) []byte {
	for range n {
		b = append(b, byte('A'+s.between(0, 25)))
	}
	return b
}

func (s *source) digits(b []byte, n int) []byte {
	for range n {
		b = append(b, byte('0'+s.between(0, 9)))
	}
	return b
}

func number(b []byte, n int) []byte { return strconv.AppendInt(b, int64(n), 10) }
