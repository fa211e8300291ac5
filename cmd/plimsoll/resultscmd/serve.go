package resultscmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/cmd/plimsoll/cli"
	"plimsoll/internal/events/livepage"
	"plimsoll/internal/history"
	"plimsoll/internal/serve"
	"plimsoll/internal/trend"
	"plimsoll/internal/trend/page"
)

// serving is what the flags of serve ask for.
type serving struct {
	listen, token, certificate, key string
	json                            bool
}

// current is the time for which a list of runs is taken as current.
const current = 2 * time.Second

func (c *commands) serve() *cobra.Command {
	var f serving
	cmd := &cobra.Command{
		Use:   "serve [FOLDER...]",
		Short: "show results folders as web pages, until interrupted",
		Long: `Show the runs in folders (default results) as web pages, and as JSON and metrics for
programs. Only these folders are read, and nothing is changed.

Other hosts can connect only with a token and TLS: --token-file, --tls-cert and
--tls-key. A browser asks for the token as a password, for any user name.`,
		Example:           "  plimsoll serve\n  plimsoll serve /srv/benchmarks results --listen 127.0.0.1:0\n  plimsoll serve --listen 192.0.2.1:8467 --token-file token --tls-cert lab.crt --tls-key lab.key",
		ValidArgsFunction: cli.Folders,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{results}
			}
			return c.serveRuns(cmd, f, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:8467", "`address` to listen on; port 0 is any")
	flags.StringVar(&f.token, "token-file", "", "`file` with the token that requests must carry")
	flags.StringVar(&f.certificate, "tls-cert", "", "`file` with the certificate of this server")
	flags.StringVar(&f.key, "tls-key", "", "`file` with its private key")
	flags.BoolVar(&f.json, "json", false, "print the address as JSON")
	return cmd
}

// options reads what the flags name.
func (c *commands) options(f serving, folders []string) (o serve.Options, err error) {
	o = serve.Options{Lab: c.lab, Folders: folders, Index: history.New(history.CacheFolder()), Live: livePage}
	o.Index.Every = current
	o.Trend = func(ctx context.Context, study, metric string) (serve.Trend, error) {
		t, err := trend.Read(ctx, c.lab.Catalog, trend.Request{Index: o.Index, Folders: folders, Study: study, Metric: metric})
		if err != nil {
			return nil, err
		}
		return page.Shown{Trend: t}, nil
	}
	for _, folder := range folders {
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			return o, fmt.Errorf("no folder %s", folder)
		}
	}
	if f.token != "" {
		if o.Token, err = serve.ReadToken(f.token); err != nil {
			return o, err
		}
	}
	if (f.certificate == "") != (f.key == "") {
		return o, errors.New("--tls-cert and --tls-key are given together")
	}
	if f.certificate != "" {
		o.Certificate, err = serve.ReadCertificate(f.certificate, f.key)
	}
	return o, err
}

func livePage(dir, prefix, report string) serve.Live {
	return livepage.New(livepage.Options{Dir: dir, Prefix: prefix, Report: report})
}

func (c *commands) serveRuns(cmd *cobra.Command, f serving, folders []string) error {
	o, err := c.options(f, folders)
	if err != nil {
		return cli.Mistake(err)
	}
	server, err := serve.New(o)
	if err != nil {
		return err
	}
	listener, err := serve.Listen(f.listen, o)
	if err != nil {
		return cli.Mistake(err)
	}
	scheme := "http"
	if o.Certificate != nil {
		scheme = "https"
	}
	url := fmt.Sprintf("%s://%s/", scheme, listener.Addr())
	if f.json {
		err = json.NewEncoder(c.screen.Out).Encode(map[string]string{"url": url}) // on one line
	} else {
		_, err = fmt.Fprintln(c.screen.Out, url)
	}
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	return server.Serve(cmd.Context(), listener)
}
