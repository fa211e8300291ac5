package cqliot

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"os"
	"strconv"
	"strings"
	"testing"
)

func published(t *testing.T) *readings {
	t.Helper()
	p := defaults()
	p.Mode = faithful
	r, err := newReadings(p, 0)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// lines are the fields of the lines of a file of test data.
func lines(t *testing.T, name string) (all [][]string) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		all = append(all, strings.Fields(line))
	}
	return all
}

func float(t *testing.T, hexadecimal string) float64 {
	t.Helper()
	n, err := strconv.ParseUint(hexadecimal, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return math.Float64frombits(n)
}

// testdata/sensor_values.tsv was computed by the classes of NoSQLBench itself, of tag
// 4.15.104: cycle, bits of sensor_value, sensor_value.
func TestSensorValuesOfNoSQLBench(t *testing.T) {
	r, all, huge := published(t), lines(t, "testdata/sensor_values.tsv"), 0
	for _, line := range all {
		var cycle int64
		if _, err := fmt.Sscan(line[0], &cycle); err != nil {
			t.Fatal(err)
		}
		want := float(t, line[1])
		if got := r.value(hash(cycle)); got != want {
			t.Errorf("cycle %d has %v, not %v", cycle, got, want)
		}
		if want < -1e15 {
			huge++
		}
	}
	if len(all) != 1005 || huge != 7 {
		t.Errorf("%d values, %d of them huge", len(all), huge)
	}
}

// magnitude is |MurmurHash3_x64_128| of a big-endian number, written for this test from the
// description of the algorithm (A. Appleby, SMHasher).
func magnitude(v int64) int64 {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(v))
	mix := func(k uint64) uint64 {
		for _, c := range []uint64{0xff51afd7ed558ccd, 0xc4ceb9fe1a85ec53} {
			k = (k ^ k>>33) * c
		}
		return k ^ k>>33
	}
	low := bits.RotateLeft64(binary.LittleEndian.Uint64(b[:])*0x87c37b91114253d5, 31) * 0x4cf5ad432745937f
	low = (low ^ 8) + 8
	return max(int64(mix(low)+mix(low+8)), -int64(mix(low)+mix(low+8)))
}

// The values of 20,000 cycles equal those of a port of the published sampler that shares
// nothing with ours: its quantiles are those of Apache Commons Statistics itself (see
// testdata/Quantiles.java), and each value lies on the line between two of them.
func TestSensorValuesOfAPort(t *testing.T) {
	var table []float64
	for _, line := range lines(t, "testdata/quantiles.txt") {
		table = append(table, math.Max(-0x1p63, float(t, line[0])))
	}
	if len(table) != 1000 || table[0] != -0x1p63 {
		t.Fatalf("%d quantiles, the first %v", len(table), table[0])
	}
	table = append(table, 0)
	r, huge := published(t), 0
	for n := range int64(20_000) {
		cycle := n
		if n >= 10_000 {
			cycle = n * 59_999 // to 1.2e9
		}
		x, f := math.Modf(float64(magnitude(cycle)) * (0x1p-63 * 999))
		left, right := table[int(x)]*(1-f), table[int(x)+1]*f
		want := left + right
		want += 100
		if got := r.value(hash(cycle)); got != want {
			t.Fatalf("cycle %d has %v, not %v", cycle, got, want)
		}
		if want < -1e15 {
			huge++
		}
	}
	if huge < 10 || huge > 32 { // 20 expected
		t.Errorf("%d of 20,000 values are huge", huge)
	}
}

// Every quantile is that of the library, and the table of mode sound lacks the infinite one.
func TestQuantiles(t *testing.T) {
	all, sane := normalTable(true), normalTable(false)
	for s, line := range lines(t, "testdata/quantiles.txt") {
		if want := float(t, line[0]); s > 0 && (all[s] != want || sane[s-1] != want) {
			t.Errorf("quantile %d is %v and %v, not %v", s, all[s], sane[s-1], want)
		}
	}
	if len(all) != 1001 || len(sane) != 1000 || all[0] != -0x1p63 {
		t.Errorf("tables of %d and %d points, the first %v", len(all), len(sane), all[0])
	}
}

// The values of mode sound have the mean and the deviation that they are to have.
func TestSoundSensorValues(t *testing.T) {
	r, err := newReadings(defaults(), 0)
	if err != nil {
		t.Fatal(err)
	}
	const n = 20_000
	sum, squares := 0., 0.
	for c := range int64(n) {
		v := r.value(hash(c)) - sensorMean
		sum, squares = sum+v, squares+v*v
	}
	if mean, deviation := sum/n, math.Sqrt(squares/n); math.Abs(mean) > .15 || math.Abs(deviation-sensorDeviation) > .15 {
		t.Errorf("the values have mean %v and deviation %v", sensorMean+mean, deviation)
	}
}
