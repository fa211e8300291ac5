package mysql

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"plimsoll/internal/wire"
)

// Capability flags.
const (
	canMySQL        = 1 << 0 // CLIENT_MYSQL: without MariaDB's extensions
	canLongFlag     = 1 << 2
	canDatabase     = 1 << 3
	canLocalFiles   = 1 << 7
	canProtocol41   = 1 << 9
	canTLS          = 1 << 11
	canTransactions = 1 << 13
	canSecure       = 1 << 15
	canStatements   = 1 << 16 // multiple statements per query
	canResults      = 1 << 17
	canManyResults  = 1 << 18
	canPlugins      = 1 << 19
	canEndByOK      = 1 << 24

	// MariaDB's extension: the metadata of a prepared statement is not repeated with each
	// result.
	canCacheColumns = 1 << 4
)

// Over TLS a server uses the capabilities sent before it, when the database is not known: one
// is always named, even if its name is empty.
const wanted = canLongFlag | canDatabase | canLocalFiles | canProtocol41 | canTransactions | canSecure | canStatements | canResults | canManyResults | canPlugins | canEndByOK

// charset is utf8mb4_general_ci.
const charset = 45

// handshake is the server's initial handshake packet.
type handshake struct {
	Version  string
	can      uint32
	extended uint32
	salt     []byte
	plugin   string
}

// strange is the error for first bytes that are not a handshake packet.
func strange(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	const most = 1 << 12
	length, rest := int(data[0]), data[1:]
	for i := 0; i < min(2, len(rest)); i++ {
		length |= int(rest[i]) << (8 * (i + 1))
	}
	if length > most || len(data) > 3 && data[3] > overTLS || len(data) > 4 && data[4] != 10 && data[4] != headFailure {
		return fmt.Errorf("the peer does not speak the protocol of MariaDB: it sends %q", data[:min(len(data), 60)])
	}
	return nil
}

func readGreeting(body []byte) (g handshake, err error) {
	bad := errors.New("truncated handshake packet")
	if len(body) < 1 || body[0] != 10 {
		return g, fmt.Errorf("the peer does not speak the protocol of MariaDB: it sends %q", body[:min(len(body), 60)])
	}
	version, rest, ok := bytes.Cut(body[1:], []byte{0})
	if !ok || len(rest) < 4+8+1+2+1+2+2+1+10 {
		return g, bad
	}
	g.Version = strings.TrimPrefix(string(version), "5.5.5-") // prefix of MariaDB 10, for old replicas
	g.salt = append(g.salt, rest[4:12]...)
	g.can = uint32(binary.LittleEndian.Uint16(rest[13:])) | uint32(binary.LittleEndian.Uint16(rest[18:]))<<16
	length := max(12, int(rest[20])-9)
	if g.can&canMySQL == 0 {
		g.extended = binary.LittleEndian.Uint32(rest[27:])
	}
	rest = rest[31:]
	if g.can&canSecure == 0 || g.can&canEndByOK == 0 || g.can&canProtocol41 == 0 {
		return g, fmt.Errorf("server version %s is not supported: MariaDB 10.2, MySQL 5.7.5 or newer is required", g.Version)
	}
	if len(rest) < length+1 {
		return g, bad
	}
	g.salt = append(g.salt, rest[:length]...)
	if rest = rest[length+1:]; g.can&canPlugins != 0 {
		plugin, _, _ := bytes.Cut(rest, []byte{0})
		g.plugin = string(plugin)
	}
	return g, nil
}

// login is the login phase of a session.
type login struct {
	account  wire.Account
	greeting handshake
	greeted  bool
	secure   bool // the channel is encrypted
}

// newLogin begins a session for an account.
func newLogin(a wire.Account) *login { return &login{account: a} }

// Version is the server's version, once the handshake was received.
func (l *login) Version() string { return l.greeting.Version }

// Hear handles a packet of the login, and appends the response. Done reports whether the
// session is ready.
func (l *login) Hear(b []byte, p Packet) (answer []byte, done bool, err error) {
	switch {
	case len(p.Body) == 0:
		return b, false, errors.New("empty handshake packet")
	case p.Body[0] == headFailure:
		return b, false, fmt.Errorf("the server refused %s: %w", l.account.User, ReadFault(p.Body))
	case !l.greeted:
		if l.greeting, err = readGreeting(p.Body); err != nil {
			return b, false, err
		}
		l.greeted, l.secure = true, p.Number == overTLS
		return l.appendAnswer(b, p.Number+1), false, nil
	case p.Body[0] == headOK:
		return b, true, nil
	}
	b, err = l.prove(b, p)
	return b, false, err
}

func (l *login) appendAnswer(b []byte, number byte) []byte {
	a, g := l.account, &l.greeting
	if proof(g.plugin, "", nil) == nil {
		g.plugin = native // the server requests another plugin if it must
	}
	b, at := begin(b, number)
	b = g.appendAbilities(b, l.secure)
	b = append(append(b, a.User...), 0)
	answer := proof(g.plugin, a.Password, g.salt)
	b = append(append(b, byte(len(answer))), answer...)
	b = append(append(b, a.Database...), 0)
	return end(append(append(b, g.plugin...), 0), at)
}

// appendAbilities appends the capabilities of the client, plus TLS if requested.
func (g *handshake) appendAbilities(b []byte, secure bool) []byte {
	can := uint32(wanted) | g.can&canMySQL
	if secure {
		can |= canTLS
	}
	b = binary.LittleEndian.AppendUint32(b, can)
	b = binary.LittleEndian.AppendUint32(b, longest)
	b = append(b, charset)
	b = append(b, make([]byte, 19)...)
	return binary.LittleEndian.AppendUint32(b, g.extended&canCacheColumns)
}
