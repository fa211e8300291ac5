package ceph

import (
	"errors"
	"fmt"
	"iter"
	"strings"

	"plimsoll/internal/service"
)

// siteOf is the site of an OSD, from 1: the first OSDs are on the first site.
func (s Settings) siteOf(osd int) int { return 1 + osd*s.Sites/s.OSDs }

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

// defaultRule is the CRUSH rule of new clusters.
const defaultRule = "replicated_rule"

// machinesRule is the CRUSH rule that places each part on a machine of its own.
const machinesRule = "machines"

// ruleFor is the name of the CRUSH rule for so many copies: on two sites, half of them on each.
func ruleFor(sites, copies int) string {
	if sites == 1 {
		return defaultRule
	}
	return fmt.Sprintf("sites-%d", copies)
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
	return service.Files("crush.txt", s.crushText())
}

// crushText is the CRUSH map of two sites as text: a datacenter for each, and a rule for each number of copies. A rule takes the first site first, so that
// the first OSD of a placement group, its primary OSD, is on the site of the clients, and serves their reads.
func (s Settings) crushText() []byte {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	for _, tunable := range []string{ // the profile jewel, which is the default since then
		"choose_local_tries 0", "choose_local_fallback_tries 0", "choose_total_tries 50", "chooseleaf_descend_once 1", "chooseleaf_vary_r 1", "chooseleaf_stable 1",
		"straw_calc_version 1", "allowed_bucket_algs 54",
	} {
		say("tunable %s", tunable)
	}
	for n := range s.OSDs {
		say("device %d %s", n, osd(n))
	}
	say("type 0 osd\ntype 8 datacenter\ntype 11 root")
	for site := 1; site <= s.Sites; site++ {
		say("datacenter site%d {\n\tid -%d\n\talg straw2\n\thash 0", site, site+1)
		for n := range s.OSDs {
			if s.siteOf(n) == site {
				say("\titem %s weight 1.000", osd(n))
			}
		}
		say("}")
	}
	half := s.OSDs / 2
	say("root default {\n\tid -1\n\talg straw2\n\thash 0\n\titem site1 weight %d.000\n\titem site2 weight %d.000\n}", half, half)
	say("rule " + defaultRule + " {\n\tid 0\n\ttype replicated\n\tmin_size 1\n\tmax_size 10\n\tstep take default\n\tstep choose firstn 0 type osd\n\tstep emit\n}")
	for each := 1; each <= half; each++ {
		say("rule %s {\n\tid %d\n\ttype replicated\n\tmin_size 1\n\tmax_size 32", ruleFor(s.Sites, 2*each), each)
		say("\tstep take site1\n\tstep choose firstn %d type osd\n\tstep emit\n\tstep take site2\n\tstep choose firstn %d type osd\n\tstep emit\n}", each, each)
	}
	return []byte(b.String())
}

// crushMap is the answer to osd crush dump.
type crushMap struct {
	Buckets []struct {
		ID    int    `json:"id"`
		Type  string `json:"type_name"`
		Items []struct {
			ID int `json:"id"`
		} `json:"items"`
	} `json:"buckets"`
	Rules []struct {
		Name  string `json:"rule_name"`
		Steps []struct {
			Op   string `json:"op"`
			Item int    `json:"item"`
		} `json:"steps"`
	} `json:"rules"`
}

// sites is the number of sites on which a rule places copies: the datacenters with OSDs that it takes, or one. It is 0 without such a rule.
func (m crushMap) sites(rule string) int {
	holds := map[int]bool{}
	for _, b := range m.Buckets {
		holds[b.ID] = b.Type == "datacenter" && len(b.Items) > 0 && b.Items[0].ID >= 0
	}
	for _, r := range m.Rules {
		if r.Name != rule {
			continue
		}
		taken := map[int]bool{}
		for _, step := range r.Steps {
			if step.Op == "take" && holds[step.Item] {
				taken[step.Item] = true
			}
		}
		return max(1, len(taken))
	}
	return 0
}
