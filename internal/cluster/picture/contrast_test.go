package picture

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/webpage"
)

// rgb is a colour that the style sheet names, in shares of 1.
func rgb(t *testing.T, css, name string) (c [3]float64) {
	t.Helper()
	m := regexp.MustCompile(`--` + name + `: #([0-9a-f]{6})`).FindStringSubmatch(css)
	if m == nil {
		t.Fatalf("no colour %s", name)
	}
	v, err := strconv.ParseUint(m[1], 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	for i := range c {
		c[i] = float64(v>>(16-8*i)&0xff) / 255
	}
	return c
}

// contrast is that of WCAG 2.2.
func contrast(a, b [3]float64) float64 {
	luminance := func(c [3]float64) float64 {
		sum := 0.
		for i, part := range []float64{.2126, .7152, .0722} {
			v := c[i] / 12.92
			if c[i] > .04045 {
				v = math.Pow((c[i]+.055)/1.055, 2.4)
			}
			sum += part * v
		}
		return sum
	}
	x, y := luminance(a), luminance(b)
	return (max(x, y) + .05) / (min(x, y) + .05)
}

// The colours of texts and lines are those of the study report, whose tests hold them.
// Bars are mixed with the paper below them and stand out from it by 3:1 all the same, and
// what is reserved from the bar.
func TestBarsStandOut(t *testing.T) {
	light, dark, found := strings.Cut(webpage.Style, "prefers-color-scheme: dark")
	if !found {
		t.Fatal("no dark look")
	}
	bars := map[string]string{"was": "", "now": "", "memory .now": "", "gets": ""}
	for _, m := range regexp.MustCompile(`\.([a-z .-]+) \{ fill: var\(--([a-z0-9]+)\); fill-opacity: ([0-9.]+); \}`).FindAllStringSubmatch(pageStyle, -1) {
		for look, css := range map[string]string{"light": light, "dark": dark} {
			paper, ink, c := rgb(t, css, "paper"), rgb(t, css, "ink"), rgb(t, css, m[2])
			part, err := strconv.ParseFloat(m[3], 64)
			if err != nil {
				t.Fatal(err)
			}
			for i := range c {
				c[i] = c[i]*part + paper[i]*(1-part)
			}
			if got := contrast(c, paper); got < 3 {
				t.Errorf("%s: %s stands out by %.2f:1", look, m[1], got)
			}
			if got := contrast(c, ink); got < 1.6 && m[1] != "was-over" {
				t.Errorf("%s: what is reserved stands out from %s by %.2f:1", look, m[1], got)
			}
		}
		delete(bars, strings.TrimPrefix(m[1], "asks ."))
	}
	if len(bars) > 0 {
		t.Error(fmt.Sprint("bars without a look: ", bars))
	}
}
