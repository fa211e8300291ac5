package ceph

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/parameter"
)

func policyOf(t *testing.T, settings parameter.Settings) policy {
	t.Helper()
	s := defaults()
	if err := parameter.Decode(&s, settings); err != nil {
		t.Fatal(err)
	}
	p, err := s.policy(1)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Each policy has pools of its own, and only data under an erasure code is in another pool than its headers.
func TestPoolsOfPolicies(t *testing.T) {
	for name, c := range map[string]struct {
		settings parameter.Settings
		data     string
		commands []string
	}{
		"plimsoll-r2": {nil, "plimsoll-r2", []string{"osd pool set plimsoll-r2 size 2 --yes-i-really-mean-it", "osd pool set plimsoll-r2 csum_type crc32c"}},
		"plimsoll-r3-zstd-crc32c_16": {parameter.Settings{"redundancy": "replica:3", "compression": "zstd", "checksum": "crc32c_16"}, "plimsoll-r3-zstd-crc32c_16", []string{
			"osd pool set plimsoll-r3-zstd-crc32c_16 compression_mode aggressive", "osd pool set plimsoll-r3-zstd-crc32c_16 min_size 2",
		}},
		"plimsoll-ec4-2-none": {parameter.Settings{"redundancy": "ec:4+2", "checksum": "none"}, "plimsoll-ec4-2-none-data", []string{
			"osd pool set plimsoll-ec4-2-none size 3 --yes-i-really-mean-it", "osd erasure-code-profile set ec4-2 k=4 m=2 crush-failure-domain=osd",
			"osd pool create plimsoll-ec4-2-none-data 32 32 erasure ec4-2", "osd pool set plimsoll-ec4-2-none-data csum_type none",
		}},
	} {
		p := policyOf(t, c.settings)
		if p.name() != name || p.data() != c.data {
			t.Errorf("%v: pool %s, data in %s, want %s and %s", c.settings, p.name(), p.data(), name, c.data)
		}
		for _, command := range c.commands {
			if !slices.Contains(p.commands(), command) {
				t.Errorf("%s: no command %q in %q", name, command, p.commands())
			}
		}
		const base = "[global]\nfsid = 1\n[client]\n"
		conf := string(p.conf([]byte(base)))
		if own := strings.TrimPrefix(conf, base); own != "" && own != "rbd default data pool = "+c.data+"\n" || p.erasureCoded() != (own != "") {
			t.Errorf("%s: the configuration of clients is %q", name, conf)
		}
	}
}

// No two policies share a pool.
func TestPoolNamesDiffer(t *testing.T) {
	of := map[string]policy{}
	for _, redundancy := range []string{"replica:2", "replica:21", "ec:2+1", "ec:12+1", "ec:2+11"} {
		for _, compression := range []string{"none", "lz4"} {
			for _, checksum := range []string{"none", "crc32c", "crc32c_8"} {
				p := policyOf(t, parameter.Settings{"redundancy": redundancy, "compression": compression, "checksum": checksum})
				for _, name := range slices.Compact([]string{p.name(), p.data()}) {
					if other, taken := of[name]; taken {
						t.Errorf("%+v and %+v have pool %s", p, other, name)
					}
					of[name] = p
				}
			}
		}
	}
}

// The capacity is 85 % of all OSDs, less what other pools hold, with redundancy.
func TestCapacity(t *testing.T) {
	for text, want := range map[string][2]int64{"replica:2": {170 << 20, 70 << 20}, "ec:3+1": {255 << 20, 105 << 20}, "replica:4": {85 << 20, 35 << 20}} {
		s := Settings{OSDs: 4, Size: 100 << 20, Redundancy: text}
		r, err := parseRedundancy(text)
		if err != nil {
			t.Fatal(err)
		}
		for i, others := range []float64{0, 200 << 20} {
			if got := s.capacity(r, others); got>>10 != want[i]>>10 && got>>10 != want[i]>>10-1 {
				t.Errorf("%s beside %v bytes: got %d, want %d", text, others, got, want[i])
			}
		}
	}
	full := Settings{OSDs: 2, Size: 1 << 30}
	if got := full.capacity(redundancy{copies: 2}, 4<<30); got < 0 || got > 1 {
		t.Errorf("full OSDs have room for %d bytes", got)
	}
}
