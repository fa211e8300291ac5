package admin

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
)

const (
	answering = 10 * time.Second
	longest   = 16 << 20 // bytes of an answer
)

// AskSocket sends a command to the admin socket of a daemon and decodes the answer. The command is JSON and a zero byte; the answer is its
// length in four bytes, the most significant first, and JSON (src/common/admin_socket.cc).
func AskSocket(ctx context.Context, m platform.Machine, socket string, command map[string]any, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, answering)
	defer cancel()
	conn, err := service.Dial(ctx, m, load.Endpoint{Network: "unix", Address: socket})
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	request, err := json.Marshal(command)
	if err != nil {
		return fmt.Errorf("encode a command: %w", err)
	}
	data, err := exchange(conn, append(request, 0))
	if err == nil {
		err = json.Unmarshal(data, answer)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("ask %s for %v: %w", socket, command["prefix"], context.Cause(ctx))
	case err != nil:
		return fmt.Errorf("ask %s for %v: %w", socket, command["prefix"], err)
	}
	return nil
}

func exchange(conn io.ReadWriter, request []byte) ([]byte, error) {
	if _, err := conn.Write(request); err != nil {
		return nil, err
	}
	var head [4]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(head[:])
	if length == 0 {
		return nil, errors.New("it does not know the command")
	}
	if length > longest {
		return nil, fmt.Errorf("an answer of %d bytes is not one of Ceph", length)
	}
	data := make([]byte, length)
	_, err := io.ReadFull(conn, data)
	return data, err
}
