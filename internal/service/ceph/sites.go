package ceph

import (
	"errors"
	"fmt"
	"iter"

	"plimsoll/internal/service"
	"plimsoll/internal/service/ceph/crush"
)

// siteOf is the site of an OSD, from 1: the first OSDs are on the first site.
func (s Settings) siteOf(osd int) int { return crush.Site(osd, s.OSDs, s.Sites) }

// stretched refuses what two sites cannot hold.
func (s Settings) stretched(r redundancy) error {
	switch {
	case s.Sites == 1 && s.SiteLatency > 0:
		return errors.New("site_latency is that between two sites: set sites: 2")
	case s.Sites == 1:
		return nil
	case s.OSDs%2 != 0:
		return fmt.Errorf("sites: 2 requires an even number of OSDs, and osds is %d", s.OSDs)
	case r.copies == 0:
		return fmt.Errorf("redundancy %s on two sites: no site could read without chunks of the other: take replica:2 or replica:4", s.Redundancy)
	case r.copies%2 != 0:
		return fmt.Errorf("redundancy %s on two sites: each holds as many copies as the other: take replica:2 or replica:4", s.Redundancy)
	}
	return nil
}

// least is how many copies of an object serve it: one may be missing, and on two sites all of one.
func least(sites, copies int) int {
	if sites > 1 {
		return copies / sites
	}
	return max(1, copies-1)
}

// siteFiles has the CRUSH map of two sites; nothing for one, whose map is that of new clusters.
func (s Settings) siteFiles() iter.Seq2[string, []byte] {
	if s.Sites == 1 {
		return func(func(string, []byte) bool) {}
	}
	return service.Files("crush.txt", crush.Text(s.OSDs, s.Sites))
}
