package images

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

// picture is an image with all values of pixels in it.
func picture(label byte) Image {
	i := Image{Label: label}
	for k := range i.Pixels {
		i.Pixels[k] = byte(k*7 + int(label))
	}
	return i
}

func inputs() []Input { return []Input{Pixels, Unit, Centred} }

// Whatever the encoding, the model computes with the same numbers, but for the sixth decimal.
func TestEveryEncodingBringsTheSameImage(t *testing.T) {
	set := []Image{picture(3), picture(9)}
	for _, input := range inputs() {
		want := make([]float32, Numbers)
		for _, e := range encodings {
			c, err := NewEncoder(e, input, set)
			if err != nil {
				t.Fatal(err)
			}
			data := c.Append(c.Append(nil, 0), 1)
			d := NewDecoder(e, input)
			for i := range set {
				got := make([]float32, Numbers)
				label, used, err := d.Next(data, got)
				if err != nil || used == 0 || label != set[i].Label {
					t.Fatalf("%s, %s: image %d is class %d of %d bytes: %v", e, input, i, label, used, err)
				}
				data = data[used:]
				input.Fill(want, set[i].Pixels[:])
				for k := range want {
					if diff := math.Abs(float64(got[k] - want[k])); diff > 1e-6 || diff > 0 && (e != FloatText || input == Pixels) {
						t.Fatalf("%s, %s: number %d of image %d is %g instead of %g", e, input, k, i, got[k], want[k])
					}
				}
			}
			if len(data) > 0 {
				t.Errorf("%s: %d bytes are left", e, len(data))
			}
		}
	}
}

// A line of the published kit begins with the label, at once followed by the first number.
func TestLines(t *testing.T) {
	i := Image{Label: 7}
	i.Pixels[1], i.Pixels[2] = 255, 128
	for want, c := range map[string]struct {
		encoding Encoding
		input    Input
	}{
		"70.000000 1.000000 0.501961 0.000000 ":    {FloatText, Pixels},
		"70.000000 1.000000 0.501961 0.000000":     {FloatText, Unit},
		"70 255 128 0 0 ":                          {IntText, Centred},
		"7-0.512380 0.464342 0.004588 -0.514901 -": {FloatText, Centred},
	} {
		e, err := NewEncoder(c.encoding, c.input, []Image{i})
		if err != nil {
			t.Fatal(err)
		}
		line := string(e.Append(nil, 0))
		if c.input == Centred && c.encoding == FloatText { // the mean image has other values
			want = fmt.Sprintf("7%.6f %.6f %.6f ", -mean()[0], 1-mean()[1], float64(float32(128)/255)-mean()[2])
		}
		if !strings.HasPrefix(line, want) || strings.Count(line, " ") != Numbers-1 || !strings.HasSuffix(line, "\n") {
			t.Errorf("%s for %s is %.60q, want %q", c.encoding, c.input, line, want)
		}
	}
}

// The mean of the mean image is the constant by which the kit's other receiver normalises pixels.
func TestMeanImage(t *testing.T) {
	sum := 0.
	for _, m := range mean() {
		sum += m
	}
	if got := sum / Numbers * 255; math.Abs(got-120.70756512369792) > 1e-9 {
		t.Errorf("the mean is %.15g", got)
	}
}

func TestImagesThatCannotBeRead(t *testing.T) {
	numbers := strings.Repeat(" 1", Numbers-1)
	png := "\x00\x00\x00\x06\x01abcde"
	for _, c := range []struct {
		encoding   Encoding
		data, want string
	}{
		{IntText, "70" + strings.Repeat(" 1", Numbers-2) + "\n", "3071 numbers instead of 3072"},
		{IntText, "70" + numbers + " 1\n", "3073 numbers instead of 3072"},
		{IntText, "x0" + numbers + "\n", `the label is 'x' instead of a digit`},
		{IntText, "70" + strings.Replace(numbers, "1", "256", 1) + "\n", "number 2 is 256: the most is 255"},
		{IntText, "70" + strings.Replace(numbers, "1", "1.5", 1) + "\n", `number 2 is "1.5" instead of a pixel`},
		{IntText, "70" + strings.Replace(numbers, "1", "0001", 1) + "\n", `number 2 is "0001" instead of a pixel`},
		{FloatText, "7 0" + strings.Replace(numbers, "1", "nan", 1) + "\n", `number 2 is "nan"`},
		{FloatText, "7 0" + strings.Replace(numbers, "1", "1e99", 1) + "\n", `number 2 is "1e99"`},
		{FloatText, "7 0" + strings.Replace(numbers, "1", "-", 1) + "\n", `number 2 is "-"`},
		{FloatText, "7 hello\n", `number 1 is "hello"`},
		{FloatText, "7\n", "0 numbers instead of 3072"},
		{FloatText, strings.Repeat("1", longestLine), "a line of more than 131072 bytes"},
		{Raw, "\x0a" + strings.Repeat("x", Numbers), "the label is 10 instead of 0 to 9"},
		{PNG, "\xff\xff\xff\xff", "at most 65536"},
		{PNG, png, "not an image in PNG"},
	} {
		_, _, err := NewDecoder(c.encoding, Unit).Next([]byte(c.data), make([]float32, Numbers))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %.40q: %v, want %q", c.encoding, c.data, err, c.want)
		}
	}
	if _, used, err := NewDecoder(FloatText, Unit).Next([]byte("\n7"), nil); used != 1 || !errors.Is(err, ErrEnd) {
		t.Errorf("an empty line uses %d bytes: %v", used, err)
	}
	for _, e := range encodings {
		if _, used, err := NewDecoder(e, Unit).Next([]byte{0}, make([]float32, Numbers)); used != 0 || err != nil {
			t.Errorf("%s: one byte uses %d: %v", e, used, err)
		}
	}
}

func TestFloats(t *testing.T) {
	for text, want := range map[string]float32{
		"0.123457": .123457, "-0.000001": -1e-6, "1": 1, "255.000000": 255, "1.5e-3": .0015, ".5": .5, "-2.": -2, "0.1234567890123456789": .12345679, "3.4e38": 3.4e38,
	} {
		if got, ok := parseFloat([]byte(text)); !ok || got != want {
			t.Errorf("%s is %g, %t", text, got, ok)
		}
	}
	for _, text := range []string{"", "-", ".", "+-1", "1e", "0x", "inf", "1.2.3", "1e99"} {
		if x, ok := parseFloat([]byte(text)); ok {
			t.Errorf("%q is %g", text, x)
		}
	}
}

func TestHello(t *testing.T) {
	for line, want := range map[string]string{
		`{"images":1,"encoding":"raw"}`:  "",
		`{"images":1,"ask":"counts"}`:    "",
		`{"images":2,"encoding":"raw"}`:  "version 2 of the protocol images is unknown",
		`{"images":1,"encoding":"jpeg"}`: `unknown encoding "jpeg": must be one of float-text, int-text, raw, png`,
		`{"images":1,"ask":"money"}`:     `unknown question "money"`,
		`{"images"`:                      `the first line is "{\"images\"" instead of a hello`,
	} {
		if _, err := ParseHello([]byte(line)); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
	for line, want := range map[string]string{
		`{"plimsoll":"images","version":1,"input":"unit"}`: "",
		`{"plimsoll":"images","version":2,"input":"unit"}`: "use the same release of plimsoll",
		`{"plimsoll":"images","version":1}`:                "use the same release of plimsoll",
		`HTTP/1.1 400 Bad Request`:                         "does not speak the protocol images",
	} {
		if _, err := ParseDescription([]byte(line)); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}

func FuzzDecoder(f *testing.F) {
	set := []Image{picture(1)}
	for i, e := range encodings {
		c, err := NewEncoder(e, Centred, set)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(i, c.Append(nil, 0))
	}
	f.Fuzz(func(t *testing.T, which int, data []byte) {
		if which < 0 || which >= len(encodings) {
			return
		}
		numbers := make([]float32, Numbers)
		label, used, err := NewDecoder(encodings[which], Unit).Next(data, numbers)
		if used < 0 || used > len(data) || err == nil && used > 0 && label >= Classes {
			t.Errorf("label %d, %d bytes of %d used, %v", label, used, len(data), err)
		}
		for _, x := range numbers {
			if x-x != 0 {
				t.Errorf("a number is %g", x)
			}
		}
	})
}

func FuzzHello(f *testing.F) {
	f.Add(Hello{Encoding: Raw}.Line())
	f.Add([]byte(`{"plimsoll":"images","version":1,"input":"unit"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		if h, err := ParseHello(line); err == nil && h.Ask == "" && !h.Encoding.Known() {
			t.Errorf("%q is accepted", line)
		}
		if d, err := ParseDescription(line); err == nil && !d.Input.Known() {
			t.Errorf("%q is accepted", line)
		}
	})
}
