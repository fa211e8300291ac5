package netem

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// Messages are those of linux/rtnetlink.h and linux/pkt_sched.h, in host byte order. Their
// sequence number is 0 until the conversation sets it.

const (
	headSize    = unix.SizeofNlMsghdr
	subjectSize = 20 // struct tcmsg
	optionsSize = 24 // struct tc_netem_qopt
	rootParent  = 0xffffffff

	attributeKind    = 1 // TCA_KIND
	attributeOptions = 2 // TCA_OPTIONS

	netemCorrelation = 1
	netemReorder     = 3
	netemCorrupt     = 4
	netemLossModel   = 5
	netemRate        = 6
	netemRate64      = 8
	netemLatency64   = 10
	netemJitter64    = 11
	netemSlot        = 12

	kind = "netem"
	// tick is the kernel's unit of time in older fields: PSCHED_TICKS2NS.
	tick = 64 * time.Nanosecond
)

var order = binary.NativeEndian

// head begins a message about the root of a link.
func head(message, flags uint16, index int) []byte {
	b := order.AppendUint32(nil, 0) // the length, set later
	b = order.AppendUint16(b, message)
	b = order.AppendUint16(b, flags)
	b = append(b, make([]byte, 8)...) // sequence number and sender
	b = order.AppendUint32(b, unix.AF_UNSPEC)
	b = order.AppendUint32(b, uint32(index))
	b = order.AppendUint32(b, 0) // handle: the kernel's choice
	b = order.AppendUint32(b, rootParent)
	return order.AppendUint32(b, 0)
}

// finish fills in the length.
func finish(b []byte) []byte {
	order.PutUint32(b, uint32(len(b)))
	return b
}

// attribute appends an attribute with its padding.
func attribute(b []byte, number uint16, value []byte) []byte {
	b = order.AppendUint16(b, uint16(4+len(value)))
	b = order.AppendUint16(b, number)
	b = append(b, value...)
	return append(b, make([]byte, -len(value)&3)...)
}

// replaceMessage adds an emulator at the root of a link, or changes the present one.
func replaceMessage(index int, s Settings) []byte {
	o := order.AppendUint32(nil, ticks(s.Delay))
	o = order.AppendUint32(o, s.Limit)
	o = append(o, make([]byte, 16)...) // loss, gap, duplicates and jitter
	if s.Delay%tick != 0 {
		o = attribute(o, netemLatency64, order.AppendUint64(nil, uint64(s.Delay)))
	}
	b := head(unix.RTM_NEWQDISC, unix.NLM_F_REQUEST|unix.NLM_F_ACK|unix.NLM_F_CREATE|unix.NLM_F_REPLACE, index)
	b = attribute(b, attributeKind, []byte(kind+"\x00"))
	return finish(attribute(b, attributeOptions, o))
}

func ticks(d time.Duration) uint32 { return uint32(min(int64(d/tick), math.MaxUint32)) }

// deleteMessage removes the root queueing discipline of a link.
func deleteMessage(index int) []byte {
	return finish(head(unix.RTM_DELQDISC, unix.NLM_F_REQUEST|unix.NLM_F_ACK, index))
}

// readMessage requests all queueing disciplines of a link.
func readMessage(index int) []byte {
	return finish(head(unix.RTM_GETQDISC, unix.NLM_F_REQUEST|unix.NLM_F_DUMP, index))
}

// parse reads one answer, without its header. If ok is false, it is not about the root of the
// link.
func parse(b []byte, index int) (s State, ok bool, err error) {
	if len(b) < subjectSize {
		return s, false, fmt.Errorf("the kernel's answer has %d bytes", len(b))
	}
	if int32(order.Uint32(b[4:])) != int32(index) || order.Uint32(b[12:]) != rootParent {
		return s, false, nil
	}
	s.Default = order.Uint32(b[8:]) == 0
	var options []byte
	err = attributes(b[subjectSize:], func(number uint16, value []byte) error {
		switch number {
		case attributeKind:
			s.Root = string(bytes.TrimRight(value, "\x00"))
		case attributeOptions:
			options = value
		}
		return nil
	})
	if err == nil && s.Root == kind {
		s.Default = false
		s.Netem = &Settings{}
		s.Foreign, err = s.Netem.parse(options)
	}
	return s, true, err
}

// parse reads the options of an emulator; foreign is true for settings other than those of
// Settings.
func (s *Settings) parse(b []byte) (foreign bool, err error) {
	if len(b) < optionsSize {
		return false, fmt.Errorf("the kernel's answer has %d bytes about the emulator", len(b))
	}
	*s = Settings{Delay: time.Duration(order.Uint32(b)) * tick, Limit: order.Uint32(b[4:])}
	// The gap, before the duplicates, is for reordering only, and the kernel sets it itself.
	foreign = !zero(b[8:12]) || !zero(b[16:optionsSize])
	err = attributes(b[optionsSize:], func(number uint16, value []byte) error {
		switch number {
		case netemLatency64:
			if len(value) < 8 {
				return fmt.Errorf("the kernel's attribute %d has %d bytes", number, len(value))
			}
			s.Delay = time.Duration(order.Uint64(value))
		case netemCorrelation, netemReorder, netemCorrupt, netemRate, netemRate64, netemJitter64:
			foreign = foreign || !zero(value)
		case netemLossModel, netemSlot:
			foreign = true
		}
		return nil
	})
	return foreign, err
}

func zero(b []byte) bool { return len(bytes.TrimLeft(b, "\x00")) == 0 }

// attributes calls each with its number and value.
func attributes(b []byte, each func(number uint16, value []byte) error) error {
	for len(b) >= 4 {
		n := int(order.Uint16(b))
		if n < 4 || n > len(b) {
			return fmt.Errorf("the kernel's attribute claims %d of %d bytes", n, len(b))
		}
		if err := each(order.Uint16(b[2:])&^uint16(unix.NLA_F_NESTED|unix.NLA_F_NET_BYTEORDER), b[4:n]); err != nil {
			return err
		}
		b = b[min(len(b), (n+3)&^3):]
	}
	return nil
}
