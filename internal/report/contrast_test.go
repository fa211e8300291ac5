package report_test

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/report"
	"plimsoll/internal/report/chart"
	"plimsoll/internal/report/figure"
	"plimsoll/internal/report/page"
	"plimsoll/internal/webpage"
)

// luminance is relative luminance as in WCAG 2.2.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	v, err := strconv.ParseUint(strings.TrimPrefix(hex, "#"), 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	linear := func(b uint64) float64 {
		c := float64(b&0xff) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(v>>16) + 0.7152*linear(v>>8) + 0.0722*linear(v)
}

func contrast(t *testing.T, a, b string) float64 {
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// Text reaches 4.5:1 and marks reach 3:1, light and dark.
func TestContrast(t *testing.T) {
	light, dark, found := strings.Cut(webpage.Style, "prefers-color-scheme: dark")
	if !found {
		t.Fatal("no dark look")
	}
	dark, _, _ = strings.Cut(dark, "\n* {")
	read := func(css string) map[string]string {
		colours := map[string]string{}
		for _, m := range regexp.MustCompile(`--([a-z0-9-]+): (#[0-9a-f]{6})`).FindAllStringSubmatch(css, -1) {
			colours[m[1]] = m[2]
		}
		return colours
	}
	for name, c := range map[string]map[string]string{"light": read(light), "dark": read(dark)} {
		need := func(fore, back string, least float64) {
			if c[fore] == "" || c[back] == "" {
				t.Errorf("%s: no colour %s or %s", name, fore, back)
				return
			}
			if got := contrast(t, c[fore], c[back]); got < least {
				t.Errorf("%s: %s on %s is %.2f:1, and %v is needed", name, fore, back, got, least)
			}
		}
		for _, text := range []string{"ink", "soft", "link", "better-t", "worse-t", "equivalent-t", "different-t", "open-t"} {
			need(text, "paper", 4.5)
		}
		for _, text := range []string{"ink", "soft"} {
			need(text, "well", 4.5)
		}
		need("ink", "band", 4.5)
		need("soft", "band", 4.5)
		for _, v := range []string{"better", "worse", "equivalent"} {
			need(v+"-t", v+"-w", 4.5)
			need(v, "paper", 3)
		}
		need("open", "paper", 3)
		need("different", "paper", 3)
		for shade := range chart.Shades {
			need(fmt.Sprintf("r%d", shade), "paper", 3)
		}
		for arm := range chart.Hues {
			need(fmt.Sprintf("a%d", arm), "paper", 3)
			need(fmt.Sprintf("a%d-t", arm), "paper", 4.5)
		}
	}
}

// Every class of a drawing has a look.
func TestClassesOfDrawingsHaveALook(t *testing.T) {
	seen := map[string]bool{}
	for name := range fixtures() {
		s := report.New(rendered(t, name))
		for _, f := range figure.All() {
			table, ok := f.Table(s)
			if !ok || f.Draw == nil {
				continue
			}
			for _, m := range regexp.MustCompile(`class="([^"]*)"`).FindAllStringSubmatch(string(f.Draw(table, page.WideFigure)), -1) {
				for class := range strings.FieldsSeq(m[1]) {
					seen[class] = true
				}
			}
		}
	}
	rules, err := os.ReadFile("page/page.css")
	if err != nil {
		t.Fatal(err)
	}
	for class := range seen {
		if class != "big" && class != "label" && !regexp.MustCompile(`\.`+regexp.QuoteMeta(class)+`\b`).Match(rules) {
			t.Errorf("page.css does not know the class %q", class)
		}
	}
}
