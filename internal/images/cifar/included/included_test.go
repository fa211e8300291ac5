package included

import (
	"testing"

	"plimsoll/internal/images/cifar"
)

func TestSample(t *testing.T) {
	set, err := Images()
	if err != nil || len(set) != 300 {
		t.Fatalf("%d images, %v", len(set), err)
	}
	first := []byte{3, 8, 8, 0, 6, 6, 1, 6, 3, 1} // cat, ship, ship, airplane, frog, frog, automobile, frog, cat, automobile
	for i, want := range first {
		if set[i].Label != want {
			t.Errorf("image %d is class %d instead of %d", i, set[i].Label, want)
		}
	}
	again, err := cifar.Unmarshal(cifar.Marshal(set))
	if err != nil || len(again) != len(set) || again[299] != set[299] {
		t.Errorf("%d images come back, %v", len(again), err)
	}
}
