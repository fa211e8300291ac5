package reflector

import (
	"runtime"
	"syscall"
	"unsafe"

	"plimsoll/internal/load/peer"
)

// thrown reports whether the next datagram is to be dropped.
func (th *thread) thrown() bool {
	if d := th.test.server.Drop; d == 0 || th.luck.Float64() >= d {
		return false
	}
	th.count.thrown.Add(1)
	return true
}

// reflect answers available requests. Each response begins like its request. Only the client
// of the test gets answers: a reflector must not amplify floods of spoofed requests.
func (th *thread) reflect() {
	n, err := th.batch.Receive(th.socket)
	if err != 0 {
		return
	}
	run, requests := 0, int64(0) // datagrams from run on are to be sent
	for i := range n {
		switch {
		case th.batch.Length(i) != th.test.asked.Request || hostOf(th.batch.From(i)) != th.client:
			th.count.strange.Add(1)
		case th.thrown():
		default:
			th.batch.Reply(i, th.test.asked.Response)
			requests++
			continue
		}
		th.send(run, i)
		run = i + 1
	}
	th.send(run, n)
	th.count.messages.Add(requests)
	th.count.bytes.Add(requests * int64(th.test.asked.Request))
}

// send sends a run of responses. One that the kernel refuses is lost, and counted.
func (th *thread) send(from, to int) {
	for from < to && !th.test.over.Load() {
		n, err := th.batch.Send(th.socket, from, to)
		switch err {
		case 0:
			from += n
		case syscall.EINTR:
		case syscall.EAGAIN:
			writable(th.socket)
			runtime.Gosched() // as in run
		default:
			th.count.unsent.Add(1)
			from++
		}
	}
}

// take counts the available datagrams of a stream.
func (th *thread) take() {
	n, err := th.batch.Receive(th.socket)
	if err != 0 {
		return
	}
	var fresh, missing, duplicates, reordered, strange int64
	for i := range n {
		h, ok := peer.ReadHeader(th.batch.Datagram(i))
		if !ok || h.Stamp != th.test.asked.Stamp || int64(h.Flow) >= int64(len(th.windows)) || th.batch.Length(i) != th.test.asked.Message {
			strange++
			continue
		}
		if th.thrown() {
			continue
		}
		w := th.windows[h.Flow]
		if w == nil {
			w = new(window)
			th.windows[h.Flow] = w
		}
		before := w.missing()
		switch w.add(h.Number) {
		case first:
			fresh++
		case late:
			fresh++
			reordered++
		case repeated:
			duplicates++
		case absurd:
			strange++
		}
		missing += w.missing() - before
	}
	th.count.messages.Add(fresh)
	th.count.bytes.Add(fresh * int64(th.test.asked.Message))
	if missing|duplicates|reordered|strange != 0 {
		th.count.missing.Add(missing)
		th.count.duplicates.Add(duplicates)
		th.count.reordered.Add(reordered)
		th.count.strange.Add(strange)
	}
}

// writable waits until a socket has space, at most for a rest.
func writable(socket int) {
	p := struct {
		fd              int32
		events, revents int16
	}{fd: int32(socket), events: 4} // POLLOUT
	limit := syscall.NsecToTimespec(rest * 1e6)
	syscall.RawSyscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&p)), 1, uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
}
