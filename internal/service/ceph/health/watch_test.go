package health

import "testing"

// Reads that a device failed are told once, by OSD; those of before are not.
func TestReadErrors(t *testing.T) {
	fresh, lent := &Watch{Errors: map[int]float64{}}, &Watch{}
	for _, c := range []struct {
		of   *Watch
		now  map[int]float64
		want string
	}{
		{fresh, map[int]float64{0: 0, 1: 0}, ""},
		{fresh, map[int]float64{0: 0, 1: 3}, "osd.1 could not read from its device 3 times: look for I/O errors in the kernel log, and replace the device"},
		{fresh, map[int]float64{0: 0, 1: 3}, ""},
		{fresh, map[int]float64{0: 2, 1: 4}, "osd.0 could not read from its device 2 times, osd.1 could not read from its device 1 times: look for I/O errors in the kernel log, and replace the device"},
		{fresh, map[int]float64{0: 0, 1: 4}, ""}, // it started again
		{lent, map[int]float64{0: 7}, ""},
		{lent, map[int]float64{0: 8}, "osd.0 could not read from its device 1 times: look for I/O errors in the kernel log, and replace the device"},
	} {
		c.of.Note(c.now)
		got := ""
		if err := c.of.Found(); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%v: %q, want %q", c.now, got, c.want)
		}
	}
}

func TestFullOSDs(t *testing.T) {
	for _, c := range []struct{ dump, want string }{
		{`{"osds": [{"osd": 0, "state": ["exists", "up"]}, {"osd": 1, "state": ["exists", "up", "nearfull"]}]}`, ""},
		{`{"osds": [{"osd": 0, "state": ["exists", "up", "full"]}, {"osd": 1, "state": ["exists"]}]}`, "osd.0 is full, and writes wait for space: add OSDs"},
		{`{"osds": [{"osd": 2, "state": ["full"]}, {"osd": 11, "state": ["full"]}]}`, "osd.2 and osd.11 are full, and writes wait for space: add OSDs"},
	} {
		all, err := FullOSDs([]byte(c.dump))
		got := ""
		if failed := Full(all, "add OSDs"); failed != nil {
			got = failed.Error()
		}
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v", c.dump, got, err)
		}
	}
}
