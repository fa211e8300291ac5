// Package crush places the parts of objects on the OSDs of a private Ceph cluster.
package crush

import (
	"fmt"
	"strings"
)

// Site is the site of an OSD, from 1: the first OSDs are on the first site.
func Site(osd, osds, sites int) int { return 1 + osd*sites/osds }

// Default is the CRUSH rule of new clusters.
const Default = "replicated_rule"

// Machines is the CRUSH rule that places each part on a machine of its own.
const Machines = "machines"

// Rule is the name of the CRUSH rule for so many copies: on two sites, half of them on each.
func Rule(sites, copies int) string {
	if sites == 1 {
		return Default
	}
	return fmt.Sprintf("sites-%d", copies)
}

// Text is the CRUSH map of OSDs on two sites as text: a datacenter for each, and a rule for each number of copies. A rule takes the first site first, so that
// the first OSD of a placement group, its primary OSD, is on the site of the clients, and serves their reads.
func Text(osds, sites int) []byte {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	for _, tunable := range []string{ // the profile jewel, which is the default since then
		"choose_local_tries 0", "choose_local_fallback_tries 0", "choose_total_tries 50", "chooseleaf_descend_once 1", "chooseleaf_vary_r 1", "chooseleaf_stable 1",
		"straw_calc_version 1", "allowed_bucket_algs 54",
	} {
		say("tunable %s", tunable)
	}
	for n := range osds {
		say("device %d %s", n, fmt.Sprintf("osd.%d", n))
	}
	say("type 0 osd\ntype 8 datacenter\ntype 11 root")
	for site := 1; site <= sites; site++ {
		say("datacenter site%d {\n\tid -%d\n\talg straw2\n\thash 0", site, site+1)
		for n := range osds {
			if Site(n, osds, sites) == site {
				say("\titem %s weight 1.000", fmt.Sprintf("osd.%d", n))
			}
		}
		say("}")
	}
	half := osds / 2
	say("root default {\n\tid -1\n\talg straw2\n\thash 0\n\titem site1 weight %d.000\n\titem site2 weight %d.000\n}", half, half)
	say("rule " + Default + " {\n\tid 0\n\ttype replicated\n\tmin_size 1\n\tmax_size 10\n\tstep take default\n\tstep choose firstn 0 type osd\n\tstep emit\n}")
	for each := 1; each <= half; each++ {
		say("rule %s {\n\tid %d\n\ttype replicated\n\tmin_size 1\n\tmax_size 32", Rule(sites, 2*each), each)
		say("\tstep take site1\n\tstep choose firstn %d type osd\n\tstep emit\n\tstep take site2\n\tstep choose firstn %d type osd\n\tstep emit\n}", each, each)
	}
	return []byte(b.String())
}

// Map is the answer to osd crush dump.
type Map struct {
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

// Sites is the number of sites on which a rule places copies: the datacenters with OSDs that it takes, or one. It is 0 without such a rule.
func (m Map) Sites(rule string) int {
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
