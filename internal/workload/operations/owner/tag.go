package owner

import (
	"crypto/sha256"
	"encoding/base32"
	"os"
	"strconv"
	"strings"
)

// tag is what the names of VMs say of their lab. Files have a name, and no notes.
type tag struct{ owner, site, lab string }

const (
	digestLength = 6 // digits of 5 bits
	tagLength    = 3 * digestLength
)

// Names is what the names of the VMs that a lab creates for an owner begin with.
func Names(owner string, l Lab) string {
	t := tagOf(owner, l)
	return Prefix + t.owner + t.site + t.lab + "-"
}

func tagOf(owner string, l Lab) tag {
	return tag{digest(owner), digest(l.space + " " + l.host), digest(l.String())}
}

// digest is short, and of lower-case letters and digits, which all platforms take.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:digestLength]
}

// tagIn finds the tag in the name of a VM.
func tagIn(name string) (t tag, found bool) {
	rest, ours := strings.CutPrefix(name, Prefix)
	text, _, tagged := strings.Cut(rest, "-")
	digit := func(r rune) bool { return r >= 'a' && r <= 'z' || r >= '2' && r <= '7' }
	if !ours || !tagged || len(text) != tagLength || strings.TrimFunc(text, digit) != "" {
		return t, false
	}
	return tag{text[:digestLength], text[digestLength : 2*digestLength], text[2*digestLength:]}, true
}

// life tells from here whether the lab runs.
func (t tag) life() Life {
	l, err := labOf(os.Getpid())
	if err != nil || t.site != tagOf("", l).site {
		return Unknown
	}
	processes, err := os.ReadDir("/proc")
	if err != nil {
		return Unknown
	}
	for _, p := range processes {
		if l.Process, err = strconv.Atoi(p.Name()); err != nil {
			continue // no process
		}
		if l.started, err = startOf(l.Process); err == nil && t.lab == tagOf("", l).lab {
			return Running
		}
	}
	return Dead
}
