package ceph

import "testing"

// Hosts count that have an OSD which is up; the free space is that of the pool, after its redundancy.
func TestSpace(t *testing.T) {
	const df = `{"stats":{"total_bytes":100},"pools":[{"name":"device_health_metrics","stats":{"stored":1,"max_avail":7}},{"name":"rbd","stats":{"stored":30,"max_avail":70}}]}`
	const tree = `{"nodes":[{"id":-1,"name":"default","type":"root","children":[-3,-5,-7]},{"id":-3,"type":"host","children":[1,0]},{"id":0,"type":"osd","status":"up"},
{"id":1,"type":"osd","status":"up"},{"id":-5,"type":"host","children":[2]},{"id":2,"type":"osd","status":"down"},{"id":-7,"type":"host","children":[3]},{"id":3,"type":"osd","status":"up"}],"stray":[]}`
	if got, err := spaceOf([]byte(df), []byte(tree), "rbd"); err != nil || got != (Space{Hosts: 2, OSDs: 3, Total: 100, Free: 70}) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, c := range [][3]string{{df, tree, "lake"}, {"", tree, "rbd"}, {df, "[]", "rbd"}} {
		if got, err := spaceOf([]byte(c[0]), []byte(c[1]), c[2]); err == nil {
			t.Errorf("%q passed as %+v", c, got)
		}
	}
}
