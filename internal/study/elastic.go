package study

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Elastic has servers of a group of a tile added and removed while its load runs. The users stay the same.
type Elastic struct {
	Servers []int         `json:"servers"` // one after the other, and again from the first
	Every   time.Duration `json:"every"`   // how long each number stays
}

// MostElastic is the largest number of servers of an elastic group.
const MostElastic = 64

// Most is the largest number of servers.
func (e *Elastic) Most() int { return slices.Max(e.Servers) }

// At is the number of servers that is due at a step, of which the first is 0.
func (e *Elastic) At(step int) int { return e.Servers[step%len(e.Servers)] }

// Cycle is how long all numbers last.
func (e *Elastic) Cycle() time.Duration { return time.Duration(len(e.Servers)) * e.Every }

// String is the schedule in words.
func (e *Elastic) String() string {
	return fmt.Sprintf("%s servers in turn, each for %s", strings.Trim(strings.Join(strings.Fields(fmt.Sprint(e.Servers)), ", "), "[]"), e.Every)
}
