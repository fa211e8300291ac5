package cqliot

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"strings"

	"plimsoll/internal/cql"
)

// readings makes the reading of a cycle from its number, as the bindings of the
// published workload do. It is never written after it was made.
type readings struct {
	sources, stations, speed int64
	base                     int64 // milliseconds that are added to each time; 0 in mode faithful
	words                    []string
	text                     []byte
	normal                   []float64 // quantiles of the sensor values around their mean, for value
}

// Sizes of the data of a reading, both included.
const (
	leastData = 800
	mostData  = 1200
)

// newReadings reads the files that the parameters name.
func newReadings(p Parameters, base int64) (*readings, error) {
	r := &readings{sources: int64(p.Sources), stations: int64(p.Stations), speed: int64(p.Speed), base: base, words: ourWords(), text: ourText(), normal: normalTable(p.Mode == faithful)}
	if p.Words != "" {
		data, err := os.ReadFile(p.Words)
		if err != nil {
			return nil, fmt.Errorf("read words: %w", err)
		}
		if r.words = strings.Split(strings.TrimRight(string(data), "\n"), "\n"); r.words[0] == "" {
			return nil, fmt.Errorf("words: %s is empty", p.Words)
		}
	}
	if p.Text != "" {
		var err error
		if r.text, err = os.ReadFile(p.Text); err != nil {
			return nil, fmt.Errorf("read text: %w", err)
		}
		if len(r.text) <= mostData || bytes.ContainsFunc(r.text, func(c rune) bool { return c > 126 }) {
			return nil, fmt.Errorf("text: %s must hold more than %d characters, all of ASCII", p.Text, mostData)
		}
	}
	return r, nil
}

// hash is the published one of a number: the magnitude of the first half of
// MurmurHash3 x64 128 over its eight bytes, the highest first.
func hash(v int64) int64 {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(v))
	if h := cql.Murmur3F(b[:]); h >= 0 {
		return h
	} else {
		return -h // the least number stays as it is, as in Java
	}
}

// uuid is a hashed UUID of version 4.
func uuid(v int64) (id [16]byte) {
	binary.BigEndian.PutUint64(id[:], uint64(hash(v))&^0xf000|0x4000)
	binary.BigEndian.PutUint64(id[8:], uint64(hash(v+1))&^(3<<62)|1<<63)
	return id
}

// key is the partition key.
type key struct {
	machine [16]byte
	sensor  string
	hash    int64 // of the cycle
}

func (r *readings) key(cycle int64) key {
	h := hash(cycle)
	return key{uuid(cycle % r.sources), r.words[h%int64(len(r.words))], h}
}

// token is where the partition lies on the ring. The buffer is for its bytes.
func (k key) token(buffer []byte) int64 {
	return cql.Token(cql.AppendKey(cql.AppendKey(buffer[:0], k.machine[:]), k.sensor))
}

// time is the time of a reading in milliseconds.
func (r *readings) time(cycle int64) int64 { return r.base + cycle*r.speed/r.sources }

// value is the sensor_value of a hash: Normal(0.0, 5.0); Add(100.0), by interpolation in
// a table of quantiles. Products are rounded before they are added, as in Java: without
// the conversions some processors fuse the two.
func (r *readings) value(h int64) float64 {
	at := float64(h) * (1 / float64(math.MaxInt64) * float64(len(r.normal)-2))
	left := int(at)
	part := at - float64(left)
	return float64(r.normal[left]*(1-part)) + float64(r.normal[left+1]*part) + sensorMean
}

func (r *readings) station(cycle int64) [16]byte { return uuid(cycle / r.sources % r.stations) }

// data is the text of a reading.
func (r *readings) data(h int64) []byte {
	size := leastData + int(h%(mostData-leastData+1))
	at := int(h&math.MaxInt32) % (len(r.text) - size)
	return r.text[at : at+size]
}

// appendKey appends the values by which a partition is read.
func (k *key) append(b []byte) []byte {
	b = cql.AppendBytes(b, k.machine[:])
	return cql.AppendBytes(b, k.sensor)
}

// appendReading appends the values of a whole reading, as the insert has them.
func (r *readings) appendReading(b []byte, k key, cycle int64) []byte {
	b = k.append(b)
	at := r.time(cycle)
	b = cql.AppendLong(b, at)
	b = cql.AppendLong(b, int64(math.Float64bits(r.value(k.hash))))
	station := r.station(cycle)
	b = cql.AppendBytes(b, station[:])
	b = cql.AppendBytes(b, r.data(k.hash))
	return cql.AppendLong(b, at*1000)
}

// ourWords and ourText stand in for the published files, with their sizes.
func ourWords() []string {
	heads := strings.Fields("amber brass cedar delta ember frost grove haven ivory jolly")
	tails := strings.Fields("anchor beacon compass draught engine fathom girder hatch island jetty")
	var all []string
	for _, h := range heads {
		for _, t := range tails {
			all = append(all, h+"_"+t)
		}
	}
	return all
}

func ourText() []byte {
	const size = 92_818
	words := strings.Fields("the ship was loaded to her line and no further because the sea takes what a greedy owner adds and gives nothing back for it")
	var b []byte
	for n := int64(0); len(b) < size; n++ {
		b = append(append(b, words[hash(n)%int64(len(words))]...), ' ')
		if n%17 == 16 {
			b[len(b)-1] = '\n'
		}
	}
	return b[:size]
}
