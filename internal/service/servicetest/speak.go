package servicetest

import (
	"bufio"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/cql"
	"plimsoll/internal/images"
	"plimsoll/internal/load"
	"plimsoll/internal/mysql"
	"plimsoll/internal/postgres"
	"plimsoll/internal/service/webfiles"
	"plimsoll/internal/wire"
)

// speak has a short talk by a protocol, that shows that the server understands it.
func speak(ctx context.Context, protocol string, e load.Endpoint) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	switch protocol {
	case "http":
		return speakHTTP(ctx, e)
	case "redis":
		return exchange(ctx, e, [][2]string{
			{"*3\r\n$3\r\nSET\r\n$4\r\nline\r\n$3\r\nred\r\n", "+OK\r\n"},
			{"*2\r\n$3\r\nGET\r\n$4\r\nline\r\n", "$3\r\nred\r\n"},
			{"*2\r\n$3\r\nDEL\r\n$4\r\nline\r\n", ":1\r\n"},
			{"*2\r\n$3\r\nGET\r\n$4\r\nline\r\n", "$-1\r\n"},
		})
	case "memcached":
		return exchange(ctx, e, [][2]string{
			{"set line 5 0 3\r\nred\r\n", "STORED\r\n"},
			{"get line\r\n", "VALUE line 5 3\r\nred\r\nEND\r\n"},
			{"delete line\r\n", "DELETED\r\n"},
			{"get line\r\n", "END\r\n"},
		})
	case "postgresql":
		return speakPostgreSQL(ctx, e)
	case "mysql":
		return speakMySQL(ctx, e)
	case "cql":
		return speakCQL(ctx, e)
	case images.Protocol:
		return speakImages(ctx, e)
	case "reflect":
		return exchange(ctx, e, [][2]string{
			{"", "{\"plimsoll\":\"reflect\",\"version\":1}\n"},
			{"{\"ask\":\"counts\"}\n", "{\"error\":\"no test was requested yet\"}\n"},
		})
	}
	switch protocol {
	case "vsphere":
		return speakVSphere(ctx, e)
	case "rbd":
		return speakRBD(ctx, e)
	case "spark":
		return speakSpark(ctx, e)
	}
	return fmt.Errorf("the suite does not speak %s: teach it", protocol)
}

// exchange sends each text and expects the one beside it.
func exchange(ctx context.Context, e load.Endpoint, talk [][2]string) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, e.Network, e.Address)
	if err != nil {
		return err
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	from := bufio.NewReader(conn)
	for _, pair := range talk {
		if _, err := io.WriteString(conn, pair[0]); err != nil {
			return err
		}
		got := make([]byte, len(pair[1]))
		if _, err := io.ReadFull(from, got); err != nil {
			return fmt.Errorf("after %q: %w", pair[0], err)
		}
		if string(got) != pair[1] {
			return fmt.Errorf("%q is answered with %q, not %q", pair[0], got, pair[1])
		}
	}
	return nil
}

// speakPostgreSQL makes a table that ends with the session, and reads from it.
func speakPostgreSQL(ctx context.Context, e load.Endpoint) error {
	at, err := wire.At(e)
	if err != nil {
		return err
	}
	session, err := postgres.Dial(ctx, at, "")
	if err != nil {
		return err
	}
	defer session.Close()
	rows, err := session.Query(ctx, "CREATE TEMPORARY TABLE line (mark text); INSERT INTO line VALUES ('red'); SELECT mark FROM line")
	if err != nil {
		return err
	}
	if len(rows) != 1 || rows[0][0] != "red" {
		return fmt.Errorf("the value read differs from the value written: %q", rows)
	}
	return nil
}

// speakMySQL makes a table that ends with the session, and reads from it.
func speakMySQL(ctx context.Context, e load.Endpoint) error {
	at, err := wire.At(e)
	if err != nil {
		return err
	}
	session, err := mysql.Dial(ctx, at, "")
	if err != nil {
		return err
	}
	defer session.Close()
	rows, err := session.Query(ctx, "CREATE DATABASE line; CREATE TEMPORARY TABLE line.line (mark text); INSERT INTO line.line VALUES ('red'); SELECT mark FROM line.line; DROP DATABASE line")
	if err != nil {
		return err
	}
	if len(rows) != 1 || rows[0][0] != "red" {
		return fmt.Errorf("the value read differs from the value written: %q", rows)
	}
	return nil
}

// speakCQL makes a table, reads from it what it wrote, and removes it.
func speakCQL(ctx context.Context, e load.Endpoint) error {
	at, err := cql.At(e, cql.V5)
	if err != nil {
		return err
	}
	session, err := cql.Dial(ctx, at)
	if err != nil {
		return err
	}
	defer session.Close()
	var rows [][]string
	for _, text := range []string{
		"CREATE KEYSPACE line WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}", "CREATE TABLE line.line (mark text PRIMARY KEY, feet bigint)",
		"INSERT INTO line.line (mark, feet) VALUES ('red', 7)", "SELECT mark, feet FROM line.line", "DROP KEYSPACE line",
	} {
		answer, err := session.Query(ctx, text)
		if err != nil {
			return err
		}
		if answer != nil {
			rows = answer
		}
	}
	if fmt.Sprint(rows) != "[[red 7]]" {
		return fmt.Errorf("the value read differs from the value written: %q", rows)
	}
	return nil
}

// speakHTTP fetches all files of the first page that the manifest lists.
func speakHTTP(ctx context.Context, e load.Endpoint) error {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	err := visit(ctx, e, protocols)
	if err != nil && e.CA == nil {
		// Without TLS, a server of HTTP/2 may speak nothing else.
		protocols = new(http.Protocols)
		protocols.SetUnencryptedHTTP2(true)
		if visit(ctx, e, protocols) == nil {
			return nil
		}
	}
	return err
}

func visit(ctx context.Context, e load.Endpoint, protocols *http.Protocols) error {
	transport := &http.Transport{Protocols: protocols, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, e.Network, e.Address)
	}}
	defer transport.CloseIdleConnections()
	site := "http://" + e.Address
	if e.CA != nil {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(e.CA) {
			return errors.New("the certificate authority cannot be read")
		}
		site, transport.TLSClientConfig = "https://"+e.Address, &tls.Config{RootCAs: pool}
	}
	client := &http.Client{Transport: transport}
	manifest, err := fetch(ctx, client, site+webfiles.Manifest)
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(manifest), "\n")
	if first == "" {
		return errors.New("the manifest is empty")
	}
	for entry := range strings.FieldsSeq(first) {
		path, size, _ := strings.Cut(entry, ":")
		body, err := fetch(ctx, client, site+path)
		if err != nil {
			return err
		}
		if strconv.Itoa(len(body)) != size {
			return fmt.Errorf("%s has %d bytes, not %s", path, len(body), size)
		}
	}
	return nil
}

func fetch(ctx context.Context, client *http.Client, url string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	answer, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, answer.Status)
	}
	return body, err
}

// speakImages has a black image classified.
func speakImages(ctx context.Context, e load.Endpoint) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, e.Network, e.Address)
	if err != nil {
		return err
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	if _, err := conn.Write(append(images.Hello{Encoding: images.Raw}.Line(), make([]byte, 1+images.Numbers)...)); err != nil {
		return err
	}
	from := bufio.NewReader(conn)
	line, err := from.ReadBytes('\n')
	if err == nil {
		_, err = images.ParseDescription(line)
	}
	if err != nil {
		return err
	}
	class, err := from.ReadString('\n')
	if err == nil && (len(class) != 2 || class[0] < '0' || class[0] > '9') {
		err = fmt.Errorf("an image is answered with %q", class)
	}
	return err
}

// speakVSphere asks a vCenter what it is, which needs no login.
func speakVSphere(ctx context.Context, e load.Endpoint) error {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true, VerifyConnection: func(c tls.ConnectionState) error {
		if got := fmt.Sprintf("%X", sha256.Sum256(c.PeerCertificates[0].Raw)); got != strings.ReplaceAll(e.Thumbprint, ":", "") {
			return fmt.Errorf("the thumbprint is %s, not %s", got, e.Thumbprint)
		}
		return nil
	}}}}
	const question = `<Envelope xmlns="http://schemas.xmlsoap.org/soap/envelope/"><Body><RetrieveServiceContent xmlns="urn:vim25"><_this type="ServiceInstance">ServiceInstance</_this></RetrieveServiceContent></Body></Envelope>`
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+e.Address+"/sdk", strings.NewReader(question))
	if err != nil {
		return err
	}
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && !strings.Contains(string(text), "VirtualCenter") {
		err = fmt.Errorf("it answers %q", text)
	}
	return err
}

// speakSpark reads the status of a master's cluster some times, which takes CPU time.
func speakSpark(ctx context.Context, e load.Endpoint) error {
	for range 50 {
		text, err := fetch(ctx, http.DefaultClient, e.URL+"/json/")
		if err != nil {
			return err
		}
		if want := `"spark://` + e.Address + `"`; !strings.Contains(string(text), want) {
			return fmt.Errorf("the master answers %.200q, without %s", text, want)
		}
	}
	return nil
}

// speakRBD writes to an image, and reads back what it wrote.
func speakRBD(ctx context.Context, e load.Endpoint) error {
	run := func(stdin string, argv ...string) (string, error) {
		c := exec.CommandContext(ctx, "rbd", append([]string{"--conf", e.Address, "--pool", e.Database, "--no-progress"}, argv...)...)
		c.Stdin = strings.NewReader(stdin)
		out, err := c.Output()
		if err != nil {
			return "", fmt.Errorf("rbd %s: %w", argv[0], err)
		}
		return string(out), nil
	}
	text := strings.Repeat("red line\n", 10_000)
	if _, err := run(text, "import", "-", "line"); err != nil {
		return err
	}
	got, err := run("", "export", "line", "-")
	if err == nil && !strings.HasPrefix(got, text) {
		err = fmt.Errorf("read %d bytes, and not those that were written", len(got))
	}
	_, failed := run("", "rm", "line")
	return errors.Join(err, failed)
}
