package guest_test

import (
	"bytes"
	"strings"
	"testing"

	"plimsoll/internal/agent/optical"
)

func TestAFileIsReadBack(t *testing.T) {
	for _, size := range []int{0, 1, 2047, 2048, 2049, 70000} {
		file := bytes.Repeat([]byte("x"), size)
		cd, err := optical.Image("TICKET.TXT", file)
		if err != nil || len(cd)%2048 != 0 {
			t.Fatalf("%d bytes, %v", len(cd), err)
		}
		if got, err := optical.File(bytes.NewReader(cd), "TICKET.TXT"); err != nil || !bytes.Equal(got, file) {
			t.Errorf("%d bytes: %d, %v", size, len(got), err)
		}
		if _, err := optical.File(bytes.NewReader(cd), "OTHER.TXT"); err == nil || !strings.Contains(err.Error(), "no file OTHER.TXT") {
			t.Error(err)
		}
		if _, err := optical.File(bytes.NewReader(cd[:21*2048]), "TICKET.TXT"); err == nil && size > 0 {
			t.Error("a CD that was cut off is read")
		}
	}
	for _, name := range []string{"", "a.txt", "LONGERTHAN8.TXT", "A.TEXT", "../A"} {
		if _, err := optical.Image(name, nil); err == nil {
			t.Errorf("%q is a name", name)
		}
	}
}

func FuzzFile(f *testing.F) {
	cd, err := optical.Image("TICKET.TXT", []byte("what it says"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(cd)
	f.Add(cd[:20*2048+50])
	damaged := bytes.Clone(cd)
	damaged[20*2048] = 0
	f.Add(damaged)
	f.Fuzz(func(t *testing.T, cd []byte) {
		if text, err := optical.File(bytes.NewReader(cd), "TICKET.TXT"); err == nil && len(text) > optical.Most {
			t.Error("too long")
		}
	})
}
