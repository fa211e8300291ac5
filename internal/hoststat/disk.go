package hoststat

import (
	"bytes"
	"strings"

	"plimsoll/internal/hoststat/parse"
)

// sector is the unit of the counters in bytes, whatever the device's sector size.
const sector = 512

// mostDisks is the number of disks whose requests in the driver are read.
const mostDisks = 64

// readDisks reads /proc/diskstats: whole devices that have been used.
func readDisks(r *Reader, s *State) error {
	text, err := r.file("proc/diskstats")
	if err != nil {
		return err
	}
	var f []float64
	for line := range bytes.Lines(text) {
		fields := bytes.SplitN(bytes.TrimSpace(line), []byte(" "), 2)
		if len(fields) < 2 {
			continue
		}
		rest := bytes.TrimSpace(fields[1])
		minor, rest, _ := bytes.Cut(rest, []byte(" "))
		name, rest, _ := bytes.Cut(bytes.TrimSpace(rest), []byte(" "))
		if f = parse.Numbers(f[:0], rest); len(f) < 11 || f[0]+f[4] == 0 {
			continue
		}
		d := disk(string(name), f)
		d.Number = string(fields[0]) + ":" + string(minor)
		s.Disks = append(s.Disks, d)
	}
	// A partition follows its disk, and has its name as a prefix.
	whole := s.Disks[:0]
	for _, d := range s.Disks {
		if n := len(whole); n > 0 && partition(whole[n-1].Name, d.Name) {
			continue
		}
		whole = append(whole, d)
	}
	s.Disks = whole
	for i := range s.Disks[:min(mostDisks, len(s.Disks))] {
		if text, err = r.file("sys/block/" + s.Disks[i].Name + "/inflight"); err == nil {
			for _, n := range parse.Numbers(f[:0], text) {
				s.Disks[i].InDriver += n
			}
		}
	}
	return nil
}

// partition reports whether a name is that of a partition of a disk: sda1, nvme0n1p2.
func partition(disk, name string) bool {
	rest, found := strings.CutPrefix(name, disk)
	if !found || rest == "" {
		return false
	}
	if last := disk[len(disk)-1]; last >= '0' && last <= '9' {
		rest, found = strings.CutPrefix(rest, "p")
	}
	return found && rest != "" && strings.Trim(rest, "0123456789") == ""
}

func disk(name string, f []float64) Disk {
	d := Disk{
		Name: name, Reads: f[0], ReadMerges: f[1], ReadBytes: f[2] * sector, ReadTime: f[3] / 1000,
		Writes: f[4], WriteMerges: f[5], WriteBytes: f[6] * sector, WriteTime: f[7] / 1000,
		Busy: f[9] / 1000, QueueTime: f[10] / 1000,
	}
	if len(f) > 14 {
		d.Discards, d.DiscardBytes = f[11], f[13]*sector
	}
	if len(f) > 16 {
		d.Flushes, d.FlushTime = f[15], f[16]/1000
	}
	return d
}
