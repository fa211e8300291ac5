package check

import (
	"os"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/claim"
	"plimsoll/internal/claim/number"
)

// vectors reads a file of test data without its comments.
func vectors(t *testing.T, file string) []string {
	t.Helper()
	data, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for line := range strings.SplitSeq(string(data), "\n") {
		if line != "" && !strings.HasPrefix(line, "# ") {
			all = append(all, strings.ReplaceAll(line, `\n`, "\n"))
		}
	}
	return all
}

func show(claims []claim.Claim) string {
	var b strings.Builder
	for _, c := range claims {
		b.WriteString("\t" + string(c.Status) + ": " + c.Said + " | " + c.Computed + " | " + c.Reason + " | " + c.Wording + "\n")
	}
	return b.String()
}

// Each published slip is found, whatever its wording, and for the right reason.
func TestSlipsAreFound(t *testing.T) {
	for _, v := range append(vectors(t, "slips.txt"), vectors(t, "kept_slips.txt")...) {
		reason, text, _ := strings.Cut(v, "\t")
		claims := Text(text)
		found := false
		for _, c := range claims {
			found = found || c.Status == claim.DoesNotHold && strings.Contains(c.Reason, reason)
		}
		if !found {
			t.Errorf("%q is not found in %s\n%s", reason, text, show(claims))
		}
	}
}

// No true claim is accused.
func TestTrueClaimsAreNotAccused(t *testing.T) {
	for _, file := range []string{"true.txt", "kept_aside.txt"} {
		total := claim.Counts{}
		for _, text := range vectors(t, file) {
			claims := Text(text)
			n := claim.Count(claims)
			total.Holds, total.NotUnderstood = total.Holds+n.Holds, total.NotUnderstood+n.NotUnderstood
			if n.DoesNotHold > 0 || number.HasDigit(text) && len(claims) == 0 {
				t.Errorf("%s\n%s", text, show(claims))
			}
		}
		t.Logf("%s: %+v", file, total)
		if 2*total.Holds < total.NotUnderstood {
			t.Errorf("%s: %+v: most claims are not understood", file, total)
		}
	}
}

// The numbers of a text are read as people write them.
func TestNumbers(t *testing.T) {
	for text, want := range map[string]struct {
		value, half float64
		dim         string
	}{
		"1,000.5":              {1000.5, .05, ""},
		"1.5k":                 {1500, 50, ""},
		"12 %":                 {12, .5, number.DimPercent},
		"12%":                  {12, .5, number.DimPercent},
		"12.5 percent":         {12.5, .05, number.DimPercent},
		"3x":                   {3, .5, ""},
		"600 M cycles":         {600e6, .5e6, number.DimCount},
		"6.7 M TPM":            {6.7e6 / 60, .05e6 / 60, number.DimRate},
		"8,373 ms":             {8.373, .0005, number.DimTime},
		"40,926.38/s":          {40926.38, .005, number.DimRate},
		"12 requests/s":        {12, .5, number.DimRate},
		"12 orders per minute": {.2, .5 / 60, number.DimRate},
		"2 MiB":                {2 << 20, 1 << 19, number.DimBytes},
		"1.5 GB/s":             {1.5e9, .05e9, number.DimByteSec},
		"9.4 Gbit/s":           {9.4e9, .05e9, number.DimBitSec},
		"12,5 %":               {12.5, .05, number.DimPercent},
		"1\u202f000 ms":        {1, .0005, number.DimTime},
		"5e-9":                 {5e-9, .5e-9, ""},
		"-25 %":                {-25, .5, number.DimPercent},
		"\u221225 %":           {-25, .5, number.DimPercent},
	} {
		tokens := number.LocaleOf(text).Lex(text)
		if len(tokens) == 0 || tokens[0].Num == nil {
			t.Errorf("%q: %+v", text, tokens)
			continue
		}
		q := tokens[0].Num
		got, half := q.Span().Middle(), (q.Span().High-q.Span().Low)/2
		near := func(a, b float64) bool {
			return a-b <= 1e-9*max(1e-9, b) && b-a <= 1e-9*max(1e-9, b) || a == b || a/b > 1-1e-9 && a/b < 1+1e-9
		}
		if !near(got, want.value) || !near(half, want.half) || q.Unit.Dim != want.dim {
			t.Errorf("%q is %g +- %g %s, want %g +- %g %s", text, got, half, q.Unit.Dim, want.value, want.half, want.dim)
		}
	}
	for _, text := range []string{"p99.9", "RAID-5", "2023-01-05", "12:30", "1.2.3", "28-core", "99th", "x86_64", "0x1f", "DL380-G10"} {
		for _, k := range (number.Locale{}).Lex(text) {
			if k.Num != nil && k.From == 0 {
				t.Errorf("%q is read as the number %g", text, k.Num.Value)
			}
		}
	}
}

// Text that is made to be slow is read in time that grows with its length.
func TestHostileTextIsReadInBoundedTime(t *testing.T) {
	for name, unit := range map[string]string{
		"numbers": "1 -> 2, ", "changes": "8 ms +5 % 3x ", "percents": "10 % ", "bars": "| 1 ", "tables": "a | b\n", "hedges": "more than ", "froms": "from 1 to ",
		"brackets": "[](", "tags": "<a ", "commas": "1,", "dots": "1.", "sentences": "A 1 % b. ", "dashes": "-", "fences": "```\n", "medians": "median of the mean ", "entities": "&#x;",
		"rows": "| a | 1 ms | 2 ms | +100 % |\n",
	} {
		text := strings.Repeat(unit, (16<<10)/len(unit))
		began := time.Now()
		claims := Text(text)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s: %d claims in %v", name, len(claims), took)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, file := range []string{"slips.txt", "true.txt"} {
		data, err := os.ReadFile("testdata/" + file)
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.SplitSeq(string(data), "\n") {
			f.Add(strings.ReplaceAll(line, `\n`, "\n"))
		}
	}
	f.Add("| a | b |\n|---|---|\n| 1 | 0 |")
	f.Add("from 0 ms to 0 ms (+0 %), 1e308 -> 1e-308: 5 %")
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range Text(text) {
			if c.Line < 1 || c.Status == "" || c.Status != claim.Holds && c.Reason == "" || c.Status == claim.DoesNotHold && c.Computed == "" {
				t.Errorf("%q: %+v", text, c)
			}
		}
	})
}

func FuzzList(f *testing.F) {
	f.Add("claims:\n- says: over 10 %\n  before: 470\n  after: 510\n")
	f.Add("claims:\n- {in flight: 5, rate: 40,926.38/s, mean latency: 122.32 us}\n- text: 1 -> 2 (+100 %)\n")
	f.Add("claims: [{says: 16 M, measured: {1: 2, 2: 4}, at: 3}]")
	f.Fuzz(func(t *testing.T, text string) {
		claims, err := Read("claims.yaml", []byte(text))
		if err == nil && len(claims) == 0 {
			t.Errorf("%q: neither a claim nor an error", text)
		}
	})
}
