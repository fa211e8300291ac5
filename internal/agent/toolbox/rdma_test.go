package toolbox

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestRDMAMessage(t *testing.T) {
	got := rdmaMessage("rxe0", "rxe", "eth0")
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		t.Skip("the expected bytes are little-endian")
	}
	const want = "30000000" + "0314" + "0500" + "0000000000000000" + // length, RDMA_NLDEV_CMD_NEWLINK, request with answer
		"0900" + "0200" + "7278653000000000" + // name rxe0
		"0800" + "4100" + "72786500" + // type rxe
		"0900" + "3300" + "6574683000000000" // interface eth0
	if hex.EncodeToString(got) != want {
		t.Errorf("%x\nwant %s", got, want)
	}
}

func TestRDMAAnswer(t *testing.T) {
	answer := func(code int32) []byte {
		b := make([]byte, unix.SizeofNlMsghdr+4)
		binary.NativeEndian.PutUint16(b[4:], unix.NLMSG_ERROR)
		binary.NativeEndian.PutUint32(b[unix.SizeofNlMsghdr:], uint32(code))
		return b
	}
	if err := rdmaAnswer(answer(0), "rxe0"); err != nil {
		t.Error(err)
	}
	if err := rdmaAnswer(answer(-int32(unix.ENOENT)), "rxe0"); !errors.Is(err, unix.ENOENT) {
		t.Error(err)
	}
	for _, short := range [][]byte{nil, answer(0)[:18], make([]byte, 20)} {
		if err := rdmaAnswer(short, "rxe0"); err == nil {
			t.Errorf("%x is taken for an answer", short)
		}
	}
}

func TestRDMARefusesOtherCalls(t *testing.T) {
	for _, args := range []string{"", "link", "link delete rxe0", "link add rxe0 type rxe", "link add rxe0 kind rxe netdev eth0", "link add " + strings.Repeat("x", 64) + " type rxe netdev eth0"} {
		var said bytes.Buffer
		if exit, known := Run("rdma", Call{Args: strings.Fields(args), Stdout: &said, Stderr: &said}); !known || exit != 2 {
			t.Errorf("rdma %s: exit status %d: %s", args, exit, &said)
		}
	}
}
