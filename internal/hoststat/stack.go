package hoststat

import (
	"path"
	"slices"
	"strings"

	"plimsoll/internal/hoststat/parse"
	"plimsoll/internal/platform"
)

// DiskFacts is what a block device is made of.
type DiskFacts struct {
	Label string   `json:"label,omitempty"` // such as the name of a logical volume, or the file of a loop device
	Below []string `json:"below,omitempty"` // devices that it is on
	Depth float64  `json:"depth,omitempty"` // requests that the driver takes at a time; 0 if unknown
}

// readStack reads how block devices lie on one another: device mapper and md by their slaves, a
// loop device by the file system of its file.
func (r *Reader) readStack(f *Facts) {
	names, err := r.root.Names("sys/block")
	if err != nil {
		return
	}
	f.Disks = map[string]DiskFacts{}
	for _, name := range names {
		at := "sys/block/" + name + "/"
		var d DiskFacts
		if d.Label, err = r.line(at + "dm/name"); err != nil {
			d.Label = ""
		}
		slaves, _ := r.root.Names(at + "slaves")
		for _, slave := range slaves {
			d.Below = append(d.Below, whole(slave, names))
		}
		if file, err := r.line(at + "loop/backing_file"); err == nil {
			d.Label = file
		}
		d.Depth = r.driverDepth(at)
		slices.Sort(d.Below)
		f.Disks[name] = d
	}
	mounts, _ := r.file("proc/self/mountinfo")
	for name, d := range f.Disks {
		if path.IsAbs(d.Label) {
			d.Below = f.diskOf(slices.Collect(platform.Mounts(mounts)), d.Label)
			f.Disks[name] = d
		}
	}
}

// driverDepth is how many requests the driver of a device takes at a time.
func (r *Reader) driverDepth(at string) float64 {
	depth := 0.
	queues, _ := r.root.Names(at + "mq")
	for _, queue := range queues {
		text, _ := r.line(at + "mq/" + queue + "/nr_tags")
		tags, _ := parse.Number([]byte(text))
		depth += tags
	}
	text, _ := r.line(at + "device/queue_depth") // of a SCSI device, which shares the tags of its host
	if limit, ok := parse.Number([]byte(text)); ok && limit > 0 && (depth == 0 || limit < depth) {
		return limit
	}
	return depth
}

// diskOf is the disk of the file system that holds a file.
func (f *Facts) diskOf(mounts []platform.Mount, file string) []string {
	point, source := "", ""
	for _, m := range mounts {
		inside := m.Point == "/" || file == m.Point || strings.HasPrefix(file, m.Point+"/")
		if inside && len(m.Point) >= len(point) { // a later mount covers an earlier one
			point, source = m.Point, m.Source
		}
	}
	var names []string
	for name, d := range f.Disks {
		if names = append(names, name); source == "/dev/mapper/"+d.Label && d.Label != "" {
			return []string{name}
		}
	}
	device, found := strings.CutPrefix(source, "/dev/")
	if !found {
		return nil
	}
	if device = whole(device, names); slices.Contains(names, device) {
		return []string{device}
	}
	return nil
}

// whole is the disk of a partition among the disks of a host; a disk is itself.
func whole(name string, disks []string) string {
	if slices.Contains(disks, name) {
		return name
	}
	if i := slices.IndexFunc(disks, func(disk string) bool { return partition(disk, name) }); i >= 0 {
		return disks[i]
	}
	return name
}
